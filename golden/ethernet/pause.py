"""Golden model of the memory and PAUSE of one input, cycle by cycle: PAU-1 to PAU-10 (``docs/pause.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.ethernet.pause import DROP_MOST
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.golden.ethernet import watermarks
from vlane.golden.ethernet.watermarks import Watermarks

RULES = (
    Rule("arrived", "PAU-1", "a frame was stored"),
    Rule("left", "PAU-1", "a frame left"),
    Rule("both", "PAU-1", "a frame was stored in the cycle in which another left"),
    Rule("emptied", "PAU-1", "more bytes left than the memory held"),
    Rule("filled", "PAU-2", "a frame filled the memory to the last byte"),
    Rule("late_room", "PAU-2", "a frame was dropped although a frame that left in the same cycle made space for it"),
    Rule("dropped", "PAU-3", "a frame did not fit"),
    Rule("drops_full", "PAU-3", "a dropped frame was not counted because the counter was saturated"),
    Rule("paused", "PAU-4", "the neighbour became paused"),
    Rule("at_high", "PAU-4", "the level was at the high watermark, and the neighbour was not paused"),
    Rule("resumed", "PAU-5", "the neighbour resumed because the level fell"),
    Rule("at_low", "PAU-5", "the level was at the low watermark and the neighbour stayed paused"),
    Rule("asked", "PAU-6", "a PAUSE frame was requested because the last one was out of date"),
    Rule("missed", "PAU-6", "a request ended without a PAUSE frame because the level returned"),
    Rule("refreshed", "PAU-7", "a PAUSE frame was refreshed"),
    Rule("said_pause", "PAU-8", "a PAUSE frame paused the neighbour"),
    Rule("said_go", "PAU-8", "a PAUSE frame resumed the neighbour"),
    Rule("unasked", "PAU-8", "a PAUSE frame was sent without a request"),
    Rule("written", "PAU-9", "settings were written in the cycle in which a frame arrived"),
    Rule("switched_off", "PAU-9", "the neighbour resumed because PAUSE was switched off"),
    Rule("stays_off", "PAU-9", "the level was above the high watermark with PAUSE off"),
    Rule("crossed", "PAU-9", "the level was above the high and below the low watermark"),
)
(
    ARRIVED,
    LEFT,
    BOTH,
    EMPTIED,
    FILLED,
    LATE_ROOM,
    DROPPED,
    DROPS_FULL,
    PAUSED,
    AT_HIGH,
    RESUMED,
    AT_LOW,
    ASKED,
    MISSED,
    REFRESHED,
    SENT_PAUSE,
    SENT_GO,
    UNASKED,
    WRITTEN,
    SWITCHED_OFF,
    STAYS_OFF,
    CROSSED,
) = range(len(RULES))

(ARRIVE, ARRIVE_BYTES, LEAVE, LEAVE_BYTES, PAUSE_SENT, W_ENABLE, W_HIGH, W_LOW, W_PAUSE, VALUES) = range(10)
NOW, WAS_PAUSED, WANTED = range(3)


class PauseState(NamedTuple):
    """State of one input.

    Parameters
    ----------
    watermarks : Watermarks
        Memory of one input.
    previous_state : array of int64, (3,)
        Cycle; whether the neighbour was paused, and whether a frame was requested, in the previous cycle.
    """

    watermarks: Watermarks
    previous_state: NDArray[np.int64]


def new_inputs() -> NDArray[np.int64]:
    """Return idle inputs: arrive, arrive_bytes, leave, leave_bytes, pause_sent, and those of a write."""
    return np.zeros(VALUES, np.int64)


def new_state(**parameters: int) -> PauseState:
    """Return the state after reset, for the parameters of ``PauseParameters``."""
    return PauseState(watermarks.new_watermarks(**parameters), np.zeros(3, np.int64))


@kernel
def reset(state: PauseState) -> None:
    """Reset (PAU-10)."""
    watermarks.reset(state.watermarks, 0)
    state.previous_state[:] = 0


@inner
def drops_frame(state: PauseState, inputs: NDArray[np.int64]) -> bool:
    """Return whether the frame of this cycle is dropped."""
    return inputs[ARRIVE] != 0 and not watermarks.fits(
        state.watermarks, 0, inputs[ARRIVE_BYTES], state.previous_state[NOW]
    )


@inner
def step(state: PauseState, inputs: NDArray[np.int64], rule_counts: NDArray[np.int64]) -> None:
    """Run a clock cycle."""
    marks, now = state.watermarks, state.previous_state[NOW]
    _count_rules(state, inputs, rule_counts)
    if inputs[ARRIVE] != 0:
        watermarks.store_frame(marks, 0, inputs[ARRIVE_BYTES], now)
    if inputs[LEAVE] != 0:
        watermarks.remove_frame(marks, 0, inputs[LEAVE_BYTES], now)
    state.previous_state[WAS_PAUSED] = watermarks.is_paused(marks, 0, now)
    state.previous_state[WANTED] = watermarks.is_pause_frame_due(marks, 0, now) and inputs[PAUSE_SENT] == 0
    if inputs[PAUSE_SENT] != 0:
        watermarks.note_frame_sent(marks, 0, now)
    if inputs[W_ENABLE] != 0:
        watermarks.set_watermarks(marks, 0, inputs[W_HIGH], inputs[W_LOW], inputs[W_PAUSE], now)
    state.previous_state[NOW] = now + 1


@inner
def _count_rules(state: PauseState, inputs: NDArray[np.int64], rule_counts: NDArray[np.int64]) -> None:
    """Count the rules that a cycle exercises."""
    marks, now = state.watermarks, state.previous_state[NOW]
    paused, is_due = watermarks.is_paused(marks, 0, now), watermarks.is_pause_frame_due(marks, 0, now)
    input_state, length = marks.input[0], inputs[ARRIVE_BYTES]
    drops = drops_frame(state, inputs)
    taken, leaves = inputs[ARRIVE] != 0 and not drops, inputs[LEAVE] != 0
    rule_counts[ARRIVED] += taken
    rule_counts[LEFT] += leaves
    rule_counts[BOTH] += taken and leaves
    rule_counts[EMPTIED] += leaves and input_state.level + taken * length < inputs[LEAVE_BYTES]
    rule_counts[FILLED] += taken and input_state.level + length == marks.memory_bytes
    room = marks.memory_bytes - input_state.level
    rule_counts[LATE_ROOM] += (
        drops and leaves and length <= room + inputs[LEAVE_BYTES] and inputs[LEAVE_BYTES] <= input_state.level
    )
    rule_counts[DROPPED] += drops
    rule_counts[DROPS_FULL] += drops and input_state.drops == DROP_MOST
    was = state.previous_state[WAS_PAUSED] != 0
    rule_counts[PAUSED] += paused and not was
    rule_counts[AT_HIGH] += not paused and input_state.enabled != 0 and input_state.level == input_state.high
    rule_counts[RESUMED] += was and not paused and input_state.enabled != 0
    rule_counts[AT_LOW] += paused and input_state.level == input_state.low
    rule_counts[ASKED] += is_due and paused != (input_state.sent_pause != 0)
    rule_counts[MISSED] += state.previous_state[WANTED] != 0 and not is_due
    rule_counts[REFRESHED] += inputs[PAUSE_SENT] != 0 and is_due and paused and input_state.sent_pause != 0
    rule_counts[SENT_PAUSE] += inputs[PAUSE_SENT] != 0 and paused
    rule_counts[SENT_GO] += inputs[PAUSE_SENT] != 0 and not paused and input_state.sent_pause != 0
    rule_counts[UNASKED] += inputs[PAUSE_SENT] != 0 and not is_due
    rule_counts[WRITTEN] += inputs[W_ENABLE] != 0 and inputs[ARRIVE] != 0
    rule_counts[SWITCHED_OFF] += was and input_state.enabled == 0
    rule_counts[STAYS_OFF] += input_state.enabled == 0 and input_state.level > input_state.high
    rule_counts[CROSSED] += input_state.enabled != 0 and input_state.high < input_state.level < input_state.low
