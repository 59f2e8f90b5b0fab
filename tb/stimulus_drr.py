"""Stimulus of deficit round robin: random quanta and maps, closed around the golden model."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vlane.golden import drr as golden
from vlane.golden.deficit import ACCUMULATED
from vlane.golden.kernel import kernel
from vlane.golden.lanes import SELECT_TABLE
from vlane.tb.model import Words
from vlane.tb.packing import clear_row, elements, put
from vlane.tb.stimulus import Counts, Layout, Stimulus
from vlane.tb.stimulus_dtable import random_map
from vlane.tb.stimulus_egress import EgressStimulus, programmed
from vlane.tb.surroundings import ENABLE, FITS, HOLD, READY, REQUEST, RST, Surroundings, after, before, emit
from vlane.tb.traffic import Phase, Statistics

__all__ = ["DRRTraffic", "qualified", "writes_of"]

_OUTPUTS: tuple[str, ...] = ("unreachable", "accumulated")
UNREACHABLE, LEFT = range(4, 6)


@kernel
def _fill(
    state: golden.DRRState,
    around: Surroundings,
    chances: NDArray[np.int64],
    wild: bool,  # noqa: FBT001 - numba takes no keyword-only arguments
    writes: NDArray[np.int64],
    field_bits: NDArray[np.int64],
    given: NDArray[np.int64],
    at: NDArray[np.int64],
    sizes: NDArray[np.int64],
    wanted: NDArray[np.int64],
    deficits: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
    stats: Statistics,
) -> None:
    """Write one row of inputs and of expected outputs per cycle."""
    missing = golden.unreachable(state)
    for cycle in range(len(rows)):
        before(around, chances, wild, writes, field_bits, given)
        clear_row(expected, cycle)
        write = (given[ENABLE], given[ENABLE + 1], given[ENABLE + 2], given[ENABLE + 3], given[ENABLE + 4])
        put(expected, cycle, wanted, UNREACHABLE, missing)
        put(expected, cycle, wanted, LEFT, state.turns.regs[ACCUMULATED])
        for requester in range(len(deficits)):
            put(expected, cycle, deficits, requester, state.turns.deficit[requester])
        lane, source = golden.step(
            state, given[REQUEST], given[FITS], around.blocks, given[READY] != 0, given[HOLD] != 0, write, rules
        )
        emit(around, given, lane, source, at, sizes, wanted, rows, expected, cycle)
        after(around, chances, len(writes), given, lane, source, stats)
        if given[RST] != 0:
            golden.reset(state)
        if given[RST] != 0 or given[ENABLE] != 0:
            missing = golden.unreachable(state)


class DRRTraffic(EgressStimulus):
    """Golden and its surroundings.

    Parameters
    ----------
    parameters : mapping
        Of the component.
    writes : array of int64, (tables, writes, 4)
        What phases and live rewrites program.
    phases : sequence of Phase
        Run in order.
    seed : int
        Two stimuli with equal arguments give equal rows.
    inputs, outputs : mapping
        Where every port is in its row.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        writes: NDArray[np.int64],
        phases: Sequence[Phase],
        seed: int,
        inputs: Layout,
        outputs: Layout,
    ) -> None:
        super().__init__(
            data_vls=parameters["data_vls"], vl15=parameters["vl15"], writes=writes, phases=phases,
            rules=golden.RULES, outputs_beside=_OUTPUTS, seed=seed, inputs=inputs, outputs=outputs,
        )  # fmt: skip
        self._state = golden.new_state(**parameters)
        requesters = parameters["requesters"] or parameters["data_vls"]
        self._deficits = elements(outputs, [("deficit", requesters)])

    def _cycles(
        self,
        chances: NDArray[np.int64],
        wild: bool,  # noqa: FBT001 - handed on to a kernel
        rows: Words,
        expected: Words,
        rules: Counts,
        stats: Statistics,
    ) -> None:
        _fill(
            self._state, self._around, chances, wild, self._writes, self._field_bits, self._given, self._places,
            self._sizes, self._wanted, self._deficits, rows, expected, rules, stats,
        )  # fmt: skip


def writes_of(quanta: Sequence[int], requesters: int) -> list[tuple[int, int, int, int]]:
    """Return the writes (select, index, requester, quantum) that program quanta, padded with 0.

    Raises
    ------
    ValueError
        If there are more quanta than requesters.
    """
    if len(quanta) > requesters:
        raise ValueError(f"there must be at most {requesters} quanta, not {len(quanta)}")
    padded = [*quanta, *[0] * (requesters - len(quanta))]
    return [(SELECT_TABLE, requester, 0, quantum) for requester, quantum in enumerate(padded)]


def _random_quanta(source: random.Random, count: int) -> list[int]:
    kind = source.choice(("mixed", "light", "heavy", "sparse", "bits"))
    ranges = {"mixed": (1, 90), "light": (1, 4), "heavy": (200, 255), "sparse": (0, 1), "bits": (0, 7)}
    drawn = [source.randint(*ranges[kind]) for _ in range(count)]
    return [1 << bit for bit in drawn] if kind == "bits" else drawn


def applicable(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the rules that some table makes happen in an instance with these parameters."""
    names = {rule.name for rule in golden.RULES}
    if not parameters["vl15"]:
        names.discard("vl15_first")
    if not parameters["keep_on_stall"]:
        names.discard("kept_on_stall")
    elif not parameters["requesters"]:
        names.discard("deficit_lost")  # the head that it was carried over for stays until it is sent
    return frozenset(names)


def qualified(
    parameters: Mapping[str, Any],
    *,
    cycles: int,
    seed: int,
    inputs: Layout,
    outputs: Layout,
    writes: Sequence[Sequence[int]] = (),
) -> Stimulus:
    """Return the stimulus that qualifies deficit round robin: every rule, every corner.

    ``writes`` replaces the random tables by one.
    """
    source = random.Random(f"drr {seed} {sorted(parameters.items())}")  # noqa: S311 - stimulus, not secrets
    data_vls, requesters = parameters["data_vls"], parameters["requesters"]
    count = max(4, min(32, cycles // 4000))
    programs = (
        [writes]
        if writes
        else [
            [
                *random_map(source, data_vls=data_vls, requesters=requesters),
                *writes_of(_random_quanta(source, requesters or data_vls), requesters or data_vls),
            ]
            for _ in range(count)
        ]
    )
    stimulus = DRRTraffic(parameters, **programmed(programs, cycles), seed=seed, inputs=inputs, outputs=outputs)
    if not writes:
        stimulus.applicable = applicable(parameters)
    return stimulus
