"""Credits of senders that decide from state some cycles old (IBF-7, ``docs/fast_switch.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int64, Records, new_records
from vlane.golden.engine.kernel import inner
from vlane.golden.links import room
from vlane.golden.links.room import Rooms

AGE = 4
"""Cycles by which returns are counted later than by an exact sender, and for which starts are not yet counted."""


class LateStart:
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


class LateRooms(NamedTuple):
    """Credits of senders. Those of switches decide late, those of NICs at once.

    Parameters
    ----------
    rooms : Rooms
        Blocks in use in the remote buffers. Starts count at once; returns count late (``lateness``).
    start : Records of LateStart, (ends, 4)
        Last starts, by cycle modulo 4.
    now : array of int64, (ends,)
        Cycle of the decision under way.
    largest : array of int64, (lanes,)
        Blocks of the largest packet of each lane.
    first_exact : int
        First sender that decides at once.
    """

    rooms: Rooms
    start: Records[LateStart]
    now: NDArray[np.int64]
    largest: NDArray[np.int64]
    first_exact: int


def new_late_rooms(rooms: Rooms, *, largest: tuple[int, ...], first_exact: int) -> LateRooms:
    """Return the credits of empty remote buffers."""
    ends = len(rooms.taken)
    start = new_records(LateStart, ends, AGE)
    start["cycle"] = -AGE - 1
    return LateRooms(rooms, start, np.zeros(ends, np.int64), np.array(largest, np.int64), first_exact)


@inner
def lateness(late: LateRooms, end: int) -> int:
    """Return by how many cycles a sender counts returns later than an exact sender."""
    return AGE if end < late.first_exact else 0


@inner
def begin_decision(late: LateRooms, end: int, cycle: int) -> None:
    """Set the cycle of a sender's decision."""
    late.now[end] = cycle


@inner
def fits(late: LateRooms, end: int, lane: int, blocks: int) -> bool:
    """Return whether a sender finds credit for a packet (IBF-7). NICs use the packet's size."""
    rooms = late.rooms
    if end >= late.first_exact:
        return room.fits(rooms, end, lane, blocks)
    largest = int(late.largest[lane])
    used, own, common = int(rooms.taken[end, lane].blocks), largest, largest
    beyond = int(rooms.beyond[end].blocks)
    margin = 2 * largest + AGE - 1
    for place in range(AGE):
        start = late.start[end, place]
        if start.cycle < late.now[end] - AGE:
            continue
        common = margin
        if start.lane == lane:
            own = margin
            used -= start.blocks
    if common != largest and not rooms.divided:
        beyond = _beyond_before(late, end)
    bounds = rooms.bounds[0, lane]
    if used + own > bounds.maximum:
        return False
    return used + own <= bounds.minimum or beyond + common <= rooms.shared[0]


@inner
def _beyond_before(late: LateRooms, end: int) -> int:
    """Return the blocks in use in excess of the minima without the last starts."""
    rooms, found = late.rooms, 0
    for lane in range(rooms.taken.shape[1]):
        used = int(rooms.taken[end, lane].blocks)
        for place in range(AGE):
            start = late.start[end, place]
            if start.lane == lane and start.cycle >= late.now[end] - AGE:
                used -= start.blocks
        found += max(0, used - int(rooms.bounds[0, lane].minimum))
    return found


@inner
def take(late: LateRooms, end: int, lane: int, blocks: int) -> None:
    """Consume credit for a packet that starts."""
    room.take(late.rooms, end, lane, blocks)
    start = late.start[end, int(late.now[end] % AGE)]
    start.cycle, start.lane, start.blocks = late.now[end], lane, blocks


@inner
def give_back(late: LateRooms, end: int, lane: int, blocks: int) -> None:
    """Count returned blocks."""
    room.give_back(late.rooms, end, lane, blocks)


@inner
def taken(late: LateRooms, end: int, lane: int) -> int:
    """Return the blocks of a VL in use, as known to the sender."""
    return int(late.rooms.taken[end, lane].blocks)


@inner
def none_sent(late: LateRooms) -> NDArray[np.int64]:
    """Return zeros: returns need no flow-control packets."""
    return np.zeros((len(late.rooms.taken), late.rooms.taken.shape[1]), np.int64)


@inner
def most_taken(late: LateRooms) -> NDArray[np.int64]:
    """Return the maximum number of blocks in use, by port and VL."""
    return late.rooms.taken["most"]
