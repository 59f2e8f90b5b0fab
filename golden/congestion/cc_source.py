"""Golden model of a source's pacing by flow, cycle by cycle: CCS-1 to CCS-15 (``docs/cc_source.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.congestion.cc_source import SHORTEST_GAP, SHOWN_CYCLES, CCSourceSelect
from vlane.golden.congestion.sources import (
    INCREASE,
    LIMIT,
    MINIMUM,
    MULTIPLIER,
    NOBODY,
    PORT_MODE,
    SHIFT,
    TIMER,
    TRIGGER,
    W_ENABLE,
    W_INCREASE,
    W_INDEX,
    W_LIMIT,
    W_MINIMUM,
    W_MULTIPLIER,
    W_PORT_MODE,
    W_SELECT,
    W_SHIFT,
    W_TIMER,
    W_TRIGGER,
    Flow,
    Sources,
    Sweep,
    find_entry,
    free_entry,
    injection_gap,
    is_held,
    is_settling,
    may_inject,
    new_sources,
    receive_becn,
    reset,
    set_of_flow,
    visit_entry,
    write,
)
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.rule import Rule

__all__ = [
    "INCREASE",
    "LIMIT",
    "MINIMUM",
    "MULTIPLIER",
    "NOBODY",
    "PORT_MODE",
    "RULES",
    "SHIFT",
    "TIMER",
    "TRIGGER",
    "W_ENABLE",
    "W_INCREASE",
    "W_INDEX",
    "W_LIMIT",
    "W_MINIMUM",
    "W_MULTIPLIER",
    "W_PORT_MODE",
    "W_SELECT",
    "W_SHIFT",
    "W_TIMER",
    "W_TRIGGER",
    "Flow",
    "Inputs",
    "Sources",
    "Sweep",
    "clear_pending",
    "find_entry",
    "free_entry",
    "injection_gap",
    "is_held",
    "may_inject",
    "new_inputs",
    "new_sources",
    "receive_becn",
    "reset",
    "set_of_flow",
    "step",
    "visit_entry",
    "write",
]

RULES = (
    Rule("unknown", "CCS-1", "an unknown flow requested injection"),
    Rule("injected", "CCS-2", "a known flow injected a packet"),
    Rule("without_gap", "CCS-2", "a known flow injected a packet with a gap of 0"),
    Rule("shortest_gap", "CCS-2", "a packet and its gap took fewer than 8 cycles"),
    Rule("held", "CCS-3", "a known flow was held"),
    Rule("held_by_a_cycle", "CCS-3", "a known flow was held one cycle before its not-before"),
    Rule("just_in_time", "CCS-3", "a known flow injected in the cycle of its not-before"),
    Rule("first_packet", "CCS-3", "a known flow injected its first packet"),
    Rule("raised", "CCS-4", "a BECN raised the CCTI of a known flow"),
    Rule("limited", "CCS-4", "CCTI_Limit stopped the CCTI of a known flow"),
    Rule("taken", "CCS-5", "a BECN made a flow known"),
    Rule("last_of_set", "CCS-5", "a flow took the last free entry of its set"),
    Rule("lost", "CCS-5", "a BECN was lost because its set was full"),
    Rule("by_level", "CCS-6", "a BECN took effect while flows were SLs"),
    Rule("timer_started", "CCS-7", "a BECN started the timer of a flow that was known and at CCTI_Min"),
    Rule("visit_waited", "CCS-8", "the sweep waited for a BECN"),
    Rule("passed_over", "CCS-8", "a visit skipped an entry whose flow had just received a BECN"),
    Rule("lowered", "CCS-9", "a visit lowered a CCTI"),
    Rule("caught_up", "CCS-9", "a visit lowered the CCTI when the timer's next end had passed, too"),
    Rule("timer_runs", "CCS-9", "a visit preceded the end of a timer"),
    Rule("freed", "CCS-10", "a visit freed an entry"),
    Rule("kept_for_gap", "CCS-10", "a visit kept an entry at CCTI_Min because the flow is still held"),
    Rule("kept_for_packet", "CCS-10", "a visit kept an entry at CCTI_Min because the flow injected in the same cycle"),
    Rule("asked_and_told", "CCS-11", "a flow injected in the cycle in which its BECN took effect"),
    Rule("asked_and_visited", "CCS-11", "a flow injected in the cycle of its visit"),
    Rule("logged", "CCS-12", "a BECN was logged"),
    Rule("above_trigger", "CCS-12", "a BECN raised a CCTI that was at Trigger_Threshold already"),
    Rule("above_limit", "CCS-13", "a known flow injected with a CCTI above the limit"),
    Rule("limit_capped", "CCS-13", "a limit above the last entry of the CCT was written"),
    Rule("absent_entry", "CCS-13", "an absent CCT entry was written"),
    Rule("written_in_use", "CCS-13", "a CCT entry was written in the cycle of its use"),
    Rule("mode_changed", "CCS-14", "Port_Control changed while flows were known"),
)
(
    UNKNOWN,
    INJECTED,
    WITHOUT_GAP,
    SHORTEST,
    HELD,
    HELD_BY_ONE,
    IN_TIME,
    FIRST_PACKET,
    RAISED,
    LIMITED,
    TAKEN,
    LAST_OF_SET,
    LOST,
    BY_LEVEL,
    STARTED,
    WAITED,
    PASSED,
    LOWERED,
    CAUGHT_UP,
    RUNS,
    FREED,
    KEPT_FOR_GAP,
    KEPT_FOR_PACKET,
    ASKED_AND_TOLD,
    ASKED_AND_VISITED,
    LOGGED,
    ABOVE_TRIGGER,
    ABOVE_LIMIT,
    CAPPED,
    ABSENT_ENTRY,
    IN_USE,
    MODE_CHANGED,
) = range(len(RULES))

_PORT_CONTROL, _LIMIT = int(CCSourceSelect.PORT_CONTROL), int(CCSourceSelect.LIMIT)
_LEVEL = int(CCSourceSelect.LEVEL)


class Inputs(NamedTuple):
    """Inputs of a source in this cycle and in the previous one, and outputs.

    Parameters
    ----------
    request : array of int64, (4,)
        Injection request, DLID, SL and blocks at the inputs in this cycle.
    previous_request : array of int64, (4,)
        The same inputs of the previous cycle, which take effect in this cycle.
    becn : array of int64, (3,)
        BECN, DLID and SL at the inputs in this cycle.
    previous_becn : array of int64, (3,)
        The same inputs of the previous cycle, which take effect in this cycle.
    setting_write : array of int64, (11,)
        enable, select, index, port_mode, limit, timer, increase, trigger, minimum, shift, multiplier.
    results : array of int64, (SHOWN_CYCLES + 1, 9)
        Results of this cycle (first row) and of the previous ones; the last row is at the outputs: may, known, ccti,
        lost, log, DLID and SL of the log; entries in use and lost BECNs at the start of the cycle.
    """

    request: NDArray[np.int64]
    previous_request: NDArray[np.int64]
    becn: NDArray[np.int64]
    previous_becn: NDArray[np.int64]
    setting_write: NDArray[np.int64]
    results: NDArray[np.int64]


(ASK, ASK_DLID, ASK_SL, ASK_BLOCKS) = range(4)
(TELL, TELL_DLID, TELL_SL) = range(3)
(S_MAY, S_KNOWN, S_CCTI, S_LOST, S_LOG, S_LOG_DLID, S_LOG_SL, S_TAKEN, S_LOST_BECNS) = range(9)


def new_inputs() -> Inputs:
    """Return idle inputs."""
    asks, tells = np.zeros((2, 4), np.int64), np.zeros((2, 3), np.int64)
    return Inputs(
        asks[0], asks[1], tells[0], tells[1], np.zeros(11, np.int64), np.zeros((SHOWN_CYCLES + 1, 9), np.int64)
    )


@inner
def clear_pending(inputs: Inputs) -> None:
    """Clear the latched inputs and the pending results, as a reset does."""
    inputs.previous_request[ASK] = inputs.previous_becn[TELL] = 0
    inputs.results[:] = 0


@inner
def step(sources: Sources, inputs: Inputs, cycle: int, rule_counts: NDArray[np.int64]) -> None:
    """Run a cycle of the first source: the injection request, the BECN or the visit, the write (CCS-8, CCS-11).

    Parameters
    ----------
    cycle : int
        Cycles since reset.
    """
    asked, told, shown, sweep = inputs.previous_request, inputs.previous_becn, inputs.results[0], sources.sweep[0]
    _shift_results(inputs.results)
    shown[S_TAKEN], shown[S_LOST_BECNS] = sweep.entries_in_use, sweep.lost_becns
    injected = NOBODY
    if asked[ASK] != 0:
        place = find_entry(sources, 0, asked[ASK_DLID], asked[ASK_SL])
        _count_injection_request(sources, place, asked[ASK_BLOCKS], cycle, rule_counts)
        if inputs.setting_write[W_ENABLE] != 0 and inputs.setting_write[W_SELECT] > _LEVEL and place != NOBODY:
            rule_counts[IN_USE] += inputs.setting_write[W_INDEX] == sources.flow[0, place].ccti
        if place != NOBODY:
            shown[S_KNOWN], shown[S_CCTI] = 1, sources.flow[0, place].ccti
        if may_inject(sources, 0, place, asked[ASK_BLOCKS], cycle):
            shown[S_MAY] = 1
            injected = place
    if told[TELL] != 0:
        rule_counts[WAITED] += 1
        _receive_becn(sources, inputs, cycle, injected, rule_counts)
    else:
        place = sweep.next_entry
        _count_visit(sources, place, cycle, injected, rule_counts)
        visit_entry(sources, 0, place, cycle)
        sweep.next_entry = place + 1 if place + 1 < sources.flow.shape[1] else 0
    _latch_inputs(sources, inputs)
    if inputs.setting_write[W_ENABLE] != 0:
        _count_write(sources, inputs.setting_write, rule_counts)
        write(sources, 0, inputs.setting_write)


@inner
def _shift_results(results: NDArray[np.int64]) -> None:
    """Shift the pending results by a cycle and clear those of this cycle."""
    for age in range(SHOWN_CYCLES, 0, -1):
        for value in range(results.shape[1]):
            results[age, value] = results[age - 1, value]
    results[0] = 0


@inner
def _latch_inputs(sources: Sources, inputs: Inputs) -> None:
    """Latch the presented inputs, which take effect in the next cycle (CCS-14)."""
    for value in range(len(inputs.request)):
        inputs.previous_request[value] = inputs.request[value]
    for value in range(len(inputs.becn)):
        inputs.previous_becn[value] = inputs.becn[value]
    if sources.port[0, PORT_MODE] != 0:
        inputs.previous_request[ASK_DLID] = inputs.previous_becn[TELL_DLID] = 0


@inner
def _receive_becn(sources: Sources, inputs: Inputs, cycle: int, injected: int, rule_counts: NDArray[np.int64]) -> None:
    """Apply a BECN. Output and count its effects (CCS-12)."""
    told, shown = inputs.previous_becn, inputs.results[0]
    was_known = find_entry(sources, 0, told[TELL_DLID], told[TELL_SL]) != NOBODY
    place, before = receive_becn(sources, 0, told[TELL_DLID], told[TELL_SL], cycle)
    rule_counts[LOST] += place == NOBODY
    if place == NOBODY:
        shown[S_LOST] = 1
        return
    entry, sl = sources.flow[0, place], told[TELL_SL]
    trigger = sources.level[0, sl, TRIGGER]
    rule_counts[TAKEN] += not was_known
    rule_counts[LAST_OF_SET] += not was_known and free_entry(sources, 0, told[TELL_DLID], told[TELL_SL]) == NOBODY
    rule_counts[RAISED] += was_known and entry.ccti > before
    rule_counts[LIMITED] += was_known and entry.ccti < before + sources.level[0, sl, INCREASE]
    rule_counts[STARTED] += was_known and before <= sources.level[0, sl, MINIMUM]
    rule_counts[BY_LEVEL] += sources.port[0, PORT_MODE] != 0
    rule_counts[ASKED_AND_TOLD] += place == injected
    rule_counts[ABOVE_TRIGGER] += 0 < trigger <= before < entry.ccti
    if before < trigger <= entry.ccti:
        rule_counts[LOGGED] += 1
        shown[S_LOG], shown[S_LOG_DLID], shown[S_LOG_SL] = 1, told[TELL_DLID], told[TELL_SL]


@inner
def _count_injection_request(
    sources: Sources, entry_index: int, blocks: int, cycle: int, rule_counts: NDArray[np.int64]
) -> None:
    if entry_index == NOBODY:
        rule_counts[UNKNOWN] += 1
        return
    entry = sources.flow[0, entry_index]
    if is_held(entry, cycle):
        rule_counts[HELD] += 1
        rule_counts[HELD_BY_ONE] += cycle + 1 == entry.not_before
        return
    gap = injection_gap(sources, 0, entry.ccti, blocks)
    rule_counts[INJECTED] += 1
    rule_counts[WITHOUT_GAP] += gap == 0
    rule_counts[SHORTEST] += blocks + gap < SHORTEST_GAP
    rule_counts[IN_TIME] += entry.has_injected != 0 and cycle == entry.not_before
    rule_counts[FIRST_PACKET] += entry.has_injected == 0
    rule_counts[ABOVE_LIMIT] += entry.ccti > sources.port[0, LIMIT]


@inner
def _count_visit(sources: Sources, entry_index: int, cycle: int, injected: int, rule_counts: NDArray[np.int64]) -> None:
    entry = sources.flow[0, entry_index]
    if entry.known == 0:
        return
    if is_settling(entry, cycle):
        rule_counts[PASSED] += 1
        return
    rule_counts[ASKED_AND_VISITED] += entry_index == injected
    least, tick = sources.level[0, entry.sl, MINIMUM], cycle // sources.tick_cycles
    if entry.ccti > least:
        rule_counts[LOWERED] += entry.timer_end <= tick
        rule_counts[CAUGHT_UP] += entry.timer_end + sources.level[0, entry.sl, TIMER] <= tick
        rule_counts[RUNS] += entry.timer_end > tick
    else:
        held = is_held(entry, cycle)
        rule_counts[FREED] += not held
        rule_counts[KEPT_FOR_GAP] += held and entry_index != injected
        rule_counts[KEPT_FOR_PACKET] += entry_index == injected


@inner
def _count_write(sources: Sources, written: NDArray[np.int64], rule_counts: NDArray[np.int64]) -> None:
    select = written[W_SELECT]
    rule_counts[CAPPED] += select == _LIMIT and written[W_LIMIT] >= sources.table.shape[1]
    rule_counts[ABSENT_ENTRY] += select > _LEVEL and written[W_INDEX] >= sources.table.shape[1]
    rule_counts[MODE_CHANGED] += (
        select == _PORT_CONTROL
        and written[W_PORT_MODE] != sources.port[0, PORT_MODE]
        and sources.sweep[0].entries_in_use != 0
    )
