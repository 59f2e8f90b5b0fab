"""Exhaustive simulation: every reachable state of small round robins, every input, hardware against golden.

yosys turns each register into an input (the state) and an output (the next state). The compiled logic has no memory
then, and a search visits every reachable pair of a golden state and a hardware state. No solver takes part.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import vlane
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.machinery.native.model import CompiledModel, compile_verilog, to_verilog
from vlane.tb.machinery.native.rows import Port, row_layout, row_words
from vlane.tb.machinery.native.yosys import run_yosys

SCRIPT = """read_verilog design.v
prep -flatten -top top
memory_map
opt_clean
dffunmap
expose -dff -evert-dff
opt_clean
write_verilog -noattr logic.v
"""
NAMES = ("rst", "heads__request", "heads__fits", "ready", "hold_data")
"""Inputs of a round robin of which every value is tried."""
DECLARED = re.compile(r"^ *(input|output) (?:\[(\d+):0\] )?(\\\S+ |\w+) *;", re.MULTILINE)
SIZES = (1, 2, 3, 4, 5)
"""Size of each lane's head. Sizes only pass to an output, so a different size per lane tells lanes apart."""


def _plain_name(found: re.Match[str]) -> str:
    """Return the name of a register's port without characters that need an escape."""
    name = re.sub(r"\W", "_", found[1])
    return f"{name}_{found[2]} "


def next_state_logic(design: str) -> tuple[CompiledModel, tuple[Port, ...]]:
    """Return Verilog without registers: inputs ``NAME_q`` hold the state, outputs ``NAME_d`` the next state."""
    text = (run_yosys("everted", {"design.v": design}, SCRIPT, result="logic.v") / "logic.v").read_text()
    text = re.sub(r"\\(\S+)\.([cdq]) ", _plain_name, text)
    ports = tuple(
        Port(name.strip(), int(top or 0) + 1, direction == "input")
        for direction, top, name in DECLARED.findall(text)
        if name.strip() != "clk"
    )
    return compile_verilog(text, ports, "top"), ports


def verilog(parameters: Mapping[str, Any]) -> str:
    """Return the Verilog of a round robin."""
    return to_verilog(BLOCKS["rr"].make({**BLOCKS["rr"].defaults(), **parameters}), "top")


def first_difference(design: str, parameters: Mapping[str, Any]) -> tuple[int, dict[str, int] | None]:
    """Compare a design with golden for every input in every state that is reachable from reset.

    Returns
    -------
    states : int
        Number of visited states of the hardware.
    difference : dict or None
        Inputs of the first cycle whose outputs differ.
    """
    model, ports = next_state_logic(design)
    inputs, outputs = row_layout(ports, inputs=True), row_layout(ports, inputs=False)
    registers = sorted(name[:-2] for name in inputs if name.endswith("_q"))
    oracle = vlane.oracle("rr", **parameters)
    machine, memory = oracle._machine, oracle._block
    lanes = oracle.inputs["heads__request"].bits
    sizes = SIZES[:lanes]
    given = list(itertools.product((0, 1), range(1 << lanes), range(1 << lanes), (0, 1), (0, 1)))
    rows = np.zeros((len(given), row_words(inputs)), np.uint64)
    for name, column in zip(NAMES, zip(*given, strict=True), strict=True):
        inputs[name].put(rows, np.array(column))
    inputs["heads__blocks"].put(rows, sum(size << 7 * lane for lane, size in enumerate(sizes)))

    def golden_state() -> bytes:
        machine.rules[:] = 0  # counts of rules have no effect
        return memory.tobytes()

    oracle.step(rst=1)
    reset = np.zeros((1, rows.shape[1]), np.uint64)
    inputs["rst"].put(reset, 1)
    after_reset = model.run(reset)
    start = (golden_state(), tuple(int(outputs[f"{name}_d"].get(after_reset)[0]) for name in registers))
    visited, waiting = {start}, [start]
    while waiting:
        golden, hardware = waiting.pop()
        for name, value in zip(registers, hardware, strict=True):
            inputs[f"{name}_q"].put(rows, value)
        shown = model.run(rows)
        following = np.stack([outputs[f"{name}_d"].get(shown) for name in registers], axis=1).tolist()
        found = {name: outputs[name].get(shown).tolist() for name in oracle.outputs}
        for number, vector in enumerate(given):
            memory[:] = np.frombuffer(golden, memory.dtype)
            inputs_now = dict(zip(NAMES, vector, strict=True))
            if oracle.step(**inputs_now, heads__blocks=sizes).ports() != {name: found[name][number] for name in found}:
                return len({each for _, each in visited}), inputs_now
            state = (golden_state(), tuple(following[number]))
            if state not in visited:
                visited.add(state)
                waiting.append(state)
    return len({each for _, each in visited}), None


@pytest.mark.long
@pytest.mark.parametrize(("parameters", "states"), [({"data_vls": 3}, 3), ({"data_vls": 4, "vl15": False}, 4)])
def test_every_state_and_input_agrees(parameters: dict[str, Any], states: int) -> None:
    """Golden and hardware agree for all 2,048 inputs in each reachable state, one state per data lane."""
    assert first_difference(verilog(parameters), parameters) == (states, None)


def test_a_lost_input_is_found() -> None:
    """Given hardware that ignores ``hold_data``, a held cycle differs."""
    design = verilog({"data_vls": 3})
    broken = design.replace("= ~ hold_data;", "= 1'h1;")
    assert broken != design
    _, difference = first_difference(broken, {"data_vls": 3})
    assert difference
    assert difference["hold_data"] == 1
