"""Throttled flows of many sources: CCS-1 to CCS-15 (``docs/cc_source.md``), without a clock."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.congestion.cc_source import LOST_MOST, SETTLING_CYCLES, SHORTEST_GAP, WAYS, CCSourceSelect
from vlane.golden.compiler.records import Int16, Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import inner, kernel

NOBODY = -1
"""No entry."""

TIMER, INCREASE, TRIGGER, MINIMUM = range(4)
SHIFT, MULTIPLIER = range(2)
PORT_MODE, LIMIT = range(2)
_LEVELS, _SL_BITS = 16, 4
_PORT_CONTROL, _LIMIT = int(CCSourceSelect.PORT_CONTROL), int(CCSourceSelect.LIMIT)
_LEVEL = int(CCSourceSelect.LEVEL)


(
    W_ENABLE,
    W_SELECT,
    W_INDEX,
    W_PORT_MODE,
    W_LIMIT,
    W_TIMER,
    W_INCREASE,
    W_TRIGGER,
    W_MINIMUM,
    W_SHIFT,
    W_MULTIPLIER,
) = range(11)


class Flow:
    """A flow-table entry.

    Parameters
    ----------
    known : int
        Whether the entry is in use.
    dlid, sl : int
        Flow.
    ccti : int
        Index in the CCT.
    injects : int
        Whether the flow has injected since it is known.
    not_before : int
        First cycle in which the flow may inject again, if ``injects``.
    ends : int
        Tick at which the timer ends.
    becn_cycle : int
        Cycle of the last BECN.
    """

    not_before: Int64
    ends: Int64
    becn_cycle: Int64
    dlid: Int32
    ccti: Int32
    sl: Int16
    known: Int16
    injects: Int16


class Sweep:
    """Position of the sweep, and counters.

    Parameters
    ----------
    next : int
        Entry of the next visit.
    taken : int
        Number of entries in use.
    lost : int
        Number of lost BECNs.
    """

    next: Int32
    taken: Int32
    lost: Int32


class Sources(NamedTuple):
    """Sources, each with its own settings.

    Parameters
    ----------
    flow : Records of Flow, (sources, flows)
        Flow tables; the entries of a set are adjacent.
    sweep : Records of Sweep, (sources,)
        Sweep of each source.
    port : array of int64, (sources, 2)
        Whether flows are SLs; CCTI_Limit.
    level : array of int64, (sources, 16, 4)
        CCTI_Timer, CCTI_Increase, Trigger_Threshold and CCTI_Min by SL.
    table : array of int64, (sources, cct_entries, 2)
        CCT: shift and multiplier.
    set_bits : int
        Width of a set number.
    tick_cycles : int
        Number of cycles per tick.
    shift_first : bool
        The size is shifted before the multiplication.
    """

    flow: Records[Flow]
    sweep: Records[Sweep]
    port: NDArray[np.int64]
    level: NDArray[np.int64]
    table: NDArray[np.int64]
    set_bits: int
    tick_cycles: int
    shift_first: bool


def new_sources(*, flows: int, cct_entries: int, tick_cycles: int, shift_first: bool, sources: int = 1) -> Sources:
    """Return sources after power-on: no known flows.

    CCT and settings are 0.
    """
    return Sources(
        new_records(Flow, sources, flows),
        new_records(Sweep, sources),
        np.zeros((sources, 2), np.int64),
        np.zeros((sources, _LEVELS, 4), np.int64),
        np.zeros((sources, cct_entries, 2), np.int64),
        (flows // WAYS).bit_length() - 1,
        tick_cycles,
        shift_first,
    )


@kernel
def reset(made: Sources, source: int) -> None:
    """Clear all flows, Port_Control and the limit.

    CCT and SL settings are kept (CCS-15).
    """
    for place in range(made.flow.shape[1]):
        made.flow[source, place].known = 0
    sweep = made.sweep[source]
    sweep.next, sweep.taken, sweep.lost = 0, 0, 0
    made.port[source] = 0


@inner
def set_of(made: Sources, dlid: int, sl: int) -> int:
    """Return the set of a flow (CCS-6)."""
    return (dlid ^ sl << max(made.set_bits - _SL_BITS, 0)) & ((1 << made.set_bits) - 1)


@inner
def find(made: Sources, source: int, dlid: int, sl: int) -> int:
    """Return the entry of a flow, or ``NOBODY``."""
    first = WAYS * set_of(made, dlid, sl)
    for place in range(first, first + WAYS):
        entry = made.flow[source, place]
        if entry.known != 0 and entry.dlid == dlid and entry.sl == sl:
            return place
    return NOBODY


@inner
def vacant(made: Sources, source: int, dlid: int, sl: int) -> int:
    """Return the lowest free entry of a flow's set, or ``NOBODY``."""
    first = WAYS * set_of(made, dlid, sl)
    for place in range(first, first + WAYS):
        if made.flow[source, place].known == 0:
            return place
    return NOBODY


@inner
def is_held(entry: Flow, cycle: int) -> bool:
    """Return whether the flow of an entry may not inject in a cycle (CCS-3)."""
    return entry.injects != 0 and cycle < entry.not_before


@inner
def is_settling(entry: Flow, cycle: int) -> bool:
    """Return whether the flow of an entry received a BECN so recently that a visit skips the entry (CCS-8)."""
    return cycle - entry.becn_cycle <= SETTLING_CYCLES


@inner
def gap_of(made: Sources, source: int, ccti: int, blocks: int) -> int:
    """Return the gap in cycles after a packet of ``blocks`` blocks (CCS-2)."""
    shift, multiplier = made.table[source, ccti, SHIFT], made.table[source, ccti, MULTIPLIER]
    return (blocks >> shift) * multiplier if made.shift_first else (blocks * multiplier) >> shift


@inner
def answer(made: Sources, source: int, place: int, blocks: int, cycle: int) -> bool:
    """Return whether the flow of an entry may inject a packet in a cycle (CCS-1 to CCS-3).

    If the flow may, its not-before is set.
    """
    if place == NOBODY:
        return True
    entry = made.flow[source, place]
    if is_held(entry, cycle):
        return False
    entry.injects = 1
    entry.not_before = cycle + max(blocks + gap_of(made, source, entry.ccti, blocks), SHORTEST_GAP)
    return True


@inner
def receive_becn(made: Sources, source: int, dlid: int, sl: int, cycle: int) -> tuple[int, int]:
    """Apply a BECN (CCS-4, CCS-5).

    Return the flow's entry (``NOBODY`` if the BECN is lost) and the previous CCTI.
    """
    place = find(made, source, dlid, sl)
    least = made.level[source, sl, MINIMUM]
    before = least
    if place == NOBODY:
        place = vacant(made, source, dlid, sl)
        if place == NOBODY:
            made.sweep[source].lost = min(made.sweep[source].lost + 1, LOST_MOST)
            return NOBODY, 0
        made.sweep[source].taken += 1
        entry = made.flow[source, place]
        entry.known, entry.dlid, entry.sl, entry.injects = 1, dlid, sl, 0
    else:
        before = made.flow[source, place].ccti
    entry = made.flow[source, place]
    entry.ccti, entry.becn_cycle = min(before + made.level[source, sl, INCREASE], made.port[source, LIMIT]), cycle
    if before <= least:
        entry.ends = cycle // made.tick_cycles + made.level[source, sl, TIMER]
    return place, before


@inner
def visit(made: Sources, source: int, place: int, cycle: int) -> None:
    """Visit an entry in a cycle.

    Skip it if a BECN has just changed it (CCS-8 to CCS-10).
    """
    entry = made.flow[source, place]
    if entry.known == 0 or is_settling(entry, cycle):
        return
    least = made.level[source, entry.sl, MINIMUM]
    if entry.ccti > least:
        if entry.ends <= cycle // made.tick_cycles:
            entry.ccti -= 1
            entry.ends += made.level[source, entry.sl, TIMER]
    elif not is_held(entry, cycle):
        entry.known = 0
        made.sweep[source].taken -= 1


@inner
def write(made: Sources, source: int, written: NDArray[np.int64]) -> None:
    """Write a setting of a source.

    Absent CCT entries are ignored (CCS-13).
    """
    select, index = written[W_SELECT], written[W_INDEX]
    if select == _PORT_CONTROL:
        made.port[source, PORT_MODE] = written[W_PORT_MODE]
    elif select == _LIMIT:
        made.port[source, LIMIT] = min(written[W_LIMIT], made.table.shape[1] - 1)
    elif select == _LEVEL:
        for value in range(4):
            made.level[source, index & (_LEVELS - 1), value] = written[W_TIMER + value]
    elif index < made.table.shape[1]:
        made.table[source, index, SHIFT] = written[W_SHIFT]
        made.table[source, index, MULTIPLIER] = written[W_MULTIPLIER]
