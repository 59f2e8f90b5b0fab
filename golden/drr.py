"""Deficit round robin's reference behaviour (Shreedhar and Varghese 1995; ``docs/drr.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.deficit import TURN_RULES, Turns, decide_turn, end_turns, new_turns
from vlane.golden.kernel import kernel
from vlane.golden.lanes import (
    SELECT_MAP,
    SELECT_TABLE,
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

from vlane.drr import MAX_QUANTUM
from vlane.egress import ListCode

__all__ = ["RULES", "DRRState", "new_state", "reset", "step", "unreachable"]

RULES = (
    *TURN_RULES,
    Rule("held", "A14", "a flow-control packet was due: data waited"),
    Rule("vl15_first", "A15", "VL15 sent ahead of a data lane that could"),
)
HELD, VL15_FIRST = range(len(TURN_RULES), len(RULES))
_NONE, _, _, _FROM_VL15 = (int(code) for code in ListCode)


class DRRState(NamedTuple):
    """Everything the scheduler remembers.

    Parameters
    ----------
    lanes : Lanes
        Who owns which lane.
    turns : Turns
        The turn and the deficits; entry i is requester i.
    owner, quantum : array of int64, (requesters,)
        0, 1, 2 and so on; what each requester gets per turn.
    """

    lanes: Lanes
    turns: Turns
    owner: NDArray[np.int64]
    quantum: NDArray[np.int64]


def new_state(*, data_vls: int, requesters: int, vl15: bool, keep_on_stall: bool, mtu_blocks: int) -> DRRState:
    """Return the state after reset; the parameters are the component's."""
    lanes = new_lanes(data_vls=data_vls, vl15=vl15, requesters=requesters)
    count = lanes.requesters
    turns = new_turns(
        requesters=count,
        entries=count,
        keep=keep_on_stall,
        most_kept=mtu_blocks - 1,
        most_accumulated=2 * MAX_QUANTUM,
    )
    return DRRState(lanes, turns, np.arange(count, dtype=np.int64), np.zeros(count, np.int64))


@kernel
def reset(state: DRRState) -> None:
    """Return to the state after reset: every quantum 0, nobody is served."""
    reset_lanes(state.lanes)
    end_turns(state.turns, len(state.owner))
    state.quantum[:] = 0


@kernel
def step(
    state: DRRState,
    request: int,
    fits: int,
    blocks: NDArray[np.int64],
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    write: tuple[int, int, int, int, int],
    rules: NDArray[np.int64],
) -> tuple[int, int]:
    """Run one clock cycle and return (lane, list) of the packet that starts; lane -1 if none does.

    ``write`` is the program port: enable, select, index, requester, quantum.
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
        active, waiting = offer(state.lanes, able & data, request & data)
        served = decide_turn(
            state.turns, state.owner, state.quantum, active, waiting, blocks, state.lanes.lane, ready, rules
        )
        if served >= 0:
            lane = offered(state.lanes, served)
            if ready:
                sent(state.lanes, served)
    if write[0] != 0:
        if write[1] == SELECT_MAP:
            program_map(state.lanes, write[2], write[3])
        elif write[1] == SELECT_TABLE and write[2] < len(state.quantum):
            state.quantum[write[2]] = write[4]
    return lane, source


@kernel
def unreachable(state: DRRState) -> int:
    """Return a bit per requester whose quantum is 0."""
    missing = 0
    for requester in range(len(state.quantum)):
        if state.quantum[requester] == 0:
            missing |= 1 << requester
    return missing
