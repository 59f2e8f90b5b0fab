"""Export of a block: Verilog, a table of its ports, a FuseSoC core, a testbench, a register map."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from amaranth.lib.wiring import FlippedSignature
from vlane.hdl.axi_lite import BUS_PREFIX, AxiLite
from vlane.hdl.register_port import RegisteredBlock
from vlane.sim_top.blocks import Block
from vlane.sim_top.register_files import register_files
from vlane.sim_top.testbench import core_file, testbench_files
from vlane.tb.model import component_ports, to_verilog

from vlane.files import usable_folder, write_whole
from vlane.register_maps import register_map

__all__ = ["Exported", "export_block"]

_TRIGGER = re.compile(r"reg (\\\$auto\$verilog_backend\S+ ) *= 0;")


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Parameters
    ----------
    files : list of Path
        Verilog first, then the port table, the core, and the register map or the testbench.
    ports : list of dict
        Name, direction, bits and meaning.
    """

    files: list[Path]
    ports: list[dict[str, Any]]


def export_block(
    block: Block, parameters: Mapping[str, Any], folder: Path, *, bench_cycles: int = 0, seed: int = 1,
    registered: bool = False,
) -> Exported:  # fmt: skip
    """Write the Verilog, the port table and a FuseSoC core of a block; nothing is left half-written.

    With ``bench_cycles``, also a testbench that checks so many cycles against golden. If ``registered``, the block
    stands behind AXI4-Lite registers, as the module ``NAME_axi_lite``; their map is written too.

    Raises
    ------
    InputError
        If the folder cannot be used.
    """
    component = block.make(parameters)
    name, latency, meanings, maps = block.name, component.latency, _meanings(component), {}
    if registered:
        registers = register_map(block.name, parameters)
        component, name = RegisteredBlock(registers, component), f"{block.name}_axi_lite"
        meanings |= {port: text for port, text in _members(AxiLite).items() if port.startswith(BUS_PREFIX)}
        maps = register_files(registers)
    text = to_verilog(component, name)
    ports = [
        {
            "name": "clk",
            "direction": "input",
            "bits": 1,
            "meaning": "Clock; everything happens at its rising edge.",
        }
    ]
    ports += [
        {
            "name": port.name,
            "direction": "input" if port.is_input else "output",
            "bits": port.bits,
            "meaning": "Reset, synchronous." if port.name == "rst" else meanings.get(port.name, ""),
        }
        for port in component_ports(component)
    ]
    heading = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    page = [
        f"# {name}", "", f"Parameters: {heading}. Latency: {latency} cycles.", "",
        "| port | direction | bits | meaning |", "|---|---|---|---|",
        *(f"| `{p['name']}` | {p['direction']} | {p['bits']} | {p['meaning']} |" for p in ports), "",
    ]  # fmt: skip
    usable_folder(folder, option="--out")
    written = {
        f"{name}.v": _started(text),
        f"{name}.md": "\n".join(page),
        f"{name}.core": core_file(name, block.title, version=version("vlane"), bench=bench_cycles > 0),
        **maps,
    }
    if bench_cycles:
        written |= testbench_files(block, parameters, component_ports(component), cycles=bench_cycles, seed=seed)
    for file, content in written.items():
        write_whole(folder / file, content, option="--out")
    return Exported([folder / file for file in written], ports)


def _started(verilog: str) -> str:
    """Return Verilog whose combinational processes run when a simulation starts, whatever the simulator.

    Each of them reads a signal for that purpose, which yosys leaves constant; four-state simulators do not run a
    process, and keep its outputs unknown, until something that it reads changes. Here it falls at the start.
    """
    modules = verilog.split("endmodule\n")
    for number, module in enumerate(modules):
        declared = _TRIGGER.search(module)
        if declared:
            trigger = declared[1]
            body = module.replace(declared[0], f"reg {trigger}= 1;")
            modules[number] = f"{body}  initial {trigger}= 0;\n"
    return "endmodule\n".join(modules)


def _meanings(component: Any) -> dict[str, str]:
    """Meaning by port name, from the Members of the docstrings of the component and of its nested interfaces."""
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
