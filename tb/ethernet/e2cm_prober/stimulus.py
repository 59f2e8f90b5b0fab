"""Stimulus of the prober: frames and probes of a few flows, and replies with delays of all sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vlane.ethernet.e2cm_prober import FLOW_BITS, OCCUPANCY_BITS, STAMP_BITS
from vlane.ethernet.shared import BYTES_BITS, FEEDBACK_BITS, saturation_bytes
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import draw_below
from vlane.golden.ethernet import e2cm_prober as golden
from vlane.golden.oracle.ethernet import E2CMProberMachine, e2cm_prober_oracle, run_e2cm_prober
from vlane.tb.ethernet.e2cm_prober import crosses as crosses_e2cm_prober
from vlane.tb.ethernet.ethernet_stimulus import COUNT, EthernetStimulus
from vlane.tb.machinery.native.crosses import EventLog, log_rules
from vlane.tb.machinery.native.packing import put_inputs
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus, cut

CERTAIN = 65536
"""Denominator of all probabilities."""

(C_ORDER, C_REPLY, C_LIMITED, C_WRITE, C_RESET) = range(5)
_HOT, _MORE_AT_ONCE = 4, 256
"""Number of flows that get most orders; factor by which resets are more likely when an order may be given."""
_MOST_BYTES, _MODULUS, _MOST = (1 << BYTES_BITS) - 1, (1 << STAMP_BITS) - 1, (1 << OCCUPANCY_BITS) - 1
_FEEDBACK_MASK = (1 << FEEDBACK_BITS) - 1


@dataclass(frozen=True, slots=True)
class ProberPhase:
    """A phase of traffic. Probabilities are in 1/65536 per cycle, or per order.

    Parameters
    ----------
    cycles : int
        Length in cycles.
    order : int
        Probability that an order is given.
    reply : int
        Probability that an order is a reply.
    limited : int
        Probability that the flow of a frame has a limiter.
    write : int
        Probability that a least delay is written.
    reset : int
        Probability of a reset.
    wild : bool
        Whether every input is random.
    name : str
        Name of the phase in reports.
    """

    cycles: int
    order: int = CERTAIN // 2
    reply: int = CERTAIN // 2
    limited: int = 7 * CERTAIN // 8
    write: int = CERTAIN // 64
    reset: int = 0
    wild: bool = False
    name: str = ""


@inner
def _up_to_bits(rng: NDArray[np.uint64], maximum: int) -> int:
    """Draw a number of at most ``maximum`` bits. All bit lengths are equally likely."""
    return draw_below(rng, 1 << 1 + draw_below(rng, maximum))


@inner
def _draw_reply(state: golden.E2CMProberState, values: NDArray[np.int64], rng: NDArray[np.uint64]) -> None:
    """Draw a reply: occupancy near the set point or near the previous one, feedback at a bound, or any value."""
    made = state.probers
    probe_state = made.probe[0, values[golden.FLOW]]
    gap, sent = 1 + _up_to_bits(rng, 31), _up_to_bits(rng, 22)
    if draw_below(rng, 2):
        sent = made.probe_bytes + draw_below(rng, made.probe_bytes)
    way = draw_below(rng, 8)
    aim = min(2 * made.set_point, _MOST)
    if way < 3:
        aim = draw_below(rng, aim + 1)
    elif way == 3:
        aim = min(_MOST, max(0, probe_state.occupancy + draw_below(rng, 257) - 128))
    elif way == 4:
        aim = max(0, min(_MOST, made.set_point + draw_below(rng, 129) - 64))
    elif way == 5:
        aim = 0
    elif way == 6:  # the feedback is at a bound, or close to it
        bound = made.max_feedback if draw_below(rng, 2) else -made.max_feedback
        aim = (made.set_point + made.weight * probe_state.occupancy - bound) // (1 + made.weight)
        aim = max(0, min(_MOST, aim + draw_below(rng, 129) - 64))
    else:
        aim = _up_to_bits(rng, OCCUPANCY_BITS)
    excess = aim * gap // max(sent, 1) + draw_below(rng, 2)
    if draw_below(rng, 16) == 0:
        excess = _up_to_bits(rng, 22)
    if draw_below(rng, 16) == 0:
        gap = (0, 1, 1 << 31, (1 << 31) - 1)[draw_below(rng, 4)] if draw_below(rng, 2) else draw_below(rng, _MODULUS)
    values[golden.ARRIVAL] = (probe_state.reply_arrival + gap) & _MODULUS
    delay = (
        probe_state.least_delay + excess
        if draw_below(rng, 8)
        else probe_state.least_delay - min(probe_state.least_delay, _up_to_bits(rng, 10))
    )
    if probe_state.has_reply == 0 and made.learned:
        delay = (1 << 12) + _up_to_bits(rng, 16)
    values[golden.STAMP] = (values[golden.ARRIVAL] - delay) & _MODULUS
    values[golden.REPORTED] = (probe_state.reply_bytes + sent) & _MODULUS
    if draw_below(rng, 64) == 0:  # near the wrap, so the next counts cross the highest bit, or all bits
        values[golden.REPORTED] = (_MODULUS >> draw_below(rng, 2)) - draw_below(rng, 1 << 18)


@inner
def _draw_start(state: golden.E2CMProberState, values: NDArray[np.int64], rng: NDArray[np.uint64]) -> None:
    """Draw a frame, often one that exactly reaches the probe threshold or lacks a byte, or a probe."""
    made = state.probers
    probe_state = made.probe[0, values[golden.FLOW]]
    values[golden.PROBE] = draw_below(rng, 8) == 0
    values[golden.FRAME_BYTES] = draw_below(rng, _MOST_BYTES + 1) if draw_below(rng, 4) else 64 + draw_below(rng, 1500)
    lacks = made.probe_bytes - ((probe_state.sent_bytes - probe_state.probed_bytes) & _MODULUS)
    if draw_below(rng, 2) and 1 <= lacks <= _MOST_BYTES:
        values[golden.FRAME_BYTES] = lacks - draw_below(rng, 2)


@inner
def _draw_anything(state: golden.E2CMProberState, values: NDArray[np.int64], rng: NDArray[np.uint64]) -> None:
    values[golden.REPLY], values[golden.PROBE], values[golden.LIMITED] = (
        draw_below(rng, 2),
        draw_below(rng, 2),
        draw_below(rng, 2),
    )
    values[golden.FLOW] = draw_below(rng, state.probers.probe.shape[1])
    values[golden.FRAME_BYTES] = draw_below(rng, _MOST_BYTES + 1)
    for value in (golden.STAMP, golden.ARRIVAL, golden.REPORTED):
        values[value] = draw_below(rng, _MODULUS) + draw_below(rng, 2)


@kernel
def _fill(
    machine: E2CMProberMachine,
    link: NDArray[np.int64],
    probabilities: NDArray[np.int64],
    forbidden_inputs: bool,  # noqa: FBT001 - kernels take positional arguments only
    rng: NDArray[np.uint64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    event_log: EventLog,
) -> None:
    """Draw the inputs of each cycle, and run the oracle for the expected outputs."""
    state, values = machine.state, machine.input_values
    flows = state.probers.probe.shape[1]
    for cycle in range(len(rows)):
        values[golden.ORDER] = draw_below(rng, CERTAIN) < probabilities[C_ORDER]
        if forbidden_inputs:
            _draw_anything(state, values, rng)
        else:
            values[golden.FLOW] = draw_below(rng, _HOT) if draw_below(rng, 16) else draw_below(rng, flows)
            values[golden.REPLY] = draw_below(rng, CERTAIN) < probabilities[C_REPLY]
            values[golden.LIMITED] = draw_below(rng, CERTAIN) < probabilities[C_LIMITED]
            _draw_start(state, values, rng)
            _draw_reply(state, values, rng)
        values[golden.W_ENABLE] = draw_below(rng, CERTAIN) < probabilities[C_WRITE]
        values[golden.W_FLOW] = draw_below(rng, _HOT) if draw_below(rng, 4) else draw_below(rng, 1 << FLOW_BITS)
        if draw_below(rng, 8) == 0:
            values[golden.W_FLOW] = values[golden.FLOW]
        values[golden.W_BASE] = (1 << 12) + _up_to_bits(rng, 16) if draw_below(rng, 8) else draw_below(rng, _MODULUS)
        ready = golden.is_ready(state)
        more = _MORE_AT_ONCE if ready else 1
        resets = draw_below(rng, CERTAIN) < more * probabilities[C_RESET]
        link[COUNT] += ready and values[golden.ORDER] != 0
        put_inputs(rows[cycle], machine.input_fields, resets, values)
        run_e2cm_prober(machine, resets, expected[cycle])
        log_rules(event_log, machine.rules, cycle)


class E2CMProberSource(EthernetStimulus):
    """Stimulus of the prober: random frames, probes and replies in phases, with golden's outputs."""

    reference: ClassVar = golden
    oracle: ClassVar = e2cm_prober_oracle

    @staticmethod
    def applicable_rules(parameters: Mapping[str, Any]) -> frozenset[str]:
        """Return the names of the rules that an instance can reach."""
        found = {rule.name for rule in golden.RULES}
        if parameters["probed"] == "all":
            found -= {"unlimited", "first_again"}
        found -= {"below_given", "given", "given_beside", "absent"} if parameters["base"] == "learned" else {"lower"}
        if parameters["flows"] == 1 << FLOW_BITS:
            found -= {"absent"}
        most = saturation_bytes(parameters["norm_bytes"], parameters["weight"])
        if parameters["set_point_bytes"] + parameters["weight"] * _MOST <= most:
            found -= {"most"}
        return frozenset(found)

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase: ProberPhase = self.phases[index]
        chances = np.array([phase.order, phase.reply, phase.limited, phase.write, phase.reset], np.int64)
        machine = self._machine._replace(rules=rules)
        _fill(machine, self._link, chances, phase.wild, self._bits, rows, expected, self.happened)


def prober_phases(cycles: int) -> tuple[ProberPhase, ...]:
    """Return the phases of a run of ``cycles`` cycles: frames, replies, limited flows, writes, resets."""
    part, often = max(cycles // 16, 200), 7 * CERTAIN // 8
    return cut(
        (
            ProberPhase(2 * part, name="frames and replies"),
            ProberPhase(2 * part, reply=CERTAIN // 16, order=CERTAIN, name="one order after another"),
            ProberPhase(4 * part, reply=often, order=CERTAIN, name="replies"),
            ProberPhase(2 * part, reply=CERTAIN // 8, limited=CERTAIN // 2, name="limiters that come and go"),
            ProberPhase(part, order=CERTAIN // 256, name="long waits"),
            ProberPhase(2 * part, reply=often, write=CERTAIN // 4, name="delays that are written"),
            ProberPhase(2 * part, order=CERTAIN, write=CERTAIN // 4, reset=12, name="resets"),
            ProberPhase(part, wild=True, order=CERTAIN // 2, write=CERTAIN // 64, reset=2, name="anything"),
        ),
        cycles,
    )


def qualified(parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Stimulus:
    """Return the qualification stimulus of the prober, which reaches every rule, with flows in all states."""
    made = E2CMProberSource(parameters, phases=prober_phases(cycles), seed=seed, inputs=inputs, outputs=outputs)
    made.watch(
        crosses_e2cm_prober.crosses(parameters),
        crosses_e2cm_prober.EVENTS,
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=crosses_e2cm_prober.JUDGED_FROM_CYCLES,
    )
    return made
