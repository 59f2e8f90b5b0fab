"""Room of buffers that VLs share: a guaranteed minimum and a maximum each (``docs/ib_switch.md``).

The same rule as Omni-Path's sender-managed credits: what lanes hold beyond their minima comes out of what the
minima leave. The sum is kept, so a question costs the same however many lanes there are.
"""

from __future__ import annotations

from typing import NamedTuple

from vlane.golden.kernel import inner
from vlane.golden.records import Int32, Records, new_records

__all__ = ["Rooms", "fits", "give_back", "new_rooms", "take"]


class Bounds:
    """What a lane may take of a buffer, in 64-byte blocks.

    Parameters
    ----------
    minimum, maximum : int
        Guaranteed, and allowed.
    """

    minimum: Int32
    maximum: Int32


class Taken:
    """What is taken of a buffer.

    Parameters
    ----------
    blocks : int
        Of 64 bytes.
    """

    blocks: Int32


class Rooms(NamedTuple):
    """Rooms of many like buffers.

    Parameters
    ----------
    bounds : Records of Bounds, (lanes,)
        Of each lane.
    taken : Records of Taken, (buffers, lanes)
        By each lane.
    beyond : Records of Taken, (buffers,)
        By all lanes together, beyond their minima.
    shared : int
        Blocks that the minima leave of a buffer.
    """

    bounds: Records[Bounds]
    taken: Records[Taken]
    beyond: Records[Taken]
    shared: int


def new_rooms(*, buffers: int, blocks: int, minimum: tuple[int, ...], maximum: tuple[int, ...]) -> Rooms:
    """Return empty buffers of so many blocks."""
    lanes = len(minimum)
    taken, beyond = new_records(Taken, buffers, lanes), new_records(Taken, buffers)
    rooms = Rooms(new_records(Bounds, lanes), taken, beyond, blocks - sum(minimum))
    rooms.bounds["minimum"], rooms.bounds["maximum"] = minimum, maximum
    return rooms


@inner
def fits(rooms: Rooms, buffer: int, lane: int, blocks: int) -> bool:
    """Tell whether a packet of so many blocks may be taken in."""
    bounds, before = rooms.bounds[lane], rooms.taken[buffer, lane].blocks
    after = before + blocks
    grown = max(after, bounds.minimum) - max(before, bounds.minimum)
    return after <= bounds.maximum and rooms.beyond[buffer].blocks + grown <= rooms.shared


@inner
def take(rooms: Rooms, buffer: int, lane: int, blocks: int) -> None:
    """Take blocks; they must fit."""
    least, taken = rooms.bounds[lane].minimum, rooms.taken[buffer, lane]
    after = taken.blocks + blocks
    rooms.beyond[buffer].blocks += max(after, least) - max(taken.blocks, least)
    taken.blocks = after


@inner
def give_back(rooms: Rooms, buffer: int, lane: int, blocks: int) -> None:
    """Free blocks that were taken."""
    least, taken = rooms.bounds[lane].minimum, rooms.taken[buffer, lane]
    after = taken.blocks - blocks
    rooms.beyond[buffer].blocks -= max(taken.blocks, least) - max(after, least)
    taken.blocks = after
