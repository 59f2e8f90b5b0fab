"""Round robin's reference behaviour: the next requester that can send, whatever its packet's size (``docs/rr.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.bits import next_or_none
from vlane.golden.kernel import inner, kernel
from vlane.golden.lanes import (
    SELECT_MAP,
    Lanes,
    new_lanes,
    offer,
    offered,
    program_map,
    reset_lanes,
    sent,
    wins_vl15,
)
from vlane.golden.rule import Rule

from vlane.egress import ListCode

__all__ = ["RULES", "RRState", "choose", "new_state", "note_served", "reset", "serve_lane", "step"]

RULES = (
    Rule("moved_on", "R1", "the next requester in order sent"),
    Rule("skipped", "R1", "requesters that could not send were passed over"),
    Rule("went_round", "R1", "the search went past the last requester"),
    Rule("same_again", "R2", "nobody else could send: the same requester sent again"),
    Rule("idle", "R3", "nobody could send: the order stayed"),
    Rule("held", "A14", "a flow-control packet was due: data waited"),
    Rule("vl15_first", "A15", "VL15 sent ahead of a data lane that could"),
)
MOVED_ON, SKIPPED, WENT_ROUND, SAME_AGAIN, IDLE, HELD, VL15_FIRST = range(len(RULES))
_NONE, _, _, _FROM_VL15 = (int(code) for code in ListCode)


class RRState(NamedTuple):
    """Everything the scheduler remembers.

    Parameters
    ----------
    lanes : Lanes
        Who owns which lane.
    regs : array of int64, (1,)
        The requester that sent last.
    """

    lanes: Lanes
    regs: NDArray[np.int64]


def new_state(*, data_vls: int, requesters: int, vl15: bool) -> RRState:
    """Return the state after reset; the parameters are the component's."""
    lanes = new_lanes(data_vls=data_vls, vl15=vl15, requesters=requesters)
    return RRState(lanes, np.full(1, lanes.requesters - 1, np.int64))


@kernel
def reset(state: RRState) -> None:
    """Return to the state after reset: requester 0 is next."""
    reset_lanes(state.lanes)
    state.regs[0] = state.lanes.requesters - 1


@inner
def choose(state: RRState, request: int, able: int) -> tuple[int, int]:
    """Return the requester whose turn it is among those that can send, and the lane that it offers; -1 for none."""
    active, _ = offer(state.lanes, able, request)
    served = next_or_none(active, state.regs[0])
    return served, offered(state.lanes, served) if served >= 0 else -1


@inner
def serve_lane(regs: NDArray[np.int64], able: int, ready: bool) -> int:  # noqa: FBT001 - a signal of the hardware
    """Return the lane whose turn it is among those that can send, -1 for none; without a map, so it is who served."""
    lane = next_or_none(able, regs[0])
    if ready and lane >= 0:
        regs[0] = lane
    return lane


@inner
def note_served(state: RRState, served: int) -> None:
    """Note who sent."""
    state.regs[0] = served
    sent(state.lanes, served)


@kernel
def step(
    state: RRState,
    request: int,
    fits: int,
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    write: tuple[int, int, int, int, int],
    rules: NDArray[np.int64],
) -> tuple[int, int]:
    """Run one clock cycle and return (lane, list) of the packet that starts; lane -1 if none does.

    ``write`` is the program port: enable, select, index, requester, weight; only the map is there to write.
    """
    able = request & fits
    data = (1 << state.lanes.data_vls) - 1
    lane, source = -1, _NONE
    if wins_vl15(state.lanes, able):
        lane, source = state.lanes.data_vls, _FROM_VL15
        rules[VL15_FIRST] += ready and able & data != 0
    elif hold_data:
        rules[HELD] += ready and able & data != 0
    else:
        last = state.regs[0]
        served, lane = choose(state, request & data, able & data)
        if ready:
            rules[IDLE] += served < 0
            if served >= 0:
                following = last + 1 if last + 1 < state.lanes.requesters else 0
                rules[MOVED_ON] += served != last
                rules[SAME_AGAIN] += served == last
                rules[SKIPPED] += served != following
                rules[WENT_ROUND] += served < following
                note_served(state, served)
    if write[0] != 0 and write[1] == SELECT_MAP:
        program_map(state.lanes, write[2], write[3])
    return lane, source
