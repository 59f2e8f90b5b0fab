"""Upsets: a component compiled so that one state bit can be flipped in any cycle.

Select 0 flips nothing. State bits are those of registers and of memories, whose words are registers here.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from vlane.tb.machinery.native.model import CompiledModel, compile_verilog, component_ports, to_rtlil
from vlane.tb.machinery.native.rows import Port
from vlane.tb.machinery.native.sources import source_line
from vlane.tb.machinery.native.yosys import run_commands
from vlane.tb.machinery.synthesis.flattened import FLATTEN

FLIP = "upset_select"
"""Input of the model that selects the bit to flip as it is stored at the end of a cycle; 0 for none."""

_FLAT = f"{FLATTEN}memory_map; dffunmap; opt_clean; "
_STORED = "$dff"


@dataclass(frozen=True, slots=True)
class StateBit:
    """State bit.

    Parameters
    ----------
    number : int
        Value of the select input that flips the bit, from 1.
    register : str
        Name of the register or memory; the Python source line if it has no name.
    cell, bit : str and int
        Cell and bit index in the netlist.
    """

    number: int
    register: str
    cell: str
    bit: int


def upset_model(
    component: Any, top: str, *, maximum: int, seed: int
) -> tuple[CompiledModel, tuple[StateBit, ...], int]:
    """Compile a component whose state bits can be flipped.

    Parameters
    ----------
    component : Component
        Hardware.
    top : str
        Name of its module.
    maximum : int
        Most bits that can be flipped. If the component has more, a random sample is drawn.
    seed : int
        Seed of the sample.

    Returns
    -------
    model : CompiledModel
        Model with the additional select input; its state can be saved.
    bits : tuple of StateBit
        Bits that can be flipped.
    state_bits : int
        Number of state bits after optimization, with equal registers merged.
    """
    files = {"design.il": to_rtlil(component, top)}
    flat = run_commands("upsets", files, top, _FLAT + "write_json flat.json", result="flat.json")
    found = _state(json.loads((flat / "flat.json").read_text())["modules"][top])
    drawn = found if len(found) <= maximum else sorted(random.Random(seed).sample(found, maximum))  # noqa: S311 - no secrets
    bits = tuple(StateBit(number, *each) for number, each in enumerate(drawn, start=1))
    width = len(bits).bit_length()
    flip = f"mutate -mode inv -module {top} -port D -ctrl {FLIP} {width}"
    flips = "".join(f"{flip} {bit.number} -cell {bit.cell} -portbit {bit.bit}; " for bit in bits)
    commands = f"{_FLAT}{flips}opt_clean; write_verilog -noattr upset.v"
    text = (run_commands("upsets", files, top, commands, result="upset.v") / "upset.v").read_text()
    ports = (*component_ports(component), Port(FLIP, width, is_input=True))
    return compile_verilog(text, ports, top, savable=True), bits, len(found)


def _state(module: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Return register name, cell and bit index of every state bit."""
    whole: dict[tuple[Any, ...], str] = {}
    part: dict[Any, str] = {}
    for name, net in sorted(module["netnames"].items(), key=_kind):
        whole.setdefault(tuple(net["bits"]), name)
        for bit in net["bits"]:
            part.setdefault(bit, name)
    found = []
    for at, cell in module["cells"].items():
        if cell["type"] == _STORED:
            stored = cell["connections"]["Q"]
            name = _register(whole.get(tuple(stored), part[stored[0]]), cell["attributes"].get("src", ""))
            found += [(name, at, number) for number in range(len(stored))]
    return found


def _kind(named: tuple[str, dict[str, Any]]) -> tuple[bool, bool]:
    """Return a sort key for names: registers (with initial values) first, then other signals, then yosys' own."""
    name, net = named
    return name.startswith("$"), "init" not in net["attributes"]


def _register(name: str, source: str) -> str:
    """Return the display name of a register, without a memory's word index, or the source line if unnamed."""
    register = name.partition("[")[0]
    return source_line(source) if "$sig" in register and source else register
