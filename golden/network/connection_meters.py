"""What is measured of connections: how late their packets are, and how evenly they come."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int64, Records, new_records
from vlane.golden.engine.kernel import inner
from vlane.golden.traffic.connections import CYCLE_BITS
from vlane.study.cbr_list import CbrList

FRACTIONS = ((1, 100), (1, 50), (1, 30), (1, 20), (1, 10), (1, 5), (1, 4), (1, 3), (1, 2), (3, 4), (1, 1))
"""Parts of the deadline within which packets are counted, as (above, below) the line."""

JITTERS = (-1.0, -0.75, -0.5, -0.25, -0.125, 0.125, 0.25, 0.5, 0.75, 1.0)
"""Borders of the intervals in which the distance of two arrivals, less the distance at which they were generated, is
counted, in parts of the latter; what is 1 or more is one interval."""

RATIOS = 512
"""Parts of the deadline that a service level's packets are told apart by, up to twice the deadline."""

_EIGHTHS = np.array([0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 7, 8, 8, 9], np.int64)
"""Interval of each eighth of the period from -8 eighths to 8 and more."""

_FINE_BITS = 16


class OfConnection:
    """Counts of a connection, of packets that were generated and received in the measured stretch.

    Parameters
    ----------
    period, deadline, target : int
        As of ``Connection`` and ``vlane.study.cbr_list.CbrList``.
    last : int
        Cycle of the last arrival; -1 for none.
    packets, latency, most : int
        How many, the sum of their latencies, the longest.
    """

    period: Int64
    deadline: Int64
    target: Int64
    last: Int64
    packets: Int64
    latency: Int64
    most: Int64


class ConnectionMeters(NamedTuple):
    """Counts of all connections; empty if none are measured.

    Parameters
    ----------
    each : Records of OfConnection, (connections,)
        Counts.
    within : array of int32, (connections, parts of the deadline and one)
        Packets by the least of ``FRACTIONS`` that they came within; the last are late.
    jitter : array of int32, (connections, intervals)
        Distances of arrivals by the intervals of ``JITTERS``.
    """

    each: Records[OfConnection]
    within: NDArray[np.int32]
    jitter: NDArray[np.int32]


def new_connection_meters(listed: CbrList) -> ConnectionMeters:
    """Return zeroed counts."""
    count = len(listed.source)
    meters = ConnectionMeters(
        new_records(OfConnection, count),
        np.zeros((count, len(FRACTIONS) + 1), np.int32),
        np.zeros((count, len(JITTERS)), np.int32),
    )
    meters.each["period"] = np.rint(listed.interval * (1 << CYCLE_BITS)).astype(np.int64)
    meters.each["deadline"], meters.each["target"] = listed.deadline, listed.target
    meters.each["last"] = -1
    return meters


@inner
def count_arrival(meters: ConnectionMeters, number: int, target: int, latency: int, cycle: int) -> int:
    """Count a packet of a connection that arrives at a NIC; return its latency in 512ths of the deadline.

    -1 without a deadline, and for a packet that a rewritten table led to another NIC, which is not counted.
    """
    it = meters.each[number]
    if it.target != target:
        return -1
    it.packets += 1
    it.latency += latency
    it.most = max(it.most, latency)
    if it.last >= 0:
        eighths = ((cycle - it.last) << _FINE_BITS + 3) // (it.period >> CYCLE_BITS - _FINE_BITS)
        meters.jitter[number, _EIGHTHS[min(eighths, 16)]] += 1
    it.last = cycle
    if it.deadline == 0:
        return -1
    place = 0
    while place < len(FRACTIONS) and latency * FRACTIONS[place][1] > it.deadline * FRACTIONS[place][0]:
        place += 1
    meters.within[number, place] += 1
    return min(latency * RATIOS // it.deadline, 2 * RATIOS)
