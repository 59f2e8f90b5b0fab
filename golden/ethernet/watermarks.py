"""Input memories and their PAUSE for many inputs: PAU-1 to PAU-10 (``docs/pause.md``), without a clock.

A network calls ``store_frame`` and ``remove_frame`` in the cycle of the event, queries ``is_pause_frame_due`` in the
cycles after a change, and calls ``note_frame_sent`` when the PAUSE frame starts on its link. Within a cycle,
``store_frame`` comes before ``remove_frame``; the order of other calls does not matter.
"""

from __future__ import annotations

from typing import NamedTuple

from vlane.ethernet.pause import DROP_MOST, PAUSE_QUANTA
from vlane.golden.compiler.records import Int16, Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import inner, kernel

NEVER = 1 << 62
"""A cycle beyond any run."""


class Input:
    """An input memory and the last PAUSE sent to its neighbour.

    Parameters
    ----------
    changed_cycle : int
        Cycle of the last change.
    pause_sent_cycle : int
        Cycle of the last PAUSE frame.
    level : int
        Bytes in the memory after the last change.
    level_before : int
        Bytes in the memory at the start of the cycle of the last change.
    high, low : int
        Watermarks in bytes, valid from the cycle after the last change on.
    enabled : int
        Whether PAUSE is on, valid from the same cycle on.
    paused : int
        Hysteresis state at the start of the cycle of the last change.
    sent_pause : int
        State carried by the last PAUSE frame.
    drops : int
        Number of dropped frames (saturating counter).
    """

    changed_cycle: Int64
    pause_sent_cycle: Int64
    level: Int32
    level_before: Int32
    high: Int32
    low: Int32
    drops: Int32
    enabled: Int16
    paused: Int16
    sent_pause: Int16


class Watermarks(NamedTuple):
    """Inputs with equal memory.

    Parameters
    ----------
    input : Records of Input, (inputs,)
        State of each input.
    memory_bytes : int
        Memory size of each input.
    high_bytes, low_bytes : int
        Watermarks after reset.
    refresh_cycles : int
        Cycles after which a PAUSE is repeated; 0 for never.
    """

    input: Records[Input]
    memory_bytes: int
    high_bytes: int
    low_bytes: int
    refresh_cycles: int


def new_watermarks(
    *, memory_bytes: int, high_bytes: int, low_bytes: int, refresh_cycles: int, inputs: int = 1
) -> Watermarks:
    """Return inputs after reset: empty, PAUSE on."""
    made = Watermarks(new_records(Input, inputs), memory_bytes, high_bytes, low_bytes, refresh_cycles)
    for place in range(inputs):
        reset(made, place)
    return made


@kernel
def reset(watermarks: Watermarks, input_index: int) -> None:
    """Reset an input at cycle 0 (PAU-10)."""
    input_state = watermarks.input[input_index]
    (
        input_state.changed_cycle,
        input_state.pause_sent_cycle,
        input_state.level,
        input_state.level_before,
        input_state.drops,
    ) = -1, 0, 0, 0, 0
    input_state.high, input_state.low, input_state.enabled, input_state.paused, input_state.sent_pause = (
        watermarks.high_bytes,
        watermarks.low_bytes,
        1,
        0,
        0,
    )


@inner
def _begin_cycle(input_state: Input, cycle: int) -> None:
    """Begin a cycle: apply the changes of earlier cycles to level and hysteresis (PAU-4, PAU-5)."""
    if cycle > input_state.changed_cycle:
        input_state.changed_cycle, input_state.level_before = cycle, input_state.level
        stays = input_state.paused != 0 and input_state.level >= input_state.low
        input_state.paused = input_state.enabled != 0 and (input_state.level > input_state.high or stays)


@inner
def fits(watermarks: Watermarks, input_index: int, length: int, cycle: int) -> bool:
    """Return whether a frame of ``length`` bytes that arrives in a cycle fits (PAU-2)."""
    input_state = watermarks.input[input_index]
    _begin_cycle(input_state, cycle)
    return input_state.level_before + length <= watermarks.memory_bytes


@inner
def store_frame(watermarks: Watermarks, input_index: int, length: int, cycle: int) -> bool:
    """Store an arriving frame if it fits, otherwise count a drop. Return whether it fits."""
    input_state = watermarks.input[input_index]
    if not fits(watermarks, input_index, length, cycle):
        input_state.drops = min(input_state.drops + 1, DROP_MOST)
        return False
    input_state.level += length
    return True


@inner
def remove_frame(watermarks: Watermarks, input_index: int, length: int, cycle: int) -> None:
    """Remove ``length`` bytes of a departing frame from the memory (PAU-1)."""
    input_state = watermarks.input[input_index]
    _begin_cycle(input_state, cycle)
    input_state.level = max(input_state.level - length, 0)


@inner
def is_paused(watermarks: Watermarks, input_index: int, cycle: int) -> bool:
    """Return whether the neighbour must pause, at the start of a cycle (PAU-4)."""
    input_state = watermarks.input[input_index]
    _begin_cycle(input_state, cycle)
    return input_state.paused != 0


@inner
def refresh_cycle(watermarks: Watermarks, input_index: int) -> int:
    """Return the cycle from which the PAUSE in force must be repeated, ``NEVER`` for none (PAU-7)."""
    input_state = watermarks.input[input_index]
    return (
        input_state.pause_sent_cycle + watermarks.refresh_cycles
        if input_state.sent_pause != 0 and watermarks.refresh_cycles != 0
        else NEVER
    )


@inner
def is_pause_frame_due(watermarks: Watermarks, input_index: int, cycle: int) -> bool:
    """Return whether a PAUSE frame must be sent at the start of a cycle (PAU-6, PAU-7)."""
    paused = is_paused(watermarks, input_index, cycle)
    return paused != (watermarks.input[input_index].sent_pause != 0) or (
        paused and cycle >= refresh_cycle(watermarks, input_index)
    )


@inner
def pause_quanta(watermarks: Watermarks, input_index: int, cycle: int) -> int:
    """Return the pause time, in quanta, of a PAUSE frame sent in a cycle (PAU-8)."""
    return PAUSE_QUANTA if is_paused(watermarks, input_index, cycle) else 0


@inner
def note_frame_sent(watermarks: Watermarks, input_index: int, cycle: int) -> None:
    """Record that a PAUSE frame starts in a cycle, and the pause state that it carries (PAU-8)."""
    input_state = watermarks.input[input_index]
    input_state.sent_pause = is_paused(watermarks, input_index, cycle)
    input_state.pause_sent_cycle = cycle


@inner
def set_watermarks(watermarks: Watermarks, input_index: int, high: int, low: int, enabled: int, cycle: int) -> None:
    """Write the settings, valid from the next cycle on (PAU-9)."""
    input_state = watermarks.input[input_index]
    _begin_cycle(input_state, cycle)
    input_state.high, input_state.low, input_state.enabled = high, low, enabled
