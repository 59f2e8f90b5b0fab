"""Inputs that every egress scheduler takes in a clock cycle: the heads of the queues, and the program port."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Program = tuple[int, int, int, int, int]
"""The program port in a cycle: enable, select, index, requester or VL, value."""

NO_WRITE: Program = (0, 0, 0, 0, 0)
"""The program port when nothing is written."""

NO_LANE = -1
"""The lane that a step returns when it names none."""


class Heads(NamedTuple):
    """The queues of a port as its scheduler sees them.

    Parameters
    ----------
    request : int
        One bit per lane, VL15 last: the lane's queue has a head packet.
    fits : int
        One bit per lane: the next node has room for the whole head packet.
    blocks : array of int64, (lanes,)
        Size of each head packet in 64-byte blocks, 1 to 66.
    behind : int
        One bit per data lane: a packet is behind the head, and the next node has room for it after the head. Only the
        line-rate forms look at it.
    behind_blocks : array of int64, (data lanes,)
        Size in blocks of each packet behind a head. Only the line-rate form of ``dtable`` looks at it.
    """

    request: int
    fits: int
    blocks: NDArray[np.int64]
    behind: int
    behind_blocks: NDArray[np.int64]


def no_heads(data_vls: int) -> Heads:
    """Return empty queues of so many data lanes and VL15."""
    sizes = np.zeros(data_vls + 1, np.int64)
    return Heads(0, 0, sizes, 0, sizes)
