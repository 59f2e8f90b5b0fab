"""``vlane export``: a block as SystemVerilog, with its documentation, core file and testbench."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from vlane.errors import misplaced, missing_value, unknown_word
from vlane.registers.description import REGISTERED, register_map
from vlane.sim_top.blocks import Block, find_block
from vlane.sim_top.cli.block_verbs.block_options import BlockName
from vlane.sim_top.cli.options import AsJson, Params, Seed
from vlane.sim_top.cli.verbs import App, unexpected_argument
from vlane.sim_top.export.export import export_block
from vlane.sim_top.export.oracle_export import export_oracle
from vlane.sim_top.output.console import emit_json, screen
from vlane.sim_top.systemverilog.text import POLARITIES, RESETS, Options

app = App()
_ORACLE = "oracle"
"""Word that precedes the name of a block whose golden is exported."""


@app.command(epilog="Example: vlane export vlarb --out build/egress --param data_vls=15 --param entries=64")
def export(
    block: BlockName,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Output folder.")],
    of: Annotated[
        str | None, typer.Argument(metavar="[BLOCK]", help="Block to export as a C library, after the word oracle.")
    ] = None,
    testbench: Annotated[
        int, typer.Option(metavar="N", help="Also write a testbench that compares N cycles with golden; 0 for none.")
    ] = 0,
    bus: Annotated[
        str,
        typer.Option(metavar="BUS", help="Bus for programming the block's tables: axi_lite. [default: program ports]"),
    ] = "",
    stream: Annotated[
        str, typer.Option(metavar="STREAM", help="Also write wrappers with streams on the links of ib_switch: axi.")
    ] = "",
    assertions: Annotated[  # noqa: FBT002
        bool, typer.Option("--assertions", help="Also write a checker with the assertions of the contract.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of module, files and core. [default: BLOCK]")
    ] = None,
    reset: Annotated[str, typer.Option(metavar="KIND", help="Reset of the registers: sync or async.")] = "sync",
    reset_polarity: Annotated[
        str, typer.Option(metavar="LEVEL", help="Active level of the reset: high (port rst) or low (port rst_n).")
    ] = "high",
    initial: Annotated[  # noqa: FBT002
        bool, typer.Option("--initial", help="Give registers initial values.")
    ] = False,
    prefix: Annotated[
        str, typer.Option(metavar="PREFIX", help="Prefix of the names of submodules. [default: NAME_]")
    ] = "",
    sources: Annotated[  # noqa: FBT002
        bool, typer.Option("--sources", help="Add comments with file and line of the Python source.")
    ] = False,
    split: Annotated[bool, typer.Option("--split", help="Write one file per module.")] = False,  # noqa: FBT002
    force: Annotated[  # noqa: FBT002
        bool, typer.Option("--force", help="Overwrite files whose content differs.")
    ] = False,
    param: Params = None,
    as_json: AsJson = False,  # noqa: FBT002
    seed: Seed = 1,
) -> None:
    """Write the block's SystemVerilog, port table, FuseSoC core and, on request, a testbench that needs no Python.

    A file with other content is never overwritten without --force; the export is then rejected and writes nothing. With
    the word oracle before the block, export golden instead: a C library, its header and a DPI-C package. With --bus,
    the block sits behind registers, whose map is written as Markdown, a C header and a Python module.
    """
    if block == _ORACLE:
        unused = {"--testbench": testbench, "--bus": bus, "--stream": stream, "--initial": initial, "--prefix": prefix}
        unused |= {"--sources": sources, "--split": split, "--assertions": assertions, "--reset": reset != "sync"}
        unused |= {"--reset-polarity": reset_polarity != "high"}
        for option, is_given in unused.items():
            if is_given:
                raise misplaced(option, f"with {_ORACLE}")
        _export_oracle(of, out, param, name=name, force=force, as_json=as_json)
        return
    if of is not None:
        raise unexpected_argument(of, "vlane export")
    found = find_block(block)
    parameters = found.parameters(param or [])
    if bus:
        _check_bus(bus, found, parameters)
    if stream and stream != "axi":
        raise unknown_word("--stream", ("axi",), stream)
    for option, given, words in (("--reset", reset, RESETS), ("--reset-polarity", reset_polarity, POLARITIES)):
        if given not in words:
            raise unknown_word(option, words, given)
    exported = export_block(
        found,
        parameters,
        out,
        name=name,
        bench_cycles=testbench,
        seed=seed,
        registered=bool(bus),
        streams=bool(stream),
        assertions=assertions,
        options=Options(reset, reset_polarity, initial, prefix, sources),
        split=split,
        force=force,
    )
    if as_json:
        emit_json({"files": [str(file) for file in exported.files], "ports": exported.ports})
        return
    for file in exported.files:
        screen.print(str(file), markup=False)


def _export_oracle(
    block: str | None, out: Path, param: list[str] | None, *, name: str | None, force: bool, as_json: bool
) -> None:
    if block is None:
        raise missing_value("BLOCK", f"name the block after the word {_ORACLE}")
    found = find_block(block)
    files, ports = export_oracle(found, found.parameters(param or []), out, name=name, force=force)
    if as_json:
        emit_json({"files": [str(file) for file in files], "ports": ports})
        return
    for file in files:
        screen.print(str(file), markup=False)


def _check_bus(bus: str, found: Block, parameters: Mapping[str, Any]) -> None:
    if bus != "axi_lite":
        raise unknown_word("--bus", ("axi_lite",), bus)
    if found.name not in REGISTERED or not register_map(found.name, parameters).programs:
        raise misplaced("--bus", f"with {found.name}: this instance has no tables to program")
