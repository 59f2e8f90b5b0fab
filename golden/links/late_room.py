"""Credits of senders that decide from state some cycles old (IBF-7, ``docs/fast_switch.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int64, Records, new_records
from vlane.golden.engine.kernel import inner
from vlane.golden.links import room
from vlane.golden.links.room import BufferOccupancy

AGE = 4
"""Cycles by which returns are counted later than by an exact sender, and for which starts are not yet counted."""


class PacketStart:
    """A packet that started.

    Parameters
    ----------
    cycle : int
        Cycle of the start.
    lane, blocks : int
        VL and size.
    """

    cycle: Int64
    lane: Int16
    blocks: Int16


class LateCredits(NamedTuple):
    """Credits of all senders. Switches decide from credits some cycles old, NICs from current ones.

    Parameters
    ----------
    occupancy : BufferOccupancy
        Blocks in use in the remote buffers. Starts count at once; returns count late (``credit_lag``).
    start : Records of PacketStart, (ends, 4)
        Last starts, by cycle modulo 4.
    decision_cycle : array of int64, (ends,)
        Cycle of the decision under way.
    largest : array of int64, (lanes,)
        Blocks of the largest packet of each lane.
    first_exact_sender : int
        First sender that decides at once.
    """

    occupancy: BufferOccupancy
    start: Records[PacketStart]
    decision_cycle: NDArray[np.int64]
    largest: NDArray[np.int64]
    first_exact_sender: int


def new_late_credits(rooms: BufferOccupancy, *, largest: tuple[int, ...], first_exact: int) -> LateCredits:
    """Return the credits of empty remote buffers."""
    ends = len(rooms.lane)
    start = new_records(PacketStart, ends, AGE)
    start["cycle"] = -AGE - 1
    return LateCredits(rooms, start, np.zeros(ends, np.int64), np.array(largest, np.int64), first_exact)


@inner
def credit_lag(sender_credits: LateCredits, link_end: int) -> int:
    """Return the delay in cycles with which a sender counts returned credits: 0 for NICs."""
    return AGE if link_end < sender_credits.first_exact_sender else 0


@inner
def begin_decision(sender_credits: LateCredits, link_end: int, cycle: int) -> None:
    """Store the cycle for which a sender decides next."""
    sender_credits.decision_cycle[link_end] = cycle


@inner
def fits(sender_credits: LateCredits, link_end: int, lane: int, blocks: int) -> bool:
    """Return whether the sender has credit for a packet of a lane (IBF-7).

    Switches check the lane's largest packet against state some cycles old; NICs check ``blocks`` against the current
    state.
    """
    rooms = sender_credits.occupancy
    if link_end >= sender_credits.first_exact_sender:
        return room.fits(rooms, link_end, lane, blocks)
    largest = int(sender_credits.largest[lane])
    used, own, common = int(rooms.lane[link_end, lane].blocks), largest, largest
    beyond = int(rooms.above_minima[link_end].blocks)
    margin = 2 * largest + AGE - 1
    for place in range(AGE):
        start = sender_credits.start[link_end, place]
        if start.cycle < sender_credits.decision_cycle[link_end] - AGE:
            continue
        common = margin
        if start.lane == lane:
            own = margin
            used -= start.blocks
    if common != largest and not rooms.is_partitioned:
        beyond = _excess_before(sender_credits, link_end)
    bounds = rooms.bounds[0, lane]
    if used + own > bounds.maximum:
        return False
    return used + own <= bounds.minimum or beyond + common <= rooms.shared_blocks[0]


@inner
def _excess_before(sender_credits: LateCredits, link_end: int) -> int:
    """Return the blocks in use in excess of the minima without the last starts."""
    rooms, found = sender_credits.occupancy, 0
    for lane in range(rooms.lane.shape[1]):
        used = int(rooms.lane[link_end, lane].blocks)
        for place in range(AGE):
            start = sender_credits.start[link_end, place]
            if start.lane == lane and start.cycle >= sender_credits.decision_cycle[link_end] - AGE:
                used -= start.blocks
        found += max(0, used - int(rooms.bounds[0, lane].minimum))
    return found


@inner
def consume_credit(sender_credits: LateCredits, link_end: int, lane: int, blocks: int) -> None:
    """Consume credit for a packet that starts."""
    room.occupy(sender_credits.occupancy, link_end, lane, blocks)
    start = sender_credits.start[link_end, int(sender_credits.decision_cycle[link_end] % AGE)]
    start.cycle, start.lane, start.blocks = sender_credits.decision_cycle[link_end], lane, blocks


@inner
def return_credit(sender_credits: LateCredits, link_end: int, lane: int, blocks: int) -> None:
    """Add returned blocks to a lane's credit."""
    room.release(sender_credits.occupancy, link_end, lane, blocks)


@inner
def blocks_in_use(sender_credits: LateCredits, link_end: int, lane: int) -> int:
    """Return the blocks of a VL in use, as known to the sender."""
    return int(sender_credits.occupancy.lane[link_end, lane].blocks)


@inner
def no_fcps_sent(sender_credits: LateCredits) -> NDArray[np.int64]:
    """Return zeros, because credit returns need no flow-control packets."""
    return np.zeros((len(sender_credits.occupancy.lane), sender_credits.occupancy.lane.shape[1]), np.int64)


@inner
def peak_blocks_in_use(sender_credits: LateCredits) -> NDArray[np.int64]:
    """Return the peak number of blocks in use, by port and VL."""
    return sender_credits.occupancy.lane["most_blocks"]
