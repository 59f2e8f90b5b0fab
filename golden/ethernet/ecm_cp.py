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
    made : Points
        Queue and parameters of the congestion point, as an array with a single point.
    shown : array of int64, (7, 4)
        Outputs of this cycle and of the next six: sampled, notify, stop, feedback.
    kept : array of int64, (2,)
        ``SAMPLES``: number of samples since reset. ``WAITING``: bytes in the queue at the start of the previous cycle.
    """

    made: Points
    shown: NDArray[np.int64]
    kept: NDArray[np.int64]


def new_inputs() -> NDArray[np.int64]:
    """Return idle inputs: enter, enter_bytes, managed, has_tag, tag, cpid, leave, leave_bytes."""
    return np.zeros(VALUES, np.int64)


def new_state(**parameters: Any) -> ECMCPState:
    """Return the state after reset, for the parameters of ``ECMCPParameters``."""
    return ECMCPState(points.new_points(**parameters), np.zeros((SHOWN_CYCLES, 4), np.int64), np.zeros(2, np.int64))


@kernel
def reset(state: ECMCPState) -> None:
    """Reset (ECP-12)."""
    points.reset(state.made, 0)
    state.shown[:] = 0
    state.kept[:] = 0


@inner
def step(state: ECMCPState, values: NDArray[np.int64], rules: NDArray[np.int64]) -> None:
    """Run a clock cycle with the inputs ``values``, and count the rules that occur.

    On return, ``state.shown[0]`` contains the outputs of the next cycle.
    """
    made, shown, point_state = state.made, state.shown, state.made.point[0]
    joins, managed, length = values[ENTER] != 0, values[MANAGED], values[ENTER_BYTES]
    for value in range(shown.shape[1]):
        for age in range(SHOWN_CYCLES - 1):
            shown[age, value] = shown[age + 1, value]
        shown[-1, value] = 0
    state.kept[WAITING] = point_state.queue
    rules[JOINED] += joins
    rules[LEFT] += values[LEAVE] != 0
    rules[BOTH] += joins and values[LEAVE] != 0
    rules[STOOD] += made.random and (not joins or managed == 0)
    if joins:
        last, before, passed = point_state.last, point_state.queue, point_state.passed
        tag_matches = values[TAGGED] != 0 and values[TAG] == values[CPID]
        found = points.join(made, 0, length, managed, tag_matches)
        shown[-1, S_SAMPLED], shown[-1, S_NOTIFY] = found.sampled, found.sends
        shown[-1, S_STOP], shown[-1, S_FEEDBACK] = found.stop, found.feedback
        rules[LONGEST] += before + length > made.longest
        rules[UNMANAGED] += managed == 0
        rules[DRAWN] += managed != 0 and made.random
        rules[SAMPLED] += found.sampled and made.random
        rules[PASSED] += managed != 0 and not found.sampled and made.random
        rules[REACHED] += found.sampled and not made.random
        rules[EXACTLY] += found.sampled and not made.random and passed + length == made.sample_bytes
        rules[ADDED] += managed != 0 and not found.sampled and not made.random
        if found.sampled:
            _count_sample(state, found, last, values, rules)
            state.kept[SAMPLES] += 1
    rules[EMPTIED] += values[LEAVE] != 0 and values[LEAVE_BYTES] > point_state.queue
    if values[LEAVE] != 0:
        points.leave(made, 0, values[LEAVE_BYTES])


@inner
def _count_sample(
    state: ECMCPState, found: points.Notification, last: int, values: NDArray[np.int64], rules: NDArray[np.int64]
) -> None:
    """Count the rules that a sample exercises."""
    made = state.made
    queue = made.point[0].queue
    plain = made.set_point - queue - made.weight * (queue - last)
    rules[FIRST] += state.kept[SAMPLES] == 0
    rules[STOPPED] += found.stop
    if found.stop:
        return
    maximal = made.bcn_max and queue > made.max_bytes
    rules[BEYOND_MAX] += maximal and plain > -made.most
    rules[LEAST] += not maximal and plain < -made.most
    rules[MOST] += plain > made.most
    rules[ROUNDED] += found.feedback < 0 and not maximal and plain > -made.most and plain % 64 != 0
    rules[GROWING] += found.feedback < 0 and queue < made.set_point
    rules[FALLING] += found.feedback > 0 and queue > made.set_point
    rules[NEGATIVE] += found.feedback < 0
    rules[ZERO] += found.feedback == 0
    rules[POSITIVE] += found.feedback > 0 and found.sends
    rules[UNTAGGED] += found.feedback > 0 and values[TAGGED] == 0
    rules[OTHER_TAG] += found.feedback > 0 and values[TAGGED] != 0 and not found.sends
