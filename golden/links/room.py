"""Room of many buffers, each under the room rule (``docs/ib_switch.md``, Room).

The sum of what VLs hold beyond their minima is kept, so that a look-up costs the same for any number of VLs.
"""

from __future__ import annotations

from typing import NamedTuple

from vlane.golden.compiler.records import Int32, Records, new_records
from vlane.golden.credits import room_rule as rule
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.prefetch import prefetch


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


class TakenByLane:
    """What a lane has taken of a buffer.

    Parameters
    ----------
    blocks, most : int
        Of 64 bytes, now and at most since the start.
    """

    blocks: Int32
    most: Int32


class Rooms(NamedTuple):
    """Room counters of many buffers, of one or two sizes.

    Parameters
    ----------
    bounds : Records of Bounds, (2, lanes)
        Of each lane of the first buffers, and of the others.
    taken : Records of TakenByLane, (buffers, lanes)
        By each lane.
    beyond : Records of Taken, (buffers,)
        By all lanes together, beyond their minima.
    shared : (int, int)
        Blocks that the minima leave of one of the first buffers, and of the others.
    others : int
        The first buffer of the second size.
    """

    bounds: Records[Bounds]
    taken: Records[TakenByLane]
    beyond: Records[Taken]
    shared: tuple[int, int]
    others: int


def new_rooms(*, buffers: int, blocks: int, minimum: tuple[int, ...], maximum: tuple[int, ...]) -> Rooms:
    """Return empty buffers of so many blocks."""
    lanes = len(minimum)
    taken, beyond = new_records(TakenByLane, buffers, lanes), new_records(Taken, buffers)
    rooms = Rooms(new_records(Bounds, 2, lanes), taken, beyond, (blocks - sum(minimum), 0), buffers)
    rooms.bounds["minimum"][0], rooms.bounds["maximum"][0] = minimum, maximum
    return rooms


def with_others(rooms: Rooms, first: int, *, blocks: int, minimum: tuple[int, ...], maximum: tuple[int, ...]) -> Rooms:
    """Return the same buffers, those from a first one on of another size."""
    rooms.bounds["minimum"][1], rooms.bounds["maximum"][1] = minimum, maximum
    return rooms._replace(shared=(rooms.shared[0], blocks - sum(minimum)), others=first)


@inner
def _size_of(rooms: Rooms, buffer: int) -> int:
    return int(buffer >= rooms.others)


@inner
def fits(rooms: Rooms, buffer: int, lane: int, blocks: int) -> bool:
    """Tell whether a buffer has room for a packet of so many blocks."""
    size = _size_of(rooms, buffer)
    bounds, before = rooms.bounds[size, lane], rooms.taken[buffer, lane].blocks
    in_use = rooms.beyond[buffer].blocks
    return rule.fits(before, blocks, bounds.minimum, bounds.maximum, in_use, rooms.shared[size])


@inner
def load_rooms(rooms: Rooms, buffer: int) -> None:
    """Have loaded what is taken of a buffer."""
    prefetch(rooms.taken, buffer * rooms.taken.shape[1])
    prefetch(rooms.beyond, buffer)


@inner
def take(rooms: Rooms, buffer: int, lane: int, blocks: int) -> None:
    """Take blocks; they must fit."""
    least, taken = rooms.bounds[_size_of(rooms, buffer), lane].minimum, rooms.taken[buffer, lane]
    after = taken.blocks + blocks
    rooms.beyond[buffer].blocks += rule.grown(taken.blocks, after, least)
    taken.blocks = after
    taken.most = max(taken.most, after)


@inner
def give_back(rooms: Rooms, buffer: int, lane: int, blocks: int) -> None:
    """Free blocks that were taken."""
    least, taken = rooms.bounds[_size_of(rooms, buffer), lane].minimum, rooms.taken[buffer, lane]
    after = taken.blocks - blocks
    rooms.beyond[buffer].blocks += rule.grown(taken.blocks, after, least)
    taken.blocks = after
