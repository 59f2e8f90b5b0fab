"""Packet measurements: counts, latencies and histograms per service level, and counts per part of the window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bins import FACTORS, MASK, bin_minimum, bin_of, hash_pair
from vlane.golden.engine.kernel import inner
from vlane.golden.network.connection_meters import RATIOS, ConnectionMeters, count_arrival, new_connection_meters
from vlane.golden.network.message_meters import MessageMeters, new_message_meters
from vlane.golden.switches.packets import BECN, Origin, Packet
from vlane.study.cbr_list import CbrList
from vlane.tables.sc import SC_COUNT
from vlane.tables.sl2vl import SL_COUNT

LEVELS = SC_COUNT
"""Number of service-level rows: 32 for Omni-Path; InfiniBand uses the first 16."""

APART = SL_COUNT
"""Row offset of an SL for destinations that are counted separately; InfiniBand only."""

PARTS = 40
"""Number of equal parts of the measurement window, for confidence intervals and the growth of the backlog."""

FINE_BITS = 5
"""Histogram resolution as log2 of the bins per power of two."""

_BINS = 40 << FINE_BITS
_FLOW_BINS = 14 << FINE_BITS
(PACKETS, FLITS_IN, LATENCY, LATENCY_MOST, HOPS_IN, LATENCY_LEAST) = range(6)
(TIMED, TIMED_LATENCY, MADE, RECEIVED, LOST) = range(5)
(FIRST, END, SHARE) = range(3)
(AT, WITH_SL, BORN, OF_FLITS, HOPS, SOURCE) = range(6)
_TRACE_FIELDS = 13
_SHARE_BITS = 57
_LOW_BITS = 31
_BTH_BITS = 2
_LOW = (1 << _LOW_BITS) - 1


(
    TRACE_SOURCE,
    TRACE_TARGET,
    TRACE_DLID,
    TRACE_SL,
    TRACE_FLITS,
    TRACE_BORN,
    TRACE_DELIVERED,
    TRACE_HOPS,
    TRACE_BYTES,
    TRACE_LANE,
    TRACE_CHANNEL,
    TRACE_BTH,
    TRACE_PSN,
) = range(13)
"""Columns of ``Meters.trace``."""


class Meters(NamedTuple):
    """Counters of a run.

    Parameters
    ----------
    window : array of int64, (3,)
        First measured cycle; first cycle after the window; parts per measured cycle, times 2**57 and rounded up.
    level_row : array of int64, (SLs,)
        Row of each SL in the arrays with a row per SL.
    row_offset : array of int64, (NICs,)
        Offset added to the SL's row, by destination: 16 for destinations that are counted separately, otherwise 0.
    total : array of int64, (32 SLs, 6)
        Deliveries in the window: packets, flits, sum of latencies, maximum latency, sum of hops, minimum latency (0 for
        none). Latencies and hops include only packets generated in the window.
    part : array of int64, (32 SLs, parts, 5)
        For each part of the window: delivered packets that were generated in the window, the sum of their latencies,
        flits generated, flits delivered, flits of dropped packets.
    unfinished : array of int64, (NICs, 6)
        Packet whose head reached a NIC in the window and whose last flit arrives after it: cycle of delivery, SL,
        cycle of generation, flits, hops, source; all zero for none.
    histogram : array of int64, (32 SLs, bins)
        Latencies: exact below 32, then 32 bins per power of two.
    digest : array of int64, (2,)
        Hash of all deliveries, independent of their order within a cycle; sum of flits times hops, a measure of work.
    trace : array of int64, (rows, 13)
        Deliveries: source, target, DLID, SL, flits, cycle of generation, cycle of delivery, hops, bytes, lane, channel,
        congestion bits of the base transport header, packet sequence number.
    traced : array of int64, (1,)
        Number of trace rows in use.
    flow_level : array of int64, (SLs,)
        Index of each SL in ``flow``; -1 for none.
    flow : array of int64, (NICs, NICs, SLs, 7) or (0, 0, 0, 7)
        Per source, destination and SL, in the window: flits generated; packets and flits delivered; number, sum of
        latencies, maximum and minimum latency of delivered packets that were generated in the window. Empty without
        per-flow measurement.
    flow_histogram : array of int32, (NICs, NICs, SLs, bins) or (0, 0, 0, bins)
        Latencies of each flow, in the bins of ``histogram``; the last bin holds 258,048 and above.
    by_source : array of int64, (NICs, 32 SLs) or (0, 0)
        Flits delivered from each source in the window. Empty without per-source measurement.
    connections : ConnectionMeters
        Counts of connections.
    lateness : array of int64, (32 SLs, 1025)
        Latencies of packets of connections in 1/512 of their deadlines; the last bin holds twice the deadline and
        above.
    messages : MessageMeters
        Counts of messages.
    """

    window: NDArray[np.int64]
    level_row: NDArray[np.int64]
    row_offset: NDArray[np.int64]
    total: NDArray[np.int64]
    part: NDArray[np.int64]
    unfinished: NDArray[np.int64]
    histogram: NDArray[np.int64]
    digest: NDArray[np.int64]
    trace: NDArray[np.int64]
    traced: NDArray[np.int64]
    flow_level: NDArray[np.int64]
    flow: NDArray[np.int64]
    flow_histogram: NDArray[np.int32]
    by_source: NDArray[np.int64]
    connections: ConnectionMeters
    lateness: NDArray[np.int64]
    messages: MessageMeters


(FLOW_OFFERED, FLOW_PACKETS, FLOW_FLITS, FLOW_TIMED, FLOW_LATENCY, FLOW_MOST, FLOW_LEAST) = range(7)


def new_meters(
    *,
    first_cycle: int,
    end_cycle: int,
    nics: int,
    trace_rows: int = 0,
    flow_levels: Sequence[int] = (),
    apart: Sequence[int] = (),
    sls: int = LEVELS,
    connections: CbrList | None = None,
    sources: bool = False,
    message_rows: int = 0,
) -> Meters:
    """Return zeroed meters for the window of cycles ``first_cycle`` to ``end_cycle`` - 1.

    Parameters
    ----------
    nics : int
        Number of receiving NICs.
    trace_rows : int
        Maximum number of traced deliveries; 0 disables the trace.
    flow_levels : sequence of int
        SLs with per-flow measurement.
    apart : sequence of int
        Destinations that are counted separately, 16 rows after their SL; InfiniBand SLs only.
    sls : int
        Number of SLs that packets may have; SLs beyond the rows share rows, starting with the first.
    connections : CbrList, optional
        Connections to measure.
    sources : bool
        Measure flits delivered per source.
    message_rows : int
        Number of rows of message measurements; 0 without messages.
    """
    places = np.full(max(LEVELS, sls), -1, np.int64)
    rows, behind = np.arange(len(places)) % (APART if apart else LEVELS), np.zeros(nics, np.int64)
    behind[list(apart)] = APART
    places[sorted(flow_levels)] = np.arange(len(flow_levels))
    flow_nics, window = (
        nics if flow_levels else 0,
        np.array([first_cycle, end_cycle, _fixed_point_share(end_cycle - first_cycle)], np.int64),
    )
    return Meters(
        window=window,
        level_row=rows,
        row_offset=behind,
        total=np.zeros((LEVELS, 6), np.int64),
        part=np.zeros((LEVELS, PARTS, 5), np.int64),
        unfinished=np.zeros((nics, 6), np.int64),
        histogram=np.zeros((LEVELS, _BINS), np.int64),
        digest=np.zeros(2, np.int64),
        trace=np.zeros((trace_rows, _TRACE_FIELDS), np.int64),
        traced=np.zeros(1, np.int64),
        flow_level=places,
        flow=np.zeros((flow_nics, flow_nics, len(flow_levels), 7), np.int64),
        flow_histogram=np.zeros((flow_nics, flow_nics, len(flow_levels), _FLOW_BINS), np.int32),
        by_source=np.zeros((nics, LEVELS) if sources else (0, 0), np.int64),
        connections=new_connection_meters(connections or CbrList.none()),
        lateness=np.zeros((LEVELS, 2 * RATIOS + 1), np.int64),
        messages=new_message_meters(window, message_rows),
    )


def _fixed_point_share(cycles: int) -> int:
    return -((-PARTS << _SHARE_BITS) // max(1, cycles))


def double_measured_window(meters: Meters) -> None:
    """Double the length of the measurement window, when its end is reached."""
    first, end = int(meters.window[FIRST]), int(meters.window[END])
    meters.window[END], meters.window[SHARE] = 2 * end - first, _fixed_point_share(2 * (end - first))
    meters.part[:, : PARTS // 2] = meters.part[:, ::2] + meters.part[:, 1::2]
    meters.part[:, PARTS // 2 :] = 0
    for target in np.flatnonzero(meters.unfinished[:, AT]).tolist():
        cycle, sl, born, flits, hops, source = meters.unfinished[target].tolist()
        meters.unfinished[target] = 0
        _count_statistics(meters, sl, born, flits, hops, source, target, cycle)


def sum_meters(parts: Sequence[Meters]) -> Meters:
    """Sum the meters of a partitioned network.

    Window, flow counts and trace are those of the first partition; they are not summed.
    """
    total = np.sum([meters.total for meters in parts], axis=0)
    total[:, LATENCY_MOST] = np.max([meters.total[:, LATENCY_MOST] for meters in parts], axis=0)
    least = np.array([meters.total[:, LATENCY_LEAST] for meters in parts])
    total[:, LATENCY_LEAST] = np.where(least > 0, least, total[:, LATENCY_MOST]).min(axis=0)
    digest = np.array(
        [sum(int(meters.digest[0]) for meters in parts) & MASK, sum(meters.digest[1] for meters in parts)]
    )
    return parts[0]._replace(
        total=total,
        digest=digest,
        part=np.sum([meters.part for meters in parts], axis=0),
        unfinished=np.sum([meters.unfinished for meters in parts], axis=0),
        histogram=np.sum([meters.histogram for meters in parts], axis=0),
        lateness=np.sum([meters.lateness for meters in parts], axis=0),
        by_source=np.sum([meters.by_source for meters in parts], axis=0),
    )


def bin_latency(bin_number: int) -> int:
    """Return the smallest latency that falls into a histogram bin."""
    return bin_minimum(bin_number, FINE_BITS)


@inner
def _part_of(meters: Meters, cycle: int) -> int:
    past = cycle - meters.window[FIRST]
    part = past * meters.window[SHARE] >> _SHARE_BITS
    return part - (part * (meters.window[END] - meters.window[FIRST]) > past * PARTS)  # undo rounding up


@inner
def _row_of(meters: Meters, sl: int, target: int) -> int:
    return int(meters.level_row[sl] + meters.row_offset[target])


@inner
def _count_flow(meters: Meters, sl: int, source: int, target: int, flits: int, latency: int) -> None:
    level = meters.flow_level[sl]
    flow = meters.flow[source, target, level]
    flow[FLOW_PACKETS] += 1
    flow[FLOW_FLITS] += flits
    if latency >= 0:
        flow[FLOW_TIMED] += 1
        flow[FLOW_LATENCY] += latency
        flow[FLOW_MOST] = max(flow[FLOW_MOST], latency)
        if flow[FLOW_TIMED] == 1 or latency < flow[FLOW_LEAST]:
            flow[FLOW_LEAST] = latency
        place = min(bin_of(latency, FINE_BITS), meters.flow_histogram.shape[3] - 1)
        meters.flow_histogram[source, target, level, place] += 1


@inner
def count_generation(meters: Meters, packet: Packet, origin: Origin) -> None:
    """Count a generated packet, in the part of the window that contains its cycle of generation."""
    if meters.window[FIRST] <= origin.generated_cycle < meters.window[END]:
        meters.part[_row_of(meters, packet.sl, origin.target), _part_of(meters, origin.generated_cycle), MADE] += (
            packet.flits
        )
        if meters.flow.size > 0:
            level = meters.flow_level[packet.sl]
            meters.flow[origin.source, origin.target, level, FLOW_OFFERED] += packet.flits


@inner
def count_loss(meters: Meters, packet: Packet, origin: Origin, cycle: int) -> None:
    """Count a packet that a switch drops in a cycle."""
    if meters.window[FIRST] <= cycle < meters.window[END]:
        meters.part[_row_of(meters, packet.sl, origin.target), _part_of(meters, cycle), LOST] += packet.flits


@inner
def count_delivery(meters: Meters, packet: Packet, origin: Origin, cycle: int) -> None:
    """Count a packet whose last flit is received in a cycle. A CNP enters only the digest and the trace."""
    sl, born, flits, hops = int(packet.sl), int(origin.generated_cycle), int(packet.flits), int(packet.hops)
    source, target, stream = int(origin.source), int(origin.target), int(origin.stream)
    who = source | target << 20 | int(packet.dlid) << 40 | sl << 56
    who ^= (int(packet.bth) | int(origin.psn) << _BTH_BITS) * FACTORS[0]
    who ^= (born >> _LOW_BITS | cycle >> _LOW_BITS << _LOW_BITS) * FACTORS[2]
    low = born & _LOW | (cycle & _LOW) << _LOW_BITS
    meters.digest[0] = (meters.digest[0] + hash_pair(who, low)) & MASK
    meters.digest[1] += flits * hops
    if packet.bth & BECN == 0:
        _count_statistics(meters, sl, born, flits, hops, source, target, cycle)
    if stream >= 0 and meters.window[FIRST] <= born and cycle < meters.window[END]:
        late = count_arrival(meters.connections, stream, target, cycle - born, cycle)
        if late >= 0:
            meters.lateness[sl, late] += 1
    if meters.traced[0] < len(meters.trace):
        row = meters.trace[meters.traced[0]]
        row[TRACE_SOURCE] = source
        row[TRACE_TARGET] = target
        row[TRACE_DLID] = packet.dlid
        row[TRACE_SL] = sl
        row[TRACE_FLITS] = flits
        row[TRACE_BORN] = born
        row[TRACE_DELIVERED] = cycle
        row[TRACE_HOPS] = hops
        row[TRACE_BYTES] = origin.bytes
        row[TRACE_LANE] = packet.lane
        row[TRACE_CHANNEL] = packet.channel
        row[TRACE_BTH] = packet.bth
        row[TRACE_PSN] = origin.psn
        meters.traced[0] += 1


@inner
def _count_statistics(
    meters: Meters, sl: int, born: int, flits: int, hops: int, source: int, target: int, cycle: int
) -> None:
    """Count a delivery for the statistics.

    A delivery after the window is stored in ``unfinished``, in case the window is doubled.
    """
    first = meters.window[FIRST]
    if cycle >= meters.window[END]:
        late = meters.unfinished[target]
        late[AT], late[WITH_SL], late[BORN] = cycle, sl, born
        late[OF_FLITS], late[HOPS], late[SOURCE] = flits, hops, source
        return
    if cycle < first:
        return
    level = _row_of(meters, sl, target)
    total, part = meters.total[level], meters.part[level, _part_of(meters, cycle)]
    total[PACKETS] += 1
    total[FLITS_IN] += flits
    part[RECEIVED] += flits
    if meters.by_source.size > 0:
        meters.by_source[source, level] += flits
    if born >= first:
        latency = cycle - born
        total[LATENCY] += latency
        total[LATENCY_MOST] = max(total[LATENCY_MOST], latency)
        if total[LATENCY_LEAST] == 0 or latency < total[LATENCY_LEAST]:
            total[LATENCY_LEAST] = latency
        total[HOPS_IN] += hops
        part[TIMED] += 1
        part[TIMED_LATENCY] += latency
        meters.histogram[level, bin_of(latency, FINE_BITS)] += 1
    if meters.flow.size > 0:
        _count_flow(meters, sl, source, target, flits, cycle - born if born >= first else -1)
