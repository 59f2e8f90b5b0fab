"""Traffic for the VL arbiter, closed around the golden model: rows of inputs, and what must come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden import vlarb as golden
from vlane.golden import vlarb_line_rate as line_rate
from vlane.golden.kernel import kernel
from vlane.golden.random_bits import draw
from vlane.golden.rule import Rule
from vlane.golden.vlarb_rules import RULES, applicable_rules
from vlane.tb.packing import clear_row, put
from vlane.tb.qualification_vlarb import qualification
from vlane.tb.stimulus import Layout, Stimulus, cut
from vlane.tb.stimulus_egress import EgressStimulus
from vlane.tb.surroundings import (
    BEHIND,
    ENABLE,
    FITS,
    HOLD,
    OUT_BLOCKS,
    P_IDLE_BITS,
    READY,
    REQUEST,
    RST,
    SWAP,
    Surroundings,
    after,
    before,
    emit,
    emit_named,
    write_of,
)
from vlane.tb.traffic import Phase, Statistics

from vlane.vlarb import VLArbTable

__all__ = ["VLArbTraffic", "planned", "qualified", "writes_of"]

_FIELDS = ("select", "index", "vl", "weight")
_OUTPUTS = ("swap_pending", "unreachable", "bad_entries")
PENDING, UNREACHABLE, BAD = range(4, 7)


@kernel
def _fill(
    state: golden.VLArbState,
    around: Surroundings,
    chances: NDArray[np.int64],
    wild: bool,  # noqa: FBT001 - numba takes no keyword-only arguments
    writes: NDArray[np.int64],
    field_bits: NDArray[np.int64],
    given: NDArray[np.int64],
    places: NDArray[np.int64],
    sizes: NDArray[np.int64],
    wanted: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
    stats: Statistics,
) -> None:
    """Write one row of inputs and of expected outputs per cycle."""
    data_vls = around.data_vls
    missing, bad = golden.unreachable(state, data_vls), golden.bad_entries(state, data_vls)
    for cycle in range(len(rows)):
        before(around, chances, wild, writes, field_bits, given)
        clear_row(expected, cycle)
        write = (given[ENABLE], given[ENABLE + 1], given[ENABLE + 2], given[ENABLE + 3], given[ENABLE + 4])
        pending = state.regs[golden.SWAP_PENDING]
        ready = given[READY] != 0
        vl, source = golden.step(
            state, data_vls, around.lanes > data_vls, given[REQUEST], given[FITS], around.blocks, ready,
            given[HOLD] != 0, write, given[SWAP] != 0, rules,
        )  # fmt: skip
        lane = min(vl, data_vls) if source != 0 else -1
        emit(around, given, lane, source, places, sizes, wanted, rows, expected, cycle)
        put(expected, cycle, wanted, PENDING, pending)
        put(expected, cycle, wanted, UNREACHABLE, missing)
        put(expected, cycle, wanted, BAD, bad)
        after(around, chances, len(writes), given, lane, source, stats)
        if given[RST] != 0:
            golden.reset(state)
        if given[RST] != 0 or (ready and (given[SWAP] != 0 or pending != 0)):
            missing, bad = golden.unreachable(state, data_vls), golden.bad_entries(state, data_vls)


@kernel
def _fill_line_rate(
    state: line_rate.LineRateState,
    around: Surroundings,
    chances: NDArray[np.int64],
    wild: bool,  # noqa: FBT001 - numba takes no keyword-only arguments
    writes: NDArray[np.int64],
    field_bits: NDArray[np.int64],
    given: NDArray[np.int64],
    places: NDArray[np.int64],
    sizes: NDArray[np.int64],
    wanted: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
    stats: Statistics,
) -> None:
    """Write one row of inputs and of expected outputs of the line-rate form per cycle."""
    data_vls = around.data_vls
    saturated = not wild and chances[P_IDLE_BITS] == 0
    for cycle in range(len(rows)):
        before(around, chances, wild, writes, field_bits, given)
        given[BEHIND] = ((1 << data_vls) - 1) & (-1 if saturated else draw(around.bits))
        clear_row(expected, cycle)
        put(expected, cycle, wanted, PENDING, state.regs[line_rate.SWAP_PENDING])
        put(expected, cycle, wanted, UNREACHABLE, line_rate.unreachable(state, data_vls))
        put(expected, cycle, wanted, BAD, line_rate.bad_entries(state))
        put(expected, cycle, wanted, OUT_BLOCKS, state.regs[line_rate.LAST_BLOCKS])
        vl, source, granted = line_rate.step(
            state, data_vls, around.lanes > data_vls, given[REQUEST], given[FITS], given[BEHIND], around.blocks,
            given[READY] != 0, given[HOLD] != 0, write_of(given), given[SWAP] != 0, rules,
        )  # fmt: skip
        emit_named(around, given, vl, source, granted, places, sizes, wanted, rows, expected, cycle)
        after(around, chances, len(writes), given, min(vl, data_vls) if granted else -1, source, stats)
        if given[RST] != 0:
            line_rate.reset(state)


class _Form(NamedTuple):
    """Golden of a form, how its rows are filled, and the rules that a table can make happen."""

    new_state: Callable[[int], Any]
    fill: Callable[..., None]
    rules: Sequence[Rule]
    applicable: Callable[..., frozenset[str]]


_FORMS = {
    "exact": _Form(golden.new_state, _fill, RULES, applicable_rules),
    "line_rate": _Form(line_rate.new_state, _fill_line_rate, line_rate.RULES, line_rate.applicable_rules),
}


class VLArbTraffic(EgressStimulus):
    """A source of rows for the lockstep: golden, its surroundings, and a plan of phases.

    Parameters
    ----------
    data_vls, entries : int
        Parameters of the arbiter.
    vl15 : bool
        Whether it has the VL15 requester.
    form : str
        ``exact`` or ``line_rate``.
    tables : sequence of VLArbTable
        What phases and live rewrites choose from; padded with empty entries.
    phases : sequence of Phase
        Run in order.
    seed : int
        Two sources with equal arguments give equal rows.
    inputs, outputs : mapping
        Where every port is in its row.

    Raises
    ------
    ValueError
        If a table has more entries than the arbiter, or a phase names a table that is not there.
    """

    def __init__(
        self,
        *,
        data_vls: int,
        entries: int,
        vl15: bool,
        form: str = "exact",
        tables: Sequence[VLArbTable],
        phases: Sequence[Phase],
        seed: int,
        inputs: Layout,
        outputs: Layout,
    ) -> None:
        chosen = _FORMS[form]
        super().__init__(
            state=chosen.new_state(entries), fill=chosen.fill, data_vls=data_vls, vl15=vl15, phases=phases,
            rules=chosen.rules, outputs_beside=_OUTPUTS, seed=seed, inputs=inputs, outputs=outputs,
            fields=_FIELDS,
            writes=np.array([writes_of(table, entries) for table in tables], np.int64),
        )  # fmt: skip


def writes_of(table: VLArbTable, entries: int) -> list[tuple[int, int, int, int]]:
    """Return the writes (select, index, vl, weight) that program a table, its lists padded.

    Raises
    ------
    ValueError
        If a list is longer than the arbiter's.
    """
    writes = []
    for select, listed in ((golden.SELECT_HIGH, table.high), (golden.SELECT_LOW, table.low)):
        if len(listed) > entries:
            raise ValueError(f"a table must have at most {entries} entries per list, not {len(listed)}")
        padded = [*listed, *[(0, 0)] * (entries - len(listed))]
        writes += [(select, index, vl, weight) for index, (vl, weight) in enumerate(padded)]
    return [*writes, (golden.SELECT_LIMIT, 0, 0, table.limit_of_high_priority)]


def qualified(parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Stimulus:
    """Return the stimulus that qualifies an arbiter: every rule, every corner."""
    drawn = qualification(data_vls=parameters["data_vls"], entries=parameters["entries"], cycles=cycles, seed=seed)
    return planned(parameters, drawn.tables, cut(drawn.phases, cycles), seed=seed, inputs=inputs, outputs=outputs)


def planned(
    parameters: Mapping[str, Any],
    tables: Sequence[VLArbTable],
    phases: Sequence[Phase],
    *,
    seed: int,
    inputs: Layout,
    outputs: Layout,
) -> VLArbTraffic:
    """Return the stimulus of a plan, with the rules that its tables can make happen."""
    traffic = VLArbTraffic(**parameters, tables=tables, phases=phases, seed=seed, inputs=inputs, outputs=outputs)
    applicable = _FORMS[parameters.get("form", "exact")].applicable
    traffic.applicable = frozenset(
        name
        for table in tables
        for name in applicable(table, data_vls=parameters["data_vls"], has_vl15=parameters["vl15"])
    )
    return traffic
