"""Measurement of deliveries: digest, latency histogram, parts of the measured window."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from vlane.golden.compiler.records import new_records
from vlane.golden.network.meters import (
    FLITS_IN,
    LATENCY,
    LATENCY_LEAST,
    LATENCY_MOST,
    LOST,
    MADE,
    PACKETS,
    PARTS,
    RECEIVED,
    TIMED,
    bin_latency,
    count_delivery,
    count_generation,
    count_loss,
    double_measured_window,
    new_meters,
)
from vlane.golden.switches.packets import Origin, Packet
from vlane.sim_top.study.latencies import PERCENTILES, quantile
from vlane.study.cbr_list import CbrList

_FIELDS = ("source", "target", "dlid", "sl", "generated_cycle")
_OF_PACKET = {"dlid", "sl"}
_DELIVERIES = [((1, 2, 3, 4, 5), 100), ((2, 1, 3, 4, 6), 90), ((1, 2, 4, 3, 5), 80)]
_LATE = 1 << 40


def _packet() -> tuple[Packet, Origin]:
    """Return a packet of one flit after one switch, and the packet's origin."""
    packet, origin = new_records(Packet, 1)[0], new_records(Origin, 1)[0]
    packet.flits = packet.hops = 1
    origin.stream = -1
    return packet, origin


def _digest(deliveries: list[tuple[tuple[int, ...], int]]) -> int:
    """Return the digest of the given deliveries."""
    meters, (packet, origin) = new_meters(first_cycle=0, end_cycle=1000, nics=4), _packet()
    for values, cycle in deliveries:
        for name, value in zip(_FIELDS, values, strict=True):
            setattr(packet if name in _OF_PACKET else origin, name, value)
        count_delivery(meters, packet, origin, cycle)
    return int(meters.digest[0])


def test_a_digest_shows_every_delivery_and_its_cycle_but_not_their_order() -> None:
    """The digest changes with any field or cycle of a delivery, but not with the order of counting.

    Exchanging the cycles of two packets changes it, too.
    """
    right = _digest(_DELIVERIES)
    others = [[*_DELIVERIES[:2], (_DELIVERIES[2][0], cycle)] for cycle in (81, 80 + (1 << 31), 80 + _LATE)]
    others += [[*_DELIVERIES[:2], ((1, 2, 4, 3, 5 + born), 80 + _LATE)] for born in (1 << 31, _LATE)]
    for place in range(len(_FIELDS)):
        values = [value + (number == place) for number, value in enumerate(_DELIVERIES[0][0])]
        others.append([(tuple(values), 100), *_DELIVERIES[1:]])
    for one, other in ((0, 1), (0, 2), (1, 2)):
        swapped = [list(delivery) for delivery in _DELIVERIES]
        swapped[one][1], swapped[other][1] = swapped[other][1], swapped[one][1]
        others.append([(values, cycle) for values, cycle in swapped])  # type: ignore[misc]

    assert _digest(_DELIVERIES[::-1]) == right
    assert len({right, *map(_digest, others)}) == 1 + len(others)


def test_every_latency_is_in_its_bin() -> None:
    """Each latency falls into the last histogram bin that starts at or below it."""
    begins = [bin_latency(number) for number in range(300)]
    assert all(one < other for one, other in pairwise(begins))
    meters, (packet, origin) = new_meters(first_cycle=0, end_cycle=1 << 20, nics=1), _packet()
    for latency in (0, 1, 31, 32, 63, 64, 65, 66, 127, 128, 1000, 4095, 4096):
        meters.histogram[:] = 0
        count_delivery(meters, packet, origin, latency)
        (found,) = meters.histogram[0].nonzero()[0]
        assert begins[found] <= latency < begins[found + 1]


def test_parts_are_equal_parts_of_the_measured_stretch() -> None:
    """The measured window is divided into equal parts, exact at each border."""
    packet, origin = _packet()
    for first, end in ((0, 1), (0, 7), (100, 1123), (0, PARTS * 3), (5, (1 << 28) + 4), (7, (1 << 40) - 1)):
        length, borders = end - first, [-(-number * (end - first) // PARTS) for number in range(PARTS + 1)]
        cycles = {cycle for border in borders for cycle in (border - 1, border) if 0 <= cycle < length}
        for cycle in cycles:
            meters, origin.generated_cycle = new_meters(first_cycle=first, end_cycle=end, nics=1), first + cycle
            count_delivery(meters, packet, origin, first + cycle)
            assert meters.part[0, :, TIMED].nonzero()[0].tolist() == [cycle * PARTS // length]


@pytest.mark.parametrize(("cycle", "inside"), [(99, False), (100, True), (139, True), (140, False)])
def test_window_holds_its_first_cycle_and_not_its_end(cycle: int, *, inside: bool) -> None:
    """Of cycles 100 to 139, the first and the last count for generated, lost and delivered packets, others do not."""
    packet, origin = _packet()
    packet.flits = 5
    meters = new_meters(first_cycle=100, end_cycle=140, nics=1)

    origin.generated_cycle = cycle
    count_generation(meters, packet, origin)
    count_loss(meters, packet, origin, cycle)
    origin.generated_cycle = 20
    count_delivery(meters, packet, origin, cycle)

    counts = meters.part[0, :, [MADE, LOST, RECEIVED]].sum(axis=1).tolist()
    assert counts == [5 * inside] * 3
    assert meters.total[0, [PACKETS, FLITS_IN]].tolist() == [inside, 5 * inside]
    assert meters.part[0, :, TIMED].sum() == 0


@pytest.mark.parametrize(("born", "cycle", "timed"), [(99, 120, 0), (100, 120, 1), (100, 139, 1), (100, 140, 0)])
def test_latency_counts_for_packets_of_the_window(born: int, cycle: int, timed: int) -> None:
    """A latency counts if the packet is generated and delivered in cycles 100 to 139, also that of a connection."""
    packet, origin = _packet()
    one = np.ones(1, np.int64)
    listed = CbrList(one * 0, one * 0, one * 0, one * 64, np.array([10.0]), one * 50, one * 0)
    meters = new_meters(first_cycle=100, end_cycle=140, nics=1, connections=listed)
    origin.generated_cycle, origin.stream = born, 0

    count_delivery(meters, packet, origin, cycle)

    assert meters.part[0, :, TIMED].sum() == timed
    assert meters.total[0, LATENCY] == timed * (cycle - born)
    assert int(meters.connections.each[0].packets) == timed


def test_a_doubled_stretch_has_counted_what_came_after_its_old_end() -> None:
    """Deliveries after the old end of a window are counted once the window is doubled."""
    twice, once = (new_meters(first_cycle=10, end_cycle=end, nics=2) for end in (410, 810))
    packet, origin = _packet()
    packet.flits = 9
    for target, cycle in ((0, 50), (0, 405), (1, 413), (0, 409 + 500)):
        origin.target, origin.generated_cycle = target, cycle - 20
        count_delivery(twice, packet, origin, cycle)
        count_delivery(once, packet, origin, cycle)
    assert twice.total[0, 0] == 2

    double_measured_window(twice)

    assert once.total[0, 0] == 3
    for name in set(once._fields) - {"connections", "messages"}:
        assert (getattr(once, name) == getattr(twice, name)).all()


def drawn_histogram(latencies: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the histogram of latencies as the meters count them."""
    meters, (packet, origin) = new_meters(first_cycle=0, end_cycle=1 << 40, nics=1), _packet()
    for latency in latencies.tolist():
        count_delivery(meters, packet, origin, latency)
    assert (meters.total[0, LATENCY_LEAST], meters.total[0, LATENCY_MOST]) == (latencies.min(), latencies.max())
    counted: NDArray[np.int64] = meters.histogram[0]
    return counted


@pytest.mark.parametrize("packets", [1, 2, 7, 100, 2000])
@pytest.mark.parametrize("mean", [40, 100, 700, 50_000])
def test_percentiles_are_accurate(packets: int, mean: int) -> None:
    """Percentiles lie within the shortest and longest latency, and at most 1.6 % from the exact rank."""
    latencies = np.random.default_rng(packets + mean).exponential(mean, packets).astype(np.int64) + 20
    histogram = drawn_histogram(latencies)
    for share in PERCENTILES.values():
        exact = np.sort(latencies)[math.ceil(share * packets - 1e-9) - 1]
        found = quantile(histogram, share, least=int(latencies.min()), most=int(latencies.max()))

        assert found is not None
        assert latencies.min() <= found <= latencies.max()
        assert found == pytest.approx(exact, rel=0.016)


def test_percentiles_have_no_bias() -> None:
    """The mean error of the percentiles of many small samples is at most 0.5 %."""
    bits, errors = np.random.default_rng(1), []
    for _ in range(300):
        latencies = bits.exponential(300, 20).astype(np.int64) + 60
        found = quantile(drawn_histogram(latencies), 0.5, least=int(latencies.min()), most=int(latencies.max()))
        errors.append((found or 0) / np.sort(latencies)[9] - 1)

    assert abs(np.mean(errors)) <= 0.005


def test_no_packets_have_no_percentile() -> None:
    """A histogram without packets has no percentiles."""
    assert quantile(np.zeros(64, np.int64), 0.99, least=0, most=0) is None
