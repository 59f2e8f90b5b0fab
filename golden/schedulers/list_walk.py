"""List pipeline of the line-rate forms: VLALR-1 to VLALR-5 (``docs/vlarb_line_rate.md``).

The list is stored in memory, eight entries per row, and read ahead of need. A row passes these stages, each in one
cycle or more: CHOSEN (a row with a lane that can send), FETCHED (read from memory), CURRENT_ROW (its entries are
picked one per cycle), PICKED, and OFFERED to the arbiter. WAITING keeps a picked entry while the offered one stays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import is_member, lowest_member
from vlane.golden.engine.kernel import inner

ROW = 8
"""Number of entries per row (VLALR-1)."""

REST_CYCLES = 192
"""Number of ready cycles without a packet to send after which further cycles change no state.
An upper bound of the time to read a list and empty its pipeline (VLALR-2 to VLALR-4)."""

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
        Number of entries.
    lane, weight : array of int64, (2 banks, 8 * rows)
        Lane and weight of each entry; the last row is padded with entries of weight 0.
    named_lanes : array of int64, (rows,)
        Bit mask of the lanes named by a row's entries with a weight, for rows read so far.
    stale_rows : array of int64, (2 banks, rows)
        Whether a row had weights before a reset and has not been written since; used only by a rule counter.
    regs : array of int64, (14,)
        Active bank; cycles since the exchange; pipeline registers (VLALR-3, VLALR-4), -1 if empty: chosen row, row
        chosen last, fetched row, current row, bit mask of its entries left, picked entry, waiting entry, offered
        entry; whether the offered entry's lane can send; bit mask of awake rows; lanes with a weight and number of
        bad entries read so far.
    """

    entries: int
    lane: NDArray[np.int64]
    weight: NDArray[np.int64]
    named_lanes: NDArray[np.int64]
    stale_rows: NDArray[np.int64]
    regs: NDArray[np.int64]


def new_walk(entries: int) -> ListWalk:
    """Return the state at power-on: no entry has a weight, and none is offered."""
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
    """Reset: both tables are empty (VLALR-1)."""
    _clear_pipeline(state)
    for bank in range(2):
        for row in range(len(state.named_lanes)):
            if state.weight[bank, ROW * row : ROW * (row + 1)].any():
                state.stale_rows[bank, row] = 1
    state.lane[:], state.weight[:] = 0, 0
    regs = state.regs
    regs[BANK], regs[SINCE_EXCHANGE], regs[AWAKE], regs[LAST_CHOSEN] = 0, 0, 0, len(state.named_lanes) - 1


@inner
def exchange_walk(state: ListWalk) -> None:
    """Exchange the banks and start to read the list from its beginning (VLALR-2)."""
    _clear_pipeline(state)
    regs, rows = state.regs, len(state.named_lanes)
    regs[BANK] ^= 1
    regs[SINCE_EXCHANGE], regs[AWAKE], regs[LAST_CHOSEN] = 1, (1 << rows) - 1, NO_ENTRY


@inner
def _clear_pipeline(state: ListWalk) -> None:
    state.named_lanes[:] = 0
    regs = state.regs
    regs[CHOSEN], regs[FETCHED], regs[CURRENT_ROW], regs[LEFT_IN_ROW] = NO_ENTRY, NO_ENTRY, NO_ENTRY, 0
    regs[PICKED], regs[WAITING], regs[OFFERED], regs[CAN] = NO_ENTRY, NO_ENTRY, NO_ENTRY, 0
    regs[SERVED], regs[BAD] = 0, 0


@inner
def write_entry(state: ListWalk, index: int, lane: int, weight: int) -> bool:
    """Write an entry of the shadow bank.

    Ignore an index out of range. Return whether this is the first write to a row that had weights before the last
    reset.
    """
    if index >= state.entries:
        return False
    bank = state.regs[BANK] ^ 1
    state.lane[bank, index], state.weight[bank, index] = lane, weight
    held = state.stale_rows[bank, index // ROW] != 0
    state.stale_rows[bank, index // ROW] = 0
    return held


@inner
def is_read(state: ListWalk) -> bool:
    """Return whether the list is still being read after an exchange, in which time no entry is offered (VLALR-2)."""
    return 0 < state.regs[SINCE_EXCHANGE] <= ROW * len(state.named_lanes) + 5


@inner
def offered_lane(state: ListWalk) -> int:
    """Return the lane of the offered entry, which must exist."""
    return state.lane[state.regs[BANK], state.regs[OFFERED]]


@inner
def offered_weight(state: ListWalk) -> int:
    """Return the weight of the offered entry, which must exist."""
    return state.weight[state.regs[BANK], state.regs[OFFERED]]


@inner
def run_walk(state: ListWalk, able_before: int, lanes: int, leaves: bool) -> bool:  # noqa: FBT001 - kernels take positional arguments only
    """Run a cycle of the pipeline and return whether a picked entry began to wait (VLALR-2 to VLALR-5).

    Parameters
    ----------
    state : ListWalk
        Changed in place.
    able_before : int
        Bit mask of lanes that could send in the previous cycle.
    lanes : int
        Number of data lanes; entries that name other lanes are bad.
    leaves : bool
        The offered entry is taken or dropped.
    """
    regs, bank, read = state.regs, state.regs[BANK], is_read(state)
    picked, waiting, offered = regs[PICKED], regs[WAITING], regs[OFFERED]
    if read or waiting == NO_ENTRY:  # a waiting entry stops the stages behind it
        _pick_next(state, able_before, read)
    comes = NO_ENTRY if read else picked
    waits = False
    if offered == NO_ENTRY or leaves:
        if waiting != NO_ENTRY:  # the lane may have lost its packet or credit since the entry was picked
            regs[OFFERED], regs[WAITING] = waiting, NO_ENTRY
            regs[CAN] = is_member(able_before, state.lane[bank, waiting])
        else:  # a picked entry was able when its row was fetched
            regs[OFFERED], regs[CAN] = comes, comes != NO_ENTRY
    else:
        regs[CAN] = is_member(able_before, state.lane[bank, offered])
        if waiting == NO_ENTRY:
            regs[WAITING] = comes
            waits = comes != NO_ENTRY
    awake = 0  # rows that name an able lane; all rows while the list is read
    for row in range(len(state.named_lanes)):
        awake |= (read or state.named_lanes[row] & able_before != 0) << row
    regs[AWAKE] = awake
    if read and picked != NO_ENTRY:  # reading only records the lanes that a row serves and bad entries
        lane, weighs = state.lane[bank, picked], state.weight[bank, picked] != 0
        regs[BAD] += lane >= lanes
        if weighs and lane < lanes:
            regs[SERVED] |= 1 << lane
            state.named_lanes[picked // ROW] |= 1 << lane
    regs[SINCE_EXCHANGE] += read
    return waits


@inner
def _pick_next(state: ListWalk, able_before: int, read: bool) -> None:  # noqa: FBT001 - kernels take positional arguments only
    """Pick the next entry of the current row. After its last entry, advance all rows by one stage (VLALR-3)."""
    regs, rows = state.regs, len(state.named_lanes)
    left = regs[LEFT_IN_ROW]
    regs[PICKED] = NO_ENTRY
    if left != 0:
        place = lowest_member(left)
        regs[PICKED] = ROW * regs[CURRENT_ROW] + place
        left &= ~(1 << place)
    if left == 0:
        regs[CURRENT_ROW] = regs[FETCHED]
        if regs[FETCHED] != NO_ENTRY:
            left = _pickable_entries(state, regs[FETCHED], able_before, read)
        regs[FETCHED] = regs[CHOSEN]
        regs[CHOSEN] = _next_row(regs[LAST_CHOSEN], regs[AWAKE], rows, read)
        # If no row is awake, the search restarts at row 0.
        regs[LAST_CHOSEN] = regs[CHOSEN] if regs[CHOSEN] != NO_ENTRY else rows - 1
    regs[LEFT_IN_ROW] = left


@inner
def _pickable_entries(state: ListWalk, row: int, able_before: int, read: bool) -> int:  # noqa: FBT001 - kernels take positional arguments only
    """Return a bit mask of the row's entries to pick: those with a weight and an able lane.

    All entries are picked while the list is read.
    """
    bank, picked = state.regs[BANK], 0
    for place in range(ROW):
        entry = ROW * row + place
        sends = state.weight[bank, entry] != 0 and is_member(able_before, state.lane[bank, entry])
        picked |= (read or sends) << place
    return picked


@inner
def _next_row(last: int, awake: int, rows: int, read: bool) -> int:  # noqa: FBT001 - kernels take positional arguments only
    """Return the next awake row after ``last``, cyclically.

    While the list is read, the search does not wrap around, because each row is read only once.
    """
    for step in range(1, rows + 1):
        row = (last + step) % rows
        if read and last + step >= rows:
            return NO_ENTRY
        if is_member(awake, row):
            return row
    return NO_ENTRY
