"""What the tests of the schedulers share: golden fed by hand, hardware fed by hand, lockstep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.lockstep import run_lockstep
from vlane.tb.model import compile_model
from vlane.tb.stimulus import Stimulus

NO_WRITE = (0, 0, 0, 0, 0)


def qualified_lockstep(name: str, given: dict[str, Any], *, cycles: int = 150_000, seed: int = 5) -> Stimulus:
    """Run a block's qualification through the hardware; every output, every cycle."""
    block = BLOCKS[name]
    parameters = {**block.defaults(), **given}
    with compile_model(block.make(parameters), name) as model:
        stimulus = block.qualify(parameters, cycles=cycles, seed=seed, inputs=model.inputs, outputs=model.outputs)
        outcome = run_lockstep(model, stimulus)
    assert outcome.mismatch is None, str(outcome.mismatch)
    assert outcome.cycles == stimulus.cycles == cycles
    counts = stimulus.rule_counts()
    assert [name for name in sorted(stimulus.applicable) if not counts[name]] == []
    return stimulus


def run_rows(
    name: str, given: dict[str, Any], rows: Iterable[dict[str, int]], wanted: Iterable[str]
) -> list[tuple[int, ...]]:
    """Drive rows of inputs by name into the compiled hardware from power-on; return the wanted outputs of each."""
    block = BLOCKS[name]
    listed, names = list(rows), list(wanted)
    with compile_model(block.make({**block.defaults(), **given}), name) as model:
        packed = np.zeros((len(listed), model.input_words), np.uint64)
        for row, values in zip(packed, listed, strict=True):
            for port, value in values.items():
                model.inputs[port].put(row, value)
        outs = model.run(packed)
        return [tuple(model.outputs[port].value(out) for port in names) for out in outs]


def heads(blocks: dict[int, int], *, stalled: Iterable[int] = (), ready: int = 1, hold: int = 0) -> dict[str, int]:
    """Return the inputs of a cycle in which these lanes have a head of that many blocks."""
    request = sum(1 << lane for lane in blocks)
    return {
        "heads__request": request,
        "heads__fits": request & ~sum(1 << lane for lane in stalled),
        "heads__blocks": sum(size << 7 * lane for lane, size in blocks.items()),
        "ready": ready,
        "hold_data": hold,
    }


def writes(program: Iterable[Iterable[int]], *, swap: bool) -> list[dict[str, int]]:
    """Return the inputs that write a program, and swap it in."""
    rows = [
        {
            "program__enable": 1,
            "program__select": select,
            "program__index": index,
            "program__requester": requester,
            "program__weight": weight,
        }
        for select, index, requester, weight in program
    ]
    return [*rows, {"swap": 1, "ready": 1}] if swap else rows
