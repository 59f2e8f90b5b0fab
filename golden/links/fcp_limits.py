"""Absolute credits of all ports of a network: IBS-C1 to IBS-C6 (``docs/ib_switch.md``).

The decisions are those of ``credit_ib`` (``golden/credits/counters.py``), but counters never wrap, and due FCPs are
determined when space is freed instead of in every cycle. ``tests/credits/test_credit_pair.py`` compares both models.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records, new_records
from vlane.golden.credits import counters
from vlane.golden.engine.kernel import inner


class FCPState:
    """Flow-control state of a port: due and last FCPs sent, and FCPs in flight to the port.

    Parameters
    ----------
    due_lanes : int
        Bit mask of VLs whose FCP is due.
    last_period : int
        Last period counted.
    lossy_until : int
        FCPs that the port sends before this cycle are lost.
    last_lane : int
        VL of the last FCP sent.
    oldest : int
        Index of the oldest FCP in flight to the port.
    flight_count : int
        Number of FCPs in flight.
    """

    due_lanes: Int64
    last_period: Int64
    lossy_until: Int64
    last_lane: Int32
    oldest: Int32
    flight_count: Int32


class FCPInFlight:
    """A flow-control packet in flight.

    Parameters
    ----------
    valid_from : int
        Cycle from which its limit applies.
    limit, lane : int
        Limit and VL.
    """

    valid_from: Int64
    limit: Int64
    lane: Int64


class FCPLimits(NamedTuple):
    """Credits of all ports, each a sender and a receiver on its cable.

    Parameters
    ----------
    partition_blocks : array of int64, (lanes,)
        Size of each VL's buffer partition in blocks.
    fcp_blocks : array of int64, (lanes,)
        Growth of the limit, in blocks, that makes an FCP due.
    fcp_period : int
        Number of cycles after which an FCP of every lane is due.
    sideband : bool
        FCPs use a sideband instead of the link.
    sent : array of int64, (ends, lanes)
        Blocks of packets started.
    limit : array of int64, (ends, lanes)
        Limit received last.
    freed : array of int64, (ends, lanes)
        Blocks freed in the port's own input buffer.
    limit_sent : array of int64, (ends, lanes)
        Limit sent last.
    end : Records of FCPState, (ends,)
        FCP state of each port.
    in_flight : Records of FCPInFlight, (ends, FCPs)
        FCPs in flight to each port; each row is a ring buffer.
    fcps : array of int64, (ends, lanes)
        Number of FCPs sent.
    most_used : array of int64, (ends, lanes)
        Maximum number of blocks in use in the remote buffer, as known to the sender.
    """

    partition_blocks: NDArray[np.int64]
    fcp_blocks: NDArray[np.int64]
    fcp_period: int
    sideband: bool
    sent: NDArray[np.int64]
    limit: NDArray[np.int64]
    freed: NDArray[np.int64]
    limit_sent: NDArray[np.int64]
    end: Records[FCPState]
    in_flight: Records[FCPInFlight]
    fcps: NDArray[np.int64]
    most_used: NDArray[np.int64]


def new_limits(
    *, end_count: int, whole: tuple[int, ...], fcp_blocks: int | None, period: int, sideband: bool, flight: int
) -> FCPLimits:
    """Return ports whose limits are the whole remote buffer. ``fcp_blocks`` None means a quarter of the partition."""
    blocks, lanes = np.array(whole, np.int64), len(whole)
    step = np.maximum(1, blocks // 4) if fcp_blocks is None else np.full(lanes, fcp_blocks, np.int64)
    end = new_records(FCPState, end_count)
    end["last_lane"], end["last_period"] = lanes - 1, -1
    counters = [np.zeros((end_count, lanes), np.int64) for _ in range(4)]
    return FCPLimits(
        partition_blocks=blocks,
        fcp_blocks=step,
        fcp_period=period,
        sideband=sideband,
        sent=counters[0],
        limit=np.tile(blocks, (end_count, 1)),
        freed=counters[1],
        limit_sent=np.tile(blocks, (end_count, 1)),
        end=end,
        in_flight=new_records(FCPInFlight, end_count, 1 << (flight + 2).bit_length()),
        fcps=counters[2],
        most_used=counters[3],
    )


@inner
def uses_sideband(limits: FCPLimits) -> bool:
    """Return whether FCPs use a sideband."""
    return limits.sideband


@inner
def has_credit(limits: FCPLimits, link_end: int, lane: int, blocks: int) -> bool:
    """Return whether the limit permits a packet of ``blocks`` blocks (IBS-C1)."""
    return counters.within_limit(limits.limit[link_end, lane], limits.sent[link_end, lane], blocks)


@inner
def blocks_in_use(limits: FCPLimits, link_end: int, lane: int) -> int:
    """Return the blocks of a VL in use in the remote buffer, as known to the sender."""
    return int(limits.sent[link_end, lane] - limits.limit[link_end, lane] + limits.partition_blocks[lane])


@inner
def count_sent(limits: FCPLimits, link_end: int, lane: int, blocks: int) -> None:
    """Count the blocks of a packet that starts."""
    limits.sent[link_end, lane] += blocks
    limits.most_used[link_end, lane] = max(limits.most_used[link_end, lane], blocks_in_use(limits, link_end, lane))


@inner
def count_freed(limits: FCPLimits, link_end: int, lane: int, blocks: int) -> None:
    """Count blocks that left this port's input buffer (IBS-C2, IBS-C3).

    An FCP becomes due if the limit has grown enough.
    """
    limits.freed[link_end, lane] += blocks
    limit = limits.partition_blocks[lane] + limits.freed[link_end, lane]
    if counters.has_advanced(limit, limits.limit_sent[link_end, lane], limits.fcp_blocks[lane]):
        limits.end[link_end].due_lanes |= 1 << lane


@inner
def is_fcp_due(limits: FCPLimits, link_end: int, cycle: int) -> bool:
    """Return whether an FCP is due in a cycle (IBS-C3). Space freed before must have been counted."""
    this = limits.end[link_end]
    if cycle >= (this.last_period + 1) * limits.fcp_period:
        this.last_period = cycle // limits.fcp_period
        this.due_lanes = (1 << len(limits.partition_blocks)) - 1
    return this.due_lanes != 0


@inner
def send_fcp(limits: FCPLimits, link_end: int, receiving_end: int, cycle: int, flight: int) -> None:
    """Send the next due FCP of a port to the receiving end (IBS-C4)."""
    this = limits.end[link_end]
    lane = counters.next_due_lane(this.due_lanes, this.last_lane)
    this.last_lane = lane
    this.due_lanes &= ~(1 << lane)
    send_fcp_with_limit(
        limits,
        link_end,
        receiving_end,
        lane,
        limits.partition_blocks[lane] + limits.freed[link_end, lane],
        cycle,
        flight,
    )


@inner
def send_fcp_with_limit(
    limits: FCPLimits, link_end: int, receiving_end: int, lane: int, limit: int, cycle: int, flight: int
) -> None:
    """Send an FCP with the given limit, unless the link loses FCPs in this cycle (IBS-C5, IBS-C6)."""
    limits.limit_sent[link_end, lane] = limit
    limits.fcps[link_end, lane] += 1
    if cycle < limits.end[link_end].lossy_until:
        return
    receive_fcps(limits, receiving_end, cycle)
    other = limits.end[receiving_end]
    fcp = limits.in_flight[receiving_end, (other.oldest + other.flight_count) & (limits.in_flight.shape[1] - 1)]
    fcp.valid_from, fcp.lane, fcp.limit = cycle + flight + 1, lane, limit
    other.flight_count += 1


@inner
def arriving_fcp(limits: FCPLimits, link_end: int, cycle: int) -> tuple[int, int]:
    """Return (lane, limit) of the FCP that arrives at a port in a cycle. The lane is -1 if none arrives."""
    this = limits.end[link_end]
    fcp = limits.in_flight[link_end, this.oldest]
    if this.flight_count == 0 or fcp.valid_from != cycle + 1:
        return -1, 0
    return fcp.lane, fcp.limit


@inner
def drop_fcps(limits: FCPLimits, link_end: int, end_cycle: int) -> None:
    """Lose all FCPs that a port sends before ``end_cycle`` (IBS-C6)."""
    limits.end[link_end].lossy_until = max(limits.end[link_end].lossy_until, end_cycle)


@inner
def receive_fcps(limits: FCPLimits, link_end: int, cycle: int) -> None:
    """Apply the limits of the FCPs that are valid in a cycle (IBS-C5)."""
    this = limits.end[link_end]
    while this.flight_count > 0:
        fcp = limits.in_flight[link_end, this.oldest]
        if fcp.valid_from > cycle:
            return
        limits.limit[link_end, fcp.lane] = fcp.limit
        this.oldest = (this.oldest + 1) & (limits.in_flight.shape[1] - 1)
        this.flight_count -= 1
