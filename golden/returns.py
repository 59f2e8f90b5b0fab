"""Room that comes free flit by flit as packets move, counted when somebody asks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.far_room import came_free
from vlane.golden.kernel import inner

__all__ = ["Returns", "are_under_way", "begin", "flits_moved", "new_returns", "settle", "whole_blocks"]

(FROM, LANE_BACK, FLITS_BACK, BLOCKS_BACK, GIVEN_BACK, AHEAD_BACK) = range(6)
_FIELDS = 8
OLDEST, COUNT = range(2)


class Returns(NamedTuple):
    """Packets whose room is coming free, one after the other in each row.

    Parameters
    ----------
    rows : int
        Of each end: 1, or one for each lane where lanes move side by side.
    regs : array of int32, (ends * rows, 2)
        Oldest packet; how many.
    packet : array of int32, (ends * rows, packets, 8)
        The cycle from which the first flit counts, lane, flits, blocks, blocks counted already, flits that were there
        beyond those that may cross.
    flit_shift : int
        A block is 2 to this power flits.
    speed : int
        Flits that cross a switch in a cycle, from one input.
    """

    rows: int
    regs: NDArray[np.int32]
    packet: NDArray[np.int32]
    flit_shift: int
    speed: int


def new_returns(*, ends: int, rows: int, flight: int, flit_shift: int, speed: int) -> Returns:
    """Return ends to which nothing comes back; ``flight`` is the longest way in cycles."""
    packets = 1 << (flight + 4).bit_length()
    return Returns(
        rows, np.zeros((ends * rows, 2), np.int32), np.zeros((ends * rows, packets, _FIELDS), np.int32), flit_shift,
        speed,
    )  # fmt: skip


@inner
def whole_blocks(flits: int, of_flits: int, blocks: int, flit_shift: int) -> int:
    """Return the blocks whose last flit is among the first ``flits`` of a packet's."""
    return blocks if flits >= of_flits else flits >> flit_shift


@inner
def flits_moved(returns: Returns, cycles: int, ahead: int) -> int:
    """Return the flits that crossed in so many cycles, of a packet without end that streams in (O6)."""
    return min(returns.speed * cycles, cycles + ahead)


@inner
def begin(
    returns: Returns, far: Any, end: int, cycle: int, since: int, lane: int, flits: int, blocks: int, ahead: int
) -> None:
    """Let a packet's room come free as its flits move, the first counting from cycle ``since`` on."""
    settle(returns, far, end, cycle)
    row = end * returns.rows + lane % returns.rows
    regs, packet = returns.regs, returns.packet
    at = (regs[row, OLDEST] + regs[row, COUNT]) & (packet.shape[1] - 1)
    regs[row, COUNT] += 1
    packet[row, at, FROM], packet[row, at, LANE_BACK] = since, lane
    packet[row, at, FLITS_BACK], packet[row, at, BLOCKS_BACK], packet[row, at, GIVEN_BACK] = flits, blocks, 0
    packet[row, at, AHEAD_BACK] = ahead


@inner
def settle(returns: Returns, far: Any, end: int, cycle: int) -> None:
    """Count what came free before a cycle."""
    for row in range(end * returns.rows, (end + 1) * returns.rows):
        if returns.regs[row, COUNT] > 0:
            _settle_row(returns, far, end, row, cycle)


@inner
def _settle_row(returns: Returns, far: Any, end: int, row: int, cycle: int) -> None:
    regs, packet = returns.regs, returns.packet
    while regs[row, COUNT] > 0:
        at = regs[row, OLDEST]
        elapsed = cycle - packet[row, at, FROM] + 1
        if elapsed <= 0:
            return
        flits, blocks = packet[row, at, FLITS_BACK], packet[row, at, BLOCKS_BACK]
        moved = flits_moved(returns, elapsed, packet[row, at, AHEAD_BACK])
        back = whole_blocks(moved, flits, blocks, returns.flit_shift)
        if back != packet[row, at, GIVEN_BACK]:
            came_free(far, end, packet[row, at, LANE_BACK], back - packet[row, at, GIVEN_BACK])
            packet[row, at, GIVEN_BACK] = back
        if moved < flits:
            return
        regs[row, OLDEST] = (at + 1) & (packet.shape[1] - 1)
        regs[row, COUNT] -= 1


@inner
def are_under_way(returns: Returns, end: int) -> bool:
    """Tell whether any room of an end is still coming free, as of the last time it was settled."""
    packets = 0
    for row in range(end * returns.rows, (end + 1) * returns.rows):
        packets += returns.regs[row, COUNT]
    return packets > 0
