"""Golden model of the rate limiters of one source, cycle by cycle: ERP-1 to ERP-16 (``docs/ecm_rp.md``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.ethernet.ecm_rp import ASK_CYCLES, NOTICE_CYCLES, TOKENS_PER_BYTE, VISIT_CYCLES, Notice
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.golden.ethernet import limiters
from vlane.golden.ethernet.limiters import Limiters

RULES = (
    Rule("unlimited", "ERP-1", "a frame of a flow without a limiter was admitted"),
    Rule("started", "ERP-2", "a frame took its tokens"),
    Rule("short", "ERP-2", "a frame was held because of missing tokens"),
    Rule("just_enough", "ERP-2", "a frame took all tokens of its bucket"),
    Rule("oversized", "ERP-2", "a frame larger than the bucket took a full bucket"),
    Rule("full", "ERP-3", "the bucket of a flow was full"),
    Rule("held", "ERP-4", "a frame of a stopped flow was held"),
    Rule("installed", "ERP-5", "negative feedback installed a limiter"),
    Rule("largest", "ERP-6", "the fraction of a feedback saturated at 1"),
    Rule("lowered", "ERP-7", "a rate was lowered"),
    Rule("at_least", "ERP-7", "a rate was limited to the minimum"),
    Rule("raised", "ERP-8", "a congestion point raised a rate"),
    Rule("probe_raised", "ERP-8", "a probe raised a rate"),
    Rule("other_point", "ERP-9", "feedback of a point that had not lowered the rate did not raise it"),
    Rule("any_probe", "ERP-9", "a probe raised a rate that it had not lowered"),
    Rule("strict_probe", "ERP-9", "a probe that had not lowered the rate did not raise it"),
    Rule("removed", "ERP-10", "a limiter was removed at the link's rate"),
    Rule("zero", "ERP-11", "feedback 0 changed nothing"),
    Rule("nothing_to_raise", "ERP-11", "positive feedback or a drift found no limiter"),
    Rule("stopped", "ERP-12", "a flow was stopped"),
    Rule("stopped_anew", "ERP-12", "a stopped flow was stopped again"),
    Rule("stop_installed", "ERP-12", "a stop installed a limiter"),
    Rule("drifted", "ERP-13", "a drift raised a rate"),
    Rule("drawn", "ERP-14", "a stop took a random number"),
    Rule("visited", "ERP-16", "a visit began"),
    Rule("visit_waits", "ERP-16", "an order was accepted while a visit was due"),
)
(
    UNLIMITED,
    STARTED,
    SHORT,
    JUST_ENOUGH,
    OVERSIZED,
    FULL,
    HELD,
    INSTALLED,
    LARGEST,
    LOWERED,
    AT_LEAST,
    RAISED,
    PROBE_RAISED,
    OTHER_POINT,
    ANY_PROBE,
    STRICT_PROBE,
    REMOVED,
    ZERO,
    NOTHING_TO_RAISE,
    STOPPED,
    STOPPED_ANEW,
    STOP_INSTALLED,
    DRIFTED,
    DRAWN,
    VISITED,
    VISIT_WAITS,
) = range(len(RULES))

(ORDER, ASK, FLOW, FRAME_BYTES, NOTICE, CPID, FEEDBACK, VALUES) = range(8)
(NOW, LEFT, ANSWERS, DUE, S_MAY, S_LIMITED, S_RATE, S_PROBE, S_TAG, S_LIMITERS, KEPT) = range(11)
_POINT, _PROBE, _STOP, _DRIFT = (int(each) for each in Notice)


class ECMRPState(NamedTuple):
    """State of one source.

    Parameters
    ----------
    limiters : Limiters
        Limiters of one source.
    registers : array of int64, (10,)
        Cycle; cycles until the next order is accepted; whether an answer is shown then; whether a visit is due;
        answer: may, limited, rate, probe, tag; number of limiters shown until then.
    """

    limiters: Limiters
    registers: NDArray[np.int64]


def new_inputs() -> NDArray[np.int64]:
    """Return idle inputs: order, ask, flow, frame_bytes, notice, cpid, feedback."""
    return np.zeros(VALUES, np.int64)


def new_state(**parameters: Any) -> ECMRPState:
    """Return the state after reset, for the parameters of ``ECMRPParameters``."""
    return ECMRPState(limiters.new_limiters(**parameters), np.zeros(KEPT, np.int64))


@kernel
def reset(state: ECMRPState) -> None:
    """Reset (ERP-15)."""
    limiters.reset(state.limiters, 0)
    state.registers[:] = 0


@inner
def is_ready(state: ECMRPState) -> bool:
    """Return whether the reaction point accepts an order in this cycle."""
    return state.registers[LEFT] == 0


@inner
def step(state: ECMRPState, inputs: NDArray[np.int64], rule_counts: NDArray[np.int64]) -> None:
    """Run a clock cycle: accept an order, start a periodic visit, or continue with the current one."""
    made, kept = state.limiters, state.registers
    if is_ready(state):
        kept[ANSWERS] = 0
        if inputs[ORDER] != 0:
            rule_counts[VISIT_WAITS] += kept[DUE]
            may = (
                _ask(state, inputs, rule_counts)
                if inputs[ASK] != 0
                else _receive_notification(state, inputs, rule_counts)
            )
            flow_state = made.flow[0, inputs[FLOW]]
            there = flow_state.limited != 0
            kept[ANSWERS], kept[S_MAY], kept[S_LIMITED] = 1, may, there
            kept[S_RATE], kept[S_PROBE], kept[S_TAG] = (
                flow_state.rate * there,
                flow_state.lowered_by_probe * there,
                flow_state.cpid * there,
            )
            kept[LEFT] = ASK_CYCLES if inputs[ASK] != 0 else NOTICE_CYCLES
        elif kept[DUE] != 0:
            rule_counts[VISITED] += 1
            kept[DUE], kept[LEFT] = 0, ASK_CYCLES
    if kept[LEFT] != 0:
        kept[LEFT] -= 1
    if kept[LEFT] == 0:
        kept[S_LIMITERS] = made.source[0].limiter_count
    kept[NOW] += 1
    if kept[NOW] % VISIT_CYCLES == 0:
        kept[DUE] = 1


@inner
def _ask(state: ECMRPState, inputs: NDArray[np.int64], rule_counts: NDArray[np.int64]) -> bool:
    made, flow, length, now = state.limiters, inputs[FLOW], inputs[FRAME_BYTES], state.registers[NOW]
    flow_state = made.flow[0, flow]
    if flow_state.limited == 0:
        rule_counts[UNLIMITED] += 1
        return limiters.may_start(made, 0, flow, length, now)
    limiters.update_tokens(made, 0, flow, now)
    needed, tokens, stopped = length * TOKENS_PER_BYTE, flow_state.tokens, flow_state.counted_until > now
    rule_counts[FULL] += not stopped and tokens == made.full_tokens
    may = limiters.may_start(made, 0, flow, length, now)
    rule_counts[HELD] += stopped
    rule_counts[STARTED] += may
    rule_counts[SHORT] += not may and not stopped
    rule_counts[JUST_ENOUGH] += may and flow_state.tokens == 0
    rule_counts[OVERSIZED] += may and needed > made.full_tokens
    return may


@inner
def _receive_notification(state: ECMRPState, inputs: NDArray[np.int64], rule_counts: NDArray[np.int64]) -> bool:
    made, flow, notice, now = state.limiters, inputs[FLOW], inputs[NOTICE], state.registers[NOW]
    cpid, feedback = inputs[CPID], inputs[FEEDBACK]
    flow_state = made.flow[0, flow]
    was, rate, stopped = flow_state.limited != 0, flow_state.rate, flow_state.counted_until > now
    from_bound_point = flow_state.lowered_by_probe == notice and flow_state.cpid == cpid
    limiters.receive_notification(made, 0, flow, notice, cpid, feedback, now)
    rule_counts[STOPPED] += notice == _STOP
    rule_counts[DRAWN] += notice == _STOP
    rule_counts[STOPPED_ANEW] += notice == _STOP and was and stopped
    rule_counts[STOP_INSTALLED] += notice == _STOP and not was
    rule_counts[DRIFTED] += notice == _DRIFT and was
    rule_counts[REMOVED] += was and flow_state.limited == 0
    if notice == _DRIFT:
        rule_counts[NOTHING_TO_RAISE] += not was
    if notice in (_STOP, _DRIFT):
        return False
    fraction = limiters.feedback_fraction(made, feedback)
    before = rate if was else made.source[0].link_rate
    rule_counts[ZERO] += feedback == 0
    rule_counts[LARGEST] += fraction == 1 << 15
    rule_counts[INSTALLED] += feedback < 0 and not was
    rule_counts[LOWERED] += feedback < 0 and flow_state.rate < before
    rule_counts[AT_LEAST] += feedback < 0 and before - limiters.rate_decrease(before, fraction) < made.min_rate
    rises = feedback > 0 and was
    rule_counts[NOTHING_TO_RAISE] += feedback > 0 and not was
    rule_counts[RAISED] += rises and notice == _POINT and from_bound_point
    rule_counts[OTHER_POINT] += rises and notice == _POINT and not from_bound_point
    rule_counts[PROBE_RAISED] += rises and notice == _PROBE and flow_state.rate > rate
    rule_counts[ANY_PROBE] += rises and notice == _PROBE and not from_bound_point and not made.strict
    rule_counts[STRICT_PROBE] += rises and notice == _PROBE and not from_bound_point and made.strict
    return False
