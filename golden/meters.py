"""What is measured of deliveries: counts, latencies and their histogram, per service level, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.bits import length
from vlane.golden.kernel import inner
from vlane.golden.packets import Packet

from vlane.sc import SC_COUNT

__all__ = [
    "BATCHES",
    "LEVELS",
    "Meters",
    "count_delivery",
    "count_generation",
    "latency_at",
    "new_meters",
]

LEVELS = SC_COUNT
"""Service levels that are told apart: Omni-Path's 32; InfiniBand has the first 16."""

BATCHES = 20
"""Batches of the measured stretch, for the confidence of a mean."""

FINE_BITS, FLOW_FINE_BITS = 5, 3
"""Bins per power of two, as a power of two, of a service level's latencies and of a flow's."""

_BINS = 40 << FINE_BITS
_FLOW_BINS = 16 << FLOW_FINE_BITS
(PACKETS, FLITS_IN, LATENCY, LATENCY_MOST, HOPS_IN) = range(5)
_TRACE_FIELDS = 11
_MASK = (1 << 62) - 1
_SHARE_BITS = 57
_FACTORS = (0x9E3779B97F4A7C15 & _MASK, 0xC2B2AE3D27D4EB4F & _MASK, 0x165667B19E3779F9)


class Meters(NamedTuple):
    """Counters.

    Parameters
    ----------
    window : array of int64, (2,)
        First cycle that is measured, and the first that is not any more.
    batch_share : int
        Batches of a measured cycle, times 2**57 and rounded up: exact for 2**28 cycles.
    total : array of int64, (32 SLs, 5)
        Of deliveries in the window: packets, flits, sum of latencies, longest, switches passed.
        Latencies and hops are of packets generated in the window.
    batch : array of int64, (32 SLs, batches, 2)
        Packets and sum of latencies of each batch.
    histogram : array of int64, (32 SLs, bins)
        Latencies: exact below 32, then 32 bins per power of two.
    digest : array of int64, (2,)
        Of every delivery, whatever its order within a cycle; all flits times switches, as a count of work.
    trace : array of int64, (rows, 11)
        Deliveries: source, target, DLID, SL, flits, generated, delivered, switches, bytes, lane, channel.
    traced : array of int64, (1,)
        Rows in use.
    flow_level : array of int64, (32,)
        Place of each SL in ``flow``; -1 for none.
    flow : array of int64, (NICs, NICs, SLs, 6) or (0, 0, 0, 6)
        By source, destination and SL, in the window: flits generated; packets and flits delivered; of packets
        generated in the window, how many, the sum of latencies, and the longest. Empty if flows are not told apart.
    flow_histogram : array of int32, (NICs, NICs, SLs, bins) or (0, 0, 0, bins)
        Latencies of each flow: exact below 8, then 8 bins per power of two; the last holds all from 245,760 on.
    """

    window: NDArray[np.int64]
    batch_share: int
    total: NDArray[np.int64]
    batch: NDArray[np.int64]
    histogram: NDArray[np.int64]
    digest: NDArray[np.int64]
    trace: NDArray[np.int64]
    traced: NDArray[np.int64]
    flow_level: NDArray[np.int64]
    flow: NDArray[np.int64]
    flow_histogram: NDArray[np.int32]


(FLOW_OFFERED, FLOW_PACKETS, FLOW_FLITS, FLOW_TIMED, FLOW_LATENCY, FLOW_MOST) = range(6)


def new_meters(
    *, first: int, end: int, trace_rows: int = 0, flow_nics: int = 0, flow_levels: Sequence[int] = ()
) -> Meters:
    """Return zeroed meters for the cycles ``first`` to ``end`` - 1.

    Parameters
    ----------
    trace_rows : int
        Deliveries that are kept; none if it is 0.
    flow_nics : int
        NICs whose flows are told apart; none if it is 0.
    flow_levels : sequence of int
        The SLs of those flows.
    """
    places = np.full(LEVELS, -1, np.int64)
    places[sorted(flow_levels)] = np.arange(len(flow_levels))
    return Meters(
        np.array([first, end], np.int64), -((-BATCHES << _SHARE_BITS) // max(1, end - first)),
        np.zeros((LEVELS, 5), np.int64), np.zeros((LEVELS, BATCHES, 2), np.int64), np.zeros((LEVELS, _BINS), np.int64),
        np.zeros(2, np.int64), np.zeros((trace_rows, _TRACE_FIELDS), np.int64), np.zeros(1, np.int64), places,
        np.zeros((flow_nics, flow_nics, len(flow_levels), 6), np.int64),
        np.zeros((flow_nics, flow_nics, len(flow_levels), _FLOW_BINS), np.int32),
    )  # fmt: skip


@inner
def _bin_of(latency: int, fine_bits: int) -> int:
    shift = max(0, length(latency) - fine_bits - 1)
    return (shift << fine_bits) + (latency >> shift)


@inner
def _mixed(first: int, second: int) -> int:
    """Return 62 bits in which every bit of both shows; products may lose bits beyond those."""
    both = (first * _FACTORS[0] ^ second * _FACTORS[1]) & _MASK
    return (both ^ both >> 31) * _FACTORS[2] & _MASK


def latency_at(bin_number: int, fine_bits: int = FINE_BITS) -> int:
    """Return the least latency of a bin."""
    shift = max(0, (bin_number >> fine_bits) - 1)
    return (bin_number - (shift << fine_bits)) << shift


@inner
def _count_flow(meters: Meters, packet: Packet, flits: int, latency: int) -> None:
    source, target, level = packet.source, packet.target, meters.flow_level[packet.sl]
    flow = meters.flow[source, target, level]
    flow[FLOW_PACKETS] += 1
    flow[FLOW_FLITS] += flits
    if latency >= 0:
        flow[FLOW_TIMED] += 1
        flow[FLOW_LATENCY] += latency
        flow[FLOW_MOST] = max(flow[FLOW_MOST], latency)
        place = min(_bin_of(latency, FLOW_FINE_BITS), meters.flow_histogram.shape[3] - 1)
        meters.flow_histogram[source, target, level, place] += 1


@inner
def count_generation(meters: Meters, packet: Packet) -> None:
    """Count a packet that was generated."""
    if meters.flow.size > 0 and meters.window[0] <= packet.born < meters.window[1]:
        level = meters.flow_level[packet.sl]
        meters.flow[packet.source, packet.target, level, FLOW_OFFERED] += packet.flits


@inner
def count_delivery(meters: Meters, packet: Packet, cycle: int) -> None:
    """Count a packet whose last flit is received in a cycle."""
    sl, born, flits, hops = int(packet.sl), int(packet.born), int(packet.flits), int(packet.hops)
    who = int(packet.source) | int(packet.target) << 20 | int(packet.dlid) << 40 | sl << 56
    meters.digest[0] = (meters.digest[0] + _mixed(who, born | int(cycle) << 31)) & _MASK
    meters.digest[1] += flits * hops
    first, end = meters.window[0], meters.window[1]
    if first <= cycle < end:
        total = meters.total[sl]
        total[PACKETS] += 1
        total[FLITS_IN] += flits
        if born >= first:
            latency = cycle - born
            total[LATENCY] += latency
            total[LATENCY_MOST] = max(total[LATENCY_MOST], latency)
            total[HOPS_IN] += hops
            number = (cycle - first) * meters.batch_share >> _SHARE_BITS
            meters.batch[sl, number, 0] += 1
            meters.batch[sl, number, 1] += latency
            meters.histogram[sl, _bin_of(latency, FINE_BITS)] += 1
        if meters.flow.size > 0:
            _count_flow(meters, packet, flits, cycle - born if born >= first else -1)
    if meters.traced[0] < len(meters.trace):
        row = meters.trace[meters.traced[0]]
        row[0], row[1], row[2], row[3] = packet.source, packet.target, packet.dlid, sl
        row[4], row[5], row[6], row[7] = flits, born, cycle, hops
        row[8], row[9], row[10] = packet.bytes, packet.lane, packet.channel
        meters.traced[0] += 1
