"""Area of each part of a block: every submodule synthesised separately for ECP5."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.sim_top.silicon.area import LUTS_OF_ECP5, first_that_maps
from vlane.tb.machinery.native.model import to_verilog
from vlane.tb.machinery.native.yosys import COUNTED_NAMES, HIDDEN_NAMES, run_yosys

_LEVELS = 2
_WORKERS = 2
_SECONDS = 1800
_FILES = ("memory_box.v", "memory_cell.v")
_SCRIPT = """read_verilog block.v
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
    """

    name: str
    instances: int
    lut: int
    ff: int
    memory_bits: int
    many_ports_bits: int


def nouns_of(block: Block, parameters: Mapping[str, Any]) -> list[Noun]:
    """Return the parts of an instance, two levels deep, sorted by name. The first instance of each is measured.

    Raises
    ------
    RuntimeError
        If a tool fails.
    """
    text = to_verilog(block.make(parameters), block.name)
    found = re.findall(r"^module .*?^endmodule\n", text, re.DOTALL | re.MULTILINE)
    modules = {_name_of(module): module for module in found}
    kinds: dict[str, list[str]] = {}
    for name in modules:
        _, *path = (re.sub(r"(_\d+)?(\$\d+)?$", "", part) for part in name.split("."))
        if 1 <= len(path) <= _LEVELS:
            kinds.setdefault(".".join(path), []).append(name)
    with ThreadPoolExecutor(_WORKERS) as pool:
        return list(pool.map(lambda kind: measured_noun(kind, kinds[kind], modules), sorted(kinds)))


def _name_of(module: str) -> str:
    return module.split(None, 2)[1].lstrip("\\").partition("(")[0]


def measured_noun(kind: str, names: list[str], modules: Mapping[str, str]) -> Noun:
    """Return a part, measured by synthesising its first instance. ``modules`` holds every module's text by name."""
    top = names[0]
    text = "".join(each for name, each in modules.items() if name == top or name.startswith(f"{top}."))
    files = {"block.v": text, **{name: Path(__file__).with_name(name).read_text() for name in _FILES}}
    folder = first_that_maps(
        lambda names: run_yosys(
            "area", files, _SCRIPT.format(top=top, names=names), result="cells.json", seconds=_SECONDS
        ),
        (COUNTED_NAMES, HIDDEN_NAMES),
    )
    found = json.loads((folder / "cells.json").read_text())
    cells = found["design"]["num_cells_by_type"]
    memories = re.findall(r"^  reg \[(\d+):0\] (\S+) \[(\d+):0\];", text, re.MULTILINE)
    return Noun(
        kind,
        len(names),
        lut=sum(count * cells.get(cell, 0) for cell, count in LUTS_OF_ECP5.items()),
        ff=cells.get("TRELLIS_FF", 0),
        memory_bits=sum((int(high) + 1) * (int(last) + 1) for high, _, last in memories),
        many_ports_bits=sum(size * width for size, width in _boxed((folder / "boxed.txt").read_text())),
    )


def _boxed(dump: str) -> list[tuple[int, int]]:
    """Return (rows, bits per row) of the memories that synthesis left as black boxes."""
    rows, widths = (re.findall(rf"parameter \\{name} (\d+)", dump) for name in ("SIZE", "WIDTH"))
    return [(int(size), int(width)) for size, width in zip(rows, widths, strict=True)]
