"""Designs that power on with random register and memory contents."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np

from vlane.sim_top.blocks import BLOCKS
from vlane.tb.machinery.native.lockstep import Outcome, run_lockstep
from vlane.tb.machinery.native.model import CompiledModel, compile_verilog, component_ports, to_verilog
from vlane.tb.machinery.recordings.recording import record

_INITIAL = re.compile(r"^(?P<to>\s*(?:reg .*|(?P<memory>\S+)\[\d+\]) = )(?P<bits>\d+)'h[0-9a-f]+;$", re.MULTILINE)


def filled_at_random(text: str, seed: int, *, tables: frozenset[str] = frozenset()) -> tuple[str, int]:
    """Return Verilog with random initial values and the number of values replaced.

    Memories named in ``tables`` keep their initial values.
    """
    source = random.Random(seed)  # noqa: S311 - stimulus, not secrets
    drawn = 0

    def draw(found: re.Match[str]) -> str:
        nonlocal drawn
        bits = int(found["bits"])
        if found["memory"] and found["memory"].rstrip("_0123456789") in tables:
            return found[0]
        drawn += 1
        return f"{found['to']}{bits}'h{source.getrandbits(bits):x};"

    return _INITIAL.sub(draw, text), drawn


def powered_on_with_anything(
    name: str, given: dict[str, Any], seed: int, *, tables: frozenset[str] = frozenset()
) -> CompiledModel:
    """Compile a block with random power-on state and a one-cycle reset."""
    block = BLOCKS[name]
    component = block.make({**block.defaults(), **given})
    text, drawn = filled_at_random(to_verilog(component, name), seed, tables=tables)
    assert drawn
    return compile_verilog(text, component_ports(component), name, reset_first=True)


def lockstep_from_anything(
    name: str, given: dict[str, Any], seed: int, *, cycles: int, tables: frozenset[str] = frozenset()
) -> Outcome:
    """Run a block's qualification on hardware with random power-on state."""
    block = BLOCKS[name]
    with powered_on_with_anything(name, given, seed, tables=tables) as model:
        parameters = {**block.defaults(), **given}
        stimulus = block.qualify(parameters, cycles=cycles, seed=seed, inputs=model.inputs, outputs=model.outputs)
        return run_lockstep(model, stimulus)


def cycles_that_differ(name: str, given: dict[str, Any], seed: int, *, cycles: int) -> list[int]:
    """Return the cycles in which a block with random power-on state differs from golden.

    The recording begins with the writes that initialise memories.
    """
    block = BLOCKS[name]
    parameters = {**block.defaults(), **given}
    ports = component_ports(block.make(parameters))
    made = record(name, parameters, ports, block.qualify, cycles=cycles, seed=seed)
    with powered_on_with_anything(name, given, seed) as model:
        model.restart()
        shown = model.run(made.rows)[made.first :]
    return [int(cycle) for cycle in np.flatnonzero((shown != made.expected).any(axis=1))]
