"""Stimulus of the congestion point: a queue driven around its set point and thresholds, with and without tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vlane.ethernet.ecm_cp import CHANCE_BITS
from vlane.ethernet.shared import BYTES_BITS, CPID_BITS, DRAW_BITS, FEEDBACK_BITS, saturation_bytes
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import draw_below
from vlane.golden.ethernet import ecm_cp as golden
from vlane.golden.ethernet.prbs import next_state, random_number
from vlane.golden.oracle.ethernet import ECMCPMachine, ecm_cp_oracle, run_ecm_cp
from vlane.tb.ethernet.ecm_cp import crosses as crosses_ecm_cp
from vlane.tb.ethernet.ethernet_stimulus import COUNT, TARGET, EthernetStimulus
from vlane.tb.machinery.native.crosses import EventLog, log_rules
from vlane.tb.machinery.native.packing import put_inputs
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus, cut

CERTAIN = 65536
"""Denominator of all probabilities."""

(C_ENTER, C_LEAVE, C_TURN, C_MANAGED, C_RESET) = range(5)
_MOST_BYTES, _CPIDS = (1 << BYTES_BITS) - 1, 1 << CPID_BITS
_FEEDBACK_MASK = (1 << FEEDBACK_BITS) - 1


@dataclass(frozen=True, slots=True)
class PointPhase:
    """A phase of traffic. Probabilities are in 1/65536 per cycle.

    Parameters
    ----------
    cycles : int
        Length in cycles.
    enter : int
        Probability that a frame joins; an eighth of it while the queue shrinks towards the target.
    leave : int
        Probability that a frame leaves; an eighth of it while the queue grows towards the target.
    turn : int
        Probability that the target queue changes.
    managed : int
        Probability that a frame may be sampled.
    reset : int
        Probability of a reset.
    largest : int
        Size of the largest frame, in bytes.
    wild : bool
        Whether every input is random.
    name : str
        Name of the phase in reports.
    """

    cycles: int
    enter: int = CERTAIN
    leave: int = CERTAIN
    turn: int = CERTAIN // 256
    managed: int = 15 * CERTAIN // 16
    reset: int = 0
    largest: int = 1518
    wild: bool = False
    name: str = ""


@inner
def _target_queue(state: golden.ECMCPState, rng: NDArray[np.uint64]) -> int:
    """Return a target queue: mostly near the set point, or a threshold or an extreme."""
    made, kind = state.points, draw_below(rng, 8)
    if kind == 0:
        return 0
    if kind == 1:
        return made.max_queue
    if kind == 2:
        return made.max_bytes
    if kind == 3:
        return made.stop_bytes
    return made.set_point - 2000 + draw_below(rng, 4001) if kind < 6 else made.set_point


@inner
def _length(distance: int, largest: int, rng: NDArray[np.uint64]) -> int:
    """Return a frame's bytes: often exactly the distance to the target queue, large if the target is far away."""
    if distance > 20 * _MOST_BYTES:
        return _MOST_BYTES
    if draw_below(rng, 8) == 0:
        return min(distance, _MOST_BYTES)
    return draw_below(rng, largest + 1)


@inner
def _just_sampled(state: golden.ECMCPState, rng: NDArray[np.uint64]) -> int:
    """Return the smallest frame for which the next managed frame is sampled, or one byte less."""
    made = state.points
    number = random_number(next_state(made.point[0].random_state))
    least = -(-(number + 1 << CHANCE_BITS - DRAW_BITS) // made.sampling_chance)
    return max(min(least, _MOST_BYTES) - draw_below(rng, 2), 0)


@inner
def _draw_frames(
    state: golden.ECMCPState,
    values: NDArray[np.int64],
    link: NDArray[np.int64],
    probabilities: NDArray[np.int64],
    largest: int,
    rng: NDArray[np.uint64],
) -> None:
    """Draw joining and leaving frames that move the queue towards the target."""
    made, point_state = state.points, state.points.point[0]
    if draw_below(rng, CERTAIN) < probabilities[C_TURN]:
        link[TARGET] = _target_queue(state, rng)
    distance = link[TARGET] - point_state.queue
    rises = distance > 0 or (distance == 0 and draw_below(rng, 2) == 0)
    values[golden.ENTER] = draw_below(rng, CERTAIN) < (probabilities[C_ENTER] if rises else probabilities[C_ENTER] // 8)
    values[golden.LEAVE] = draw_below(rng, CERTAIN) < (probabilities[C_LEAVE] // 8 if rises else probabilities[C_LEAVE])
    values[golden.ENTER_BYTES] = _length(abs(distance), largest, rng)
    values[golden.LEAVE_BYTES] = _length(abs(distance), largest, rng)
    if draw_below(rng, 64) != 0:
        values[golden.LEAVE_BYTES] = min(values[golden.LEAVE_BYTES], point_state.queue)
    left = made.sample_bytes - point_state.bytes_since_sample
    if left <= _MOST_BYTES and draw_below(rng, 8) == 0:
        values[golden.ENTER_BYTES] = left
    values[golden.MANAGED] = draw_below(rng, CERTAIN) < probabilities[C_MANAGED]
    if made.is_random and draw_below(rng, 4) == 0:
        values[golden.ENTER_BYTES] = _just_sampled(state, rng)


@inner
def _draw_tags(values: NDArray[np.int64], rng: NDArray[np.uint64]) -> None:
    """Give most frames the point's tag, the rest no tag or a tag with one bit inverted."""
    values[golden.TAGGED] = draw_below(rng, 4) != 0
    values[golden.TAG] = values[golden.CPID]
    if draw_below(rng, 4) == 0:
        values[golden.TAG] ^= 1 << draw_below(rng, CPID_BITS)


@kernel
def _fill(
    machine: ECMCPMachine,
    link: NDArray[np.int64],
    probabilities: NDArray[np.int64],
    largest: int,
    forbidden_inputs: bool,  # noqa: FBT001 - kernels take positional arguments only
    rng: NDArray[np.uint64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    event_log: EventLog,
) -> None:
    """Draw the inputs of each cycle, and run the oracle for the expected outputs."""
    state, values = machine.state, machine.input_values
    for cycle in range(len(rows)):
        if draw_below(rng, 1024) == 0:
            values[golden.CPID] = draw_below(rng, _CPIDS)
        if forbidden_inputs:
            values[golden.ENTER], values[golden.LEAVE], values[golden.MANAGED] = (
                draw_below(rng, 2),
                draw_below(rng, 2),
                draw_below(rng, 2),
            )
            values[golden.ENTER_BYTES] = draw_below(rng, _MOST_BYTES + 1)
            values[golden.LEAVE_BYTES] = draw_below(rng, _MOST_BYTES + 1)
        else:
            _draw_frames(state, values, link, probabilities, largest, rng)
        _draw_tags(values, rng)
        resets = draw_below(rng, CERTAIN) < probabilities[C_RESET]
        link[COUNT] += values[golden.ENTER]
        put_inputs(rows[cycle], machine.input_fields, resets, values)
        run_ecm_cp(machine, resets, expected[cycle])
        log_rules(event_log, machine.rules, cycle)


class ECMCPOutput(EthernetStimulus):
    """Stimulus of the congestion point: frames join and leave a random queue in phases, with golden's outputs."""

    reference: ClassVar = golden
    oracle: ClassVar = ecm_cp_oracle

    @staticmethod
    def applicable_rules(parameters: Mapping[str, Any]) -> frozenset[str]:
        """Return the names of the rules that an instance can reach."""
        found = {rule.name for rule in golden.RULES}
        is_random = parameters["sampling"] == "random"
        found -= {"reached", "exactly", "added"} if is_random else {"sampled", "passed", "drawn", "stood"}
        most = saturation_bytes(parameters["set_point_bytes"], parameters["weight"])
        if not parameters["weight"]:
            found -= {"growing", "falling", "most"}
        if not parameters["bcn_max"] or parameters["max_bytes"] >= parameters["queue_bytes"]:
            found -= {"beyond_max"}
        if parameters["bcn_max"] and not parameters["weight"] and parameters["max_bytes"] < 2 * most:
            found -= {"least"}
        if not parameters["bcn_stop"] or parameters["stop_bytes"] >= parameters["queue_bytes"]:
            found -= {"stopped"}
        return frozenset(found)

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase: PointPhase = self.phases[index]
        chances = np.array([phase.enter, phase.leave, phase.turn, phase.managed, phase.reset], np.int64)
        machine = self._machine._replace(rules=rules)
        _fill(machine, self._link, chances, phase.largest, phase.wild, self._bits, rows, expected, self.happened)


def point_phases(cycles: int) -> tuple[PointPhase, ...]:
    """Return the phases of a run of ``cycles`` cycles: queues around the set point, full queues, resets."""
    part = max(cycles // 16, 200)
    return cut(
        (
            PointPhase(2 * part, name="about the set point"),
            PointPhase(2 * part, largest=_MOST_BYTES, name="large frames"),
            PointPhase(part, largest=64, turn=CERTAIN // 2048, name="small frames"),
            PointPhase(2 * part, largest=9216, turn=CERTAIN // 16, name="a queue that changes fast"),
            PointPhase(part, enter=CERTAIN // 4, leave=CERTAIN // 4, name="a slow link"),
            PointPhase(part, managed=CERTAIN // 4, largest=4000, name="few managed frames"),
            PointPhase(part, reset=400, largest=_MOST_BYTES, name="resets"),
            PointPhase(2 * part, wild=True, reset=20, name="anything"),
            PointPhase(part, largest=9216, reset=20, name="about the set point again"),
        ),
        cycles,
    )


def qualified(parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Stimulus:
    """Return the qualification stimulus of the congestion point, which reaches every rule at all queue lengths."""
    made = ECMCPOutput(parameters, phases=point_phases(cycles), seed=seed, inputs=inputs, outputs=outputs)
    made.watch(
        crosses_ecm_cp.crosses(parameters),
        crosses_ecm_cp.EVENTS,
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=crosses_ecm_cp.JUDGED_FROM_CYCLES,
    )
    return made
