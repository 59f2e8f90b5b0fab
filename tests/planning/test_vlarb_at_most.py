"""Upper bounds of levels in ``vlane vlarb plan``: shares and waits of the others, and golden's arbiter under them."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import assert_refused, call
from tests.planning.test_vlarb_waits import VLS, Port
from vlane.planning.vlarb_waits import Arrivals, longest_wait
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable

LINK = "[link]\nmtu = 4096\ndata_vls = 4\nrate_gbps = 100\n"
HEARTBEATS = "[[level]]\nsl = 4\nrate_gbps = 5\nwait_us = 5\n{}\n[[level]]\nsl = 0\nshare = 0.6\n[[level]]\nsl = 2\n"


def plan(tmp_path: Path, levels: str) -> dict[str, Any]:
    file = tmp_path / "wants.toml"
    file.write_text(LINK + levels)
    called = call("vlarb", "plan", file, "--json")
    assert called.status == 0, called.err
    return dict(called.json())


def refused(tmp_path: Path, levels: str, *words: str) -> None:
    file = tmp_path / "wants.toml"
    file.write_text(LINK + levels)
    assert_refused(call("vlarb", "plan", file), str(file), *words)


@pytest.mark.parametrize("most", ["at_most = 0.05", "at_most_gbps = 5"])
def test_what_the_high_list_never_sends_is_the_low_lists(most: str, tmp_path: Path) -> None:
    """Given bounded heartbeats in the high list, storage gets 60 %, more than half of the link."""
    heartbeats, storage, rest = plan(tmp_path, HEARTBEATS.format(most))["levels"]

    assert (heartbeats["priority"], heartbeats["share"], heartbeats["at_most"]) == ("high", 0.05, 0.05)
    assert heartbeats["wait_bound_us"] == pytest.approx(130 * 0.00512)
    assert storage["share"] == pytest.approx(0.95 * 2 / 3)
    assert storage["share"] + rest["share"] == pytest.approx(0.95)
    refused(tmp_path, HEARTBEATS.format(""), "level.1.share", "at_most for level.0 (SL 4)", "0.5, with 0.05", "0.6")
    too_much = HEARTBEATS.format("at_most = 0.5")
    refused(tmp_path, too_much, "level.1.share", "0.5, with 0.05 for the high list", "0.6")


def test_a_low_level_waits_less_behind_a_bounded_one(tmp_path: Path) -> None:
    """Behind unbounded traffic no wait can be guaranteed, and the refusal names the level to bound."""
    levels = (
        '[[level]]\nsl = 0\npriority = "high"\nshare = 0.3\n{}\n'
        '[[level]]\nsl = 1\npriority = "low"\nwait_us = 4\n[[level]]\nsl = 2\n'
    )
    high, low, _ = plan(tmp_path, levels.format("at_most = 0.3\nburst_packets = 4"))["levels"]

    assert high["share"] == pytest.approx(0.3)
    assert low["wait_bound_us"] <= 4
    refused(tmp_path, levels.format(""), "level.1.wait_us", "at least about", "4")


def test_what_the_low_list_never_sends_is_the_high_lists(tmp_path: Path) -> None:
    """Half of the link would be the least that a limit of 0 leaves to Low."""
    levels = (
        '[[level]]\nsl = 0\npriority = "high"\nshare = 0.85\n'
        '[[level]]\nsl = 1\npriority = "low"\nshare = 0.1\nat_most = 0.1\n'
    )
    done = plan(tmp_path, levels)

    assert done["limit_of_high_priority"] == 0
    assert [level["share"] for level in done["levels"]] == pytest.approx([0.9, 0.1])


def test_a_bounded_lane_of_a_list_leaves_the_rest_to_the_others(tmp_path: Path) -> None:
    """In one list: 10 % of at most 10 %, and the rest by the weights of the others."""
    levels = "[[level]]\nsl = 0\nat_most = 0.1\n[[level]]\nsl = 1\nshare = 0.4\n[[level]]\nsl = 2\nshare = 0.2\n"
    done = plan(tmp_path, levels)

    assert done["levels"][0]["share"] == pytest.approx(0.1)
    assert sum(level["share"] for level in done["levels"]) == pytest.approx(1)
    assert done["levels"][1]["share"] == pytest.approx(2 * done["levels"][2]["share"])


@pytest.mark.parametrize(
    ("wants", "words"),
    [
        ("share = 0.4\nat_most = 0.3", ["level.0.at_most", "at least its share, 0.4", "0.3"]),
        ("rate_gbps = 40\nat_most_gbps = 30", ["level.0.at_most_gbps", "at least its rate_gbps, 40", "30"]),
        ("at_most = 1.5", ["level.0.at_most", "above 0, at most 1"]),
        ("at_most = 0", ["level.0.at_most", "above 0"]),
        ("at_most_gbps = 101", ["level.0.at_most_gbps", "at most 100"]),
        ("at_most = 0.5\nat_most_gbps = 50", ["level.0.at_most_gbps", "cannot be used with at_most"]),
        ("burst_packets = 3", ["level.0.burst_packets", "cannot be used without at_most"]),
        ("at_most = 0.5\nburst_packets = 0", ["level.0.burst_packets", "1"]),
    ],
)
def test_bad_upper_bounds_are_refused(wants: str, words: list[str], tmp_path: Path) -> None:
    """By key, with the value that would be right."""
    refused(tmp_path, f"[[level]]\nsl = 0\n{wants}\n", *words)


class Buckets:
    """Traffic of the high list that keeps to its upper bounds, and comes as early as they permit when it chooses to."""

    def __init__(
        self, arrivals: Mapping[int, Arrivals], sizes: Mapping[int, tuple[int, int]], source: random.Random
    ) -> None:
        self.arrivals, self.sizes, self.source = arrivals, sizes, source
        self.tokens = {vl: Fraction(each.burst) for vl, each in arrivals.items()}
        self.queues: dict[int, deque[int]] = {vl: deque() for vl in arrivals}
        self.holds = dict.fromkeys(arrivals, False)

    def pass_time(self, blocks: int) -> None:
        for vl, each in self.arrivals.items():
            self.tokens[vl] = min(Fraction(each.burst), self.tokens[vl] + each.rate * blocks)

    def come(self) -> None:
        for vl, queue in self.queues.items():
            if self.source.random() < 0.05:
                self.holds[vl] = not self.holds[vl]
            least, most = self.sizes[vl]
            while not self.holds[vl]:
                size = self.source.choice((least, most, most))
                if self.tokens[vl] < size:
                    break
                self.tokens[vl] -= size
                queue.append(size)


@pytest.mark.parametrize(("tables", "seed"), [(25, 3), pytest.param(500, 4, marks=pytest.mark.long)])
def test_no_wait_behind_bounded_traffic_is_longer_than_its_bound(tables: int, seed: int) -> None:
    """Given random lists, limits, rates and bursts and a backlogged low list, no wait exceeds its bound."""
    source, bounded, near = random.Random(seed), 0, 0  # noqa: S311 - repeatable
    for _ in range(tables):
        high, low = [0, 1][: source.randint(1, 2)], [2, 3]
        lists = [tuple(VLArbEntry(vl, source.choice((1, 5, 17, 60))) for vl in vls) for vls in (high, low)]
        table = VLArbTable(lists[0], lists[1], source.choice((0, 1, 2, 5, 255)))
        sizes = {vl: (source.choice((1, 4, 9)), source.choice((9, 17))) for vl in range(VLS)}
        rates = {vl: Arrivals(Fraction(source.randint(1, 20), 60), source.randint(1, 6) * sizes[vl][1]) for vl in high}
        buckets, port, now = Buckets(rates, sizes, source), Port(table), 0
        worst, since = dict.fromkeys(low, 0), dict.fromkeys(low, 0)
        heads = {vl: source.choice(sizes[vl]) for vl in low}
        for _ in range(1500):
            buckets.come()
            offered = {vl: queue[0] for vl, queue in buckets.queues.items() if queue}
            chosen = port.decide({**heads, **offered})
            assert chosen is not None
            blocks = buckets.queues[chosen].popleft() if chosen in rates else heads[chosen]
            if chosen in low:
                worst[chosen] = max(worst[chosen], now - since[chosen])
                heads[chosen], since[chosen] = source.choice(sizes[chosen]), now
            now += blocks
            for _ in range(blocks):
                buckets.pass_time(1)
                buckets.come()
        most, least = ({vl: pair[place] for vl, pair in sizes.items() if vl in (*high, *low)} for place in (1, 0))
        for vl in low:
            bound = longest_wait(table, vl, most=most, least=least, arrivals=rates)
            assert worst[vl] <= bound, (table, sizes, rates, vl)
            bounded += bound < longest_wait(table, vl, most=most, least=least)
            near += worst[vl] > bound / 2 and bound < inf
    assert bounded > tables // 4
    assert near > tables // 4
