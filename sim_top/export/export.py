"""Export of a block: Verilog, port table, FuseSoC core, waivers, testbench, register map."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from amaranth.lib.wiring import FlippedSignature

from vlane.documents.files import usable_folder
from vlane.errors import InputError, misplaced
from vlane.hdl.registers.axi_lite import BUS_PREFIX, AxiLite
from vlane.hdl.registers.register_port import RegisteredBlock
from vlane.parameters import Parameters
from vlane.registers.description import register_map
from vlane.sim_top.blocks import Block
from vlane.sim_top.export.core_file import core_file
from vlane.sim_top.export.file_heads import FileHead, command_line
from vlane.sim_top.export.file_set import write_together
from vlane.sim_top.export.module_text import module_text
from vlane.sim_top.export.register_files import register_files
from vlane.sim_top.export.testbench import row_bytes, testbench_files
from vlane.sim_top.export.verilog_names import check_module_name
from vlane.tb.machinery.native import verilator
from vlane.tb.machinery.native.model import component_ports
from vlane.tb.machinery.native.rows import Port, row_layout
from vlane.tb.machinery.recordings.bus_recording import record_registered
from vlane.tb.machinery.recordings.recording import Recording, record

_MOST_CYCLES = 1 << 20
_MOST_BYTES = 1 << 27


@dataclass(frozen=True, slots=True)
class Exported:
    """Exported files, newly written or unchanged.

    Parameters
    ----------
    files : list of Path
        Verilog, port table, core, waivers, then register map and testbench.
    ports : list of dict
        Name, direction, bits and meaning of each port.
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
    force: bool = False,
) -> Exported:
    """Write Verilog, port table, waivers and a FuseSoC core of a block, all or none (``docs/export.md``).

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
    options = {"--bus": "axi_lite" if registered else None, "--name": name}
    options |= {"--testbench": str(bench_cycles), "--seed": str(seed)} if bench_cycles else {}
    title = block.title + (", behind AXI4-Lite registers" if registered else "")
    head = FileHead(title, parameters, command_line(block, parameters, options))
    component = block.make(parameters)
    latency, meanings, maps, map_name = component.latency, _meanings(component), {}, name or block.name
    inner = component_ports(component)
    registers = register_map(block.name, parameters) if registered else None
    if registers is not None:
        component = RegisteredBlock(registers, component)
        meanings |= {port: text for port, text in _members(AxiLite).items() if port.startswith(BUS_PREFIX)}
        maps = register_files(registers, parameters, map_name)
    name = name or block.name + ("_axi_lite" if registered else "")
    ports = component_ports(component)
    _check_length(bench_cycles, ports)
    if os.path.lexists(folder):  # a missing folder is created once all contents exist
        usable_folder(folder, option="--out")
    table = _port_table(ports, meanings)
    written = {
        f"{name}.v": module_text(component, name),
        f"{name}.md": _page(name, parameters, latency, table),
        f"{name}.core": core_file(name, block.title, version=version("vlane"), bench=bench_cycles > 0),
        f"{name}.vlt": verilator.waivers().read_text(),
        **maps,
    }
    if bench_cycles:
        recording = (
            record(block.name, parameters, ports, block.qualify, cycles=bench_cycles, seed=seed)
            if registers is None
            else record_registered(registers, parameters, inner, ports, cycles=bench_cycles, seed=seed)
        )
        _check_size(recording)
        written |= testbench_files(name, recording)
    headed = {file: head.on(file, content) for file, content in written.items()}
    return Exported(write_together(folder, headed, option="--out", force=force), table)


def documented_ports(component: Any) -> list[dict[str, Any]]:
    """Return name, direction, bits and meaning of every Verilog port of a component, the clock first."""
    return _port_table(component_ports(component), _meanings(component))


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


def _port_table(ports: tuple[Port, ...], meanings: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return name, direction, bits and meaning of every port, the clock first."""
    known = {"clk": "Clock; the rising edge is active.", "rst": "Synchronous reset."}
    return [
        {
            "name": port.name,
            "direction": "input" if port.is_input else "output",
            "bits": port.bits,
            "meaning": known.get(port.name) or meanings.get(port.name, ""),
        }
        for port in (Port("clk", 1, is_input=True), *ports)
    ]


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


def _meanings(component: Any) -> dict[str, str]:
    """Return meanings by port name, from the Members sections of the component and its nested interfaces."""
    found = _members(type(component))
    for name, member in component.signature.members.items():
        if member.is_signature:
            nested = member.signature.flip() if isinstance(member.signature, FlippedSignature) else member.signature
            places = [f"{name}__{'__'.join(map(str, at))}" for at in product(*map(range, member.dimensions))]
            for place in places if member.dimensions else [name]:
                found.update({f"{place}__{inner}": text for inner, text in _members(type(nested)).items()})
    return found


def _members(documented: type) -> dict[str, str]:
    text = inspect.getdoc(documented) or ""
    section = re.search(r"Members\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+|\Z)", text, re.DOTALL)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.group(1).splitlines() if section else []:
        if head := re.match(r"([\w, ]+) : ", line):
            names = [name.strip() for name in head.group(1).split(",")]
            found.update(dict.fromkeys(names, ""))
        elif line.startswith(" "):
            for name in names:
                found[name] = f"{found[name]} {line.strip()}".strip()
    return found
