"""Behavioural models of memories, in wrapper modules for replacement by macros."""

from __future__ import annotations

from typing import Any

from vlane.sim_top.systemverilog.expressions import constant
from vlane.sim_top.systemverilog.values import UnwritableError


def memory_body(module: Any) -> list[str]:
    """Return the declarations and processes of a memory's wrapper, whose ports are those of the module."""
    memory = module.memory
    depth, width = memory._data.depth, len(memory._data[0])
    init = list(memory._data._init._raw)
    lines = [f"  logic [{width - 1}:0] memory [0:{depth - 1}];", ""]
    if any(init):
        lines += [
            "  // These contents are part of the contract; an ASIC must write them before use.",
            "  initial begin",
        ]
        if len(set(init)) == 1:
            lines.append(f"    for (int unsigned i = 0; i < {depth}; i++) memory[i] = {constant(init[0], width)};")
        else:
            lines += [f"    memory[{at}] = {constant(value, width)};" for at, value in enumerate(init)]
        lines += ["  end", ""]
    if memory._write_ports:
        lines.append(f"  {'always' if any(init) else 'always_ff'} @(posedge clk) begin")
        for number, write in enumerate(memory._write_ports):
            lines += _write(write, "write" if len(memory._write_ports) == 1 else f"write_{number}")
        lines += ["  end", ""]
    for number, read in enumerate(memory._read_ports):
        lines += _read(memory, read, "read" if len(memory._read_ports) == 1 else f"read_{number}")
    return lines[:-1]


def _write(port: Any, at: str) -> list[str]:
    lanes, grain = len(port._en), port._granularity
    if lanes == 1:
        return [f"    if ({at}_enable) memory[{at}_address] <= {at}_data;"]
    lines = []
    for lane in range(lanes):
        bits = f"{lane * grain + grain - 1}:{lane * grain}"
        lines.append(f"    if ({at}_enable[{lane}]) memory[{at}_address][{bits}] <= {at}_data[{bits}];")
    return lines


def _read(memory: Any, port: Any, at: str) -> list[str]:
    value = f"memory[{at}_address]"
    if port._domain == "comb":
        return [f"  assign {at}_data = {value};", ""]
    lines = ["  always_ff @(posedge clk) begin", f"    if ({at}_enable) {at}_data <= {value};"]
    many = len(memory._write_ports) > 1
    for index in port._transparent_for:
        write = memory._write_ports[index]
        if len(write._en) != 1:
            raise UnwritableError("a transparent read port beside writes of parts of a word cannot be written")
        w = f"write_{index}" if many else "write"
        hit = f"{at}_enable && {w}_enable && {at}_address == {w}_address"
        lines.append(f"    if ({hit}) {at}_data <= {w}_data;")
    return [*lines, "  end", ""]
