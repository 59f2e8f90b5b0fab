"""Longest waits under an arbitration table: upper bounds, and traffic that nearly reaches them.

Golden is tested decision by decision and the hardware cycle by cycle.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from math import inf

import numpy as np
import pytest

from tests.schedulers.arbitrated_link import ArbitratedLink, bound_of, longest_of
from vlane.errors import InputError
from vlane.golden.schedulers import vlarb
from vlane.golden.schedulers.bank import new_scheduler
from vlane.golden.schedulers.heads import NO_WRITE, Heads
from vlane.planning.vlarb_waits import longest_wait, wait_after_exchange
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable

VLS = 4
WEIGHTS = (0, 1, 2, 5, 9, 30)


class Port:
    """Link under golden's arbiter with at most one head per VL."""

    def __init__(self, table: VLArbTable) -> None:
        entries = max(len(table.high), len(table.low), 1)
        parameters = {"entries": entries, "vl15": False}
        writes = table.writes({**parameters, "data_vls": VLS})
        self.state = new_scheduler("vlarb", data_vls=VLS, writes=writes, **parameters)
        self.rules = np.zeros(vlarb.RULE_COUNT, np.int64)

    def decide(self, heads: Mapping[int, int]) -> int | None:
        """Return the VL of the next packet, given the blocks of each head."""
        sizes = np.zeros(VLS + 1, np.int64)
        for vl, blocks in heads.items():
            sizes[vl] = blocks
        request = sum(1 << vl for vl in heads)
        seen = Heads(request, (1 << VLS) - 1, sizes, 0, sizes)
        lane, _, granted = vlarb.step(self.state, seen, True, False, NO_WRITE, False, self.rules)
        return int(lane) if granted else None


def waits_of(
    table: VLArbTable, sizes: Mapping[int, tuple[int, int]], source: random.Random, packets: int
) -> dict[int, int]:
    """Return the longest wait of each VL under random traffic.

    VLs are full, idle for a while, or change packet sizes. A wait begins when the previous packet of the VL starts or
    when a packet reaches an empty queue, and ends with the packet's start.
    """
    port, longest = Port(table), dict.fromkeys(sizes, 0)
    heads: dict[int, int] = {}
    since: dict[int, int] = {}
    now, habits = 0, {vl: source.choice((1.0, 1.0, 0.6, 0.1)) for vl in sizes}
    big = {vl: source.random() < 0.6 for vl in sizes}

    def comes(vl: int, when: int) -> None:
        least, most = sizes[vl]
        heads[vl] = most if big[vl] else source.randint(least, most)
        since[vl] = when

    for _ in range(packets):
        for vl in sizes:
            if vl not in heads and source.random() < habits[vl]:
                comes(vl, now)
        chosen = port.decide(heads)
        if chosen is None:
            now += 1
            continue
        blocks = heads.pop(chosen)
        longest[chosen] = max(longest[chosen], now - since[chosen])
        end = now + blocks
        for vl in sizes:
            if vl not in heads and source.random() < habits[vl]:
                comes(vl, now if vl == chosen else source.randint(now, end))
        now = end
        if source.random() < 0.02:
            habits[source.choice(list(sizes))] = source.choice((1.0, 0.6, 0.05))
    return longest


def random_sizes(source: random.Random) -> dict[int, tuple[int, int]]:
    sizes = {}
    for vl in range(VLS):
        least = source.choice((1, 1, 3))
        sizes[vl] = (least, source.choice((least, 4, 9, 17)))
    return sizes


def random_table(source: random.Random) -> VLArbTable:
    lists = [
        tuple(VLArbEntry(source.randrange(VLS), source.choice(WEIGHTS)) for _ in range(source.randint(0, 6)))
        for _ in range(2)
    ]
    return VLArbTable(lists[0], lists[1], source.choice((0, 0, 1, 2, 255)))


@pytest.mark.parametrize(("tables", "seed"), [(150, 1), pytest.param(10_000, 2, marks=pytest.mark.long)])
def test_no_wait_is_longer_than_its_bound(tables: int, seed: int) -> None:
    """For random tables and traffic in golden, no wait exceeds its bound, and many exceed half of it."""
    source, near, finite = random.Random(seed), 0, 0  # noqa: S311 - repeatable
    for _ in range(tables):
        table = random_table(source)
        sizes = random_sizes(source)
        longest = waits_of(table, sizes, source, 300)
        for vl, wait in longest.items():
            bound = longest_wait(
                table,
                vl,
                most={each: most for each, (_, most) in sizes.items()},
                least={each: least for each, (least, _) in sizes.items()},
            )
            assert wait <= bound, (table, sizes, vl)
            finite += bound < inf
            near += wait > 0.5 * bound
    assert finite > 2 * tables
    assert near > finite // 10


def test_bounds_are_reached_where_traffic_is_made_for_them() -> None:
    """With adversarial packet sizes, the longest wait is at least 80 % of its bound.

    The last packet of each entry is the largest and begins with one block of weight left.
    """
    table = VLArbTable((VLArbEntry(0, 4), VLArbEntry(1, 9), VLArbEntry(2, 21)), (VLArbEntry(3, 1),), 1)
    most = {0: 4, 1: 20, 2: 20, 3: 20}
    port, wait, worst = Port(table), 0, 0
    left = {1: [1] * 8 + [20], 2: [1] * 20 + [20]}
    queues = {vl: list(sizes) for vl, sizes in left.items()}
    for _ in range(400):
        for vl, sizes in left.items():
            queues[vl] = queues[vl] or list(sizes)
        chosen = port.decide({0: 4, 3: 20, **{vl: queue[0] for vl, queue in queues.items()}})
        assert chosen is not None
        if chosen == 0:
            worst, wait = max(worst, wait), 4
        else:
            wait += 20 if chosen == 3 else queues[chosen].pop(0)
    bound = longest_wait(table, 0, most=most)
    assert 0.8 * bound <= worst <= bound


def test_a_low_vl_waits_for_every_burst_of_the_high_list() -> None:
    """A low VL waits for a full limit of High and the last packet's overshoot between two Low packets."""
    table = VLArbTable((VLArbEntry(0, 255),), (VLArbEntry(1, 3), VLArbEntry(2, 1)), 1)
    port, wait, worst = Port(table), 0, 0
    high, turn = [9] * 7 + [20], 0
    sizes = [1, 1, 20]
    for _ in range(600):
        chosen = port.decide({0: high[turn % 8], 1: sizes[0], 2: 1})
        if chosen == 2:
            worst, wait = max(worst, wait), 1
        elif chosen == 0:
            wait, turn = wait + high[turn % 8], turn + 1
        else:
            wait += sizes[0]
            sizes = [*sizes[1:], sizes[0]]
    bound = longest_wait(table, 2, most={0: 20, 1: 20, 2: 1})
    assert 0.8 * bound <= worst <= bound


def test_who_is_in_no_list_or_behind_an_unlimited_one_waits_for_ever() -> None:
    """A VL in no list, or behind an unbounded limit, has an infinite bound.

    A VL without competitors waits only for its own packet.
    """
    table = VLArbTable((VLArbEntry(0, 3),), (VLArbEntry(1, 3),), 255)
    assert longest_wait(table, 1, most={0: 1, 1: 1}) == inf
    assert longest_wait(table, 1, most={1: 5}) == 5
    assert longest_wait(table, 2, most={0: 1, 2: 1}) == inf
    assert longest_wait(table, 0, most={0: 7}) == 7


@pytest.mark.parametrize(
    ("vl", "most", "words"), [(2, {0: 1}, "one that sends: 0"), (0, {0: 67}, "1 to 66"), (0, {0: 0}, "1 to 66")]
)
def test_bad_sizes_are_refused(vl: int, most: dict[int, int], words: str) -> None:
    """Given packet sizes out of range, the computation is refused."""
    with pytest.raises(InputError, match=words):
        longest_wait(VLArbTable((VLArbEntry(0, 1),), (), 0), vl, most=most)


class Sender:
    """Random packets of each VL before a hardware link."""

    def __init__(self, sizes: Mapping[int, tuple[int, int]], source: random.Random) -> None:
        self.sizes, self.source = sizes, source
        self.habits = {vl: source.choice((1.0, 1.0, 0.2, 0.03)) for vl in sizes}
        self.big = {vl: source.random() < 0.6 for vl in sizes}

    def offer(self, link: ArbitratedLink) -> None:
        """Offer the packets of one cycle."""
        for vl, (least, most) in self.sizes.items():
            if len(link.queues[vl]) < 2 and self.source.random() < self.habits[vl]:
                link.offer(vl, most if self.big[vl] else self.source.randint(least, most))
        if self.source.random() < 0.004:
            self.habits[self.source.choice(list(self.sizes))] = self.source.choice((1.0, 0.2, 0.02))


@pytest.mark.slow
@pytest.mark.parametrize(("tables", "seed"), [(60, 1), pytest.param(600, 2, marks=pytest.mark.long)])
def test_no_wait_on_the_hardware_is_longer_than_its_bound(tables: int, seed: int) -> None:
    """For random tables and traffic on the hardware, no wait exceeds its bound.

    Each table runs for 1,000 cycles, with every output equal to golden's.
    """
    source, near, finite = random.Random(seed), 0, 0  # noqa: S311 - repeatable
    for first in range(0, tables, 100):
        link, begun = ArbitratedLink(data_vls=VLS, entries=6), []
        for _ in range(min(100, tables - first)):
            table, sizes = random_table(source), random_sizes(source)
            link.begin_with(table)
            begun.append((link.now, table, sizes))
            sender = Sender(sizes, source)
            for _ in range(1000):
                sender.offer(link)
                link.cycle()
        waits = link.on_hardware()
        ends = [*(begin for begin, _, _ in begun[1:]), link.now]
        for (begin, table, sizes), end in zip(begun, ends, strict=True):
            longest = longest_of([wait for wait in waits if begin <= wait.start < end])
            for vl, wait in longest.items():
                bound = longest_wait(
                    table,
                    vl,
                    most={each: most for each, (_, most) in sizes.items()},
                    least={each: least for each, (least, _) in sizes.items()},
                )
                assert wait <= bound, (table, sizes, vl)
                finite += bound < inf
                near += wait > 0.5 * bound
    assert finite > 2 * tables
    assert near > finite // 10


@pytest.mark.slow
def test_bounds_are_reached_on_the_hardware() -> None:
    """On the hardware, adversarial traffic nearly reaches the bounds of a high and a low VL."""
    for table, vl, most, turns in (
        (
            VLArbTable((VLArbEntry(0, 4), VLArbEntry(1, 9), VLArbEntry(2, 21)), (VLArbEntry(3, 1),), 1),
            0,
            {0: 4, 1: 20, 2: 20, 3: 20},
            {0: [4], 1: [1] * 8 + [20], 2: [1] * 20 + [20], 3: [20]},
        ),
        (
            VLArbTable((VLArbEntry(0, 255),), (VLArbEntry(1, 3), VLArbEntry(2, 1)), 1),
            2,
            {0: 20, 1: 20, 2: 1},
            {0: [9] * 7 + [20], 1: [1, 1, 20], 2: [1]},
        ),
    ):
        link, sent = ArbitratedLink(data_vls=VLS, entries=6), dict.fromkeys(turns, 0)
        link.begin_with(table)
        for _ in range(4000):
            for each, sizes in turns.items():
                while len(link.queues[each]) < 2:
                    link.offer(each, sizes[sent[each] % len(sizes)])
                    sent[each] += 1
            link.cycle()

        worst, bound = longest_of(link.on_hardware())[vl], longest_wait(table, vl, most=most)

        assert 0.8 * bound <= worst <= bound, (vl, worst, bound)


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "seed"), [(10, 3), pytest.param(100, 4, marks=pytest.mark.long)])
def test_waits_in_which_tables_are_exchanged_stay_below_their_bound(runs: int, seed: int) -> None:
    """With tables exchanged during a wait, the wait stays below the sum of the tables' bounds."""
    source, near, over, several = random.Random(seed), 0, 0, 0  # noqa: S311 - repeatable
    for _ in range(runs):
        link, sizes = ArbitratedLink(data_vls=VLS, entries=6), random_sizes(source)
        least, most = ({vl: pair[place] for vl, pair in sizes.items()} for place in (0, 1))
        sender = Sender(sizes, source)
        link.begin_with(random_table(source))
        while link.now < 2500:
            for write in [(), *[()] * source.choice((0, 0, 30, 150)), *link.writes_of(random_table(source))]:
                sender.offer(link)
                link.cycle(write)
            sender.offer(link)
            link.cycle(swap=True)
            while len(link.exchanges) < len(link.tables):
                sender.offer(link)
                link.cycle()
        for wait in link.on_hardware():
            alone, later = bound_of(link, wait, most, least)
            assert wait.passed <= alone + sum(later), wait
            near += bool(later) and wait.passed > 0.5 * (alone + sum(later))
            over += bool(later) and wait.passed > alone
            several += len(later) > 1 and alone + sum(later) < inf
    assert near > runs
    assert over > 0
    assert several > runs


def test_a_wait_after_an_exchange_is_less_than_a_distance_more() -> None:
    """The additional wait after an exchange is less than the bound of the new table."""
    source = random.Random(7)  # noqa: S311 - repeatable
    for _ in range(2_000):
        table, sizes = random_table(source), random_sizes(source)
        least, most = ({vl: pair[place] for vl, pair in sizes.items()} for place in (0, 1))
        for vl in sizes:
            more = wait_after_exchange(table, vl, most=most, least=least)
            bound = longest_wait(table, vl, most=most, least=least)
            assert more < bound or more == bound == inf
