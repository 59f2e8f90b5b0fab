"""Occupancy of many buffers, each under the allocation rule (section Room of ``docs/ib_switch.md``).

The total excess over the minima is stored, so that the cost of a look-up does not depend on the number of VLs.
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
        Guaranteed and maximum number of blocks.
    """

    minimum: Int32
    maximum: Int32


class SharedOccupancy:
    """Blocks of a buffer occupied by all lanes in excess of their minima.

    Parameters
    ----------
    blocks : int
        Number of 64-byte blocks.
    """

    blocks: Int32


class LaneOccupancy:
    """Blocks of a buffer occupied by one lane.

    Parameters
    ----------
    blocks, most_blocks : int
        Current and maximum number of 64-byte blocks since the start of the run.
    """

    blocks: Int32
    most_blocks: Int32


class BufferOccupancy(NamedTuple):
    """Occupancy counters of many buffers, of one or two sizes.

    Parameters
    ----------
    bounds : Records of Bounds, (2, lanes)
        Bounds of each lane, for the first and the second buffer size.
    lane : Records of LaneOccupancy, (buffers, lanes)
        Blocks occupied by each lane.
    above_minima : Records of SharedOccupancy, (buffers,)
        Blocks occupied by all lanes in excess of their minima.
    shared_blocks : (int, int)
        Buffer size minus all minima, for the first and the second buffer size.
    second_size_from : int
        Index of the first buffer of the second size.
    is_partitioned : bool
        Every lane's minimum equals its maximum, so that no lane takes shared space and ``above_minima`` stays 0.
    """

    bounds: Records[Bounds]
    lane: Records[LaneOccupancy]
    above_minima: Records[SharedOccupancy]
    shared_blocks: tuple[int, int]
    second_size_from: int
    is_partitioned: bool


def new_occupancy(*, buffers: int, blocks: int, minimum: tuple[int, ...], maximum: tuple[int, ...]) -> BufferOccupancy:
    """Return empty buffers of ``blocks`` blocks."""
    lanes = len(minimum)
    taken, beyond = new_records(LaneOccupancy, buffers, lanes), new_records(SharedOccupancy, buffers)
    shared, divided = (blocks - sum(minimum), 0), minimum == maximum
    rooms = BufferOccupancy(new_records(Bounds, 2, lanes), taken, beyond, shared, buffers, divided)
    rooms.bounds["minimum"][0], rooms.bounds["maximum"][0] = minimum, maximum
    return rooms


def with_second_size(
    rooms: BufferOccupancy, first_buffer: int, *, blocks: int, minimum: tuple[int, ...], maximum: tuple[int, ...]
) -> BufferOccupancy:
    """Return the buffers with a different size from buffer ``first_buffer`` on."""
    rooms.bounds["minimum"][1], rooms.bounds["maximum"][1] = minimum, maximum
    shared = (rooms.shared_blocks[0], blocks - sum(minimum))
    return rooms._replace(
        shared_blocks=shared, second_size_from=first_buffer, is_partitioned=rooms.is_partitioned and minimum == maximum
    )


@inner
def _size_of(rooms: BufferOccupancy, buffer: int) -> int:
    return int(buffer >= rooms.second_size_from)


@inner
def fits(rooms: BufferOccupancy, buffer: int, lane: int, blocks: int) -> bool:
    """Return whether a buffer has space for ``blocks`` more blocks of a lane."""
    size = _size_of(rooms, buffer)
    bounds, before = rooms.bounds[size, lane], rooms.lane[buffer, lane].blocks
    if rooms.is_partitioned:
        return before + blocks <= bounds.maximum
    in_use = rooms.above_minima[buffer].blocks
    return rule.fits(before, blocks, bounds.minimum, bounds.maximum, in_use, rooms.shared_blocks[size])


@inner
def missing_blocks(rooms: BufferOccupancy, buffer: int, lane: int, blocks: int) -> int:
    """Return a lower bound of the blocks that must be freed before ``blocks`` more fit, at most 0 if they fit."""
    size = _size_of(rooms, buffer)
    bounds, before, in_use = (
        rooms.bounds[size, lane],
        rooms.lane[buffer, lane].blocks,
        rooms.above_minima[buffer].blocks,
    )
    return rule.missing_amount(before, blocks, bounds.minimum, bounds.maximum, in_use, rooms.shared_blocks[size])


@inner
def prefetch_occupancy(rooms: BufferOccupancy, buffer: int) -> None:
    """Prefetch the occupancy counters of a buffer."""
    prefetch(rooms.lane, buffer * rooms.lane.shape[1])
    prefetch(rooms.above_minima, buffer)


@inner
def occupy(rooms: BufferOccupancy, buffer: int, lane: int, blocks: int) -> None:
    """Reserve ``blocks`` blocks of a lane in a buffer. They must fit."""
    taken = rooms.lane[buffer, lane]
    after = taken.blocks + blocks
    if not rooms.is_partitioned:
        least = rooms.bounds[_size_of(rooms, buffer), lane].minimum
        rooms.above_minima[buffer].blocks += rule.excess_growth(taken.blocks, after, least)
    taken.blocks = after
    taken.most_blocks = max(taken.most_blocks, after)


@inner
def release(rooms: BufferOccupancy, buffer: int, lane: int, blocks: int) -> None:
    """Free ``blocks`` occupied blocks of a lane in a buffer."""
    taken = rooms.lane[buffer, lane]
    after = taken.blocks - blocks
    if not rooms.is_partitioned:
        least = rooms.bounds[_size_of(rooms, buffer), lane].minimum
        rooms.above_minima[buffer].blocks += rule.excess_growth(taken.blocks, after, least)
    taken.blocks = after
