"""Golden model of round robin: RR-1 to RR-3 (``docs/rr.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import next_member_or_none
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.golden.schedulers.heads import NO_LANE, Heads, Program
from vlane.golden.schedulers.lanes import (
    GATE_RULES,
    SELECT_MAP,
    Lanes,
    choose_offers,
    decide_vl15_and_hold,
    new_lanes,
    offered_lane,
    program_map,
    record_sent,
    reset_lanes,
)

RULES = (
    Rule("moved_on", "RR-1", "the next requester in order sent"),
    Rule("skipped", "RR-1", "requesters that could not send were skipped"),
    Rule("went_round", "RR-1", "the search wrapped around after the last requester"),
    Rule("same_again", "RR-2", "no other requester could send: the same one sent again"),
    Rule("idle", "RR-3", "no requester could send: the order did not change"),
    *GATE_RULES,
)
RULE_COUNT = len(RULES)
MOVED_ON, SKIPPED, WENT_ROUND, SAME_AGAIN, IDLE, HELD, _ = range(RULE_COUNT)

LOOKS_BEHIND = False
"""A step uses only the heads."""

REST_CYCLES = 0
"""Number of ready cycles without a packet to send after which further cycles change no state."""


class State(NamedTuple):
    """State of the scheduler.

    Parameters
    ----------
    lanes : Lanes
        Lanes of the port and their requesters.
    regs : array of int64, (1,)
        Requester that sent last.
    """

    lanes: Lanes
    regs: NDArray[np.int64]


def make_state(*, data_vls: int, requesters: int, vl15: bool = False) -> State:
    """Return the state after reset, for the parameters of the component."""
    lanes = new_lanes(data_vls=data_vls, vl15=vl15, requesters=requesters)
    return State(lanes, np.full(1, lanes.requesters - 1, np.int64))


@kernel
def reset(state: State) -> None:
    """Reset: requester 0 is next."""
    reset_lanes(state.lanes)
    state.regs[0] = state.lanes.requesters - 1


@inner
def program(state: State, write: Program) -> None:
    """Write the requester of a lane, the only programmable value."""
    if write[1] == SELECT_MAP:
        program_map(state.lanes, write[2], write[3])


@kernel
def step(
    state: State,
    heads: Heads,
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    write: Program,
    swap: bool,  # noqa: ARG001, FBT001 - there is no table
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
        served = next_member_or_none(active, state.regs[0])
        if served >= 0:
            lane = offered_lane(state.lanes, served)
        if ready:
            _record_served(state, served, rule_counts)
    if write[0] != 0:
        program(state, write)
    return lane, source, lane != NO_LANE


@inner
def _record_served(state: State, served: int, rule_counts: NDArray[np.int64]) -> None:
    """Record the requester that sent (-1 for none), after which the next search starts."""
    last = state.regs[0]
    rule_counts[IDLE] += served < 0
    if served >= 0:
        following = last + 1 if last + 1 < state.lanes.requesters else 0
        rule_counts[MOVED_ON] += served != last
        rule_counts[SAME_AGAIN] += served == last
        rule_counts[SKIPPED] += served != following
        rule_counts[WENT_ROUND] += served < following
        state.regs[0] = served
        record_sent(state.lanes, served)
