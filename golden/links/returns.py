"""Credits being returned: at once in a known cycle, or flit by flit as a packet moves.

Flit-by-flit returns are counted when a result depends on them, not in every cycle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.prefetch import prefetch
from vlane.golden.links.remote_credit import count_freed_blocks

NEVER = 1 << 60


class PacketReturn:
    """Return of a packet's buffer space, flit by flit.

    Parameters
    ----------
    start_cycle : int
        Cycle from which the space of its first flit is free.
    lane : int
        VL.
    flits, blocks : int
        Size in flits and in blocks.
    freed_blocks : int
        Blocks freed so far.
    flits_ahead : int
        Number of buffered flits in excess of one arriving per cycle.
    """

    start_cycle: Int64
    flits_ahead: Int32
    flits: Int16
    blocks: Int16
    freed_blocks: Int16
    lane: Int16


class ReturnRow:
    """Ring buffer of the packet returns of a port, or of a VL of a port.

    Parameters
    ----------
    oldest : int
        Index of the first packet.
    count : int
        Number of packets.
    due : int
        First cycle in which space may have been freed.
    """

    due: Int64
    oldest: Int16
    count: Int16


class ImmediateReturn:
    """Return of buffer space as a whole, in a known cycle.

    Parameters
    ----------
    end : int
        Port.
    lane : int
        VL.
    blocks : int
        Number of blocks.
    """

    end: Int32
    lane: Int16
    blocks: Int16


class Returns(NamedTuple):
    """Credits being returned: a list of packets per row (flit by flit), and a list per cycle (at once).

    Parameters
    ----------
    rows : int
        Rows per port: 1, or one per VL if packets of several VLs cross at the same time.
    row : Records of ReturnRow, (ends * rows,)
        State of each row.
    packet : Records of PacketReturn, (ends * rows, packets)
        Packets whose space is being returned; each row is a ring buffer.
    immediate : Records of ImmediateReturn, (cycles * ends * rows * most_at_once,)
        Space freed at once, a list per cycle; the number of cycles is a power of two.
    list_lengths : array of int64, (cycles,)
        Length of each list.
    flit_shift : int
        Log2 of the flits per block.
    most_per_cycle : int
        Largest number of packets, or separately granted flits, of a row whose space is freed in the same cycle.
    speed : int
        Maximum number of flits that cross a switch from one input per cycle.
    """

    rows: int
    row: Records[ReturnRow]
    packet: Records[PacketReturn]
    immediate: Records[ImmediateReturn]
    list_lengths: NDArray[np.int64]
    flit_shift: int
    most_per_cycle: int
    speed: int


def new_returns(
    *, end_count: int, rows: int, flight: int, flit_shift: int, speed: int, most_at_once: int = 1
) -> Returns:
    """Return empty rows and lists. ``flight`` is the longest flight time of a cable in cycles."""
    cycles = 1 << (flight + 4).bit_length()
    return Returns(
        rows=rows,
        row=new_records(ReturnRow, end_count * rows),
        packet=new_records(PacketReturn, end_count * rows, cycles),
        immediate=new_records(ImmediateReturn, cycles * end_count * rows * most_at_once),
        list_lengths=np.zeros(cycles, np.int64),
        flit_shift=flit_shift,
        most_per_cycle=most_at_once,
        speed=speed,
    )


@inner
def completed_blocks(flits: int, of_flits: int, blocks: int, flit_shift: int) -> int:
    """Return the number of blocks completed by the first ``flits`` flits of a packet."""
    return blocks if flits >= of_flits else flits >> flit_shift


@inner
def flits_moved(credit_returns: Returns, cycles: int, flits_ahead: int) -> int:
    """Return the flits of an endless packet that crossed in ``cycles`` cycles (OPAS-6).

    One flit arrives per cycle, in addition to ``flits_ahead`` buffered flits.
    """
    return min(credit_returns.speed * cycles, cycles + flits_ahead)


@inner
def begin_packet_return(
    credit_returns: Returns,
    remote_credit: Any,
    link_end: int,
    cycle: int,
    start_cycle: int,
    lane: int,
    flits: int,
    blocks: int,
    flits_ahead: int,
) -> None:
    """Start the return of a packet's space, flit by flit, from ``start_cycle`` on."""
    if flits == 1:
        schedule_immediate_return(credit_returns, link_end, start_cycle, lane, blocks)
        return
    number = link_end * credit_returns.rows + (lane if credit_returns.rows > 1 else 0)
    row, places = credit_returns.row[number], credit_returns.packet.shape[1]
    if row.count == places:
        _apply_row(credit_returns, remote_credit, link_end, number, cycle)
    moving = credit_returns.packet[number, (row.oldest + row.count) & (places - 1)]
    row.due = min(row.due, start_cycle)
    row.count += 1
    moving.start_cycle, moving.lane, moving.flits, moving.blocks, moving.freed_blocks = (
        start_cycle,
        lane,
        flits,
        blocks,
        0,
    )
    moving.flits_ahead = flits_ahead


@inner
def _slot(credit_returns: Returns, cycle: int) -> int:
    return cycle & (len(credit_returns.list_lengths) - 1)


@inner
def immediate_return_indices(credit_returns: Returns, cycle: int) -> range:
    """Return the indices in ``immediate`` of the returns of a cycle."""
    slot = _slot(credit_returns, cycle)
    first = slot * len(credit_returns.row) * credit_returns.most_per_cycle
    return range(first, first + credit_returns.list_lengths[slot])


@inner
def schedule_immediate_return(credit_returns: Returns, link_end: int, start_cycle: int, lane: int, blocks: int) -> None:
    """Schedule the return of blocks in a later cycle, less than ``len(coming)`` cycles ahead.

    Each row frees space at most ``most_per_cycle`` times per cycle.
    """
    slot = _slot(credit_returns, start_cycle)
    last = credit_returns.immediate[
        slot * len(credit_returns.row) * credit_returns.most_per_cycle + credit_returns.list_lengths[slot]
    ]
    last.end, last.lane, last.blocks = link_end, lane, blocks
    credit_returns.list_lengths[slot] += 1


@inner
def clear_immediate_returns(credit_returns: Returns, cycle: int) -> None:
    """Empty the list of a cycle whose returns have been applied."""
    credit_returns.list_lengths[_slot(credit_returns, cycle)] = 0


@inner
def apply_returns(credit_returns: Returns, remote_credit: Any, link_end: int, cycle: int) -> None:
    """Credit the sender with the space of a port that was freed before a cycle."""
    for number in range(link_end * credit_returns.rows, (link_end + 1) * credit_returns.rows):
        _apply_row(credit_returns, remote_credit, link_end, number, cycle)


@inner
def _apply_row(credit_returns: Returns, remote_credit: Any, link_end: int, row_index: int, cycle: int) -> None:
    row = credit_returns.row[row_index]
    if cycle < row.due:
        return
    row.due = NEVER
    while row.count > 0:
        packet = credit_returns.packet[row_index, row.oldest]
        elapsed = cycle - packet.start_cycle + 1
        if elapsed <= 0:
            row.due = packet.start_cycle
            return
        moved = flits_moved(credit_returns, elapsed, packet.flits_ahead)
        back = completed_blocks(moved, packet.flits, packet.blocks, credit_returns.flit_shift)
        if back != packet.freed_blocks:
            count_freed_blocks(remote_credit, link_end, packet.lane, back - packet.freed_blocks)
            packet.freed_blocks = back
        if moved < packet.flits:
            row.due = cycle + 1
            return
        row.count -= 1
        row.oldest = (row.oldest + 1) & (credit_returns.packet.shape[1] - 1) if row.count > 0 else 0


@inner
def earliest_return(credit_returns: Returns, link_end: int, cycle: int, blocks: int) -> int:
    """Return the first cycle by which ``blocks`` blocks of a port may be free, as of its last ``apply_returns``.

    A row frees at most a block per flit that crosses in a cycle. Space that is freed at once is not considered.
    """
    earliest, each_cycle = NEVER, credit_returns.rows * credit_returns.speed
    for number in range(link_end * credit_returns.rows, (link_end + 1) * credit_returns.rows):
        row = credit_returns.row[number]
        if row.count > 0:
            earliest = min(earliest, max(int(row.due), cycle + (blocks + each_cycle - 1) // each_cycle))
    return earliest


@inner
def prefetch_returns(credit_returns: Returns, link_end: int) -> None:
    """Prefetch the returns of a port."""
    number = link_end * credit_returns.rows
    prefetch(credit_returns.row, number)
    prefetch(credit_returns.packet, number * credit_returns.packet.shape[1])


@inner
def has_returns_under_way(credit_returns: Returns, link_end: int) -> bool:
    """Return whether space of a port is still being freed flit by flit, as of the last ``apply_returns``."""
    packets = 0
    for number in range(link_end * credit_returns.rows, (link_end + 1) * credit_returns.rows):
        packets += credit_returns.row[number].count
    return packets > 0
