"""Credits in the rows of a switch: return signals next to the flits, or flow-control packets on the link.

The functions dispatch on the type of golden's credits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.engine.random_bits import draw_below
from vlane.golden.links.fcp_limits import FCPLimits, count_freed
from vlane.golden.links.late_room import AGE, LateCredits
from vlane.golden.links.room import BufferOccupancy, release
from vlane.golden.switches.kinds import vls_cross_independently
from vlane.golden.switches.output_ports import send_due_fcp
from vlane.packets.fcp import COUNTER_MODULUS
from vlane.tb.machinery.native.packing import put
from vlane.tb.switches.surroundings_switch import CLOCK, RING, SwitchSurroundings

(RECEIVED_LANE, RECEIVED_BLOCKS, BLOCKS_FREED) = range(3)
(RECEIVED_LANES, _, LANES_FREED) = range(3)
(RETURNED_LANES, RETURNED_BLOCKS) = range(2)
(FCP_LANE, FCP_LIMIT) = range(2)
(LATE_LANE, LATE_BLOCKS) = range(2)
_ANY = 65536
_LOST = 8
"""One in this many flow-control packets is lost."""


@inner
def _of_returns(remote: BufferOccupancy, switches: Any) -> int:
    return 1 if vls_cross_independently(switches) else 2


@inner
def _of_late(remote: LateCredits, switches: Any) -> int:
    return 2


@by_type({BufferOccupancy: _of_returns, LateCredits: _of_late}, default=True)
def fields(remote: Any, switches: Any) -> int:
    """Return the number of row elements for credits, per port and direction."""
    return 3


@by_type({FCPLimits: count_freed}, default=True)
def count_returned(remote: Any, port: int, lane: int, blocks: int) -> None:
    """Count blocks that left an input's buffer in the previous cycle."""


@inner
def _send_fcp(remote: FCPLimits, surroundings: SwitchSurroundings, port: int, cycle: int) -> bool:
    outside = len(surroundings.switches.inputs.port) + port
    if not send_due_fcp(surroundings.out_ports, port, outside, cycle, 1):
        return False
    lane = int(remote.end[port].last)
    fcp = surroundings.limit_sent[port, (cycle + 1) % RING]
    fcp[FCP_LANE], fcp[FCP_LIMIT] = lane + 1, remote.limit_sent[port, lane]
    return True


@by_type({FCPLimits: _send_fcp}, default=True)
def send_fcp(remote: Any, surroundings: SwitchSurroundings, port: int, cycle: int) -> bool:
    """Send a due flow-control packet from a free port, and return whether one was sent."""
    return False


@inner
def _free_owed(surroundings: SwitchSurroundings, port: int, lane: int, most: int) -> tuple[int, int]:
    """Return a lane of which a receiver holds blocks, from ``lane`` on, and how many of up to ``most`` it holds."""
    lanes = surroundings.owed.shape[1]
    for _ in range(lanes):
        if surroundings.owed[port, lane] > 0:
            break
        lane = lane + 1 if lane + 1 < lanes else 0
    return lane, min(most, surroundings.owed[port, lane])


@inner
def _hear_of_lanes(
    remote: BufferOccupancy,
    surroundings: SwitchSurroundings,
    port: int,
    reckless: bool,  # noqa: FBT001 - kernels take positions only
    bits: NDArray[np.uint64],
) -> None:
    """Draw the lanes of which a receiver returns a block, and record the returns that the sender counts."""
    lanes, received = surroundings.owed.shape[1], surroundings.received_credit[port]
    returned, freed = draw_below(bits, 1 << lanes), 0
    for lane in range(lanes):
        if surroundings.owed[port, lane] > 0:
            surroundings.owed[port, lane] -= (returned >> lane) & 1
        elif not reckless:
            returned &= ~(1 << lane)
        if remote.taken[port, lane].blocks != 0:
            freed |= returned & 1 << lane
    received[RECEIVED_LANES], received[RECEIVED_BLOCKS], received[LANES_FREED] = returned, returned != 0, freed


@inner
def _hear_returns(
    remote: BufferOccupancy,
    surroundings: SwitchSurroundings,
    port: int,
    lane: int,
    most: int,
    reckless: bool,  # noqa: FBT001 - kernels take positional arguments only
    bits: NDArray[np.uint64],
) -> None:
    lanes, received = surroundings.owed.shape[1], surroundings.received_credit[port]
    if vls_cross_independently(surroundings.switches):
        _hear_of_lanes(remote, surroundings, port, reckless, bits)
        return
    blocks = 1 + draw_below(bits, most)
    if not reckless:
        lane, blocks = _free_owed(surroundings, port, lane, blocks)
    received[RECEIVED_LANE], received[RECEIVED_BLOCKS] = lane, blocks
    received[BLOCKS_FREED] = 0
    if lane < lanes:
        received[BLOCKS_FREED] = min(blocks, int(remote.taken[port, lane].blocks))
        surroundings.owed[port, lane] -= min(blocks, surroundings.owed[port, lane])


@inner
def _hear_limits(
    remote: FCPLimits,
    surroundings: SwitchSurroundings,
    port: int,
    lane: int,
    most: int,
    reckless: bool,  # noqa: FBT001 - kernels take positional arguments only
    bits: NDArray[np.uint64],
) -> None:
    lanes, received = surroundings.owed.shape[1], surroundings.received_credit[port]
    freed, blocks = _free_owed(surroundings, port, lane % lanes, most)
    surroundings.owed[port, freed] -= blocks
    surroundings.freed[port, freed] += blocks
    returned = lane if reckless else draw_below(bits, lanes)
    if draw_below(bits, _LOST) == 0:
        return
    received[RECEIVED_LANE], received[RECEIVED_BLOCKS] = returned, 1
    received[BLOCKS_FREED] = draw_below(bits, _ANY)
    if returned < lanes:
        received[BLOCKS_FREED] = remote.whole[returned] + surroundings.freed[port, returned]


@inner
def _receive_late(
    remote: LateCredits,
    surroundings: SwitchSurroundings,
    port: int,
    lane: int,
    most: int,
    reckless: bool,  # noqa: FBT001 - kernels take positional arguments only
    bits: NDArray[np.uint64],
) -> None:
    _hear_returns(remote.rooms, surroundings, port, lane, most, reckless, bits)
    received, lanes = surroundings.received_credit[port], surroundings.owed.shape[1]
    if received[RECEIVED_LANE] >= lanes:
        return
    in_use = int(remote.rooms.taken[port, received[RECEIVED_LANE]].blocks)
    for place in range(AGE):
        if surroundings.late_credit[port, place, LATE_LANE] == received[RECEIVED_LANE]:
            in_use -= surroundings.late_credit[port, place, LATE_BLOCKS]
    received[BLOCKS_FREED] = min(received[RECEIVED_BLOCKS], in_use)


@by_type({BufferOccupancy: _hear_returns, LateCredits: _receive_late, FCPLimits: _hear_limits})
def receive_credit(
    remote: Any,
    surroundings: SwitchSurroundings,
    port: int,
    lane: int,
    most: int,
    reckless: bool,  # noqa: FBT001 - kernels take positional arguments only
    bits: NDArray[np.uint64],
) -> None:
    """Draw the blocks that a receiver frees, up to ``most`` of a lane, and the credits that it sends."""


@inner
def _show_returns(
    remote: BufferOccupancy,
    surroundings: SwitchSurroundings,
    port: int,
    rows: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    lane, blocks = (
        surroundings.received_credit[port, RECEIVED_LANE],
        surroundings.received_credit[port, RECEIVED_BLOCKS],
    )
    if blocks == 0:
        if not vls_cross_independently(surroundings.switches):
            put(rows, row, where, first + 1, lane)  # without blocks the lane is ignored
        return
    if vls_cross_independently(surroundings.switches):
        put(rows, row, where, first, surroundings.received_credit[port, RECEIVED_LANES])
        freed = surroundings.received_credit[port, LANES_FREED]
        while freed != 0:
            release(remote, port, lowest_member(freed), 1)
            freed &= freed - 1
        return
    put(rows, row, where, first, blocks)
    put(rows, row, where, first + 1, lane)
    if surroundings.received_credit[port, BLOCKS_FREED] != 0:
        release(remote, port, lane, surroundings.received_credit[port, BLOCKS_FREED])


@inner
def _show_limits(
    remote: FCPLimits,
    surroundings: SwitchSurroundings,
    port: int,
    rows: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    lane, limit = surroundings.received_credit[port, RECEIVED_LANE], surroundings.received_credit[port, BLOCKS_FREED]
    if surroundings.received_credit[port, RECEIVED_BLOCKS] == 0:
        return
    put(rows, row, where, first, 1)
    put(rows, row, where, first + 1, lane)
    put(rows, row, where, first + 2, limit % COUNTER_MODULUS)
    if lane < len(remote.whole):
        remote.limit[port, lane] = limit


@inner
def _show_late(
    remote: LateCredits,
    surroundings: SwitchSurroundings,
    port: int,
    rows: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    """Count the returns of four cycles ago (IBF-7), and keep those of this cycle."""
    received = surroundings.received_credit[port]
    late = surroundings.late_credit[port, int(surroundings.regs[CLOCK] % AGE)]
    if late[LATE_BLOCKS] != 0:
        release(remote.rooms, port, late[LATE_LANE], late[LATE_BLOCKS])
    put(rows, row, where, first, received[RECEIVED_BLOCKS])
    put(rows, row, where, first + 1, received[RECEIVED_LANE])
    late[LATE_LANE] = received[RECEIVED_LANE]
    late[LATE_BLOCKS] = received[BLOCKS_FREED] if received[RECEIVED_BLOCKS] != 0 else 0


@by_type({BufferOccupancy: _show_returns, LateCredits: _show_late, FCPLimits: _show_limits})
def show_received(
    remote: Any,
    surroundings: SwitchSurroundings,
    port: int,
    rows: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    """Write the credits received by a port, and apply the credits to golden's sender."""


@inner
def _show_returned(
    remote: BufferOccupancy,
    surroundings: SwitchSurroundings,
    port: int,
    slot: int,
    expected: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    returned = surroundings.back[port, slot]
    lanes, blocks = returned[RETURNED_LANES], returned[RETURNED_BLOCKS]
    if lanes == 0:
        return
    if vls_cross_independently(surroundings.switches):
        put(expected, row, where, first, lanes)
    else:
        put(expected, row, where, first, blocks)
        put(expected, row, where, first + 1, lowest_member(lanes))
    while lanes != 0:
        lane = lowest_member(lanes)
        lanes &= lanes - 1
        release(surroundings.up, port, lane, min(blocks, int(surroundings.up.taken[port, lane].blocks)))
    returned[RETURNED_LANES] = 0


@inner
def _show_said(
    remote: FCPLimits,
    surroundings: SwitchSurroundings,
    port: int,
    slot: int,
    expected: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    surroundings.back[port, slot, RETURNED_LANES] = 0
    fcp = surroundings.limit_sent[port, slot]
    if fcp[FCP_LANE] != 0:
        lane, limit = fcp[FCP_LANE] - 1, fcp[FCP_LIMIT]
        put(expected, row, where, first, 1)
        put(expected, row, where, first + 1, lane)
        put(expected, row, where, first + 2, limit % COUNTER_MODULUS)
        freed = limit - remote.whole[lane] - surroundings.known[port, lane]
        surroundings.known[port, lane] += freed
        release(surroundings.up, port, lane, min(freed, int(surroundings.up.taken[port, lane].blocks)))
        fcp[FCP_LANE] = 0


@inner
def _show_returned_late(
    remote: LateCredits,
    surroundings: SwitchSurroundings,
    port: int,
    slot: int,
    expected: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    _show_returned(remote.rooms, surroundings, port, slot, expected, row, where, first)


@by_type({BufferOccupancy: _show_returned, LateCredits: _show_returned_late, FCPLimits: _show_said})
def show_returned(
    remote: Any,
    surroundings: SwitchSurroundings,
    port: int,
    slot: int,
    expected: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
) -> None:
    """Write the credits that a port sends in a cycle, and apply them to the upstream sender."""
