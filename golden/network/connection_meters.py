"""Measurements of constant-bit-rate connections: latency relative to the deadline, and jitter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int64, Records, new_records
from vlane.golden.engine.kernel import inner
from vlane.golden.traffic.connections import CYCLE_BITS
from vlane.study.cbr_list import CbrList

FRACTIONS = ((1, 100), (1, 50), (1, 30), (1, 20), (1, 10), (1, 5), (1, 4), (1, 3), (1, 2), (3, 4), (1, 1))
"""Fractions of the deadline by which packets are counted, as (numerator, denominator)."""

JITTERS = (-1.0, -0.75, -0.5, -0.25, -0.125, 0.125, 0.25, 0.5, 0.75, 1.0)
"""Lower bounds of the jitter bins. Jitter is the arrival distance of two packets minus the connection's period, divided
by the period; the first bin also holds smaller values."""

RATIOS = 512
"""Number of latency bins per deadline for a service level; bins cover up to twice the deadline."""

_EIGHTHS = np.array([0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 7, 8, 8, 9], np.int64)
"""Jitter bin by arrival distance in eighths of the period, 0 to 16 (that is, jitter -8/8 to 8/8 and above)."""

_FINE_BITS = 16


class ConnectionCounts:
    """Counts of one connection, for packets generated and received in the measurement window.

    Parameters
    ----------
    period : int
        Period in fixed-point cycles with ``CYCLE_BITS`` fraction bits.
    deadline : int
        Deadline in cycles; 0 for none.
    target : int
        Destination NIC.
    last_arrival : int
        Cycle of the last arrival; -1 for none.
    packets : int
        Number of packets.
    latency_sum : int
        Sum of the packets' latencies.
    max_latency : int
        Maximum latency.
    """

    period: Int64
    deadline: Int64
    target: Int64
    last_arrival: Int64
    packets: Int64
    latency_sum: Int64
    max_latency: Int64


class ConnectionMeters(NamedTuple):
    """Counts of all connections, with zero length if none are measured.

    Parameters
    ----------
    each : Records of ConnectionCounts, (connections,)
        Counts.
    within : array of int32, (connections, fractions + 1)
        Number of packets by the smallest of ``FRACTIONS`` of the deadline that they met; the last column counts late
        packets.
    jitter : array of int32, (connections, bins)
        Number of arrivals by jitter bin (``JITTERS``).
    """

    each: Records[ConnectionCounts]
    within: NDArray[np.int32]
    jitter: NDArray[np.int32]


def new_connection_meters(listed: CbrList) -> ConnectionMeters:
    """Return zeroed counts."""
    count = len(listed.source)
    meters = ConnectionMeters(
        new_records(ConnectionCounts, count),
        np.zeros((count, len(FRACTIONS) + 1), np.int32),
        np.zeros((count, len(JITTERS)), np.int32),
    )
    meters.each["period"] = np.rint(listed.interval * (1 << CYCLE_BITS)).astype(np.int64)
    meters.each["deadline"], meters.each["target"] = listed.deadline, listed.target
    meters.each["last_arrival"] = -1
    return meters


@inner
def count_arrival(meters: ConnectionMeters, connection: int, target: int, latency: int, cycle: int) -> int:
    """Count the arrival of a connection's packet at a NIC and return its latency in 1/512 of the deadline.

    Return -1 if the connection has no deadline. A packet that a rewritten table led to another NIC is not counted and
    returns -1, too.
    """
    connection_meter = meters.each[connection]
    if connection_meter.target != target:
        return -1
    connection_meter.packets += 1
    connection_meter.latency_sum += latency
    connection_meter.max_latency = max(connection_meter.max_latency, latency)
    if connection_meter.last_arrival >= 0:
        eighths = ((cycle - connection_meter.last_arrival) << _FINE_BITS + 3) // (
            connection_meter.period >> CYCLE_BITS - _FINE_BITS
        )
        meters.jitter[connection, _EIGHTHS[min(eighths, 16)]] += 1
    connection_meter.last_arrival = cycle
    if connection_meter.deadline == 0:
        return -1
    place = 0
    while place < len(FRACTIONS) and latency * FRACTIONS[place][1] > connection_meter.deadline * FRACTIONS[place][0]:
        place += 1
    meters.within[connection, place] += 1
    return min(latency * RATIOS // connection_meter.deadline, 2 * RATIOS)
