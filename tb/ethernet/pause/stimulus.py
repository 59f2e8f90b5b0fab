"""Stimulus of PAUSE: a level near watermarks and extremes, and PAUSE sent at once, late and unrequested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vlane.ethernet.pause import DROP_MOST, MAX_MEMORY_BYTES
from vlane.ethernet.shared import BYTES_BITS
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import draw_below
from vlane.golden.ethernet import pause as golden
from vlane.golden.ethernet import watermarks
from vlane.golden.oracle.ethernet import PauseMachine, pause_oracle, run_pause
from vlane.tb.ethernet.ethernet_stimulus import COUNT, TARGET, EthernetStimulus
from vlane.tb.ethernet.pause import crosses as crosses_pause
from vlane.tb.machinery.native.crosses import EventLog, log_rules
from vlane.tb.machinery.native.packing import put_inputs
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus, cut

CERTAIN = 65536
"""Denominator of all probabilities."""

(C_ARRIVE, C_LEAVE, C_TURN, C_SAY, C_UNASKED, C_WRITE, C_RESET) = range(7)
_MORE_AT_ONCE = 16
"""Factor by which resets are more likely in a cycle with a drop or request, and writes in a cycle with a drop."""
_MOST_BYTES = (1 << BYTES_BITS) - 1
_MARK_BITS = MAX_MEMORY_BYTES.bit_length()


@dataclass(frozen=True, slots=True)
class PausePhase:
    """A phase of traffic. Probabilities are in 1/65536 per cycle.

    Parameters
    ----------
    cycles : int
        Length in cycles.
    arrive : int
        Probability that a frame arrives; a quarter of it while the level falls towards the target.
    leave : int
        Probability that a frame leaves; a quarter of it while the level rises towards the target.
    turn : int
        Probability that the target level changes.
    say : int
        Probability that a requested PAUSE frame starts.
    unasked : int
        Probability that a PAUSE frame starts without a request.
    write, reset : int
        Probabilities of a write of settings, and of a reset.
    full : bool
        Whether the level is always driven to the end of the memory.
    wild : bool
        Whether every input is random.
    name : str
        Name of the phase in reports.
    """

    cycles: int
    arrive: int = CERTAIN // 2
    leave: int = CERTAIN // 2
    turn: int = CERTAIN // 128
    say: int = CERTAIN // 8
    unasked: int = 0
    write: int = 0
    reset: int = 0
    full: bool = False
    wild: bool = False
    name: str = ""


@inner
def _target_level(marks: watermarks.Watermarks, rng: NDArray[np.uint64]) -> int:
    """Return a target level: an end of the memory or a watermark."""
    input_state = marks.input[0]
    kind = draw_below(rng, 6)
    if kind == 0:
        return 0
    if kind == 1:
        return marks.memory_bytes
    return min(input_state.low if kind & 1 else input_state.high, marks.memory_bytes)


@inner
def _length(distance: int, rng: NDArray[np.uint64]) -> int:
    """Return a frame's bytes: often exactly the distance to the target level, or one byte more or less."""
    if distance > 40_000:
        return _MOST_BYTES
    if draw_below(rng, 4) == 0:
        return max(min(distance - 1 + draw_below(rng, 3), _MOST_BYTES), 0)
    return (
        64 + draw_below(rng, max(min(distance, 1455), 1)) if draw_below(rng, 16) else draw_below(rng, _MOST_BYTES + 1)
    )


@inner
def _draw_settings(state: golden.PauseState, values: NDArray[np.int64], rng: NDArray[np.uint64]) -> None:
    """Write the reset values, or watermarks near the level, sometimes in the wrong order or far off."""
    marks = state.watermarks
    level, spread = marks.input[0].level, 1 + marks.memory_bytes // 8
    values[golden.W_ENABLE], values[golden.W_PAUSE] = 1, draw_below(rng, 4) != 0
    values[golden.W_HIGH], values[golden.W_LOW] = marks.high_bytes, marks.low_bytes
    if draw_below(rng, 2):
        high = min(max(level - spread // 2 + draw_below(rng, spread), 0), MAX_MEMORY_BYTES)
        low = max(high - draw_below(rng, spread), 0)
        if draw_below(rng, 4) == 0:
            high, low = low, high
        if draw_below(rng, 8) == 0:  # with one bit flipped, possibly above all levels
            high, low = high ^ (1 << draw_below(rng, _MARK_BITS)), low ^ (1 << draw_below(rng, _MARK_BITS))
        values[golden.W_HIGH], values[golden.W_LOW] = high, low


@inner
def _draw_frames(
    state: golden.PauseState,
    values: NDArray[np.int64],
    link: NDArray[np.int64],
    probabilities: NDArray[np.int64],
    full: bool,  # noqa: FBT001 - kernels take positional arguments only
    rng: NDArray[np.uint64],
) -> None:
    """Draw arriving and leaving frames that move the level towards its target."""
    level = state.watermarks.input[0].level
    if draw_below(rng, CERTAIN) < probabilities[C_TURN]:
        link[TARGET] = _target_level(state.watermarks, rng)
    target = state.watermarks.memory_bytes if full else link[TARGET]
    rises = level < target or (level == target and draw_below(rng, 2) == 0)
    distance = abs(target - level)
    arrive = probabilities[C_ARRIVE] if rises or full else probabilities[C_ARRIVE] // 4
    leave = probabilities[C_LEAVE] // 4 if rises else probabilities[C_LEAVE]
    values[golden.ARRIVE] = draw_below(rng, CERTAIN) < arrive
    values[golden.LEAVE] = draw_below(rng, CERTAIN) < leave
    values[golden.ARRIVE_BYTES], values[golden.LEAVE_BYTES] = _length(distance, rng), _length(distance, rng)
    if draw_below(rng, 64) != 0:
        values[golden.LEAVE_BYTES] = min(values[golden.LEAVE_BYTES], level)


@kernel
def _fill(
    machine: PauseMachine,
    link: NDArray[np.int64],
    probabilities: NDArray[np.int64],
    full: bool,  # noqa: FBT001 - kernels take positional arguments only
    forbidden_inputs: bool,  # noqa: FBT001 - kernels take positional arguments only
    rng: NDArray[np.uint64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    event_log: EventLog,
) -> None:
    """Draw the inputs of each cycle, and run the oracle for the expected outputs."""
    state, values = machine.state, machine.input_values
    marks = state.watermarks
    for cycle in range(len(rows)):
        now = state.previous_state[golden.NOW]
        values[golden.W_ENABLE] = 0
        wanted = watermarks.is_pause_frame_due(marks, 0, now)
        if forbidden_inputs:
            values[golden.ARRIVE], values[golden.LEAVE], values[golden.PAUSE_SENT] = (
                draw_below(rng, 2),
                draw_below(rng, 2),
                draw_below(rng, 2),
            )
            values[golden.ARRIVE_BYTES] = draw_below(rng, _MOST_BYTES + 1)
            values[golden.LEAVE_BYTES] = draw_below(rng, _MOST_BYTES + 1)
        else:
            _draw_frames(state, values, link, probabilities, full, rng)
            values[golden.PAUSE_SENT] = draw_below(rng, CERTAIN) < (
                probabilities[C_SAY] if wanted else probabilities[C_UNASKED]
            )
        drops = golden.drops_frame(state, values)
        more = _MORE_AT_ONCE if drops or wanted else 1
        if draw_below(rng, CERTAIN) < (_MORE_AT_ONCE if drops else 1) * probabilities[C_WRITE]:
            _draw_settings(state, values, rng)
        resets = draw_below(rng, CERTAIN) < more * probabilities[C_RESET]
        link[COUNT] += values[golden.ARRIVE]
        put_inputs(rows[cycle], machine.input_fields, resets, values)
        run_pause(machine, resets, expected[cycle])
        log_rules(event_log, machine.rules, cycle)


class PauseInput(EthernetStimulus):
    """Golden at an input, in phases of type ``PausePhase``."""

    reference: ClassVar = golden
    oracle: ClassVar = pause_oracle

    @staticmethod
    def applicable_rules(parameters: Mapping[str, Any]) -> frozenset[str]:
        """Return the rules that an instance can reach."""
        found = {rule.name for rule in golden.RULES}
        return frozenset(found - (set() if parameters["refresh_cycles"] else {"refreshed"}))

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase: PausePhase = self.phases[index]
        chances = np.array(
            [phase.arrive, phase.leave, phase.turn, phase.say, phase.unasked, phase.write, phase.reset], np.int64
        )
        machine = self._machine._replace(rules=rules)
        _fill(machine, self._link, chances, phase.full, phase.wild, self._bits, rows, expected, self.happened)


def pause_phases(cycles: int) -> tuple[PausePhase, ...]:
    """Return phases of ``cycles`` cycles in total."""
    part = max(cycles // 16, 200)
    return cut(
        (
            PausePhase(part, name="about the watermarks"),
            PausePhase(part, write=400, name="written now and then"),
            PausePhase(part, say=CERTAIN, write=100, name="sent at once"),
            PausePhase(part, say=CERTAIN // 64, unasked=400, write=100, turn=CERTAIN // 32, name="sent late"),
            PausePhase(part, write=4000, unasked=2000, turn=CERTAIN // 16, name="often written"),
            PausePhase(part, write=200, reset=200, unasked=2000, turn=CERTAIN // 32, name="resets"),
            PausePhase(part, wild=True, write=4000, reset=40, name="anything"),
            PausePhase(1, reset=CERTAIN, name="reset"),
            PausePhase(DROP_MOST + 20_000, arrive=CERTAIN, leave=CERTAIN // 8, full=True, name="no room"),
            PausePhase(part, write=1000, say=CERTAIN // 4, unasked=400, reset=40, name="about the watermarks again"),
        ),
        cycles,
    )


def qualified(parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Stimulus:
    """Return the stimulus that qualifies PAUSE: it reaches every rule, at every level."""
    made = PauseInput(parameters, phases=pause_phases(cycles), seed=seed, inputs=inputs, outputs=outputs)
    made.watch(
        crosses_pause.crosses(parameters),
        crosses_pause.EVENTS,
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=crosses_pause.JUDGED_FROM_CYCLES,
    )
    return made
