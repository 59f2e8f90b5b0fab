"""The bound of a wait against the worst case of golden's arbiter, for every kind of limit and every MTU.

An adversary sees the state of the arbiter and chooses the packets: first the moment at which the counter expires with
the packet of the VL that will wait, then small packets that end each turn with one block left, then the largest.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.planning.test_vlarb_waits import Port
from vlane.golden.schedulers import vlarb
from vlane.golden.tables import vlarb_service as compiled
from vlane.planning.vlarb_waits import longest_wait
from vlane.schedulers import vlarb_service
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable
from vlane.units import mtu_blocks

LIMITS = (0, 1, 2, 10, 254, 255)
MTUS = (256, 512, 1024, 2048, 4096)


@dataclass
class Adversary:
    """Traffic that makes one VL wait long.

    Parameters
    ----------
    table : VLArbTable
        Lists in which each VL has one entry, and limit.
    most, least : int
        Blocks of the largest and the smallest packet.
    """

    table: VLArbTable
    most: int
    least: int
    left: dict[int, int] = field(default_factory=dict)
    burst: int = 0

    def __post_init__(self) -> None:
        self.port = Port(self.table)
        self.high = [entry.vl for entry in self.table.high]
        self.low = [entry.vl for entry in self.table.low]
        self.weights = {entry.vl: entry.weight for entry in (*self.table.high, *self.table.low)}

    @property
    def counter(self) -> int:
        return int(self.port.state.regs[vlarb.COUNTER])

    def ending(self, vl: int) -> int:
        """Return the packet with which a VL's turn becomes longest: small ones, the largest at the end."""
        return self.least if self.left.get(vl, self.weights[vl]) > self.least else self.most

    def filling(self, blocks: int) -> int:
        """Return the packet with which a burst of High ends one block before the counter does, then the largest."""
        ahead = blocks - 1
        return self.most if ahead == 0 or ahead >= self.most + self.least else max(self.least, min(ahead, self.most))

    def send(self, heads: dict[int, int]) -> tuple[int, int]:
        """Make one decision of the arbiter and return VL and blocks."""
        vl = self.port.decide(heads)
        assert vl is not None
        left = self.left.get(vl, self.weights[vl]) - heads[vl]
        self.left[vl] = left if left > 0 else self.weights[vl]
        return vl, heads[vl]

    def wait_in_high(self, vl: int) -> int:
        """Return how long a VL waits behind its own packet, with which the counter expired."""
        other = next(each for each in self.high if each != vl)
        while self.table.limit_of_high_priority < 255 and self.counter > self.most:
            self.send({other: self.most})
        self.left.clear()
        chosen, wait = self.send({vl: self.most})
        assert chosen == vl
        while True:
            heads = {each: self.ending(each) for each in self.high if each != vl}
            chosen, blocks = self.send({**heads, vl: self.most, **dict.fromkeys(self.low, self.most)})
            if chosen == vl:
                return wait
            wait += blocks

    def wait_behind_low(self, vl: int) -> int:
        """Return how long a VL of the high list waits that finds a packet of the low list on the link."""
        wait = self.send({self.low[0]: self.most})[1]
        while True:
            heads = {each: self.ending(each) for each in self.high if each != vl}
            chosen, blocks = self.send({**heads, vl: self.most, **dict.fromkeys(self.low, self.most)})
            if chosen == vl:
                return wait
            wait += blocks

    def wait_in_low(self, vl: int) -> int:
        """Return how long a VL of the low list waits behind its own packet."""
        chosen, wait = self.send({vl: self.most})
        assert chosen == vl
        while True:
            heads = dict.fromkeys(self.high, self.filling(self.counter))
            heads |= {each: self.ending(each) for each in self.low if each != vl}
            chosen, blocks = self.send({**heads, vl: self.most})
            if chosen == vl:
                return wait
            wait += blocks


def weights_of(source: random.Random, most: int) -> int:
    """Return a weight of less than a packet, of some packets, or the largest."""
    return source.choice((1, 2, most - 1, most, most + 1, 2 * most, 3 * most, 255)) & 0xFF or 1


@pytest.mark.parametrize("mtu", MTUS)
@pytest.mark.parametrize("limit", LIMITS)
def test_bound_is_the_worst_case(limit: int, mtu: int) -> None:
    """For packets of one or all sizes, the bound is at least the worst wait found and at most 1.25 times as long."""
    source, blocks = random.Random(limit * 5000 + mtu), mtu_blocks(mtu)  # noqa: S311 - repeatable
    for least in (1, blocks):
        most, fewest = dict.fromkeys(range(4), blocks), dict.fromkeys(range(4), least)
        for _ in range(3):
            one, two, low = (weights_of(source, blocks) for _ in range(3))
            high = VLArbTable(
                (VLArbEntry(0, min(blocks, 5)), VLArbEntry(1, one), VLArbEntry(2, two)), (VLArbEntry(3, low),), limit
            )
            waits = [Adversary(high, blocks, least).wait_in_high(0), Adversary(high, blocks, least).wait_behind_low(0)]
            bound = longest_wait(high, 0, most=most, least=fewest)
            assert max(waits) <= bound <= 1.25 * max(waits), high
            few = min(low, 9)
            table = VLArbTable((VLArbEntry(0, 255),), (VLArbEntry(1, few), VLArbEntry(2, min(blocks, 5))), limit)
            if limit < 255:
                worst = Adversary(table, blocks, least).wait_in_low(2)
                bound = longest_wait(table, 2, most=most, least=fewest)
                assert worst <= bound <= 1.25 * worst, table


def test_a_counter_expires_at_most_once_a_packet() -> None:
    """Limit 0 and packets of the MTU: the packet before and one low packet, by hand."""
    table = VLArbTable((VLArbEntry(0, 1),), (VLArbEntry(1, 1),), 0)

    assert longest_wait(table, 0, most={0: 65, 1: 65}) == 130
    assert longest_wait(table, 0, most={0: 33, 1: 33}) == 66
    one = VLArbTable((VLArbEntry(0, 1), VLArbEntry(2, 130)), (VLArbEntry(1, 1),), 1)
    every = dict.fromkeys(range(3), 65)
    assert longest_wait(one, 0, most=every, least=every) == 65 + 130 + 3 * 65


def columns(source: random.Random) -> tuple[list[int], list[int]]:
    entries = source.randint(1, 16)
    return [source.randrange(8) for _ in range(entries)], [source.choice((0, 1, 7, 64, 255)) for _ in range(entries)]


@pytest.mark.slow
def test_compiled_functions_return_the_same() -> None:
    """Waits, shares and the list reader as kernels."""
    source = random.Random(8)  # noqa: S311 - repeatable
    for _ in range(300):
        lists = [*columns(source), *columns(source)]
        limit, sizes = source.choice(LIMITS), [source.choice((0, 1, 9, 65)) for _ in range(16)]
        least, sent, by_kernel = [min(1, size) for size in sizes], [0] * 16, np.zeros(16, np.int64)
        arrays = [np.array(each, np.int64) for each in lists]
        vl, most, fewest = source.randrange(8), np.array(sizes, np.int64), np.array(least, np.int64)

        period = vlarb_service.saturated_service(*lists, limit, sizes, sent)
        wait = vlarb_service.longest_wait_blocks(vl, *lists, limit, sizes, least)

        assert compiled.saturated_service(*arrays, limit, most, by_kernel) == period
        assert by_kernel.tolist() == sent
        assert compiled.longest_wait_blocks(vl, *arrays, limit, most, fewest) == wait
