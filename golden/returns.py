"""Room that comes free: at once, in a cycle known before, or flit by flit as a packet moves, counted when asked for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.far_room import came_free
from vlane.golden.kernel import inner
from vlane.golden.records import Int16, Int32, Records, new_records

__all__ = [
    "Returns",
    "are_under_way",
    "begin",
    "begin_at_once",
    "flits_moved",
    "forget_coming",
    "new_returns",
    "places_coming",
    "settle",
    "whole_blocks",
]

_NEVER = (1 << 31) - 1


class Moving:
    """A packet whose room is coming free.

    Parameters
    ----------
    since : int
        The cycle from which its first flit counts.
    lane, flits, blocks : int
        Of the packet.
    given : int
        Blocks counted already.
    ahead : int
        Flits that were there beyond those that may cross.
    """

    since: Int32
    ahead: Int32
    flits: Int16
    blocks: Int16
    given: Int16
    lane: Int16


class Row:
    """Which of a row's packets are coming free.

    Parameters
    ----------
    oldest, count : int
        The first of them, and how many.
    due : int
        Cycle before which nothing is to be counted.
    """

    oldest: Int16
    count: Int16
    due: Int32


class AtOnce:
    """Room that comes free at once.

    Parameters
    ----------
    end, lane, blocks : int
        Whose, and how much.
    """

    end: Int32
    lane: Int16
    blocks: Int16


class Returns(NamedTuple):
    """Room that is coming free: packets, one after the other in each row, and by cycle what comes free at once.

    Parameters
    ----------
    rows : int
        Of each end: 1, or one for each lane where lanes move side by side.
    row : Records of Row, (ends * rows,)
        What is in each.
    packet : Records of Moving, (ends * rows, packets)
        Those, each row a ring.
    at_once : Records of AtOnce, (cycles * ends * rows,)
        A list for each of so many cycles, a power of two.
    coming : array of int64, (cycles,)
        How long each list is.
    flit_shift : int
        A block is 2 to this power flits.
    speed : int
        Flits that cross a switch in a cycle, from one input.
    """

    rows: int
    row: Records[Row]
    packet: Records[Moving]
    at_once: Records[AtOnce]
    coming: NDArray[np.int64]
    flit_shift: int
    speed: int


def new_returns(*, ends: int, rows: int, flight: int, flit_shift: int, speed: int) -> Returns:
    """Return ends to which nothing comes back; ``flight`` is the longest way in cycles."""
    cycles = 1 << (flight + 4).bit_length()
    return Returns(
        rows, new_records(Row, ends * rows), new_records(Moving, ends * rows, cycles),
        new_records(AtOnce, cycles * ends * rows), np.zeros(cycles, np.int64), flit_shift, speed,
    )  # fmt: skip


@inner
def whole_blocks(flits: int, of_flits: int, blocks: int, flit_shift: int) -> int:
    """Return the blocks whose last flit is among the first ``flits`` of a packet's."""
    return blocks if flits >= of_flits else flits >> flit_shift


@inner
def flits_moved(returns: Returns, cycles: int, ahead: int) -> int:
    """Return the flits that crossed in so many cycles, of a packet without end that streams in (O6)."""
    return min(returns.speed * cycles, cycles + ahead)


@inner
def begin(
    returns: Returns, far: Any, end: int, cycle: int, since: int, lane: int, flits: int, blocks: int, ahead: int
) -> None:
    """Let a packet's room come free as its flits move, the first counting from cycle ``since`` on."""
    if flits == 1:
        begin_at_once(returns, end, since, lane, blocks)
        return
    number = end * returns.rows + (lane if returns.rows > 1 else 0)
    row, places = returns.row[number], returns.packet.shape[1]
    if row.count == places:
        _settle_row(returns, far, end, number, cycle)
    moving = returns.packet[number, (row.oldest + row.count) & (places - 1)]
    row.due = min(row.due, since)
    row.count += 1
    moving.since, moving.lane, moving.flits, moving.blocks, moving.given = since, lane, flits, blocks, 0
    moving.ahead = ahead


@inner
def _slot(returns: Returns, cycle: int) -> int:
    return cycle & (len(returns.coming) - 1)


@inner
def places_coming(returns: Returns, cycle: int) -> range:
    """Return where in ``at_once`` that is which comes free in a cycle."""
    slot = _slot(returns, cycle)
    first = slot * len(returns.row)
    return range(first, first + returns.coming[slot])


@inner
def begin_at_once(returns: Returns, end: int, since: int, lane: int, blocks: int) -> None:
    """Let room come free at once: after this cycle and less than ``len(coming)`` ahead, no more than one of a row."""
    slot = _slot(returns, since)
    last = returns.at_once[slot * len(returns.row) + returns.coming[slot]]
    last.end, last.lane, last.blocks = end, lane, blocks
    returns.coming[slot] += 1


@inner
def forget_coming(returns: Returns, cycle: int) -> None:
    """Forget what came free at once in a cycle, once it is counted."""
    returns.coming[_slot(returns, cycle)] = 0


@inner
def settle(returns: Returns, far: Any, end: int, cycle: int) -> None:
    """Count what came free before a cycle."""
    for number in range(end * returns.rows, (end + 1) * returns.rows):
        _settle_row(returns, far, end, number, cycle)


@inner
def _settle_row(returns: Returns, far: Any, end: int, number: int, cycle: int) -> None:
    row = returns.row[number]
    if cycle < row.due:
        return
    row.due = _NEVER
    while row.count > 0:
        packet = returns.packet[number, row.oldest]
        elapsed = cycle - packet.since + 1
        if elapsed <= 0:
            row.due = packet.since
            return
        moved = flits_moved(returns, elapsed, packet.ahead)
        back = whole_blocks(moved, packet.flits, packet.blocks, returns.flit_shift)
        if back != packet.given:
            came_free(far, end, packet.lane, back - packet.given)
            packet.given = back
        if moved < packet.flits:
            row.due = cycle + 1
            return
        row.count -= 1
        row.oldest = (row.oldest + 1) & (returns.packet.shape[1] - 1) if row.count > 0 else 0


@inner
def are_under_way(returns: Returns, end: int) -> bool:
    """Tell whether any room of an end is still coming free flit by flit, as of the last time it was settled."""
    packets = 0
    for number in range(end * returns.rows, (end + 1) * returns.rows):
        packets += returns.row[number].count
    return packets > 0
