"""The list pipeline of the line-rate forms: rules VLALR-1 to VLALR-5 of ``docs/vlarb_line_rate.md``.

The list is kept in memory, eight entries a row, and read ahead of need. A row passes these stages, one a cycle or
slower: CHOSEN (a row with a lane that can send), FETCHED (read from memory), CURRENT_ROW (its entries are picked one a
cycle), PICKED, and OFFERED to the arbiter; WAITING holds a picked entry while the offered one stays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import has, lowest
from vlane.golden.engine.kernel import inner

ROW = 8
"""Entries of a row (VLALR-1)."""

REST_CYCLES = 192
"""Ready cycles with nothing to send after which another one changes nothing: more than any list takes to be read and
walked to its end (VLALR-2 to VLALR-4)."""

NO_ENTRY = -1
(
    BANK,
    SINCE_EXCHANGE,
    CHOSEN,
    LAST_CHOSEN,
    FETCHED,
    CURRENT_ROW,
    LEFT_IN_ROW,
    PICKED,
    WAITING,
    OFFERED,
    CAN,
    AWAKE,
    SERVED,
    BAD,
) = range(14)


class ListWalk(NamedTuple):
    """A list in memory and the state of its pipeline.

    Parameters
    ----------
    entries : int
        Entries of the list.
    lane, weight : array of int64, (2 banks, 8 * rows)
        Lane and weight of each entry; the last row is filled up with entries without a weight.
    named : array of int64, (rows,)
        For each row the lanes that its entries with a weight name, as bits, of those read so far.
    held : array of int64, (2 banks, rows)
        Whether a row had weights before a reset and was not written since; only a rule counter depends on it.
    regs : array of int64, (14,)
        The active bank; cycles since the exchange; the pipeline (VLALR-3, VLALR-4), -1 where it is empty: the chosen
        row, the one chosen last, the fetched row, the current row and its entries left as bits, the picked, the
        waiting and the offered entry; whether the offered entry's lane can send; awake rows as bits; of what was read,
        the lanes with a weight and the number of bad entries.
    """

    entries: int
    lane: NDArray[np.int64]
    weight: NDArray[np.int64]
    named: NDArray[np.int64]
    held: NDArray[np.int64]
    regs: NDArray[np.int64]


def new_walk(entries: int) -> ListWalk:
    """Return the state at power-on: no entry has a weight, none is offered."""
    rows = -(-entries // ROW)
    tables = (2, ROW * rows)
    state = ListWalk(
        entries,
        np.zeros(tables, np.int64),
        np.zeros(tables, np.int64),
        np.zeros(rows, np.int64),
        np.zeros((2, rows), np.int64),
        np.zeros(14, np.int64),
    )
    reset_walk(state)
    return state


@inner
def reset_walk(state: ListWalk) -> None:
    """Return to the state after reset: both tables are empty (VLALR-1)."""
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
    """Exchange the banks; the list is read from its beginning (VLALR-2)."""
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
    """Write an entry of the shadow bank; an index past the end changes nothing.

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
    """Tell whether the list is being read after an exchange: it offers no entry until then (VLALR-2)."""
    return 0 < state.regs[SINCE_EXCHANGE] <= ROW * len(state.named) + 5


@inner
def offered_lane(state: ListWalk) -> int:
    """Return the lane of the entry that is offered; there must be one."""
    return state.lane[state.regs[BANK], state.regs[OFFERED]]


@inner
def offered_weight(state: ListWalk) -> int:
    """Return the weight of the entry that is offered; there must be one."""
    return state.weight[state.regs[BANK], state.regs[OFFERED]]


@inner
def walk(state: ListWalk, before: int, lanes: int, leaves: bool) -> bool:  # noqa: FBT001 - kernels take positional arguments only
    """Run one cycle of the pipeline; return whether a picked entry began to wait (VLALR-2 to VLALR-5).

    Parameters
    ----------
    state : ListWalk
        Changed in place.
    before : int
        Lanes that could send in the previous cycle, as bits.
    lanes : int
        Data lanes; entries that name others are bad.
    leaves : bool
        The offered entry is taken or dropped.
    """
    regs, bank, read = state.regs, state.regs[BANK], is_read(state)
    picked, waiting, offered = regs[PICKED], regs[WAITING], regs[OFFERED]
    if read or waiting == NO_ENTRY:  # a waiting entry stops the stages behind it
        _move(state, before, read)
    comes = NO_ENTRY if read else picked
    waits = False
    if offered == NO_ENTRY or leaves:
        if waiting != NO_ENTRY:  # its lane may have become unable since it was picked
            regs[OFFERED], regs[WAITING] = waiting, NO_ENTRY
            regs[CAN] = has(before, state.lane[bank, waiting])
        else:  # a picked entry was able when its row was fetched
            regs[OFFERED], regs[CAN] = comes, comes != NO_ENTRY
    else:
        regs[CAN] = has(before, state.lane[bank, offered])
        if waiting == NO_ENTRY:
            regs[WAITING] = comes
            waits = comes != NO_ENTRY
    awake = 0  # rows that name an able lane; while the list is read, all
    for row in range(len(state.named)):
        awake |= (read or state.named[row] & before != 0) << row
    regs[AWAKE] = awake
    if read and picked != NO_ENTRY:  # what is read is only noted: the lanes that its row serves, and bad entries
        lane, weighs = state.lane[bank, picked], state.weight[bank, picked] != 0
        regs[BAD] += lane >= lanes
        if weighs and lane < lanes:
            regs[SERVED] |= 1 << lane
            state.named[picked // ROW] |= 1 << lane
    regs[SINCE_EXCHANGE] += read
    return waits


@inner
def _move(state: ListWalk, before: int, read: bool) -> None:  # noqa: FBT001 - kernels take positional arguments only
    """Pick the next entry left in the current row; with the last one of it, move all rows one stage on (VLALR-3)."""
    regs, rows = state.regs, len(state.named)
    left = regs[LEFT_IN_ROW]
    regs[PICKED] = NO_ENTRY
    if left != 0:
        place = lowest(left)
        regs[PICKED] = ROW * regs[CURRENT_ROW] + place
        left &= ~(1 << place)
    if left == 0:
        regs[CURRENT_ROW] = regs[FETCHED]
        if regs[FETCHED] != NO_ENTRY:
            left = _picked_of(state, regs[FETCHED], before, read)
        regs[FETCHED] = regs[CHOSEN]
        regs[CHOSEN] = _next_row(regs[LAST_CHOSEN], regs[AWAKE], rows, read)
        # Where no row is awake the search begins anew at row 0.
        regs[LAST_CHOSEN] = regs[CHOSEN] if regs[CHOSEN] != NO_ENTRY else rows - 1
    regs[LEFT_IN_ROW] = left


@inner
def _picked_of(state: ListWalk, row: int, before: int, read: bool) -> int:  # noqa: FBT001 - kernels take positional arguments only
    """Return the entries of a row to pick, as bits: those with a weight and an able lane; all, if the list is read."""
    bank, picked = state.regs[BANK], 0
    for place in range(ROW):
        entry = ROW * row + place
        sends = state.weight[bank, entry] != 0 and has(before, state.lane[bank, entry])
        picked |= (read or sends) << place
    return picked


@inner
def _next_row(last: int, awake: int, rows: int, read: bool) -> int:  # noqa: FBT001 - kernels take positional arguments only
    """Return the first awake row after the last one, and round; a list that is read is read once, not round."""
    for step in range(1, rows + 1):
        row = (last + step) % rows
        if read and last + step >= rows:
            return NO_ENTRY
        if has(awake, row):
            return row
    return NO_ENTRY
