"""``vlane export``: a block as Verilog, with what is needed to use it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from vlane.sim_top.blocks import Block, find_block
from vlane.sim_top.cli_options import AsJson, BlockName, Params, Seed
from vlane.sim_top.console import emit_json, screen
from vlane.sim_top.export import export_block

from vlane.errors import InputError
from vlane.register_maps import REGISTERED, register_map

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(epilog="Example: vlane export vlarb --out build/verilog --param data_vls=15 --param entries=64")(export)


def export(
    block: BlockName,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files.")],
    testbench: Annotated[
        int, typer.Option(metavar="N", help="Also write a testbench that checks N cycles against golden.")
    ] = 0,
    bus: Annotated[
        str, typer.Option(metavar="BUS", help="axi_lite: its tables are programmed over AXI4-Lite registers.")
    ] = "",
    param: Params = None,
    as_json: AsJson = False,  # noqa: FBT002
    seed: Seed = 1,
) -> None:
    """Write the block's Verilog, its port table, a FuseSoC core and, if wanted, a testbench that needs no Python.

    With --bus, the block stands behind registers, whose map is written as Markdown, a C header and a Python module.
    """
    found = find_block(block)
    if testbench < 0:
        raise InputError("--testbench", "at least 0", testbench)
    parameters = found.parameters(param or [])
    if bus:
        _check_bus(bus, found, parameters, testbench)
    exported = export_block(found, parameters, out, bench_cycles=testbench, seed=seed, registered=bool(bus))
    if as_json:
        emit_json({"files": [str(file) for file in exported.files], "ports": exported.ports})
        return
    for file in exported.files:
        screen.print(str(file), markup=False)


def _check_bus(bus: str, found: Block, parameters: Mapping[str, Any], testbench: int) -> None:
    if bus != "axi_lite":
        raise InputError("--bus", "axi_lite", bus)
    if found.name not in REGISTERED or not register_map(found.name, parameters).programs:
        raise InputError("--bus", "given with a block whose tables are programmed", found.name)
    if testbench:
        raise InputError("--testbench", "left out with --bus", testbench)
