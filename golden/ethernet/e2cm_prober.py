"""Golden model of the prober of one source, cycle by cycle: EPR-1 to EPR-14 (``docs/e2cm_prober.md``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.ethernet.e2cm_prober import EXCESS_BITS, GOODPUT_BITS, OCCUPANCY_BITS, REPLY_CYCLES, STAMP_BITS, START_CYCLES
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.golden.ethernet import probers
from vlane.golden.ethernet.probers import Probers

RULES = (
    Rule("counted", "EPR-1", "the bytes of a frame were counted"),
    Rule("first", "EPR-2", "a probe followed the first frame of a flow"),
    Rule("due", "EPR-2", "a probe followed a frame because enough bytes were sent since the last probe"),
    Rule("just_due", "EPR-2", "a probe followed a frame after exactly probe_bytes bytes"),
    Rule("not_due", "EPR-2", "no probe followed a frame"),
    Rule("one_short", "EPR-2", "no probe followed a frame because one byte was missing"),
    Rule("unlimited", "EPR-3", "no probe followed a frame because its flow had no limiter"),
    Rule("first_again", "EPR-3", "a probe followed the first frame with a limiter after one without"),
    Rule("carried", "EPR-4", "a probe started with bytes of its flow"),
    Rule("lower", "EPR-6", "a reply lowered the minimum delay"),
    Rule("below_given", "EPR-6", "a delay below the given minimum counted as equal"),
    Rule("no_excess", "EPR-7", "a delay equalled the minimum"),
    Rule("most_excess", "EPR-7", "the excess saturated"),
    Rule("most_bytes", "EPR-7", "the byte count saturated"),
    Rule("most_occupancy", "EPR-7", "the occupancy saturated"),
    Rule("first_reply", "EPR-8", "the first reply of a flow yielded no feedback"),
    Rule("second_reply", "EPR-8", "the second reply counted the change of occupancy as 0"),
    Rule("negative", "EPR-9", "a feedback was negative"),
    Rule("positive", "EPR-9", "a feedback was positive"),
    Rule("towards_zero", "EPR-9", "a difference of less than 64 bytes yielded feedback 0"),
    Rule("least", "EPR-9", "a feedback saturated at the most negative value"),
    Rule("most", "EPR-9", "a feedback saturated at the most positive value"),
    Rule("same_cycle", "EPR-10", "a reply was ignored because its probe arrived in the same cycle as the previous one"),
    Rule("earlier", "EPR-10", "a reply was ignored because its probe arrived before the previous one"),
    Rule("lost", "EPR-11", "a reply arrived after the bytes of at least two probes"),
    Rule("given", "EPR-12", "the minimum delay of a flow was written"),
    Rule("given_beside", "EPR-14", "the minimum delay of a flow was written in the cycle of its reply"),
    Rule("absent", "EPR-14", "the minimum delay of an absent flow was written"),
    Rule("too_early", "EPR-13", "an order was given while records were being cleared"),
)
(
    COUNTED,
    FIRST,
    DUE,
    JUST_DUE,
    NOT_DUE,
    ONE_SHORT,
    UNLIMITED,
    FIRST_AGAIN,
    CARRIED,
    LOWER,
    BELOW_GIVEN,
    NO_EXCESS,
    MOST_EXCESS,
    MOST_BYTES,
    MOST_OCCUPANCY,
    FIRST_REPLY,
    SECOND_REPLY,
    NEGATIVE,
    POSITIVE,
    TOWARDS_ZERO,
    LEAST,
    MOST,
    SAME_CYCLE,
    EARLIER,
    LOST,
    GIVEN,
    GIVEN_BESIDE,
    ABSENT,
    TOO_EARLY,
) = range(len(RULES))

(ORDER, REPLY, PROBE, FLOW, FRAME_BYTES, LIMITED, STAMP, ARRIVAL, REPORTED, W_ENABLE, W_FLOW, W_BASE, VALUES) = range(
    13
)
(LEFT, CLEARS, ANSWERS, S_FOLLOW, S_SENT, S_VALID, S_FEEDBACK, KEPT) = range(8)
_MODULUS = (1 << STAMP_BITS) - 1


class E2CMProberState(NamedTuple):
    """State of one source.

    Parameters
    ----------
    probers : Probers
        Probers of one source.
    registers : array of int64, (7,)
        Cycles until the next order is accepted; whether records are cleared until then; whether an answer is shown
        then; answer: follow, sent, valid, feedback.
    """

    probers: Probers
    registers: NDArray[np.int64]


def new_inputs() -> NDArray[np.int64]:
    """Return idle inputs: those of an order, in the order of the ports, and those of a write."""
    return np.zeros(VALUES, np.int64)


def new_state(**parameters: Any) -> E2CMProberState:
    """Return the state after reset, with given delays 0, for the parameters of ``E2CMProberParameters``."""
    state = E2CMProberState(probers.new_probers(**parameters), np.zeros(KEPT, np.int64))
    reset(state)
    return state


@kernel
def reset(state: E2CMProberState) -> None:
    """Reset (EPR-12, EPR-13)."""
    probers.reset(state.probers, 0)
    state.registers[:] = 0
    state.registers[LEFT], state.registers[CLEARS] = state.probers.probe.shape[1], 1


@inner
def is_ready(state: E2CMProberState) -> bool:
    """Return whether the prober accepts an order in this cycle."""
    return state.registers[LEFT] == 0


@inner
def step(state: E2CMProberState, inputs: NDArray[np.int64], rule_counts: NDArray[np.int64]) -> None:
    """Run a clock cycle: accept an order or continue with the current one, then write a given minimum delay."""
    kept = state.registers
    if is_ready(state):
        kept[CLEARS:KEPT] = 0
        if inputs[ORDER] != 0:
            kept[ANSWERS] = 1
            kept[LEFT] = REPLY_CYCLES if inputs[REPLY] != 0 else START_CYCLES
            if inputs[REPLY] != 0:
                _take_reply(state, inputs, rule_counts)
            elif inputs[PROBE] != 0:
                kept[S_SENT] = probers.probe_byte_count(state.probers, 0, inputs[FLOW])
                rule_counts[CARRIED] += kept[S_SENT] != 0
            else:
                kept[S_FOLLOW] = _count_frame(state.probers, inputs, rule_counts)
    rule_counts[TOO_EARLY] += kept[CLEARS] != 0 and inputs[ORDER] != 0
    if kept[LEFT] != 0:
        kept[LEFT] -= 1
    if inputs[W_ENABLE] != 0 and not state.probers.learned:
        _write(state.probers, inputs, rule_counts)


@inner
def _write(made: Probers, inputs: NDArray[np.int64], rule_counts: NDArray[np.int64]) -> None:
    """Write the given delay of a flow. Ignore an absent flow (EPR-14)."""
    if inputs[W_FLOW] >= made.probe.shape[1]:
        rule_counts[ABSENT] += 1
        return
    probers.set_minimum_delay(made, 0, inputs[W_FLOW], inputs[W_BASE])
    rule_counts[GIVEN] += 1


@inner
def _count_frame(made: Probers, inputs: NDArray[np.int64], rule_counts: NDArray[np.int64]) -> bool:
    flow, length = inputs[FLOW], inputs[FRAME_BYTES]
    probe_state = made.probe[0, flow]
    begun, is_first = probe_state.has_probe != 0, probe_state.sent_bytes == 0
    since = (probe_state.sent_bytes + length - probe_state.probed_bytes) & _MODULUS
    follows = probers.count_frame(made, 0, flow, length, inputs[LIMITED])
    unlimited = not made.all_flows and inputs[LIMITED] == 0
    rule_counts[COUNTED] += 1
    rule_counts[UNLIMITED] += unlimited
    rule_counts[FIRST] += follows and not begun and is_first
    rule_counts[FIRST_AGAIN] += follows and not begun and not is_first and not made.all_flows
    rule_counts[DUE] += follows and begun
    rule_counts[JUST_DUE] += follows and begun and since == made.probe_bytes
    rule_counts[NOT_DUE] += not follows and not unlimited
    rule_counts[ONE_SHORT] += not follows and not unlimited and since == made.probe_bytes - 1
    return follows


@inner
def _take_reply(state: E2CMProberState, inputs: NDArray[np.int64], rule_counts: NDArray[np.int64]) -> None:
    made, kept, flow = state.probers, state.registers, inputs[FLOW]
    stamp, arrival, reported = inputs[STAMP], inputs[ARRIVAL], inputs[REPORTED]
    probe_state = made.probe[0, flow]
    replied, known, base, before = (
        probe_state.has_reply != 0,
        probe_state.has_occupancy != 0,
        probe_state.least_delay,
        probe_state.occupancy,
    )
    gap, sent = (arrival - probe_state.reply_arrival) & _MODULUS, (reported - probe_state.reply_bytes) & _MODULUS
    feedback = probers.process_reply(made, 0, flow, stamp, arrival, reported)
    kept[S_VALID], kept[S_FEEDBACK] = feedback.valid, feedback.feedback
    rule_counts[GIVEN_BESIDE] += inputs[W_ENABLE] != 0 and not made.learned and inputs[W_FLOW] == flow
    if not feedback.valid:
        rule_counts[FIRST_REPLY] += not replied
        rule_counts[SAME_CYCLE] += replied and gap == 0
        rule_counts[EARLIER] += replied and gap != 0
        return
    delay = (arrival - stamp) & _MODULUS
    excess = delay - probe_state.least_delay
    rule_counts[LOWER] += probe_state.least_delay < base
    rule_counts[BELOW_GIVEN] += excess < 0
    rule_counts[NO_EXCESS] += excess == 0
    rule_counts[MOST_EXCESS] += excess >> EXCESS_BITS > 0
    rule_counts[MOST_BYTES] += sent >> GOODPUT_BITS > 0
    rule_counts[MOST_OCCUPANCY] += probe_state.occupancy == (1 << OCCUPANCY_BITS) - 1
    rule_counts[SECOND_REPLY] += not known
    rule_counts[LOST] += sent >= 2 * made.probe_bytes
    plain = made.set_point - probe_state.occupancy - made.weight * (probe_state.occupancy - before if known else 0)
    rule_counts[NEGATIVE] += feedback.feedback < 0
    rule_counts[POSITIVE] += feedback.feedback > 0
    rule_counts[TOWARDS_ZERO] += plain != 0 and feedback.feedback == 0
    rule_counts[LEAST] += plain < -made.max_feedback
    rule_counts[MOST] += plain > made.max_feedback
