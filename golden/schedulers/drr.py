"""Golden model of deficit round robin (Shreedhar and Varghese 1995, ``docs/drr.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.schedulers.deficit import TURN_RULES, DeficitState, end_turns, new_deficits, serve_turn
from vlane.golden.schedulers.heads import NO_LANE, Heads, Program
from vlane.golden.schedulers.lanes import (
    GATE_RULES,
    Lanes,
    decide_vl15_and_hold,
    new_lanes,
    program_value,
    requesters_without_value,
    reset_lanes,
)
from vlane.schedulers.drr import MAX_QUANTUM

RULES = (*TURN_RULES, *GATE_RULES)
RULE_COUNT = len(RULES)
HELD, _ = range(len(TURN_RULES), RULE_COUNT)

LOOKS_BEHIND = False
"""A step uses only the heads."""

REST_CYCLES = 1
"""Number of ready cycles without a packet to send after which further cycles change no state."""


class State(NamedTuple):
    """State of the scheduler.

    Parameters
    ----------
    lanes : Lanes
        Lanes of the port and their requesters.
    deficits : DeficitState
        Turn and deficits; entry i belongs to requester i.
    entry_requester : array of uint8, (requesters,)
        Requester of each entry (0, 1, 2, ...).
    quantum : array of uint8, (requesters,)
        Blocks that each requester receives per turn.
    """

    lanes: Lanes
    deficits: DeficitState
    entry_requester: NDArray[np.uint8]
    quantum: NDArray[np.uint8]


def make_state(*, data_vls: int, requesters: int, vl15: bool = False, keep_on_stall: bool, mtu_blocks: int) -> State:
    """Return the state after reset, for the parameters of the component."""
    lanes = new_lanes(data_vls=data_vls, vl15=vl15, requesters=requesters)
    count = lanes.requesters
    deficits = new_deficits(
        requesters=count, entries=count, keep=keep_on_stall, most_kept=mtu_blocks - 1, most_accumulated=2 * MAX_QUANTUM
    )
    return State(lanes, deficits, np.arange(count, dtype=np.uint8), np.zeros(count, np.uint8))


@kernel
def reset(state: State) -> None:
    """Reset: every quantum becomes 0, so no requester is served."""
    reset_lanes(state.lanes)
    end_turns(state.deficits, len(state.entry_requester))
    state.quantum[:] = 0


@inner
def program(state: State, write: Program) -> None:
    """Write the quantum of a requester or the requester of a lane. Ignore an index out of range."""
    program_value(state.lanes, state.quantum, write)


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
    sendable = heads.request & heads.fits
    lane, source, decides = decide_vl15_and_hold(state.lanes, sendable, ready, hold_data, rule_counts, HELD)
    if decides:
        lane = serve_turn(
            state.deficits, state.lanes, (state.entry_requester, state.quantum), heads, ready, rule_counts
        )
    if write[0] != 0:
        program(state, write)
    return lane, source, lane != NO_LANE


@kernel
def unreachable(state: State) -> int:
    """Return a bit mask of requesters whose quantum is 0."""
    return requesters_without_value(state.quantum)
