"""Room that comes free flit by flit as packets move, counted when somebody asks."""

from __future__ import annotations

from typing import Any, NamedTuple

from vlane.golden.far_room import came_free
from vlane.golden.kernel import inner
from vlane.golden.records import Int16, Int32, Records, new_records

__all__ = ["Returns", "are_under_way", "begin", "flits_moved", "new_returns", "settle", "whole_blocks"]

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


class Returns(NamedTuple):
    """Packets whose room is coming free, one after the other in each row.

    Parameters
    ----------
    rows : int
        Of each end: 1, or one for each lane where lanes move side by side.
    row : Records of Row, (ends * rows,)
        What is in each.
    packet : Records of Moving, (ends * rows, packets)
        Those, each row a ring.
    flit_shift : int
        A block is 2 to this power flits.
    speed : int
        Flits that cross a switch in a cycle, from one input.
    """

    rows: int
    row: Records[Row]
    packet: Records[Moving]
    flit_shift: int
    speed: int


def new_returns(*, ends: int, rows: int, flight: int, flit_shift: int, speed: int) -> Returns:
    """Return ends to which nothing comes back; ``flight`` is the longest way in cycles."""
    packets = 1 << (flight + 4).bit_length()
    return Returns(rows, new_records(Row, ends * rows), new_records(Moving, ends * rows, packets), flit_shift, speed)


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
    """Tell whether any room of an end is still coming free, as of the last time it was settled."""
    packets = 0
    for number in range(end * returns.rows, (end + 1) * returns.rows):
        packets += returns.row[number].count
    return packets > 0
