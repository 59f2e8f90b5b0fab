"""Golden model of the congestion point of one output, cycle by cycle: ECP-1 to ECP-12 (``docs/ecm_cp.md``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.ethernet.ecm_cp import SHOWN_CYCLES
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.golden.ethernet import points
from vlane.golden.ethernet.points import Points

RULES = (
    Rule("joined", "ECP-1", "a frame joined the queue"),
    Rule("left", "ECP-1", "a frame left the queue"),
    Rule("both", "ECP-1", "a frame joined in the cycle in which another left"),
    Rule("emptied", "ECP-1", "more bytes left than the queue held"),
    Rule("longest", "ECP-1", "a frame joined and the queue saturated at its maximum"),
    Rule("unmanaged", "ECP-2", "an unmanaged frame joined"),
    Rule("sampled", "ECP-3", "a frame was sampled at random"),
    Rule("passed", "ECP-3", "a managed frame was not sampled at random"),
    Rule("reached", "ECP-4", "the bytes of managed frames reached the sampling interval"),
    Rule("exactly", "ECP-4", "the bytes of managed frames reached the sampling interval exactly"),
    Rule("added", "ECP-4", "a managed frame was counted but not sampled"),
    Rule("drawn", "ECP-5", "the random sequence advanced"),
    Rule("stood", "ECP-6", "the random sequence did not advance because no managed frame joined"),
    Rule("growing", "ECP-7", "a growing queue below Qeq yielded negative feedback"),
    Rule("falling", "ECP-7", "a shrinking queue above Qeq yielded positive feedback"),
    Rule("first", "ECP-7", "the first sample after reset was taken"),
    Rule("least", "ECP-8", "the feedback saturated at its most negative value"),
    Rule("most", "ECP-8", "the feedback saturated at its most positive value"),
    Rule("rounded", "ECP-8", "a negative feedback was rounded towards 0"),
    Rule("beyond_max", "ECP-9", "the queue was above max_bytes, which changed the feedback"),
    Rule("negative", "ECP-10", "a negative feedback was sent"),
    Rule("positive", "ECP-10", "a positive feedback was sent"),
    Rule("untagged", "ECP-10", "a positive feedback was not sent because the frame had no tag"),
    Rule("other_tag", "ECP-10", "a positive feedback was not sent because the tag names another point"),
    Rule("zero", "ECP-10", "a feedback was 0 in units of 64 bytes"),
    Rule("stopped", "ECP-11", "BCN(0,0) was sent"),
)
(
    JOINED,
    LEFT,
    BOTH,
    EMPTIED,
    LONGEST,
    UNMANAGED,
    SAMPLED,
    PASSED,
    REACHED,
    EXACTLY,
    ADDED,
    DRAWN,
    STOOD,
    GROWING,
    FALLING,
    FIRST,
    LEAST,
    MOST,
    ROUNDED,
    BEYOND_MAX,
    NEGATIVE,
    POSITIVE,
    UNTAGGED,
    OTHER_TAG,
    ZERO,
    STOPPED,
) = range(len(RULES))

(ENTER, ENTER_BYTES, MANAGED, TAGGED, TAG, CPID, LEAVE, LEAVE_BYTES, VALUES) = range(9)
S_SAMPLED, S_NOTIFY, S_STOP, S_FEEDBACK = range(4)
SAMPLES, WAITING = range(2)


class ECMCPState(NamedTuple):
    """State of one congestion point.

    Parameters
    ----------
    points : Points
        Queue and parameters of the congestion point, as an array with a single point.
    shown : array of int64, (7, 4)
        Outputs of this cycle and of the next six: sampled, notify, stop, feedback.
    registers : array of int64, (2,)
        ``SAMPLES``: number of samples since reset. ``WAITING``: bytes in the queue at the start of the previous cycle.
    """

    points: Points
    shown: NDArray[np.int64]
    registers: NDArray[np.int64]


def new_inputs() -> NDArray[np.int64]:
    """Return idle inputs: enter, enter_bytes, managed, has_tag, tag, cpid, leave, leave_bytes."""
    return np.zeros(VALUES, np.int64)


def new_state(**parameters: Any) -> ECMCPState:
    """Return the state after reset, for the parameters of ``ECMCPParameters``."""
    return ECMCPState(points.new_points(**parameters), np.zeros((SHOWN_CYCLES, 4), np.int64), np.zeros(2, np.int64))


@kernel
def reset(state: ECMCPState) -> None:
    """Reset (ECP-12)."""
    points.reset(state.points, 0)
    state.shown[:] = 0
    state.registers[:] = 0


@inner
def step(state: ECMCPState, inputs: NDArray[np.int64], rule_counts: NDArray[np.int64]) -> None:
    """Run a clock cycle with the inputs ``inputs``, and count the rules that occur.

    On return, ``state.shown[0]`` contains the outputs of the next cycle.
    """
    made, shown, point_state = state.points, state.shown, state.points.point[0]
    joins, managed, length = inputs[ENTER] != 0, inputs[MANAGED], inputs[ENTER_BYTES]
    for value in range(shown.shape[1]):
        for age in range(SHOWN_CYCLES - 1):
            shown[age, value] = shown[age + 1, value]
        shown[-1, value] = 0
    state.registers[WAITING] = point_state.queue
    rule_counts[JOINED] += joins
    rule_counts[LEFT] += inputs[LEAVE] != 0
    rule_counts[BOTH] += joins and inputs[LEAVE] != 0
    rule_counts[STOOD] += made.is_random and (not joins or managed == 0)
    if joins:
        last, before, passed = point_state.sampled_queue, point_state.queue, point_state.bytes_since_sample
        tag_matches = inputs[TAGGED] != 0 and inputs[TAG] == inputs[CPID]
        found = points.add_frame(made, 0, length, managed, tag_matches)
        shown[-1, S_SAMPLED], shown[-1, S_NOTIFY] = found.sampled, found.sends
        shown[-1, S_STOP], shown[-1, S_FEEDBACK] = found.stop, found.feedback
        rule_counts[LONGEST] += before + length > made.max_queue
        rule_counts[UNMANAGED] += managed == 0
        rule_counts[DRAWN] += managed != 0 and made.is_random
        rule_counts[SAMPLED] += found.sampled and made.is_random
        rule_counts[PASSED] += managed != 0 and not found.sampled and made.is_random
        rule_counts[REACHED] += found.sampled and not made.is_random
        rule_counts[EXACTLY] += found.sampled and not made.is_random and passed + length == made.sample_bytes
        rule_counts[ADDED] += managed != 0 and not found.sampled and not made.is_random
        if found.sampled:
            _count_sample(state, found, last, inputs, rule_counts)
            state.registers[SAMPLES] += 1
    rule_counts[EMPTIED] += inputs[LEAVE] != 0 and inputs[LEAVE_BYTES] > point_state.queue
    if inputs[LEAVE] != 0:
        points.remove_frame(made, 0, inputs[LEAVE_BYTES])


@inner
def _count_sample(
    state: ECMCPState,
    notification: points.Notification,
    last: int,
    inputs: NDArray[np.int64],
    rule_counts: NDArray[np.int64],
) -> None:
    """Count the rules that a sample exercises."""
    made = state.points
    queue = made.point[0].queue
    plain = made.set_point - queue - made.weight * (queue - last)
    rule_counts[FIRST] += state.registers[SAMPLES] == 0
    rule_counts[STOPPED] += notification.stop
    if notification.stop:
        return
    maximal = made.bcn_max and queue > made.max_bytes
    rule_counts[BEYOND_MAX] += maximal and plain > -made.max_feedback
    rule_counts[LEAST] += not maximal and plain < -made.max_feedback
    rule_counts[MOST] += plain > made.max_feedback
    rule_counts[ROUNDED] += notification.feedback < 0 and not maximal and plain > -made.max_feedback and plain % 64 != 0
    rule_counts[GROWING] += notification.feedback < 0 and queue < made.set_point
    rule_counts[FALLING] += notification.feedback > 0 and queue > made.set_point
    rule_counts[NEGATIVE] += notification.feedback < 0
    rule_counts[ZERO] += notification.feedback == 0
    rule_counts[POSITIVE] += notification.feedback > 0 and notification.sends
    rule_counts[UNTAGGED] += notification.feedback > 0 and inputs[TAGGED] == 0
    rule_counts[OTHER_TAG] += notification.feedback > 0 and inputs[TAGGED] != 0 and not notification.sends
