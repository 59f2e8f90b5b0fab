"""Room of buffers that VLs share: a guaranteed minimum and a maximum each (``docs/ib_switch.md``).

The same rule as Omni-Path's sender-managed credits: what lanes hold beyond their minima comes out of what the
minima leave. The sum is kept, so a question costs the same however many lanes there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.kernel import inner

__all__ = ["Rooms", "fits", "give_back", "new_rooms", "take"]


class Rooms(NamedTuple):
    """Rooms of many like buffers, in 64-byte blocks.

    Parameters
    ----------
    minimum, maximum : array of int64, (lanes,)
        Of each lane.
    shared : int
        What the minima leave of a buffer.
    used : array of int32, (buffers, lanes)
        Taken.
    beyond : array of int32, (buffers,)
        Taken beyond the minima, all lanes together.
    """

    minimum: NDArray[np.int64]
    maximum: NDArray[np.int64]
    shared: int
    used: NDArray[np.int32]
    beyond: NDArray[np.int32]


def new_rooms(*, buffers: int, blocks: int, minimum: tuple[int, ...], maximum: tuple[int, ...]) -> Rooms:
    """Return empty buffers of so many blocks."""
    return Rooms(
        np.array(minimum, np.int64), np.array(maximum, np.int64), blocks - sum(minimum),
        np.zeros((buffers, len(minimum)), np.int32), np.zeros(buffers, np.int32),
    )  # fmt: skip


@inner
def fits(rooms: Rooms, buffer: int, lane: int, blocks: int) -> bool:
    """Tell whether a packet of so many blocks may be taken in."""
    before = rooms.used[buffer, lane]
    after, least = before + blocks, rooms.minimum[lane]
    grown = max(0, after - least) - max(0, before - least)
    return after <= rooms.maximum[lane] and rooms.beyond[buffer] + grown <= rooms.shared


@inner
def take(rooms: Rooms, buffer: int, lane: int, blocks: int) -> None:
    """Take blocks; they must fit."""
    before, least = rooms.used[buffer, lane], rooms.minimum[lane]
    rooms.used[buffer, lane] = before + blocks
    rooms.beyond[buffer] += max(0, before + blocks - least) - max(0, before - least)


@inner
def give_back(rooms: Rooms, buffer: int, lane: int, blocks: int) -> None:
    """Free blocks that were taken."""
    before, least = rooms.used[buffer, lane], rooms.minimum[lane]
    rooms.used[buffer, lane] = before - blocks
    rooms.beyond[buffer] -= max(0, before - least) - max(0, before - blocks - least)
