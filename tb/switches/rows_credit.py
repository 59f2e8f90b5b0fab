"""Credits in the rows of a switch: return signals next to the flits, or flow-control packets on the link.

The functions dispatch on the type of golden's credits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import lowest
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.engine.random_bits import below
from vlane.golden.links.fcp_limits import FCPLimits, count_freed
from vlane.golden.links.room import Rooms, give_back
from vlane.golden.switches.kinds import vls_apart
from vlane.golden.switches.output_ports import say_limits
from vlane.packets.fcp import COUNTER_MODULUS
from vlane.tb.machinery.native.packing import put
from vlane.tb.switches.surroundings_switch import RING, SwitchSurroundings

(LANE_HEARD, BLOCKS_HEARD, BLOCKS_FREED) = range(3)
(LANES_HEARD, _, LANES_FREED) = range(3)
(LANES_TOLD, BLOCKS_TOLD) = range(2)
(LANE_SAID, LIMIT_SAID) = range(2)
_ANY = 65536
_LOST = 8
"""One in this many flow-control packets is lost."""


@inner
def _of_returns(remote: Rooms, switches: Any) -> int:  # noqa: ARG001 - the type is sufficient
    return 1 if vls_apart(switches) else 2


@inner
def _of_limits(remote: FCPLimits, switches: Any) -> int:  # noqa: ARG001 - the type is sufficient
    return 3


@by_type({Rooms: _of_returns, FCPLimits: _of_limits})
def fields(remote: Any, switches: Any) -> int:
    """Return the number of row elements for credits, per port and direction."""


@inner
def _nothing_counted(remote: Rooms, port: int, lane: int, blocks: int) -> None:
    """Do nothing: returns are sent at once."""


@by_type({Rooms: _nothing_counted, FCPLimits: count_freed})
def count_told(remote: Any, port: int, lane: int, blocks: int) -> None:
    """Count blocks that left an input's buffer in the previous cycle."""


@inner
def _say_nothing(remote: Rooms, around: SwitchSurroundings, port: int, cycle: int) -> bool:  # noqa: ARG001 - signature of the other variant
    return False


@inner
def _say_limit(remote: FCPLimits, around: SwitchSurroundings, port: int, cycle: int) -> bool:
    outside = len(around.switches.inputs.port) + port
    if not say_limits(around.out_ports, port, outside, cycle, 1):
        return False
    lane = int(remote.end[port].last)
    said = around.said[port, (cycle + 1) % RING]
    said[LANE_SAID], said[LIMIT_SAID] = lane + 1, remote.said[port, lane]
    return True


@by_type({Rooms: _say_nothing, FCPLimits: _say_limit})
def say(remote: Any, around: SwitchSurroundings, port: int, cycle: int) -> bool:
    """Send a due flow-control packet from a free port, and return whether one was sent."""


@inner
def _free_owed(around: SwitchSurroundings, port: int, lane: int, most: int) -> tuple[int, int]:
    """Return a lane of which a receiver holds blocks, from ``lane`` on, and how many of up to ``most`` it holds."""
    lanes = around.owed.shape[1]
    for _ in range(lanes):
        if around.owed[port, lane] > 0:
            break
        lane = lane + 1 if lane + 1 < lanes else 0
    return lane, min(most, around.owed[port, lane])


@inner
def _hear_of_lanes(
    remote: Rooms,
    around: SwitchSurroundings,
    port: int,
    reckless: bool,  # noqa: FBT001 - kernels take positions only
    bits: NDArray[np.uint64],
) -> None:
    """Draw the lanes of which a receiver returns a block, and record the returns that the sender counts."""
    lanes, heard = around.owed.shape[1], around.heard[port]
    told, freed = below(bits, 1 << lanes), 0
    for lane in range(lanes):
        if around.owed[port, lane] > 0:
            around.owed[port, lane] -= (told >> lane) & 1
        elif not reckless:
            told &= ~(1 << lane)
        if remote.taken[port, lane].blocks != 0:
            freed |= told & 1 << lane
    heard[LANES_HEARD], heard[BLOCKS_HEARD], heard[LANES_FREED] = told, told != 0, freed


@inner
def _hear_returns(
    remote: Rooms,
    around: SwitchSurroundings,
    port: int,
    lane: int,
    most: int,
    reckless: bool,  # noqa: FBT001 - kernels take positional arguments only
    bits: NDArray[np.uint64],
) -> None:
    lanes, heard = around.owed.shape[1], around.heard[port]
    if vls_apart(around.switches):
        _hear_of_lanes(remote, around, port, reckless, bits)
        return
    blocks = 1 + below(bits, most)
    if not reckless:
        lane, blocks = _free_owed(around, port, lane, blocks)
    heard[LANE_HEARD], heard[BLOCKS_HEARD] = lane, blocks
    heard[BLOCKS_FREED] = 0
    if lane < lanes:
        heard[BLOCKS_FREED] = min(blocks, int(remote.taken[port, lane].blocks))
        around.owed[port, lane] -= min(blocks, around.owed[port, lane])


@inner
def _hear_limits(
    remote: FCPLimits,
    around: SwitchSurroundings,
    port: int,
    lane: int,
    most: int,
    reckless: bool,  # noqa: FBT001 - kernels take positional arguments only
    bits: NDArray[np.uint64],
) -> None:
    lanes, heard = around.owed.shape[1], around.heard[port]
    freed, blocks = _free_owed(around, port, lane % lanes, most)
    around.owed[port, freed] -= blocks
    around.freed[port, freed] += blocks
    told = lane if reckless else below(bits, lanes)
    if below(bits, _LOST) == 0:
        return
    heard[LANE_HEARD], heard[BLOCKS_HEARD] = told, 1
    heard[BLOCKS_FREED] = below(bits, _ANY)
    if told < lanes:
        heard[BLOCKS_FREED] = remote.whole[told] + around.freed[port, told]


@by_type({Rooms: _hear_returns, FCPLimits: _hear_limits})
def hear(
    remote: Any,
    around: SwitchSurroundings,
    port: int,
    lane: int,
    most: int,
    reckless: bool,  # noqa: FBT001 - kernels take positional arguments only
    bits: NDArray[np.uint64],
) -> None:
    """Draw the blocks that a receiver frees, up to ``most`` of a lane, and the credits that it sends."""


@inner
def _show_returns(
    remote: Rooms,
    around: SwitchSurroundings,
    port: int,
    rows: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    lane, blocks = around.heard[port, LANE_HEARD], around.heard[port, BLOCKS_HEARD]
    if blocks == 0:
        if not vls_apart(around.switches):
            put(rows, row, where, first + 1, lane)  # without blocks the lane is ignored
        return
    if vls_apart(around.switches):
        put(rows, row, where, first, around.heard[port, LANES_HEARD])
        freed = around.heard[port, LANES_FREED]
        while freed != 0:
            give_back(remote, port, lowest(freed), 1)
            freed &= freed - 1
        return
    put(rows, row, where, first, blocks)
    put(rows, row, where, first + 1, lane)
    if around.heard[port, BLOCKS_FREED] != 0:
        give_back(remote, port, lane, around.heard[port, BLOCKS_FREED])


@inner
def _show_limits(
    remote: FCPLimits,
    around: SwitchSurroundings,
    port: int,
    rows: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    lane, limit = around.heard[port, LANE_HEARD], around.heard[port, BLOCKS_FREED]
    if around.heard[port, BLOCKS_HEARD] == 0:
        return
    put(rows, row, where, first, 1)
    put(rows, row, where, first + 1, lane)
    put(rows, row, where, first + 2, limit % COUNTER_MODULUS)
    if lane < len(remote.whole):
        remote.limit[port, lane] = limit


@by_type({Rooms: _show_returns, FCPLimits: _show_limits})
def show_heard(
    remote: Any,
    around: SwitchSurroundings,
    port: int,
    rows: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    """Write the credits received by a port, and apply the credits to golden's sender."""


@inner
def _show_returned(
    remote: Rooms,  # noqa: ARG001 - dispatch by type
    around: SwitchSurroundings,
    port: int,
    slot: int,
    expected: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    told = around.back[port, slot]
    lanes, blocks = told[LANES_TOLD], told[BLOCKS_TOLD]
    if lanes == 0:
        return
    if vls_apart(around.switches):
        put(expected, row, where, first, lanes)
    else:
        put(expected, row, where, first, blocks)
        put(expected, row, where, first + 1, lowest(lanes))
    while lanes != 0:
        lane = lowest(lanes)
        lanes &= lanes - 1
        give_back(around.up, port, lane, min(blocks, int(around.up.taken[port, lane].blocks)))
    told[LANES_TOLD] = 0


@inner
def _show_said(
    remote: FCPLimits,
    around: SwitchSurroundings,
    port: int,
    slot: int,
    expected: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    around.back[port, slot, LANES_TOLD] = 0
    said = around.said[port, slot]
    if said[LANE_SAID] != 0:
        lane, limit = said[LANE_SAID] - 1, said[LIMIT_SAID]
        put(expected, row, where, first, 1)
        put(expected, row, where, first + 1, lane)
        put(expected, row, where, first + 2, limit % COUNTER_MODULUS)
        freed = limit - remote.whole[lane] - around.known[port, lane]
        around.known[port, lane] += freed
        give_back(around.up, port, lane, min(freed, int(around.up.taken[port, lane].blocks)))
        said[LANE_SAID] = 0


@by_type({Rooms: _show_returned, FCPLimits: _show_said})
def show_told(
    remote: Any,
    around: SwitchSurroundings,
    port: int,
    slot: int,
    expected: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    """Write the credits that a port sends in a cycle, and apply them to the upstream sender."""
