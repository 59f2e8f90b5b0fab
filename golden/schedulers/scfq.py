"""Golden model of self-clocked fair queueing: SCFQ-1 to SCFQ-9 (Golestani 1994, ``docs/scfq.md``).

Tags are unbounded integers here; the hardware keeps them modulo a power of two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import next_member
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.golden.schedulers.heads import NO_LANE, Heads, Program
from vlane.golden.schedulers.lanes import (
    GATE_RULES,
    Lanes,
    choose_offers,
    decide_vl15_and_hold,
    hold_offers,
    new_lanes,
    offered_lane,
    program_value,
    record_sent,
    requesters_without_value,
    reset_lanes,
)

RULES = (
    Rule("least_tag", "SCFQ-1", "the smallest of several tags was served"),
    Rule("tie", "SCFQ-2", "several requesters had the smallest tag: the first one sent"),
    Rule("tagged", "SCFQ-3", "a requester that could send received a tag"),
    Rule("tag_waited", "SCFQ-4", "the shared tag unit had more than one tag to compute: no packet was sent"),
    Rule("tag_dropped", "SCFQ-5", "a requester became unable to send: its tag was dropped"),
    Rule("clock_reset", "SCFQ-6", "no requester could send: virtual time returned to 0"),
    Rule("nobody_served", "SCFQ-7", "requesters could send, but all have reciprocal 0"),
    Rule("tag_wrapped", "SCFQ-8", "virtual time exceeded the width of a tag"),
    Rule("lane_lost", "SCFQ-9", "the tagged lane became unable, another lane of the requester was able: new tag"),
    *GATE_RULES,
)
RULE_COUNT = len(RULES)
(LEAST, TIE, TAGGED, TAG_WAITED, DROPPED, CLOCK_RESET, NOBODY, WRAPPED, LANE_LOST, HELD, _) = range(RULE_COUNT)

LOOKS_BEHIND = False
"""A step uses only the heads."""

REST_CYCLES = 1
"""Number of ready cycles without a packet to send after which further cycles change no state."""

TIME, HAS_TAG, UNIT = range(3)


class State(NamedTuple):
    """State of the scheduler.

    Parameters
    ----------
    lanes : Lanes
        Lanes of the port and their requesters.
    shared : bool
        One unit computes all tags, one per cycle.
    tag_bits : int
        Width of a tag in hardware; used only by the rule counters.
    reciprocal : array of int64, (requesters,)
        Amount that a block adds to a requester's tag; a requester with 0 is never served.
    tag : array of int64, (requesters,)
        Finishing tags of the heads.
    tagged_lane : array of int64, (requesters,)
        Lane for whose head the tag was computed.
    regs : array of int64, (3,)
        Virtual time; bit mask of requesters with a tag; requester that the shared unit tagged last.
    """

    lanes: Lanes
    shared: bool
    tag_bits: int
    reciprocal: NDArray[np.int64]
    tag: NDArray[np.int64]
    tagged_lane: NDArray[np.int64]
    regs: NDArray[np.int64]


def make_state(
    *, data_vls: int, requesters: int, vl15: bool = False, tag_bits: int, reciprocal_bits: int, units: str
) -> State:
    """Return the state after reset, for the parameters of the component."""
    del reciprocal_bits  # limits the values that may be written
    lanes = new_lanes(data_vls=data_vls, vl15=vl15, requesters=requesters)
    count = lanes.requesters
    state = State(
        lanes,
        units == "shared",
        int(tag_bits),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(3, np.int64),
    )
    reset(state)
    return state


@kernel
def reset(state: State) -> None:
    """Reset: all reciprocals become 0, so no requester is served."""
    reset_lanes(state.lanes)
    state.reciprocal[:] = 0
    state.tag[:] = 0
    state.tagged_lane[:] = 0
    state.regs[TIME], state.regs[HAS_TAG], state.regs[UNIT] = 0, 0, state.lanes.requesters - 1


@inner
def new_tag(state: State, requester: int, blocks: NDArray[np.int64]) -> None:
    """Compute the finishing tag of a requester's head: virtual time plus blocks times reciprocal (SCFQ-3)."""
    lane = offered_lane(state.lanes, requester)
    state.tagged_lane[requester] = lane
    state.tag[requester] = state.regs[TIME] + blocks[lane] * state.reciprocal[requester]


@inner
def tag_one(state: State, active: int, blocks: NDArray[np.int64], rule_counts: NDArray[np.int64]) -> int:
    """Compute the next missing tag in the shared unit, round robin (SCFQ-4). Return the mask of untagged requesters."""
    regs = state.regs
    untagged = active & ~regs[HAS_TAG]
    if untagged != 0:
        unit = next_member(untagged, regs[UNIT])
        new_tag(state, unit, blocks)
        rule_counts[TAGGED] += 1
        regs[UNIT] = unit
        regs[HAS_TAG] |= 1 << unit
    return untagged & ~regs[HAS_TAG]


@inner
def least_tag(state: State, tagged: int) -> tuple[int, bool]:
    """Return the first requester with the smallest tag, and whether another requester has an equal tag."""
    winner, same = -1, False
    for requester in range(len(state.tag)):
        if (tagged >> requester) & 1:
            if winner < 0 or state.tag[requester] < state.tag[winner]:
                winner, same = requester, False
            elif state.tag[requester] == state.tag[winner]:
                same = True
    return winner, same


@kernel
def decide(
    state: State,
    offered: int,
    blocks: NDArray[np.int64],
    decides: bool,  # noqa: FBT001 - a signal of the hardware
    commit: bool,  # noqa: FBT001 - a signal of the hardware
    rule_counts: NDArray[np.int64],
) -> int:
    """Return the requester with the smallest tag, -1 if none sends.

    The shared unit works in every cycle; all other state changes only in decision cycles (``commit``). Tags computed
    within a decision are stored even without ``commit``, because nothing reads them before the next decision.
    """
    regs = state.regs
    active = offered & ~requesters_without_value(state.reciprocal)
    if state.shared:
        missing = tag_one(state, active, blocks, rule_counts)
    else:
        missing = 0
        untagged = active & ~regs[HAS_TAG]
        rule_counts[TAGGED] += commit and untagged != 0
        for requester in range(len(state.tag)):
            if (untagged >> requester) & 1:
                new_tag(state, requester, blocks)
    winner, same = -1, False
    if decides and missing == 0:
        winner, same = least_tag(state, active)
    if commit:
        dropped = regs[HAS_TAG] & ~active
        rule_counts[DROPPED] += dropped != 0
        rule_counts[TAG_WAITED] += missing != 0
        rule_counts[CLOCK_RESET] += active == 0 and regs[TIME] != 0
        rule_counts[NOBODY] += active == 0 and offered != 0
        regs[HAS_TAG] = active & ~missing
        if active == 0:
            regs[TIME] = 0
        if winner >= 0:
            rule_counts[LEAST] += active != 1 << winner
            rule_counts[TIE] += same
            rule_counts[WRAPPED] += state.tag[winner] >> state.tag_bits != regs[TIME] >> state.tag_bits
            regs[TIME] = state.tag[winner]
            regs[HAS_TAG] &= ~(1 << winner)
            record_sent(state.lanes, winner)
    return winner


@inner
def program(state: State, write: Program) -> None:
    """Write the reciprocal of a requester or the requester of a lane. Ignore an index out of range."""
    program_value(state.lanes, state.reciprocal, write)


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
    active, _ = choose_offers(state.lanes, sendable & data, heads.request & data)
    lost = hold_offers(state.lanes, sendable & data, state.regs[HAS_TAG], state.tagged_lane)
    rule_counts[LANE_LOST] += lost & active != 0
    state.regs[HAS_TAG] &= ~(lost & active)
    served = decide(state, active, heads.blocks, decides, decides and ready, rule_counts)
    if served >= 0:
        lane = offered_lane(state.lanes, served)
    if write[0] != 0:
        program(state, write)
    return lane, source, lane != NO_LANE


@kernel
def unreachable(state: State) -> int:
    """Return a bit mask of requesters with reciprocal 0."""
    return requesters_without_value(state.reciprocal)
