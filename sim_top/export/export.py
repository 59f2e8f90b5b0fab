"""Export of a block: SystemVerilog, port table, FuseSoC core, testbench, register map."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vlane.documents.files import usable_folder
from vlane.errors import InputError, misplaced
from vlane.hdl.registers.axi_lite import AxiLite
from vlane.hdl.registers.register_port import RegisteredBlock
from vlane.parameters import Parameters
from vlane.registers.description import register_map
from vlane.sim_top.blocks import Block
from vlane.sim_top.export.assertions import assertion_file
from vlane.sim_top.export.axi_stream import axi_stream_files, check_streams
from vlane.sim_top.export.core_file import core_file
from vlane.sim_top.export.file_heads import FileHead, command_line
from vlane.sim_top.export.file_set import write_together
from vlane.sim_top.export.module_name import check_module_name
from vlane.sim_top.export.port_map import port_map
from vlane.sim_top.export.register_files import register_files
from vlane.sim_top.export.testbench import row_bytes, testbench_files
from vlane.sim_top.systemverilog.design import meanings_of, members_section
from vlane.sim_top.systemverilog.names import text_name
from vlane.sim_top.systemverilog.text import Options
from vlane.sim_top.systemverilog.writer import written
from vlane.tb.machinery.native.model import component_ports
from vlane.tb.machinery.native.parts import note_use
from vlane.tb.machinery.native.rows import Port, row_layout
from vlane.tb.machinery.recordings.bus_recording import record_register_block
from vlane.tb.machinery.recordings.recording import Recording, record

_MOST_CYCLES = 1 << 20
_MOST_BYTES = 1 << 27


@dataclass(frozen=True, slots=True)
class Exported:
    """Exported files, newly written or unchanged.

    Parameters
    ----------
    files : list of Path
        SystemVerilog, port table, core, then port map or register map, and testbench.
    ports : list of dict
        Name, direction, bits and meaning of each port of the text.
    """

    files: list[Path]
    ports: list[dict[str, Any]]


def export_block(
    block: Block,
    parameters: Parameters,
    folder: Path,
    *,
    name: str | None = None,
    bench_cycles: int = 0,
    seed: int = 1,
    registered: bool = False,
    streams: bool = False,
    assertions: bool = False,
    options: Options | None = None,
    split: bool = False,
    force: bool = False,
) -> Exported:
    """Write SystemVerilog, port table and a FuseSoC core of a block, all or none (``docs/export.md``).

    Parameters
    ----------
    block : Block
        Block to export.
    parameters : Parameters
        Checked parameters of the instance.
    folder : Path
        Output folder.
    name : str, optional
        Name of the module, the files and the core; by default the block's, with suffix ``_axi_lite`` if registered.
    bench_cycles : int
        Number of cycles that a testbench compares with golden; 0 for no testbench.
    seed : int
        Seed of the testbench's stimulus.
    registered : bool
        Whether the block sits behind AXI4-Lite registers, whose map is also written.
    streams : bool
        Whether to write wrappers with AXI4-Stream on the links.
    assertions : bool
        Whether to write a checker with the assertions of the block's contract.
    options : Options, optional
        Reset, initial values, prefix and comments of the text.
    split : bool
        Whether each module has a file of its own.
    force : bool
        Whether to overwrite files whose content differs.

    Raises
    ------
    InputError
        If the name is not a valid module name, the testbench is too long, the folder is not usable, or a file would be
        overwritten without ``force``.
    """
    if name is not None:
        check_module_name("--name", name)
    options = options or Options()
    if options.prefix:
        check_module_name("--prefix", options.prefix)
    title = block.title + (", behind AXI4-Lite registers" if registered else "")
    given = _given(name, bench_cycles, seed, options, registered=registered, split=split)
    if streams:
        check_streams(block.name, parameters)
        given["--stream"] = "axi"
    if assertions:
        if registered:
            raise misplaced("--assertions", "with --bus: the checker needs the program ports")
        given["--assertions"] = ""
    head = FileHead(title, parameters, command_line(block, parameters, given))
    registers = register_map(block.name, parameters) if registered else None
    map_name, name = name or block.name, name or block.name + ("_axi_lite" if registered else "")

    def make() -> Any:
        component = block.make(parameters)
        return component if registers is None else RegisteredBlock(registers, component)

    inner, component = block.make(parameters), make()
    note_use(inner)  # only the signature of both is needed
    note_use(component)
    ports = component_ports(component)
    _check_length(bench_cycles, ports)
    if os.path.lexists(folder):  # a missing folder is created once all contents exist
        usable_folder(folder, option="--out")
    meanings = {} if registers is None else members_section(AxiLite) | meanings_of(inner)
    text = written(make, name, options, meanings)
    table = [
        {"name": p.name, "direction": "input" if p.is_input else "output", "bits": p.bits, "meaning": p.meaning}
        for p in text.ports
    ]
    modules = {f"{module}.sv": body for module, body in text.modules.items()} if split else {f"{name}.sv": str(text)}
    files = {
        **modules,
        f"{name}.md": _page(name, parameters, inner.latency, table),
        f"{name}.core": core_file(name, block.title, modules, version=version("vlane"), bench=bench_cycles > 0),
    }
    if registers is None:
        files[f"{name}_map.toml"] = port_map(block.name, parameters, ports, options)
    else:
        files |= register_files(registers, parameters, map_name)
    if streams:
        files |= axi_stream_files(name, text.ports, parameters, options)
    if assertions:
        files[f"{name}_checks.sv"] = assertion_file(block, parameters, name, options)
    if bench_cycles:
        recording = (
            record(block.name, parameters, ports, block.qualify, cycles=bench_cycles, seed=seed)
            if registers is None
            else record_register_block(
                registers, parameters, component_ports(inner), ports, cycles=bench_cycles, seed=seed
            )
        )
        _check_size(recording)
        files |= testbench_files(name, recording, options)
    headed = {file: head.on(file, content) for file, content in files.items()}
    return Exported(write_together(folder, headed, option="--out", force=force), table)


def _given(
    name: str | None, cycles: int, seed: int, options: Options, *, registered: bool, split: bool
) -> dict[str, str | None]:
    """Return the options of the command that makes the files again."""
    usual = Options()
    given = {"--bus": "axi_lite" if registered else None, "--name": name}
    given |= {"--testbench": str(cycles), "--seed": str(seed)} if cycles else {}
    given |= {"--reset": options.reset} if options.reset != usual.reset else {}
    given |= {"--reset-polarity": options.polarity} if options.polarity != usual.polarity else {}
    given |= {"--prefix": options.prefix} if options.prefix else {}
    flags = (("--initial", options.initial), ("--sources", options.sources), ("--split", split))
    return given | {flag: "" for flag, is_given in flags if is_given}


def documented_ports(component: Any) -> list[dict[str, Any]]:
    """Return name, direction, bits and meaning of every port of a component, the clock first."""
    meanings = meanings_of(component)
    known = {"clk": "Clock; the rising edge is active.", "rst": "Synchronous reset."}
    return [
        {
            "name": port.name,
            "direction": "input" if port.is_input else "output",
            "bits": port.bits,
            "meaning": known.get(port.name) or meanings.get(text_name(port.name), ""),
        }
        for port in (Port("clk", 1, is_input=True), *component_ports(component))
    ]


def _check_length(cycles: int, ports: tuple[Port, ...]) -> None:
    """Reject a testbench whose files would be too long, before computing anything."""
    size = row_bytes(row_layout(ports, inputs=True), row_layout(ports, inputs=False))
    most = min(_MOST_CYCLES, _MOST_BYTES // size)
    if not 0 <= cycles <= most:
        raise InputError("--testbench", f"0 to {most} cycles for this instance", cycles)


def _check_size(recording: Recording) -> None:
    size = row_bytes(recording.inputs, recording.outputs) * len(recording.rows)
    if size > 2 * _MOST_BYTES:
        raise misplaced("--testbench", f"for this instance: writing its tables takes {recording.first} cycles")


def _page(name: str, parameters: Parameters, latency: int, table: list[dict[str, Any]]) -> str:
    given = ", ".join(f"{parameter} = {value}" for parameter, value in parameters.items())
    return "\n".join(
        [
            f"# {name}",
            "",
            f"Parameters: {given}. Latency: {latency} cycles.",
            "",
            "| parameter | value | accepted values | meaning |",
            "|---|---|---|---|",
            *(f"| `{row[0]}` | {row[1]} | {row[2]} | {row[3]} |" for row in parameters.described()),
            "",
            "| port | direction | bits | meaning |",
            "|---|---|---|---|",
            *(f"| `{p['name']}` | {p['direction']} | {p['bits']} | {p['meaning']} |" for p in table),
            "",
        ]
    )
