"""Reference model of the Deficit Table scheduler, exact forms (decisions DT-1 to DT-12 of ``docs/dtable.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.prefetch import prefetch
from vlane.golden.engine.rule import Rule
from vlane.golden.schedulers.deficit import ACCUMULATED, TURN_RULES, DeficitState, end_turns, new_deficits, serve_turn
from vlane.golden.schedulers.heads import NO_LANE, Heads, Program
from vlane.golden.schedulers.lanes import (
    GATE_RULES,
    SELECT_MAP,
    SELECT_TABLE,
    Lanes,
    decide_vl15_and_hold,
    new_lanes,
    program_map,
    reset_lanes,
)
from vlane.schedulers.dtable import IB_COUNTER_MOST, MAX_WEIGHT

RULES = (
    *TURN_RULES,
    Rule("swapped", "DT-10", "the shadow table took over"),
    Rule("swap_waited", "DT-10", "a swap waited for the link"),
    *GATE_RULES,
)
RULE_COUNT = len(RULES)
SWAPPED, SWAP_WAITED, HELD, _ = range(len(TURN_RULES), RULE_COUNT)

LOOKS_BEHIND = False
"""A step uses the heads only."""

REST_CYCLES = 1
"""Ready cycles with nothing to send after which another one changes nothing."""

BANK, SWAP_PENDING = 0, 1


class State(NamedTuple):
    """State of the scheduler.

    Parameters
    ----------
    lanes : Lanes
        Lanes of the port, and the requester of each.
    deficits : DeficitState
        The turn and the deficits.
    entry_requester, weight : array of uint8, (2 banks, entries)
        Requester and weight of each entry; ``regs[BANK]`` is the active bank.
    regs : array of int64, (2,)
        Bank, swap pending.
    """

    lanes: Lanes
    deficits: DeficitState
    entry_requester: NDArray[np.uint8]
    weight: NDArray[np.uint8]
    regs: NDArray[np.int64]


def make_state(
    *,
    data_vls: int,
    requesters: int,
    entries: int,
    vl15: bool = False,
    form: str = "free",
    keep_on_stall: bool,
    mtu_blocks: int,
    parity: bool = False,
) -> State:
    """Return the state after reset. The parameters are those of the component."""
    del parity  # golden has no upsets
    lanes = new_lanes(data_vls=data_vls, vl15=vl15, requesters=requesters)
    most = IB_COUNTER_MOST if form == "ib" else 2 * MAX_WEIGHT
    deficits = new_deficits(
        requesters=lanes.requesters,
        entries=entries,
        keep=keep_on_stall,
        most_kept=mtu_blocks - 1,
        most_accumulated=most,
    )
    shape = (2, entries)
    return State(lanes, deficits, np.zeros(shape, np.uint8), np.zeros(shape, np.uint8), np.zeros(2, np.int64))


@kernel
def reset(state: State) -> None:
    """Return to the state after reset: both banks are empty."""
    reset_lanes(state.lanes)
    end_turns(state.deficits, state.entry_requester.shape[1])
    state.entry_requester[:] = 0
    state.weight[:] = 0
    state.regs[:] = 0


@inner
def program(state: State, write: Program) -> None:
    """Write an entry of the shadow bank, or the requester of a lane. An index past the end changes nothing."""
    if write[1] == SELECT_MAP:
        program_map(state.lanes, write[2], write[3])
    elif write[1] == SELECT_TABLE and write[2] < state.entry_requester.shape[1]:
        shadow = state.regs[BANK] ^ 1
        state.entry_requester[shadow, write[2]] = write[3]
        state.weight[shadow, write[2]] = write[4]


@inner
def load_ahead(bank: State, port: int) -> None:
    """Prefetch the active table of a port of a bank (``bank.py``), for its next decision."""
    entries = bank.entry_requester.shape[2]
    first = (2 * port + bank.regs[port, BANK]) * entries
    for array in (bank.weight, bank.entry_requester):
        prefetch(array, first)
        prefetch(array, first + entries - 1)


@kernel
def step(
    state: State,
    heads: Heads,
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    write: Program,
    swap: bool,  # noqa: FBT001 - a signal of the hardware
    rule_counts: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Run a clock cycle and return (lane, list, granted). The lane is -1 if no packet starts.

    ``bank.step`` documents the arguments that all schedulers share. A swap takes effect at the end of the first cycle
    in which the link is ready.
    """
    sendable = heads.request & heads.fits
    bank = state.regs[BANK]
    lane, source, decides = decide_vl15_and_hold(state.lanes, sendable, ready, hold_data, rule_counts, HELD)
    if decides:
        lane = serve_turn(
            state.deficits, state.lanes, (state.entry_requester[bank], state.weight[bank]), heads, ready, rule_counts
        )
    swap_requested = swap or state.regs[SWAP_PENDING] != 0
    exchanged = swap_requested and ready
    if exchanged:
        state.regs[BANK] = bank ^ 1
        end_turns(state.deficits, state.entry_requester.shape[1])
        rule_counts[SWAPPED] += 1
    rule_counts[SWAP_WAITED] += swap_requested and not ready
    state.regs[SWAP_PENDING] = swap_requested and not ready
    if write[0] != 0 and (write[1] == SELECT_MAP or not exchanged):
        program(state, write)
    return lane, source, lane != NO_LANE


@kernel
def unreachable(state: State) -> int:
    """Return a bit mask of requesters that no entry with a weight names."""
    bank = state.regs[BANK]
    named = 0
    for entry in range(state.entry_requester.shape[1]):
        if state.weight[bank, entry] != 0:
            named |= 1 << int(state.entry_requester[bank, entry])
    return ((1 << state.lanes.requesters) - 1) & ~named


@kernel
def read_ib(state: State, low: bool, index: int) -> tuple[int, int]:  # noqa: FBT001 - a signal of the hardware
    """Return (VL, weight) of an entry as InfiniBand's tables show it: high or low list, and index (DT-12)."""
    if not low:
        if index >= state.entry_requester.shape[1]:
            return 0, 0
        bank = state.regs[BANK]
        return int(state.entry_requester[bank, index]), int(state.weight[bank, index])
    if index < len(state.deficits.deficit):
        return index, int(state.deficits.deficit[index])
    return 0, state.deficits.regs[ACCUMULATED] if index == 63 else 0
