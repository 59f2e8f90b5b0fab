"""Golden model of weighted round robin: WRR-1 to WRR-8 (``docs/wrr.md``).

The algorithm is that of Katevenis, Sidiropoulos and Courcoubetis (1991).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import is_member, next_member
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.golden.schedulers.heads import NO_LANE, Heads, Program
from vlane.golden.schedulers.lanes import (
    GATE_RULES,
    Lanes,
    choose_offers,
    decide_vl15_and_hold,
    new_lanes,
    offered_lane,
    program_value,
    record_sent,
    requesters_without_value,
    reset_lanes,
)

RULES = (
    Rule("nobody_served", "WRR-1", "requesters could send, but all have weight 0"),
    Rule("turn_continued", "WRR-2", "the turn continued with another packet"),
    Rule("weight_used_up", "WRR-2", "a packet used the rest of its turn"),
    Rule("turn_passed", "WRR-3", "the turn passed to another requester"),
    Rule("skipped", "WRR-3", "requesters that could not be served were skipped"),
    Rule("went_round", "WRR-3", "the search wrapped around after the last requester"),
    Rule("turn_repeated", "WRR-4", "no other requester could be served: the same requester began a new turn"),
    Rule("rest_lost", "WRR-5", "the requester in turn could not send, another one did: the rest was lost"),
    Rule("rest_kept", "WRR-6", "no requester could be served: the requester in turn kept the rest of its turn"),
    Rule("idle", "WRR-6", "no requester could send"),
    Rule("weight_removed", "WRR-7", "the turn ended because the requester's weight had become 0"),
    Rule("weight_lowered", "WRR-7", "the turn ended because the weight had become less than the count"),
    Rule("lane_changed", "WRR-8", "the turn continued with another lane of the requester"),
    *GATE_RULES,
)
RULE_COUNT = len(RULES)
(
    NOBODY,
    CONTINUED,
    USED_UP,
    PASSED,
    SKIPPED,
    WENT_ROUND,
    REPEATED,
    REST_LOST,
    REST_KEPT,
    IDLE,
    REMOVED,
    LOWERED,
    LANE_CHANGED,
    HELD,
    _,
) = range(RULE_COUNT)

LOOKS_BEHIND = False
"""A step uses only the heads."""

REST_CYCLES = 0
"""Number of ready cycles without a packet to send after which further cycles change no state."""

TURN, BEGUN, COUNT = range(3)


class State(NamedTuple):
    """State of the scheduler.

    Parameters
    ----------
    lanes : Lanes
        Lanes of the port and their requesters.
    weight : array of int64, (requesters,)
        Packets that each requester may send per turn; a requester with 0 is never served.
    regs : array of int64, (3,)
        Requester in turn; 1 if it has sent since reset, otherwise 0; packets sent in this turn.
    """

    lanes: Lanes
    weight: NDArray[np.int64]
    regs: NDArray[np.int64]


def make_state(*, data_vls: int, requesters: int, vl15: bool = False) -> State:
    """Return the state after reset, for the parameters of the component."""
    lanes = new_lanes(data_vls=data_vls, vl15=vl15, requesters=requesters)
    state = State(lanes, np.zeros(lanes.requesters, np.int64), np.zeros(3, np.int64))
    reset(state)
    return state


@kernel
def reset(state: State) -> None:
    """Reset: all weights become 0, so no requester is served. Requester 0 is next."""
    reset_lanes(state.lanes)
    state.weight[:] = 0
    state.regs[TURN], state.regs[BEGUN], state.regs[COUNT] = state.lanes.requesters - 1, 0, 0


@inner
def program(state: State, write: Program) -> None:
    """Write the weight of a requester or the requester of a lane. Ignore an index out of range."""
    program_value(state.lanes, state.weight, write)


@inner
def packets_left(state: State) -> int:
    """Return the number of packets that the requester in turn may still send in its turn."""
    if state.regs[BEGUN] == 0:
        return 0
    return max(state.weight[state.regs[TURN]] - state.regs[COUNT], 0)


@kernel
def unreachable(state: State) -> int:
    """Return a bit mask of requesters with weight 0."""
    return requesters_without_value(state.weight)


@inner
def _next_requester(state: State, active: int) -> int:
    """Return the next active requester with a weight after the one in turn, which is last, or -1 for none."""
    left = active
    while left != 0:
        requester = next_member(left, state.regs[TURN])
        if state.weight[requester] != 0:
            return requester
        left &= ~(1 << requester)
    return -1


@kernel
def step(
    state: State,
    heads: Heads,
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    write: Program,
    swap: bool,  # noqa: ARG001, FBT001 - there is one table only
    rule_counts: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Run a clock cycle and return (lane, list, granted).

    ``lane`` is the lane whose packet starts if the link is ready, -1 without such a packet. ``bank.step`` documents the
    arguments.
    """
    sendable, data = heads.request & heads.fits, (1 << state.lanes.data_vls) - 1
    lane, source, decides = decide_vl15_and_hold(state.lanes, sendable, ready, hold_data, rule_counts, HELD)
    if decides:
        active, _ = choose_offers(state.lanes, sendable & data, heads.request & data)
        continues = packets_left(state) > 0 and is_member(active, state.regs[TURN])
        served = state.regs[TURN] if continues else _next_requester(state, active)
        if served >= 0:
            lane = offered_lane(state.lanes, served)
        if ready and served >= 0:
            _begin_turn(state, served, continues, is_member(active, state.regs[TURN]), rule_counts)
        elif ready:
            rule_counts[IDLE] += active == 0
            rule_counts[NOBODY] += active != 0
            rule_counts[REST_KEPT] += packets_left(state) > 0
    if write[0] != 0:
        program(state, write)
    return lane, source, lane != NO_LANE


@inner
def _begin_turn(
    state: State,
    served: int,
    continues: bool,  # noqa: FBT001 - kernels take positional arguments only
    sendable: bool,  # noqa: FBT001 - kernels take positional arguments only
    rule_counts: NDArray[np.int64],
) -> None:
    """Count a packet of requester ``served``.

    Parameters
    ----------
    continues : bool
        The packet continues the current turn; otherwise it is the first of a new turn.
    sendable : bool
        The requester in turn could send.
    """
    regs, lanes = state.regs, state.lanes
    turn = regs[TURN]
    if continues:
        regs[COUNT] += 1
        rule_counts[CONTINUED] += 1
        rule_counts[LANE_CHANGED] += lanes.has_map and offered_lane(lanes, served) != lanes.last_lane[served]
    else:
        following = turn + 1 if turn + 1 < lanes.requesters else 0
        over = sendable and regs[BEGUN] != 0 and regs[COUNT] > state.weight[turn]
        rule_counts[PASSED] += served != turn
        rule_counts[REPEATED] += served == turn
        rule_counts[SKIPPED] += served != following
        rule_counts[WENT_ROUND] += served < following
        rule_counts[REST_LOST] += packets_left(state) > 0
        rule_counts[REMOVED] += over and state.weight[turn] == 0
        rule_counts[LOWERED] += over and state.weight[turn] != 0
        regs[TURN], regs[BEGUN], regs[COUNT] = served, 1, 1
    rule_counts[USED_UP] += regs[COUNT] == state.weight[served]
    record_sent(lanes, served)
