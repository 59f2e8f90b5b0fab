"""Stimulus of round robin: random maps, closed around the golden model."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vlane.golden import rr as golden
from vlane.golden.kernel import kernel
from vlane.tb.packing import clear_row
from vlane.tb.stimulus import Layout, Stimulus
from vlane.tb.stimulus_egress import random_map, scheduled
from vlane.tb.surroundings import ENABLE, FITS, HOLD, READY, REQUEST, RST, Surroundings, after, before, emit
from vlane.tb.traffic import Phase, Statistics

__all__ = ["qualified"]

_OUTPUTS: tuple[str, ...] = ()


@kernel
def _fill(
    state: golden.RRState,
    around: Surroundings,
    chances: NDArray[np.int64],
    wild: bool,  # noqa: FBT001 - numba takes no keyword-only arguments
    writes: NDArray[np.int64],
    field_bits: NDArray[np.int64],
    given: NDArray[np.int64],
    at: NDArray[np.int64],
    sizes: NDArray[np.int64],
    wanted: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
    stats: Statistics,
) -> None:
    """Write one row of inputs and of expected outputs per cycle."""
    for cycle in range(len(rows)):
        before(around, chances, wild, writes, field_bits, given)
        clear_row(expected, cycle)
        write = (given[ENABLE], given[ENABLE + 1], given[ENABLE + 2], given[ENABLE + 3], given[ENABLE + 4])
        lane, source = golden.step(
            state, given[REQUEST], given[FITS], given[READY] != 0, given[HOLD] != 0, write, rules
        )
        emit(around, given, lane, source, at, sizes, wanted, rows, expected, cycle)
        after(around, chances, len(writes), given, lane, source, stats)
        if given[RST] != 0:
            golden.reset(state)


def applicable(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the rules that some table makes happen in an instance with these parameters."""
    names = {rule.name for rule in golden.RULES}
    if not parameters["vl15"]:
        names.discard("vl15_first")
    return frozenset(names)


def qualified(
    parameters: Mapping[str, Any],
    *,
    cycles: int,
    seed: int,
    inputs: Layout,
    outputs: Layout,
    writes: Sequence[Sequence[int]] = (),
    phases: Sequence[Phase] = (),
) -> Stimulus:
    """Return the stimulus that qualifies round robin: every rule, every corner.

    ``writes`` replaces the random tables by one; ``phases`` the kinds of traffic.
    """
    source = random.Random(f"rr {seed} {sorted(parameters.items())}")  # noqa: S311 - stimulus, not secrets
    data_vls, requesters = parameters["data_vls"], parameters["requesters"]
    count = max(4, min(32, cycles // 4000))
    programs = (
        [writes] if writes else [random_map(source, data_vls=data_vls, requesters=requesters) for _ in range(count)]
    )
    return scheduled(
        parameters,
        programs,
        cycles=cycles,
        phases=phases,
        applicable=frozenset() if writes else applicable(parameters),
        state=golden.new_state(**parameters),
        fill=_fill,
        rules=golden.RULES,
        outputs_beside=_OUTPUTS,
        seed=seed,
        inputs=inputs,
        outputs=outputs,
    )
