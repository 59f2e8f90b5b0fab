"""Room of many buffers, each under the room rule (``docs/ib_switch.md``, Room).

The sum of what VLs hold beyond their minima is kept, so that a look-up costs the same for any number of VLs.
"""

from __future__ import annotations

from typing import NamedTuple

from vlane.golden.credits import room_rule as rule
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.records import Int32, Records, new_records

__all__ = ["Rooms", "fits", "give_back", "new_rooms", "take"]


class Bounds:
    """Bounds of a VL's share of a buffer, in 64-byte blocks.

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
    """Room counters of many buffers of the same size.

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
    """Tell whether a buffer has room for a packet of so many blocks."""
    bounds, before = rooms.bounds[lane], rooms.taken[buffer, lane].blocks
    in_use = rooms.beyond[buffer].blocks
    return rule.fits(before, blocks, bounds.minimum, bounds.maximum, in_use, rooms.shared)


@inner
def take(rooms: Rooms, buffer: int, lane: int, blocks: int) -> None:
    """Take blocks; they must fit."""
    least, taken = rooms.bounds[lane].minimum, rooms.taken[buffer, lane]
    after = taken.blocks + blocks
    rooms.beyond[buffer].blocks += rule.grown(taken.blocks, after, least)
    taken.blocks = after


@inner
def give_back(rooms: Rooms, buffer: int, lane: int, blocks: int) -> None:
    """Free blocks that were taken."""
    least, taken = rooms.bounds[lane].minimum, rooms.taken[buffer, lane]
    after = taken.blocks - blocks
    rooms.beyond[buffer].blocks += rule.grown(taken.blocks, after, least)
    taken.blocks = after
