"""Inputs of every egress scheduler in a clock cycle: the heads of the queues and the program port."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Program = tuple[int, int, int, int, int]
"""Program port in a cycle: enable, select, index, requester or VL, value."""

NO_WRITE: Program = (0, 0, 0, 0, 0)
"""Program port without a write."""

NO_LANE = -1
"""Lane that a step returns if it names none."""


class Heads(NamedTuple):
    """State of a port's queues, as its scheduler sees them.

    Parameters
    ----------
    request : int
        Bit mask of lanes with a head packet; VL15 is the last lane.
    fits : int
        Bit mask of lanes with credit for the whole head packet.
    blocks : array of int64, (lanes,)
        Size of each head packet in 64-byte blocks, 1 to 66.
    behind : int
        Bit mask of data lanes with a second packet and credit for both packets. Used only by line-rate forms.
    behind_blocks : array of int64, (data lanes,)
        Size of each second packet in blocks. Used only by the line-rate form of ``dtable``.
    """

    request: int
    fits: int
    blocks: NDArray[np.int64]
    behind: int
    behind_blocks: NDArray[np.int64]


def no_heads(data_vls: int) -> Heads:
    """Return empty queues for ``data_vls`` data lanes and VL15."""
    sizes = np.zeros(data_vls + 1, np.int64)
    return Heads(0, 0, sizes, 0, sizes)
