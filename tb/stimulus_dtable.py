"""Stimulus of the Deficit Table: random tables and maps, closed around the golden model."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vlane.golden import dtable as golden
from vlane.golden.deficit import ACCUMULATED
from vlane.golden.kernel import kernel
from vlane.golden.lanes import SELECT_MAP, SELECT_TABLE
from vlane.tb.model import Words
from vlane.tb.packing import clear_row, elements, places, put
from vlane.tb.random_bits import draw
from vlane.tb.stimulus import Counts, Layout, Stimulus
from vlane.tb.stimulus_egress import EgressStimulus, programmed
from vlane.tb.surroundings import ENABLE, FITS, HOLD, READY, REQUEST, RST, SWAP, Surroundings, after, before, emit
from vlane.tb.traffic import Phase, Statistics

from vlane.dtable import DTable

__all__ = ["DTableTraffic", "map_writes", "qualified", "random_map", "writes_of"]

_OUTPUTS = ("swap_pending", "unreachable", "accumulated")
PENDING, UNREACHABLE, LEFT = range(4, 7)


@kernel
def _fill(
    state: golden.DTableState,
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
    reads: NDArray[np.int64],
    shown: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
    stats: Statistics,
) -> None:
    """Write one row of inputs and of expected outputs per cycle."""
    missing = golden.unreachable(state)
    turns = state.turns
    for cycle in range(len(rows)):
        before(around, chances, wild, writes, field_bits, given)
        clear_row(expected, cycle)
        write = (given[ENABLE], given[ENABLE + 1], given[ENABLE + 2], given[ENABLE + 3], given[ENABLE + 4])
        pending, left = state.regs[golden.SWAP_PENDING], turns.regs[ACCUMULATED]
        for requester in range(len(deficits)):
            put(expected, cycle, deficits, requester, turns.deficit[requester])
        low, index = False, 0
        if len(reads):
            word = draw(around.bits)
            low, index = word & 1 != 0, (word >> 1) & 63
            vl, weight = golden.read_ib(state, low, index)
            put(expected, cycle, shown, 0, vl & 15)
            put(expected, cycle, shown, 1, weight)
        ready = given[READY] != 0
        lane, source = golden.step(
            state, given[REQUEST], given[FITS], around.blocks, ready, given[HOLD] != 0, write, given[SWAP] != 0, rules
        )
        emit(around, given, lane, source, at, sizes, wanted, rows, expected, cycle)
        put(expected, cycle, wanted, PENDING, pending)
        put(expected, cycle, wanted, UNREACHABLE, missing)
        put(expected, cycle, wanted, LEFT, left)
        if len(reads):
            put(rows, cycle, reads, 0, low)
            put(rows, cycle, reads, 1, index)
        after(around, chances, len(writes), given, lane, source, stats)
        if given[RST] != 0:
            golden.reset(state)
        if given[RST] != 0 or (ready and (given[SWAP] != 0 or pending != 0)):
            missing = golden.unreachable(state)


class DTableTraffic(EgressStimulus):
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
        packed = parameters["form"] == "ib"
        self._reads = places(inputs, ["read_low", "read_index"] if packed else [])
        self._shown = places(outputs, ["read_vl", "read_weight"] if packed else [])

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
            self._sizes, self._wanted, self._deficits, self._reads, self._shown, rows, expected, rules, stats,
        )  # fmt: skip


def writes_of(table: DTable, entries: int) -> list[tuple[int, int, int, int]]:
    """Return the writes (select, index, requester, weight) that program a table, padded.

    Raises
    ------
    ValueError
        If the table is longer than the scheduler's.
    """
    if len(table.entries) > entries:
        raise ValueError(f"a table must have at most {entries} entries, not {len(table.entries)}")
    padded = [*table.entries, *[(0, 0)] * (entries - len(table.entries))]
    return [(SELECT_TABLE, index, sl, weight) for index, (sl, weight) in enumerate(padded)]


def map_writes(owners: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Return the writes that give each lane its requester."""
    return [(SELECT_MAP, lane, requester, 0) for lane, requester in enumerate(owners)]


def random_map(source: random.Random, *, data_vls: int, requesters: int) -> list[tuple[int, int, int, int]]:
    """Return writes of a random map; none if there is no map."""
    if not requesters:
        return []
    most = source.choice((requesters, requesters, min(2, requesters), 32))
    return map_writes([source.randrange(most) for _ in range(data_vls)])


def _random_table(source: random.Random, requesters: int, entries: int) -> DTable:
    kind = source.choices(("full", "short", "sparse", "light", "heavy", "beyond", "bits"), (4, 2, 2, 3, 2, 1, 2))[0]
    length = source.randint(1, entries) if kind == "short" else entries
    listed = []
    for index in range(length):
        weight = source.randint(1, 90)
        if kind == "light":
            weight = source.randint(1, 3)
        elif kind == "heavy":
            weight = source.choice((254, 255, 190, 189))
        elif kind == "bits":
            weight = 1 << source.randrange(8)
        elif kind == "sparse" and source.random() < 0.7:
            weight = 0
        sl = source.randrange(32 if kind == "beyond" and index % 2 else requesters)
        listed.append((sl, weight))
    return DTable(tuple(listed))  # type: ignore[arg-type]


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
    """Return the stimulus that qualifies a Deficit Table: every rule, every corner.

    ``writes`` replaces the random tables by one.
    """
    source = random.Random(f"dtable {seed} {sorted(parameters.items())}")  # noqa: S311 - stimulus, not secrets
    data_vls, requesters, entries = (parameters[name] for name in ("data_vls", "requesters", "entries"))
    count = max(4, min(32, cycles // (80 * entries)))
    programs = (
        [writes]
        if writes
        else [
            [
                *random_map(source, data_vls=data_vls, requesters=requesters),
                *writes_of(_random_table(source, requesters or data_vls, entries), entries),
            ]
            for _ in range(count)
        ]
    )
    stimulus = DTableTraffic(parameters, **programmed(programs, cycles), seed=seed, inputs=inputs, outputs=outputs)
    if not writes:
        stimulus.applicable = applicable(parameters)
    return stimulus
