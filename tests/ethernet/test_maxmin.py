"""Max-min fair rates: the definition on random networks, and the figures of the E2CM slides."""

from __future__ import annotations

import random

import pytest

from vlane.errors import InputError
from vlane.golden.ethernet.maxmin import max_min
from vlane.sim_top.studies.e2cm_scenarios import SCENARIOS, fair_rates, scenario_named

_CLOSE = 1e-6


@pytest.mark.parametrize("seed", range(40))
def test_every_flow_is_content_or_has_a_full_link_where_none_gets_more(seed: int) -> None:
    """For random networks, each flow gets its demand or shares a full link on which no flow gets more."""
    draw = random.Random(seed)  # noqa: S311 - a case
    links = range(draw.randint(1, 6))
    capacity = {link: draw.choice([0, 1, 2, 5, draw.random()]) for link in links}
    flows = range(draw.randint(1, 12))
    paths = {flow: draw.sample(links, draw.randint(1, len(links))) for flow in flows}
    demand = {flow: draw.choice([0.0, 0.5, 3.0, draw.random()]) for flow in flows}
    rates = max_min(paths, capacity, demand)
    load = {link: sum(rates[flow] for flow in flows if link in paths[flow]) for link in links}

    assert set(rates) == set(flows)
    assert all(load[link] <= capacity[link] + _CLOSE for link in links)
    for flow in flows:
        assert rates[flow] <= demand[flow] + _CLOSE
        full = [link for link in paths[flow] if load[link] > capacity[link] - _CLOSE]
        most = [max(rates[other] for other in flows if link in paths[other]) for link in full]
        assert rates[flow] > demand[flow] - _CLOSE or any(rates[flow] > each - _CLOSE for each in most)


def test_a_capacity_below_0_is_refused() -> None:
    with pytest.raises(InputError, match="capacity"):
        max_min({1: ["x"]}, {"x": -1}, {1: 1})


@pytest.mark.parametrize(
    ("scenario", "group", "gbps"),
    [
        ("legacy", "node 1 to 6", 2.0),
        ("legacy", "node 5 to 7", 2.0),
        ("tree16", "to the hot port", 15 * 0.0667),
        ("tree16", "cold", 75.0),
        ("tree32", "to the hot port", 31 * 0.0323),
        ("tree32", "cold", 155.0),
        ("mixed_out", "node 10 to 11", 0.1),
        ("mixed_in", "node 11 to 1", 0.55),
        ("mixed_in", "node 2 to 1", 0.05),
    ],
)
def test_the_shares_of_the_slides_come_out(scenario: str, group: str, gbps: float) -> None:
    """Groups of flows get the rates printed on the E2CM slides, for each scenario.

    One exception: the computation gives 68.75 MB/s, while the slides print 62.5 MB/s.
    """
    rates = fair_rates(scenario_named(scenario))
    (found,) = (each for each in scenario_named(scenario).groups if each.name == group)
    assert sum(rates[flow] for flow in found.flows) == pytest.approx(gbps, rel=2e-3)


def test_every_flow_of_a_scenario_is_in_one_group() -> None:
    for name in SCENARIOS:
        scenario = scenario_named(name)
        grouped = [flow for group in scenario.groups for flow in group.flows]
        assert sorted(grouped) == sorted(fair_rates(scenario)), name
