"""The command line: ``vlane VERB ...``."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer
from vlane.sim_top import (
    cli_area,
    cli_blocks,
    cli_configs,
    cli_dtable,
    cli_egress,
    cli_export,
    cli_fabric,
    cli_simulate,
    cli_soak,
)
from vlane.sim_top.console import complain
from vlane.sim_top.progress import show_progress
from vlane.sim_top.streams import output_guarded
from vlane.sim_top.verbs import App, CheckFailedError, refused_call, tell_why

import vlane
from vlane.document import placed
from vlane.errors import InputError
from vlane.isolation import guarded_variables

__all__ = ["app", "main"]

app = App(
    name="vlane",
    help="Cycle-accurate InfiniBand and Omni-Path QoS hardware: check a fabric, run its tables, export Verilog.",
)
app.add_typer(cli_fabric.app, name="fabric")
app.add_typer(cli_dtable.app, name="dtable")
cli_blocks.register(app)
cli_egress.register(app)
cli_simulate.register(app)
cli_soak.register(app)
cli_export.register(app)
cli_area.register(app)
cli_configs.register(app)


def _version(asked: bool) -> None:  # noqa: FBT001 - what typer calls
    if asked:
        sys.stdout.write(f"vlane {vlane.__version__}\n")
        raise typer.Exit


@app.callback()
def _every_verb(
    version: Annotated[  # noqa: FBT002 - its callback acts
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Cycle-accurate InfiniBand and Omni-Path QoS hardware: check a fabric, run its tables, export Verilog."""


def main() -> NoReturn:
    """Run the command line; bad input is one line on stderr and exit status 2, a failed check exit status 1."""
    os.environ.update(guarded_variables())
    show_progress()
    with output_guarded():
        _run()


def _run() -> NoReturn:
    try:
        status = app(standalone_mode=False, prog_name="vlane")
    except InputError as error:
        _refuse(error)
    except CheckFailedError as error:
        tell_why(str(error))
        sys.exit(1)
    except MemoryError:
        tell_why("what is asked for does not fit into memory")
        sys.exit(2)
    except RecursionError:
        tell_why("what is asked for is nested too deep")
        sys.exit(2)
    except typer.Abort:
        sys.exit(130)
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            complain(str(error))
            sys.exit(2)
        refused = refused_call(error)
        if refused is None:
            raise
        _refuse(refused)
    sys.exit(status if isinstance(status, int) else 0)


def _refuse(error: InputError) -> NoReturn:
    error = placed(error)
    tell_why(str(error), error)
    sys.exit(2)
