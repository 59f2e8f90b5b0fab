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
    dlid : int
        Destination LID of the flow.
    sl : int
        Service level of the flow.
    ccti : int
        Index in the CCT.
    has_injected : int
        Whether the flow has injected since it is known.
    not_before : int
        First cycle in which the flow may inject again, if ``has_injected``.
    timer_end : int
        Tick at which the timer ends.
    becn_cycle : int
        Cycle of the last BECN.
    """

    not_before: Int64
    timer_end: Int64
    becn_cycle: Int64
    dlid: Int32
    ccti: Int32
    sl: Int16
    known: Int16
    has_injected: Int16


class Sweep:
    """Position of the sweep, and counters.

    Parameters
    ----------
    next_entry : int
        Entry of the next visit.
    entries_in_use : int
        Number of entries in use.
    lost_becns : int
        Number of lost BECNs.
    """

    next_entry: Int32
    entries_in_use: Int32
    lost_becns: Int32


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
    """Return sources after power-on: no known flows. CCT and settings are 0."""
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
def reset(sources: Sources, source: int) -> None:
    """Clear all flows, Port_Control and the limit. CCT and SL settings are kept (CCS-15)."""
    for place in range(sources.flow.shape[1]):
        sources.flow[source, place].known = 0
    sweep = sources.sweep[source]
    sweep.next_entry, sweep.entries_in_use, sweep.lost_becns = 0, 0, 0
    sources.port[source] = 0


@inner
def set_of_flow(sources: Sources, dlid: int, sl: int) -> int:
    """Return the flow-table set of a flow (CCS-6)."""
    return (dlid ^ sl << max(sources.set_bits - _SL_BITS, 0)) & ((1 << sources.set_bits) - 1)


@inner
def find_entry(sources: Sources, source: int, dlid: int, sl: int) -> int:
    """Return the flow-table entry of a flow, or ``NOBODY`` if the flow is not known."""
    first = WAYS * set_of_flow(sources, dlid, sl)
    for place in range(first, first + WAYS):
        entry = sources.flow[source, place]
        if entry.known != 0 and entry.dlid == dlid and entry.sl == sl:
            return place
    return NOBODY


@inner
def free_entry(sources: Sources, source: int, dlid: int, sl: int) -> int:
    """Return the lowest free flow-table entry of a flow's set, or ``NOBODY`` if the set is full."""
    first = WAYS * set_of_flow(sources, dlid, sl)
    for place in range(first, first + WAYS):
        if sources.flow[source, place].known == 0:
            return place
    return NOBODY


@inner
def is_held(entry: Flow, cycle: int) -> bool:
    """Return whether the flow of an entry may not inject in a cycle (CCS-3)."""
    return entry.has_injected != 0 and cycle < entry.not_before


@inner
def is_settling(entry: Flow, cycle: int) -> bool:
    """Return whether the flow of an entry received a BECN so recently that a visit skips the entry (CCS-8)."""
    return cycle - entry.becn_cycle <= SETTLING_CYCLES


@inner
def injection_gap(sources: Sources, source: int, ccti: int, blocks: int) -> int:
    """Return the gap in cycles after a packet of ``blocks`` blocks at a CCTI (CCS-2)."""
    shift, multiplier = sources.table[source, ccti, SHIFT], sources.table[source, ccti, MULTIPLIER]
    return (blocks >> shift) * multiplier if sources.shift_first else (blocks * multiplier) >> shift


@inner
def may_inject(sources: Sources, source: int, entry_index: int, blocks: int, cycle: int) -> bool:
    """Return whether the flow of an entry may inject now, and if so update its not-before (CCS-1 to CCS-3)."""
    if entry_index == NOBODY:
        return True
    entry = sources.flow[source, entry_index]
    if is_held(entry, cycle):
        return False
    entry.has_injected = 1
    entry.not_before = cycle + max(blocks + injection_gap(sources, source, entry.ccti, blocks), SHORTEST_GAP)
    return True


@inner
def receive_becn(sources: Sources, source: int, dlid: int, sl: int, cycle: int) -> tuple[int, int]:
    """Apply a BECN (CCS-4, CCS-5). Return the flow's entry (``NOBODY`` if the BECN is lost) and the previous CCTI."""
    place = find_entry(sources, source, dlid, sl)
    least = sources.level[source, sl, MINIMUM]
    before = least
    if place == NOBODY:
        place = free_entry(sources, source, dlid, sl)
        if place == NOBODY:
            sources.sweep[source].lost_becns = min(sources.sweep[source].lost_becns + 1, LOST_MOST)
            return NOBODY, 0
        sources.sweep[source].entries_in_use += 1
        entry = sources.flow[source, place]
        entry.known, entry.dlid, entry.sl, entry.has_injected = 1, dlid, sl, 0
    else:
        before = sources.flow[source, place].ccti
    entry = sources.flow[source, place]
    entry.ccti, entry.becn_cycle = min(before + sources.level[source, sl, INCREASE], sources.port[source, LIMIT]), cycle
    if before <= least:
        entry.timer_end = cycle // sources.tick_cycles + sources.level[source, sl, TIMER]
    return place, before


@inner
def visit_entry(sources: Sources, source: int, entry_index: int, cycle: int) -> None:
    """Visit an entry: lower its CCTI if the timer has ended, or free it at CCTI_Min if the flow is not held."""
    entry = sources.flow[source, entry_index]
    if entry.known == 0 or is_settling(entry, cycle):
        return
    least = sources.level[source, entry.sl, MINIMUM]
    if entry.ccti > least:
        if entry.timer_end <= cycle // sources.tick_cycles:
            entry.ccti -= 1
            entry.timer_end += sources.level[source, entry.sl, TIMER]
    elif not is_held(entry, cycle):
        entry.known = 0
        sources.sweep[source].entries_in_use -= 1


@inner
def write(sources: Sources, source: int, written: NDArray[np.int64]) -> None:
    """Write a setting of a source. Absent CCT entries are ignored (CCS-13)."""
    select, index = written[W_SELECT], written[W_INDEX]
    if select == _PORT_CONTROL:
        sources.port[source, PORT_MODE] = written[W_PORT_MODE]
    elif select == _LIMIT:
        sources.port[source, LIMIT] = min(written[W_LIMIT], sources.table.shape[1] - 1)
    elif select == _LEVEL:
        for value in range(4):
            sources.level[source, index & (_LEVELS - 1), value] = written[W_TIMER + value]
    elif index < sources.table.shape[1]:
        sources.table[source, index, SHIFT] = written[W_SHIFT]
        sources.table[source, index, MULTIPLIER] = written[W_MULTIPLIER]
