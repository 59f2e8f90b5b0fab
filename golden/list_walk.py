"""A walk along a list kept in memory, ahead of need: rules L1 to L5 of ``docs/vlarb_line_rate.md``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.bits import has
from vlane.golden.kernel import inner

__all__ = [
    "BAD",
    "CAN",
    "NO_ENTRY",
    "OFFERED",
    "SERVED",
    "ListWalk",
    "exchange_walk",
    "new_walk",
    "offered_lane",
    "offered_weight",
    "reset_walk",
    "walk",
    "write_entry",
]

ROW = 8
"""Entries of a row (L1)."""

NO_ENTRY = -1
(BANK, SINCE_EXCHANGE, CHOSEN, LAST_CHOSEN, FETCHED, CURRENT_ROW, LEFT_IN_ROW, PICKED, WAITING, OFFERED, CAN, AWAKE,
 SERVED, BAD) = range(14)  # fmt: skip


class ListWalk(NamedTuple):
    """A list and the walk along it.

    Parameters
    ----------
    entries : int
        Entries of the list.
    lane, weight : array of int64, (2 banks, 8 * rows)
        The tables, rows filled up with entries that have no weight.
    named : array of int64, (rows,)
        Lanes that the entries with a weight of each row name, as bits, of those read so far.
    held : array of int64, (2 banks, rows)
        Whether a row had weights before a reset and was not written since: counted, nothing depends on it.
    regs : array of int64, (14,)
        The active bank, cycles since the exchange, the places of the walk (L3, L4), awake rows, whether what is offered
        can send, what was read.
    """

    entries: int
    lane: NDArray[np.int64]
    weight: NDArray[np.int64]
    named: NDArray[np.int64]
    held: NDArray[np.int64]
    regs: NDArray[np.int64]


def new_walk(entries: int) -> ListWalk:
    """Return the state at power-on: tables of entries without a weight, nothing offered."""
    rows = -(-entries // ROW)
    tables = (2, ROW * rows)
    state = ListWalk(
        entries, np.zeros(tables, np.int64), np.zeros(tables, np.int64), np.zeros(rows, np.int64),
        np.zeros((2, rows), np.int64), np.zeros(14, np.int64),
    )  # fmt: skip
    reset_walk(state)
    return state


@inner
def reset_walk(state: ListWalk) -> None:
    """Reset: both tables are empty (L1)."""
    _empty(state)
    for bank in range(2):
        for row in range(len(state.named)):
            if state.weight[bank, ROW * row : ROW * (row + 1)].any():
                state.held[bank, row] = 1
    state.lane[:], state.weight[:] = 0, 0
    regs = state.regs
    regs[BANK], regs[SINCE_EXCHANGE], regs[AWAKE], regs[LAST_CHOSEN] = 0, 0, 0, len(state.named) - 1


@inner
def exchange_walk(state: ListWalk) -> None:
    """Exchange the banks: the list is read anew (L2)."""
    _empty(state)
    regs, rows = state.regs, len(state.named)
    regs[BANK] ^= 1
    regs[SINCE_EXCHANGE], regs[AWAKE], regs[LAST_CHOSEN] = 1, (1 << rows) - 1, NO_ENTRY


@inner
def _empty(state: ListWalk) -> None:
    state.named[:] = 0
    regs = state.regs
    regs[CHOSEN], regs[FETCHED], regs[CURRENT_ROW], regs[LEFT_IN_ROW] = NO_ENTRY, NO_ENTRY, NO_ENTRY, 0
    regs[PICKED], regs[WAITING], regs[OFFERED], regs[CAN] = NO_ENTRY, NO_ENTRY, NO_ENTRY, 0
    regs[SERVED], regs[BAD] = 0, 0


@inner
def write_entry(state: ListWalk, index: int, lane: int, weight: int) -> bool:
    """Write an entry of the shadow bank; an index past the end writes nothing.

    Return whether it is the first of a row that had weights before the last reset.
    """
    if index >= state.entries:
        return False
    bank = state.regs[BANK] ^ 1
    state.lane[bank, index], state.weight[bank, index] = lane, weight
    held = state.held[bank, index // ROW] != 0
    state.held[bank, index // ROW] = 0
    return held


@inner
def is_read(state: ListWalk) -> bool:
    """Tell whether the list is being read: it has no entry to serve (L2)."""
    return 0 < state.regs[SINCE_EXCHANGE] <= ROW * len(state.named) + 5


@inner
def offered_lane(state: ListWalk) -> int:
    """Return the lane of the entry that is offered; there must be one."""
    return state.lane[state.regs[BANK], state.regs[OFFERED]]


@inner
def offered_weight(state: ListWalk) -> int:
    """Return its weight."""
    return state.weight[state.regs[BANK], state.regs[OFFERED]]


@inner
def walk(state: ListWalk, before: int, lanes: int, leaves: bool) -> bool:  # noqa: FBT001 - numba takes no keyword-only arguments
    """Let a cycle of the walk pass; return whether a picked entry began to wait (L2 to L5).

    Parameters
    ----------
    state : ListWalk
        Changed in place.
    before : int
        Lanes that were able in the cycle before, as bits.
    lanes : int
        Data lanes; entries that name others are bad.
    leaves : bool
        What is offered is taken or dropped.
    """
    regs, bank, read = state.regs, state.regs[BANK], is_read(state)
    picked, waiting, offered = regs[PICKED], regs[WAITING], regs[OFFERED]
    if read or waiting == NO_ENTRY:
        _move(state, before, read)
    comes = NO_ENTRY if read else picked
    waits = False
    if offered == NO_ENTRY or leaves:
        if waiting != NO_ENTRY:
            regs[OFFERED], regs[WAITING] = waiting, NO_ENTRY
            regs[CAN] = has(before, state.lane[bank, waiting])
        else:
            regs[OFFERED], regs[CAN] = comes, comes != NO_ENTRY
    else:
        regs[CAN] = has(before, state.lane[bank, offered])
        if waiting == NO_ENTRY:
            regs[WAITING] = comes
            waits = comes != NO_ENTRY
    awake = 0
    for row in range(len(state.named)):
        awake |= (read or state.named[row] & before != 0) << row
    regs[AWAKE] = awake
    if read and picked != NO_ENTRY:
        lane, weighs = state.lane[bank, picked], state.weight[bank, picked] != 0
        regs[BAD] += lane >= lanes
        if weighs and lane < lanes:
            regs[SERVED] |= 1 << lane
            state.named[picked // ROW] |= 1 << lane
    regs[SINCE_EXCHANGE] += read
    return waits


@inner
def _move(state: ListWalk, before: int, read: bool) -> None:  # noqa: FBT001 - numba takes no keyword-only arguments
    """Pick the next entry left in the current row; get the next row if that was the last (L3)."""
    regs, bank, rows = state.regs, state.regs[BANK], len(state.named)
    left = regs[LEFT_IN_ROW]
    regs[PICKED] = NO_ENTRY
    for place in range(ROW):
        if (left >> place) & 1:
            regs[PICKED] = ROW * regs[CURRENT_ROW] + place
            left &= ~(1 << place)
            break
    if left == 0:
        regs[CURRENT_ROW] = regs[FETCHED]
        if regs[FETCHED] != NO_ENTRY:
            for place in range(ROW):
                entry = ROW * regs[FETCHED] + place
                sends = state.weight[bank, entry] != 0 and has(before, state.lane[bank, entry])
                left |= (read or sends) << place
        regs[FETCHED] = regs[CHOSEN]
        regs[CHOSEN] = NO_ENTRY
        last = regs[LAST_CHOSEN]
        for step in range(1, rows + 1):
            row = (last + step) % rows
            if read and last + step >= rows:
                break
            if (regs[AWAKE] >> row) & 1:
                regs[CHOSEN] = row
                break
        regs[LAST_CHOSEN] = regs[CHOSEN] if regs[CHOSEN] != NO_ENTRY else rows - 1
    regs[LEFT_IN_ROW] = left
