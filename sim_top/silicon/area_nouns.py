"""Area and speed of each part of a block: every submodule synthesised and placed separately for ECP5."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.sim_top.silicon.critical_path import UNPLACED, Speed
from vlane.sim_top.silicon.fpga import LUTS_OF_ECP5, first_that_maps, place_module
from vlane.sim_top.systemverilog.writer import Written, written
from vlane.tb.machinery.native.rows import Port
from vlane.tb.machinery.native.yosys import COUNTED_NAMES, HIDDEN_NAMES, run_yosys

_LEVELS = 2
_WORKERS = 2
_SECONDS = 1800
_FILES = ("memory_box.v", "memory_cell.v")
_SCRIPT = """read_verilog -sv block.v
read_verilog -lib memory_cell.v
hierarchy -top {top}
proc
flatten
opt_clean
{names}memory -nomap
techmap -map memory_box.v t:$mem_v2
synth_ecp5 -noiopad -top {top}
tee -q -o boxed.txt dump t:memory_of_many_ports
tee -q -o cells.json stat -json
"""


@dataclass(frozen=True, slots=True)
class Noun:
    """Part of a block.

    Parameters
    ----------
    name : str
        Path in the block, without instance numbers.
    instances : int
        Number of instances.
    lut, ff : int
        Cells of one instance: LUTs (including carry chains and LUT memories), and flip-flops.
    memory_bits : int
        Bits of all memories of the part.
    many_ports_bits : int
        Bits of memories with several write ports; the LUT count does not include them.
    speed : Speed
        Frequency and critical path.
    failure : str
        Reason why the part was not placed.
    """

    name: str
    instances: int
    lut: int
    ff: int
    memory_bits: int
    many_ports_bits: int
    speed: Speed = UNPLACED
    failure: str = ""


def nouns_of(block: Block, parameters: Mapping[str, Any], *, seeds: int = 0) -> list[Noun]:
    """Return the parts of an instance, two levels deep, sorted by name. The first instance of each is measured.

    Parameters
    ----------
    block : Block
        The block.
    parameters : mapping
        Parameters of the instance.
    seeds : int
        Number of placements of each part; 0 for none.

    Raises
    ------
    RuntimeError
        If a tool fails.
    """
    text = written(lambda: block.make(parameters), block.name)
    kinds: dict[str, list[str]] = {}
    for kind, module in _parts(text, block.name):
        kinds.setdefault(kind, []).append(module)

    def measured(kind: str) -> Noun:
        top, *others = kinds[kind]
        return measured_noun(kind, str(text), top, instances=1 + len(others), memory_bits=_memory_bits(text, top))

    with ThreadPoolExecutor(_WORKERS) as pool:
        found = list(pool.map(measured, sorted(kinds)))
    if not seeds:
        return found
    for_speed = parameters.get("form") == "line_rate"
    return [_placed(noun, text, kinds[noun.name][0], seeds=seeds, for_speed=for_speed) for noun in found]


def _parts(text: Written, module: str, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield path without instance numbers, and module, of each instance inside a module. Memories are no parts."""
    for instance, inner in text.instances[module]:
        if inner not in text.memory_bits and len(path) < _LEVELS:
            at = (*path, re.sub(r"_\d+$", "", instance.removeprefix("u_")))
            yield ".".join(at), inner
            yield from _parts(text, inner, at)


def _memory_bits(text: Written, module: str) -> int:
    inner = sum(_memory_bits(text, name) for _, name in text.instances[module])
    return text.memory_bits.get(module, 0) + inner


def _placed(noun: Noun, text: Written, top: str, *, seeds: int, for_speed: bool) -> Noun:
    """Return a part with its frequency, or with the reason why it was not placed."""
    if noun.many_ports_bits:
        return replace(noun, failure="no memory of the FPGA has several write ports")
    ports = ports_of_module(text.modules[top])
    try:
        found = place_module(str(text), top, ports, target="ecp5", seeds=seeds, for_speed=for_speed)
    except (RuntimeError, TimeoutExpired) as error:
        return replace(noun, failure=str(error))
    return replace(noun, speed=found.speed)


def ports_of_module(text: str) -> tuple[Port, ...]:
    """Return the ports of a written module, without the clock."""
    found = re.findall(r"^  (input|output) +logic +(?:\[(\d+):0\] +)?(\w+)", text, re.MULTILINE)
    ports = [Port(name, int(high or 0) + 1, is_input=way == "input") for way, high, name in found]
    return tuple(port for port in ports if port.name != "clk")


def measured_noun(kind: str, text: str, top: str, *, instances: int = 1, memory_bits: int = 0) -> Noun:
    """Return a part, measured by synthesising a module of a text."""
    files = {"block.v": text, **{name: Path(__file__).with_name(name).read_text() for name in _FILES}}
    folder = first_that_maps(
        lambda names: run_yosys(
            "area", files, _SCRIPT.format(top=top, names=names), result="cells.json", seconds=_SECONDS
        ),
        (COUNTED_NAMES, HIDDEN_NAMES),
    )
    found = json.loads((folder / "cells.json").read_text())
    cells = found["design"]["num_cells_by_type"]
    return Noun(
        kind,
        instances,
        lut=sum(count * cells.get(cell, 0) for cell, count in LUTS_OF_ECP5.items()),
        ff=cells.get("TRELLIS_FF", 0),
        memory_bits=memory_bits,
        many_ports_bits=sum(size * width for size, width in _boxed((folder / "boxed.txt").read_text())),
    )


def _boxed(dump: str) -> list[tuple[int, int]]:
    """Return (rows, bits per row) of the memories that synthesis left as black boxes."""
    rows, widths = (re.findall(rf"parameter \\{name} (\d+)", dump) for name in ("SIZE", "WIDTH"))
    return [(int(size), int(width)) for size, width in zip(rows, widths, strict=True)]
