"""The Deficit Table scheduler's reference behaviour (decisions D1 to D12 of ``docs/dtable.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.deficit import ACCUMULATED, TURN_RULES, Turns, decide_turn, end_turns, new_turns
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

from vlane.dtable import IB_COUNTER_MOST, MAX_WEIGHT
from vlane.egress import ListCode

__all__ = ["RULES", "DTableState", "new_state", "read_ib", "reset", "step", "unreachable"]

RULES = (
    *TURN_RULES,
    Rule("swapped", "D10", "the shadow table took over"),
    Rule("swap_waited", "D10", "a swap waited for the link"),
    Rule("held", "A14", "a flow-control packet was due: data waited"),
    Rule("vl15_first", "A15", "VL15 sent ahead of a data lane that could"),
)
SWAPPED, SWAP_WAITED, HELD, VL15_FIRST = range(len(TURN_RULES), len(RULES))

BANK, SWAP_PENDING = 0, 1
_NONE, _, _, _FROM_VL15 = (int(code) for code in ListCode)


class DTableState(NamedTuple):
    """Everything the scheduler remembers.

    Parameters
    ----------
    lanes : Lanes
        Who owns which lane.
    turns : Turns
        The turn and the deficits.
    owner, weight : array of int64, (2 banks, entries)
        The tables; ``regs[BANK]`` names the active one.
    regs : array of int64, (2,)
        Bank, swap pending.
    """

    lanes: Lanes
    turns: Turns
    owner: NDArray[np.int64]
    weight: NDArray[np.int64]
    regs: NDArray[np.int64]


def new_state(
    *, data_vls: int, requesters: int, entries: int, vl15: bool, form: str, keep_on_stall: bool, mtu_blocks: int
) -> DTableState:
    """Return the state after reset; the parameters are the component's."""
    lanes = new_lanes(data_vls=data_vls, vl15=vl15, requesters=requesters)
    most = IB_COUNTER_MOST if form == "ib" else 2 * MAX_WEIGHT
    turns = new_turns(
        requesters=lanes.requesters,
        entries=entries,
        keep=keep_on_stall,
        most_kept=mtu_blocks - 1,
        most_accumulated=most,
    )
    shape = (2, entries)
    return DTableState(lanes, turns, np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(2, np.int64))


@kernel
def reset(state: DTableState) -> None:
    """Return to the state after reset: both banks empty."""
    reset_lanes(state.lanes)
    end_turns(state.turns, state.owner.shape[1])
    state.owner[:] = 0
    state.weight[:] = 0
    state.regs[:] = 0


@kernel
def step(
    state: DTableState,
    request: int,
    fits: int,
    blocks: NDArray[np.int64],
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    write: tuple[int, int, int, int, int],
    swap: bool,  # noqa: FBT001 - a signal of the hardware
    rules: NDArray[np.int64],
) -> tuple[int, int]:
    """Run one clock cycle and return (lane, list) of the packet that starts; lane -1 if none does.

    ``write`` is the program port: enable, select, index, requester, weight. In the cycle of an exchange a
    write to the table writes nothing.
    """
    able = request & fits
    data = (1 << state.lanes.data_vls) - 1
    lane, source = -1, _NONE
    bank = state.regs[BANK]
    if wins_vl15(state.lanes, able):
        lane, source = state.lanes.data_vls, _FROM_VL15
        rules[VL15_FIRST] += ready and able & data != 0
    elif hold_data:
        rules[HELD] += ready and able & data != 0
    else:
        active, waiting = offer(state.lanes, able & data, request & data)
        served = decide_turn(
            state.turns, state.owner[bank], state.weight[bank], active, waiting, blocks, state.lanes.lane, ready, rules
        )
        if served >= 0:
            lane = offered(state.lanes, served)
            if ready:
                sent(state.lanes, served)
    wanted = swap or state.regs[SWAP_PENDING] != 0
    exchanged = wanted and ready
    if exchanged:
        state.regs[BANK] = bank ^ 1
        end_turns(state.turns, state.owner.shape[1])
        rules[SWAPPED] += 1
    rules[SWAP_WAITED] += wanted and not ready
    state.regs[SWAP_PENDING] = wanted and not ready
    if write[0] != 0:
        if write[1] == SELECT_MAP:
            program_map(state.lanes, write[2], write[3])
        elif write[1] == SELECT_TABLE and not exchanged and write[2] < state.owner.shape[1]:
            state.owner[bank ^ 1, write[2]] = write[3]
            state.weight[bank ^ 1, write[2]] = write[4]
    return lane, source


@kernel
def unreachable(state: DTableState) -> int:
    """Return a bit per requester that no entry with a weight names."""
    bank = state.regs[BANK]
    named = 0
    for entry in range(state.owner.shape[1]):
        if state.weight[bank, entry] != 0:
            named |= 1 << state.owner[bank, entry]
    return ((1 << state.lanes.requesters) - 1) & ~named


@kernel
def read_ib(state: DTableState, low: bool, index: int) -> tuple[int, int]:  # noqa: FBT001 - a signal of the hardware
    """Return (VL, weight) that the IB tables show at an index of the high or the low list (D12)."""
    if not low:
        bank = state.regs[BANK]
        return state.owner[bank, index], state.weight[bank, index]
    if index < len(state.turns.deficit):
        return index, state.turns.deficit[index]
    return 0, state.turns.regs[ACCUMULATED] if index == 63 else 0
