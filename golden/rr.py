"""Round robin's reference behaviour: the next requester that can send, whatever its packet's size (``docs/rr.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.kernel import kernel
from vlane.golden.lanes import (
    SELECT_MAP,
    Lanes,
    first_from,
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

__all__ = ["RULES", "RRState", "new_state", "reset", "step"]

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
        active, _ = offer(state.lanes, able & data, request & data)
        count, last = state.lanes.requesters, state.regs[0]
        following = last + 1 if last + 1 < count else 0
        served = first_from(active, following, count)
        if served >= 0:
            lane = offered(state.lanes, served)
        if ready:
            rules[IDLE] += served < 0
            if served >= 0:
                rules[MOVED_ON] += served != last
                rules[SAME_AGAIN] += served == last
                rules[SKIPPED] += served != following
                rules[WENT_ROUND] += served < following
                state.regs[0] = served
                sent(state.lanes, served)
    if write[0] != 0 and write[1] == SELECT_MAP:
        program_map(state.lanes, write[2], write[3])
    return lane, source
