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
    answer,
    find,
    gap_of,
    is_held,
    is_settling,
    new_sources,
    receive_becn,
    reset,
    set_of,
    vacant,
    visit,
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
    "answer",
    "find",
    "forget",
    "gap_of",
    "is_held",
    "new_inputs",
    "new_sources",
    "receive_becn",
    "reset",
    "set_of",
    "step",
    "vacant",
    "visit",
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
    asks : array of int64, (4,)
        Injection request, DLID, SL and blocks at the inputs in this cycle.
    asked : array of int64, (4,)
        The same inputs of the previous cycle, which take effect in this cycle.
    tells : array of int64, (3,)
        BECN, DLID and SL at the inputs in this cycle.
    told : array of int64, (3,)
        The same inputs of the previous cycle, which take effect in this cycle.
    written : array of int64, (11,)
        enable, select, index, port_mode, limit, timer, increase, trigger, minimum, shift, multiplier.
    shown : array of int64, (SHOWN_CYCLES + 1, 9)
        Results of this cycle (first row) and of the previous ones; the last row is at the outputs: may, known, ccti,
        lost, log, DLID and SL of the log; entries in use and lost BECNs at the start of the cycle.
    """

    asks: NDArray[np.int64]
    asked: NDArray[np.int64]
    tells: NDArray[np.int64]
    told: NDArray[np.int64]
    written: NDArray[np.int64]
    shown: NDArray[np.int64]


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
def forget(given: Inputs) -> None:
    """Clear the requests of the previous cycle and the pending results, as a reset does."""
    given.asked[ASK] = given.told[TELL] = 0
    given.shown[:] = 0


@inner
def step(made: Sources, given: Inputs, cycle: int, rules: NDArray[np.int64]) -> None:
    """Run a cycle of the first source: the injection request, the BECN or the visit, the write (CCS-8, CCS-11).

    Parameters
    ----------
    cycle : int
        Cycles since reset.
    """
    asked, told, shown, sweep = given.asked, given.told, given.shown[0], made.sweep[0]
    _pass_on(given.shown)
    shown[S_TAKEN], shown[S_LOST_BECNS] = sweep.taken, sweep.lost
    injected = NOBODY
    if asked[ASK] != 0:
        place = find(made, 0, asked[ASK_DLID], asked[ASK_SL])
        _count_question(made, place, asked[ASK_BLOCKS], cycle, rules)
        if given.written[W_ENABLE] != 0 and given.written[W_SELECT] > _LEVEL and place != NOBODY:
            rules[IN_USE] += given.written[W_INDEX] == made.flow[0, place].ccti
        if place != NOBODY:
            shown[S_KNOWN], shown[S_CCTI] = 1, made.flow[0, place].ccti
        if answer(made, 0, place, asked[ASK_BLOCKS], cycle):
            shown[S_MAY] = 1
            injected = place
    if told[TELL] != 0:
        rules[WAITED] += 1
        _receive_becn(made, given, cycle, injected, rules)
    else:
        place = sweep.next
        _count_visit(made, place, cycle, injected, rules)
        visit(made, 0, place, cycle)
        sweep.next = place + 1 if place + 1 < made.flow.shape[1] else 0
    _present(made, given)
    if given.written[W_ENABLE] != 0:
        _count_write(made, given.written, rules)
        write(made, 0, given.written)


@inner
def _pass_on(shown: NDArray[np.int64]) -> None:
    """Shift the results by a cycle and clear those of this cycle."""
    for age in range(SHOWN_CYCLES, 0, -1):
        for value in range(shown.shape[1]):
            shown[age, value] = shown[age - 1, value]
    shown[0] = 0


@inner
def _present(made: Sources, given: Inputs) -> None:
    """Store the presented inputs, which take effect in the next cycle (CCS-14).

    While flows are SLs, the DLID becomes 0.
    """
    for value in range(len(given.asks)):
        given.asked[value] = given.asks[value]
    for value in range(len(given.tells)):
        given.told[value] = given.tells[value]
    if made.port[0, PORT_MODE] != 0:
        given.asked[ASK_DLID] = given.told[TELL_DLID] = 0


@inner
def _receive_becn(made: Sources, given: Inputs, cycle: int, injected: int, rules: NDArray[np.int64]) -> None:
    """Apply a BECN.

    Output and count its effects (CCS-12).
    """
    told, shown = given.told, given.shown[0]
    was_known = find(made, 0, told[TELL_DLID], told[TELL_SL]) != NOBODY
    place, before = receive_becn(made, 0, told[TELL_DLID], told[TELL_SL], cycle)
    rules[LOST] += place == NOBODY
    if place == NOBODY:
        shown[S_LOST] = 1
        return
    entry, sl = made.flow[0, place], told[TELL_SL]
    trigger = made.level[0, sl, TRIGGER]
    rules[TAKEN] += not was_known
    rules[LAST_OF_SET] += not was_known and vacant(made, 0, told[TELL_DLID], told[TELL_SL]) == NOBODY
    rules[RAISED] += was_known and entry.ccti > before
    rules[LIMITED] += was_known and entry.ccti < before + made.level[0, sl, INCREASE]
    rules[STARTED] += was_known and before <= made.level[0, sl, MINIMUM]
    rules[BY_LEVEL] += made.port[0, PORT_MODE] != 0
    rules[ASKED_AND_TOLD] += place == injected
    rules[ABOVE_TRIGGER] += 0 < trigger <= before < entry.ccti
    if before < trigger <= entry.ccti:
        rules[LOGGED] += 1
        shown[S_LOG], shown[S_LOG_DLID], shown[S_LOG_SL] = 1, told[TELL_DLID], told[TELL_SL]


@inner
def _count_question(made: Sources, place: int, blocks: int, cycle: int, rules: NDArray[np.int64]) -> None:
    if place == NOBODY:
        rules[UNKNOWN] += 1
        return
    entry = made.flow[0, place]
    if is_held(entry, cycle):
        rules[HELD] += 1
        rules[HELD_BY_ONE] += cycle + 1 == entry.not_before
        return
    gap = gap_of(made, 0, entry.ccti, blocks)
    rules[INJECTED] += 1
    rules[WITHOUT_GAP] += gap == 0
    rules[SHORTEST] += blocks + gap < SHORTEST_GAP
    rules[IN_TIME] += entry.injects != 0 and cycle == entry.not_before
    rules[FIRST_PACKET] += entry.injects == 0
    rules[ABOVE_LIMIT] += entry.ccti > made.port[0, LIMIT]


@inner
def _count_visit(made: Sources, place: int, cycle: int, injected: int, rules: NDArray[np.int64]) -> None:
    entry = made.flow[0, place]
    if entry.known == 0:
        return
    if is_settling(entry, cycle):
        rules[PASSED] += 1
        return
    rules[ASKED_AND_VISITED] += place == injected
    least, tick = made.level[0, entry.sl, MINIMUM], cycle // made.tick_cycles
    if entry.ccti > least:
        rules[LOWERED] += entry.ends <= tick
        rules[CAUGHT_UP] += entry.ends + made.level[0, entry.sl, TIMER] <= tick
        rules[RUNS] += entry.ends > tick
    else:
        held = is_held(entry, cycle)
        rules[FREED] += not held
        rules[KEPT_FOR_GAP] += held and place != injected
        rules[KEPT_FOR_PACKET] += place == injected


@inner
def _count_write(made: Sources, written: NDArray[np.int64], rules: NDArray[np.int64]) -> None:
    select = written[W_SELECT]
    rules[CAPPED] += select == _LIMIT and written[W_LIMIT] >= made.table.shape[1]
    rules[ABSENT_ENTRY] += select > _LEVEL and written[W_INDEX] >= made.table.shape[1]
    rules[MODE_CHANGED] += (
        select == _PORT_CONTROL and written[W_PORT_MODE] != made.port[0, PORT_MODE] and made.sweep[0].taken != 0
    )
