"""What is measured of deliveries: the digest that tells runs apart, the bins of latencies."""

from __future__ import annotations

from itertools import pairwise

from vlane.golden.meters import BATCHES, count_delivery, latency_at, new_meters
from vlane.golden.packets import Packet
from vlane.golden.records import new_records

_FIELDS = ("source", "target", "dlid", "sl", "born")
_DELIVERIES = [((1, 2, 3, 4, 5), 100), ((2, 1, 3, 4, 6), 90), ((1, 2, 4, 3, 5), 80)]


def _digest(deliveries: list[tuple[tuple[int, ...], int]]) -> int:
    """Return the digest of packets delivered in these cycles."""
    meters, packet = new_meters(first=0, end=1000), new_records(Packet, 1)[0]
    packet.flits = packet.hops = 1
    for values, cycle in deliveries:
        for name, value in zip(_FIELDS, values, strict=True):
            setattr(packet, name, value)
        count_delivery(meters, packet, cycle)
    return int(meters.digest[0])


def test_a_digest_shows_every_delivery_and_its_cycle_but_not_their_order() -> None:
    """A field of one packet by one, or two packets' cycles exchanged: another digest."""
    right = _digest(_DELIVERIES)
    others = [[*_DELIVERIES[:2], (_DELIVERIES[2][0], 81)]]
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
    """Bins begin one after the other, and each latency is counted in the last that begins at or before it."""
    begins = [latency_at(number) for number in range(300)]
    assert all(one < other for one, other in pairwise(begins))
    meters, packet = new_meters(first=0, end=1 << 20), new_records(Packet, 1)[0]
    packet.flits = packet.hops = 1
    for latency in (0, 1, 31, 32, 63, 64, 65, 66, 127, 128, 1000, 4095, 4096):
        meters.histogram[:] = 0
        count_delivery(meters, packet, latency)
        (found,) = meters.histogram[0].nonzero()[0]
        assert begins[found] <= latency < begins[found + 1]


def test_batches_are_equal_parts_of_the_measured_stretch() -> None:
    """A delivery of each cycle is in the batch that its cycle's share of the stretch says, at every border too."""
    packet = new_records(Packet, 1)[0]
    packet.flits = packet.hops = 1
    for first, end in ((0, 1), (0, 7), (100, 1123), (0, BATCHES * 3), (5, (1 << 28) + 4)):
        length, borders = end - first, [-(-number * (end - first) // BATCHES) for number in range(BATCHES + 1)]
        cycles = {cycle for border in borders for cycle in (border - 1, border) if 0 <= cycle < length}
        for cycle in cycles:
            meters, packet.born = new_meters(first=first, end=end), first + cycle
            count_delivery(meters, packet, first + cycle)
            assert meters.batch[0, :, 0].nonzero()[0].tolist() == [cycle * BATCHES // length]
