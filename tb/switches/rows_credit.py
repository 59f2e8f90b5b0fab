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
from vlane.tb.switches.switch_environment import CLOCK, RING, SwitchEnvironment

(RECEIVED_LANE, RECEIVED_BLOCKS, BLOCKS_FREED) = range(3)
(RECEIVED_LANES, _, LANES_FREED) = range(3)
(RETURNED_LANES, RETURNED_BLOCKS) = range(2)
(FCP_LANE, FCP_LIMIT) = range(2)
(LATE_LANE, LATE_BLOCKS) = range(2)
_ANY = 65536
_LOST = 8
"""One in this many flow-control packets is lost."""


@inner
def _return_fields(remote_credit: BufferOccupancy, switches: Any) -> int:
    return 1 if vls_cross_independently(switches) else 2


@inner
def _late_return_fields(remote_credit: LateCredits, switches: Any) -> int:
    return 2


@by_type({BufferOccupancy: _return_fields, LateCredits: _late_return_fields}, default=True)
def credit_fields(remote_credit: Any, switches: Any) -> int:
    """Return the number of row elements that carry the credits of one port in one direction."""
    return 3


@by_type({FCPLimits: count_freed}, default=True)
def count_returned(remote_credit: Any, port: int, lane: int, blocks: int) -> None:
    """Add blocks that left an input buffer in the previous cycle to the port's flow-control limit."""


@inner
def _send_fcp(remote_credit: FCPLimits, environment: SwitchEnvironment, port: int, cycle: int) -> bool:
    outside = len(environment.switches.inputs.port) + port
    if not send_due_fcp(environment.out_ports, port, outside, cycle, 1):
        return False
    lane = int(remote_credit.end[port].last_lane)
    fcp = environment.limit_sent[port, (cycle + 1) % RING]
    fcp[FCP_LANE], fcp[FCP_LIMIT] = lane + 1, remote_credit.limit_sent[port, lane]
    return True


@by_type({FCPLimits: _send_fcp}, default=True)
def send_fcp(remote_credit: Any, environment: SwitchEnvironment, port: int, cycle: int) -> bool:
    """Send a due flow-control packet if the port is free, and return whether one was sent."""
    return False


@inner
def _free_owed(environment: SwitchEnvironment, port: int, lane: int, maximum: int) -> tuple[int, int]:
    """Return a lane of which a receiver holds blocks, from ``lane`` on, and how many of up to ``maximum`` it holds."""
    lanes = environment.owed.shape[1]
    for _ in range(lanes):
        if environment.owed[port, lane] > 0:
            break
        lane = lane + 1 if lane + 1 < lanes else 0
    return lane, min(maximum, environment.owed[port, lane])


@inner
def _receive_lane_returns(
    remote_credit: BufferOccupancy,
    environment: SwitchEnvironment,
    port: int,
    allow_absent_lanes: bool,  # noqa: FBT001 - kernels take positions only
    rng: NDArray[np.uint64],
) -> None:
    """Draw the lanes of which a receiver returns a block, and record the returns that the sender counts."""
    lanes, received = environment.owed.shape[1], environment.received_credit[port]
    returned, freed = draw_below(rng, 1 << lanes), 0
    for lane in range(lanes):
        if environment.owed[port, lane] > 0:
            environment.owed[port, lane] -= (returned >> lane) & 1
        elif not allow_absent_lanes:
            returned &= ~(1 << lane)
        if remote_credit.lane[port, lane].blocks != 0:
            freed |= returned & 1 << lane
    received[RECEIVED_LANES], received[RECEIVED_BLOCKS], received[LANES_FREED] = returned, returned != 0, freed


@inner
def _receive_returns(
    remote_credit: BufferOccupancy,
    environment: SwitchEnvironment,
    port: int,
    lane: int,
    maximum: int,
    allow_absent_lanes: bool,  # noqa: FBT001 - kernels take positional arguments only
    rng: NDArray[np.uint64],
) -> None:
    lanes, received = environment.owed.shape[1], environment.received_credit[port]
    if vls_cross_independently(environment.switches):
        _receive_lane_returns(remote_credit, environment, port, allow_absent_lanes, rng)
        return
    blocks = 1 + draw_below(rng, maximum)
    if not allow_absent_lanes:
        lane, blocks = _free_owed(environment, port, lane, blocks)
    received[RECEIVED_LANE], received[RECEIVED_BLOCKS] = lane, blocks
    received[BLOCKS_FREED] = 0
    if lane < lanes:
        received[BLOCKS_FREED] = min(blocks, int(remote_credit.lane[port, lane].blocks))
        environment.owed[port, lane] -= min(blocks, environment.owed[port, lane])


@inner
def _receive_limits(
    remote_credit: FCPLimits,
    environment: SwitchEnvironment,
    port: int,
    lane: int,
    maximum: int,
    allow_absent_lanes: bool,  # noqa: FBT001 - kernels take positional arguments only
    rng: NDArray[np.uint64],
) -> None:
    lanes, received = environment.owed.shape[1], environment.received_credit[port]
    freed, blocks = _free_owed(environment, port, lane % lanes, maximum)
    environment.owed[port, freed] -= blocks
    environment.freed[port, freed] += blocks
    returned = lane if allow_absent_lanes else draw_below(rng, lanes)
    if draw_below(rng, _LOST) == 0:
        return
    received[RECEIVED_LANE], received[RECEIVED_BLOCKS] = returned, 1
    received[BLOCKS_FREED] = draw_below(rng, _ANY)
    if returned < lanes:
        received[BLOCKS_FREED] = remote_credit.partition_blocks[returned] + environment.freed[port, returned]


@inner
def _receive_late(
    remote_credit: LateCredits,
    environment: SwitchEnvironment,
    port: int,
    lane: int,
    maximum: int,
    allow_absent_lanes: bool,  # noqa: FBT001 - kernels take positional arguments only
    rng: NDArray[np.uint64],
) -> None:
    _receive_returns(remote_credit.occupancy, environment, port, lane, maximum, allow_absent_lanes, rng)
    received, lanes = environment.received_credit[port], environment.owed.shape[1]
    if received[RECEIVED_LANE] >= lanes:
        return
    in_use = int(remote_credit.occupancy.lane[port, received[RECEIVED_LANE]].blocks)
    for place in range(AGE):
        if environment.late_credit[port, place, LATE_LANE] == received[RECEIVED_LANE]:
            in_use -= environment.late_credit[port, place, LATE_BLOCKS]
    received[BLOCKS_FREED] = min(received[RECEIVED_BLOCKS], in_use)


@by_type({BufferOccupancy: _receive_returns, LateCredits: _receive_late, FCPLimits: _receive_limits})
def receive_credit(
    remote_credit: Any,
    environment: SwitchEnvironment,
    port: int,
    lane: int,
    maximum: int,
    allow_absent_lanes: bool,  # noqa: FBT001 - kernels take positional arguments only
    rng: NDArray[np.uint64],
) -> None:
    """Draw the blocks that a downstream receiver frees, at most ``maximum`` of a lane, and the credits it sends."""


@inner
def _write_received_returns(
    remote_credit: BufferOccupancy,
    environment: SwitchEnvironment,
    port: int,
    rows: NDArray[np.uint64],
    row: int,
    port_positions: NDArray[np.int64],
    first_port: int,
) -> None:
    lane, blocks = (
        environment.received_credit[port, RECEIVED_LANE],
        environment.received_credit[port, RECEIVED_BLOCKS],
    )
    if blocks == 0:
        if not vls_cross_independently(environment.switches):
            put(rows, row, port_positions, first_port + 1, lane)  # without blocks the lane is ignored
        return
    if vls_cross_independently(environment.switches):
        put(rows, row, port_positions, first_port, environment.received_credit[port, RECEIVED_LANES])
        freed = environment.received_credit[port, LANES_FREED]
        while freed != 0:
            release(remote_credit, port, lowest_member(freed), 1)
            freed &= freed - 1
        return
    put(rows, row, port_positions, first_port, blocks)
    put(rows, row, port_positions, first_port + 1, lane)
    if environment.received_credit[port, BLOCKS_FREED] != 0:
        release(remote_credit, port, lane, environment.received_credit[port, BLOCKS_FREED])


@inner
def _write_received_limits(
    remote_credit: FCPLimits,
    environment: SwitchEnvironment,
    port: int,
    rows: NDArray[np.uint64],
    row: int,
    port_positions: NDArray[np.int64],
    first_port: int,
) -> None:
    lane, limit = environment.received_credit[port, RECEIVED_LANE], environment.received_credit[port, BLOCKS_FREED]
    if environment.received_credit[port, RECEIVED_BLOCKS] == 0:
        return
    put(rows, row, port_positions, first_port, 1)
    put(rows, row, port_positions, first_port + 1, lane)
    put(rows, row, port_positions, first_port + 2, limit % COUNTER_MODULUS)
    if lane < len(remote_credit.partition_blocks):
        remote_credit.limit[port, lane] = limit


@inner
def _write_received_late(
    remote_credit: LateCredits,
    environment: SwitchEnvironment,
    port: int,
    rows: NDArray[np.uint64],
    row: int,
    port_positions: NDArray[np.int64],
    first_port: int,
) -> None:
    """Count the returns of four cycles ago (IBF-7), and keep those of this cycle."""
    received = environment.received_credit[port]
    late = environment.late_credit[port, int(environment.regs[CLOCK] % AGE)]
    if late[LATE_BLOCKS] != 0:
        release(remote_credit.occupancy, port, late[LATE_LANE], late[LATE_BLOCKS])
    put(rows, row, port_positions, first_port, received[RECEIVED_BLOCKS])
    put(rows, row, port_positions, first_port + 1, received[RECEIVED_LANE])
    late[LATE_LANE] = received[RECEIVED_LANE]
    late[LATE_BLOCKS] = received[BLOCKS_FREED] if received[RECEIVED_BLOCKS] != 0 else 0


@by_type(
    {BufferOccupancy: _write_received_returns, LateCredits: _write_received_late, FCPLimits: _write_received_limits}
)
def write_received_credit(
    remote_credit: Any,
    environment: SwitchEnvironment,
    port: int,
    rows: NDArray[np.uint64],
    row: int,
    port_positions: NDArray[np.int64],
    first_port: int,
) -> None:
    """Drive the credit inputs of a port, and apply the credits to golden's sender."""


@inner
def _write_sent_returns(
    remote_credit: BufferOccupancy,
    environment: SwitchEnvironment,
    port: int,
    slot: int,
    expected: NDArray[np.uint64],
    row: int,
    port_positions: NDArray[np.int64],
    first_port: int,
) -> None:
    returned = environment.back[port, slot]
    lanes, blocks = returned[RETURNED_LANES], returned[RETURNED_BLOCKS]
    if lanes == 0:
        return
    if vls_cross_independently(environment.switches):
        put(expected, row, port_positions, first_port, lanes)
    else:
        put(expected, row, port_positions, first_port, blocks)
        put(expected, row, port_positions, first_port + 1, lowest_member(lanes))
    while lanes != 0:
        lane = lowest_member(lanes)
        lanes &= lanes - 1
        release(environment.up, port, lane, min(blocks, int(environment.up.lane[port, lane].blocks)))
    returned[RETURNED_LANES] = 0


@inner
def _write_sent_limits(
    remote_credit: FCPLimits,
    environment: SwitchEnvironment,
    port: int,
    slot: int,
    expected: NDArray[np.uint64],
    row: int,
    port_positions: NDArray[np.int64],
    first_port: int,
) -> None:
    environment.back[port, slot, RETURNED_LANES] = 0
    fcp = environment.limit_sent[port, slot]
    if fcp[FCP_LANE] != 0:
        lane, limit = fcp[FCP_LANE] - 1, fcp[FCP_LIMIT]
        put(expected, row, port_positions, first_port, 1)
        put(expected, row, port_positions, first_port + 1, lane)
        put(expected, row, port_positions, first_port + 2, limit % COUNTER_MODULUS)
        freed = limit - remote_credit.partition_blocks[lane] - environment.known[port, lane]
        environment.known[port, lane] += freed
        release(environment.up, port, lane, min(freed, int(environment.up.lane[port, lane].blocks)))
        fcp[FCP_LANE] = 0


@inner
def _write_sent_late_returns(
    remote_credit: LateCredits,
    environment: SwitchEnvironment,
    port: int,
    slot: int,
    expected: NDArray[np.uint64],
    row: int,
    port_positions: NDArray[np.int64],
    first_port: int,
) -> None:
    _write_sent_returns(remote_credit.occupancy, environment, port, slot, expected, row, port_positions, first_port)


@by_type({BufferOccupancy: _write_sent_returns, LateCredits: _write_sent_late_returns, FCPLimits: _write_sent_limits})
def write_sent_credit(
    remote_credit: Any,
    environment: SwitchEnvironment,
    port: int,
    slot: int,
    expected: NDArray[np.uint64],
    row: int,
    port_positions: NDArray[np.int64],
    first_port: int,
) -> None:
    """Store the expected credit outputs of a port, and apply the credits to the upstream sender."""
