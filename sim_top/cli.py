"""The command line: ``vlane VERB ...``."""

from __future__ import annotations

import sys
from typing import NoReturn

import typer
from vlane.sim_top import cli_area, cli_blocks, cli_dtable, cli_egress, cli_export, cli_fabric, cli_simulate, cli_soak

from vlane.errors import InputError

__all__ = ["app", "main"]

app = typer.Typer(
    name="vlane",
    help="Cycle-accurate InfiniBand and Omni-Path QoS hardware: check a fabric, run its tables, export Verilog.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)
app.add_typer(cli_fabric.app, name="fabric")
app.add_typer(cli_dtable.app, name="dtable")
cli_blocks.register(app)
cli_egress.register(app)
cli_simulate.register(app)
cli_soak.register(app)
cli_export.register(app)
cli_area.register(app)


def main() -> NoReturn:
    """Run the command line; bad input is one line on stderr and exit status 2."""
    try:
        status = app(standalone_mode=False)
    except InputError as error:
        _refuse(str(error))
    except typer.Abort:
        sys.exit(130)
    except Exception as error:
        message = getattr(error, "format_message", None)  # what the command line itself refuses
        if message is None:
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            sys.stderr.write(f"{message()}\n")
            sys.exit(2)
        _refuse(str(message()))
    sys.exit(status if isinstance(status, int) else 0)


def _refuse(line: str) -> NoReturn:
    sys.stderr.write(f"vlane: {' '.join(line.split())}\n")
    sys.exit(2)
