"""Stimulus of the Deficit Table: random tables and maps, closed around the golden model."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vlane.golden import dtable as golden
from vlane.golden import dtable_line_rate as line_rate
from vlane.golden.deficit import ACCUMULATED
from vlane.golden.kernel import kernel
from vlane.golden.lanes import SELECT_TABLE
from vlane.golden.random_bits import draw
from vlane.tb.packing import clear_row, elements, places, put
from vlane.tb.stimulus import Layout
from vlane.tb.stimulus_dtable_line_rate import fill_line_rate, new_behind
from vlane.tb.stimulus_egress import EgressStimulus, random_map, scheduled
from vlane.tb.surroundings import ENABLE, FITS, HOLD, READY, REQUEST, RST, SWAP, Surroundings, after, before, emit
from vlane.tb.traffic import Phase, Statistics

from vlane.dtable import DTable

__all__ = ["qualified", "writes_of"]

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
    phases: Sequence[Phase] = (),
) -> EgressStimulus:
    """Return the stimulus that qualifies a Deficit Table: every rule, every corner.

    ``writes`` replaces the random tables by one; ``phases`` the kinds of traffic.
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
    common: dict[str, Any] = {
        "cycles": cycles, "phases": phases, "seed": seed, "inputs": inputs, "outputs": outputs,
    }  # fmt: skip
    if parameters["form"] == "line_rate":
        vl15 = parameters["vl15"]
        return scheduled(
            parameters,
            programs,
            applicable=frozenset() if writes else line_rate.applicable_rules(has_vl15=vl15),
            state=line_rate.new_state(
                data_vls=data_vls, entries=entries, vl15=vl15, mtu_blocks=parameters["mtu_blocks"]
            ),
            fill=fill_line_rate,
            beside=(new_behind(data_vls), elements(inputs, [("behind_blocks", data_vls)])),
            rules=line_rate.RULES,
            outputs_beside=_OUTPUTS[:2],
            **common,
        )
    packed = parameters["form"] == "ib"
    return scheduled(
        parameters,
        programs,
        applicable=frozenset() if writes else applicable(parameters),
        state=golden.new_state(**parameters),
        fill=_fill,
        beside=(
            elements(outputs, [("deficit", requesters or data_vls)]),
            places(inputs, ["read_low", "read_index"] if packed else []),
            places(outputs, ["read_vl", "read_weight"] if packed else []),
        ),
        rules=golden.RULES,
        outputs_beside=_OUTPUTS,
        **common,
    )
