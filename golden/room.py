"""Room of buffers that VLs share: a guaranteed minimum and a maximum each (``docs/ib_switch.md``).

The same rule as Omni-Path's sender-managed credits: what lanes hold beyond their minima comes out of what the
minima leave. The sum is kept, so a question costs the same however many lanes there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.kernel import inner
from vlane.golden.records import Int32, Records, new_records

__all__ = ["Rooms", "fits", "give_back", "new_rooms", "take"]


class Part:
    """A lane's part of a buffer, in 64-byte blocks.

    Parameters
    ----------
    used : int
        Taken.
    minimum, maximum : int
        Guaranteed, and allowed.
    """

    used: Int32
    minimum: Int32
    maximum: Int32
    _: Int32


class Rooms(NamedTuple):
    """Rooms of many like buffers, in 64-byte blocks.

    Parameters
    ----------
    part : Records of Part, (buffers, lanes)
        Each lane's.
    beyond : array of int64, (buffers,)
        Taken beyond the minima, all lanes together.
    shared : int
        What the minima leave of a buffer.
    """

    part: Records[Part]
    beyond: NDArray[np.int64]
    shared: int


def new_rooms(*, buffers: int, blocks: int, minimum: tuple[int, ...], maximum: tuple[int, ...]) -> Rooms:
    """Return empty buffers of so many blocks."""
    rooms = Rooms(new_records(Part, buffers, len(minimum)), np.zeros(buffers, np.int64), blocks - sum(minimum))
    rooms.part["minimum"], rooms.part["maximum"] = minimum, maximum
    return rooms


@inner
def fits(rooms: Rooms, buffer: int, lane: int, blocks: int) -> bool:
    """Tell whether a packet of so many blocks may be taken in."""
    part = rooms.part[buffer, lane]
    after = part.used + blocks
    if after <= part.minimum:
        return True
    grown = after - max(part.used, part.minimum)
    return after <= part.maximum and rooms.beyond[buffer] + grown <= rooms.shared


@inner
def take(rooms: Rooms, buffer: int, lane: int, blocks: int) -> None:
    """Take blocks; they must fit."""
    part = rooms.part[buffer, lane]
    after = part.used + blocks
    if after > part.minimum:
        rooms.beyond[buffer] += after - max(part.used, part.minimum)
    part.used = after


@inner
def give_back(rooms: Rooms, buffer: int, lane: int, blocks: int) -> None:
    """Free blocks that were taken."""
    part = rooms.part[buffer, lane]
    if part.used > part.minimum:
        rooms.beyond[buffer] -= part.used - max(part.used - blocks, part.minimum)
    part.used -= blocks
