"""Ethernet network against an independent plain model: equal deliveries (``docs/ethernet.md``)."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import long_but
from vlane.golden.ethernet.events import Running
from vlane.golden.ethernet.fabric import Cable, Fabric
from vlane.golden.ethernet.network import (
    DIGEST,
    Ethernet,
    Options,
    Scheme,
    Service,
    minimum_delay_cycles,
    new_ethernet,
    time_units,
)
from vlane.golden.plain.ethernet import PlainEthernet
from vlane.sim_top.studies.e2cm_scenarios import scenario_named

_STOP, _END = 0.0025, 0.003
_SCHEMES = {
    "none": Scheme(points=False),
    "ECM": Scheme(),
    "E2CM": Scheme(probing="limited"),
    "all probed": Scheme(probing="all"),
    "probing alone": Scheme(points=False, probing="all"),
}
_BUSY: dict[str, Any] = {
    "cp": {"sample_bytes": 16_384, "set_point_bytes": 9_000, "max_bytes": 40_000},
    "prober": {"probe_bytes": 6_000},
    "pause": {"memory_bytes": 30_000, "high_bytes": 20_000, "low_bytes": 12_000, "refresh_cycles": 400},
}
"""Settings with many events in little time: frequent samples and probes, small memories, repeated PAUSE."""


@dataclass
class World:
    """Network and traffic of one comparison."""

    fabric: Fabric
    load: NDArray[np.float64]
    shares: NDArray[np.float64]
    scheme: Scheme = Scheme()  # noqa: RUF009 - frozen
    options: Options = Options()  # noqa: RUF009 - frozen
    frames: float = 1
    services: tuple[Service, ...] = ()
    seed: int = 1
    stop: float = _STOP
    made: dict[str, Any] = field(default_factory=lambda: {"parts": 1, "looks": 1})

    def new(self) -> Ethernet:
        """Return the network before its first cycle."""
        return new_ethernet(
            self.fabric,
            self.scheme,
            self.options,
            load=self.load,
            shares=self.shares,
            mean_frames=self.frames,
            stop_seconds=self.stop,
            seed=self.seed,
            services=self.services,
            **self.made,
        )

    def golden(self, *until: float) -> Ethernet:
        """Return the network after running it up to each given time in turn."""
        running = Running(self.new())
        for seconds in until:
            running.until(seconds)
        return running.net

    def plain(self, until: float) -> PlainEthernet:
        """Return the plain network after running it up to the given time."""
        made = PlainEthernet(self.fabric, self.scheme, self.options, self.new(), time_units(self.stop), self.services)
        made.run(until)
        return made


_FLOW = ("made", "messages", "delivered", "dropped", "completed", "waited")
_SWITCH = ("dropped", "lost", "lowering", "raising")
Seen = tuple[int, dict[tuple[int, int], list[int]], list[list[int]]]


def _seen(net: Ethernet) -> Seen:
    """Return the results both models count: digest of deliveries, flows with traffic, switches."""
    nodes = range(len(net.adapter))
    flows = {(one, to): net.flow[one, to] for one in nodes for to in nodes}
    return (
        int(net.common[DIGEST]),
        {ends: [int(getattr(flow, name)) for name in _FLOW] for ends, flow in flows.items() if flow.made},
        [[int(getattr(net.switch[place], name)) for name in _SWITCH] for place in range(len(net.switch))],
    )


def _seen_plain(net: PlainEthernet) -> Seen:
    return (
        net.digest,
        {ends: [flow[name] for name in _FLOW] for ends, flow in net.flows.items() if flow["made"]},
        [[switch[name] for name in _SWITCH] for switch in net.switches],
    )


def _random_fabric(source: random.Random) -> Fabric:
    """Return a tree of switches with at least one node per switch and cables of both rates."""
    switches = source.randint(1, 4)
    nodes = source.randint(max(3, switches), 6)
    rates = (1_000, 10_000, 10_000)
    at = [node if node < switches else source.randrange(switches) for node in range(nodes)]
    pairs = [(node, nodes + switch) for node, switch in enumerate(at)]
    pairs += [(nodes + source.randrange(place), nodes + place) for place in range(1, switches)]
    source.shuffle(pairs)
    cables: tuple[Cable, ...] = tuple((one, other, source.choice(rates)) for one, other in pairs)
    beside = {
        end: {one + other - end for one, other in pairs if end in (one, other)} for end in range(nodes + switches)
    }

    def hop(end: int, to: int, before: int = -1) -> int | None:
        """Return the neighbour through which ``end`` reaches ``to``."""
        return next((each for each in beside[end] - {before} if each == to or hop(each, to, end) is not None), None)

    hops = tuple(tuple(hop(nodes + switch, node) or 0 for node in range(nodes)) for switch in range(switches))
    return Fabric(nodes, switches, cables, hops, tuple(source.random() < 0.75 for _ in range(switches)))


def _random_world(seed: int) -> World:
    """Return a random network with one hot node.

    Scheme, PAUSE, message size and options vary with the seed.
    """
    source = random.Random(seed)  # noqa: S311 - of a test
    fabric = _random_fabric(source)
    nodes = fabric.nodes
    shares = np.zeros((nodes, nodes))
    for node in range(nodes):
        others = [other for other in range(nodes) if other != node]
        shares[node, others] = 0.4 / len(others)
        shares[node, 0 if node else 1] += 0.6
    ends = source.choice([way[:2] for way in fabric.channels() if way[0] >= nodes])
    options = Options(
        flight_times=source.choice((0, 300, 1250)),
        by_arrival=seed % 3 != 0,
        drift_cycles=source.choice((0, 700)),
        **_BUSY,
    )
    scheme = replace(list(_SCHEMES.values())[seed % 5], pause=seed % 2 == 0)
    services = (Service(0.0005, ends, 5), Service(0.0012, ends, 1)) if seed % 4 < 2 else ()
    load = np.array([source.uniform(0.4, 1.0) for _ in range(nodes)])
    return World(fabric, load, shares, scheme, options, source.choice((1, 5)), services, seed)


@pytest.mark.parametrize("seed", long_but(range(10), range(20)))
def test_random_network_delivers_as_the_plain_one(seed: int) -> None:
    """A random network delivers every frame in the cycle of the independently written plain model."""
    world = _random_world(seed)

    golden, plain = _seen(world.golden(_END)), _seen_plain(world.plain(_END))

    assert sum(flow[2] for flow in golden[1].values()) > 100
    assert golden == plain


def _scenario(name: str, scheme: str, frames: float, *, pause: bool, by_arrival: bool = True) -> World:
    """Return a scenario of the study with a short sending time."""
    found = scenario_named(name)
    return World(
        found.fabric,
        np.array(found.load),
        found.shares,
        replace(_SCHEMES[scheme], pause=pause),
        Options(by_arrival=by_arrival, drift_cycles=5_000),
        frames,
        found.services(0.0015),
        3,
        0.0015,
    )


@pytest.mark.parametrize("scheme", _SCHEMES)
@pytest.mark.parametrize("name", ["mixed_out", "legacy"])
def test_scenario_delivers_as_in_the_plain_network(name: str, scheme: str) -> None:
    """Given the study's scenarios, each frame is delivered in the cycle of the plain model.

    Half of the cases use PAUSE and messages of five frames, the others drops and single frames.
    """
    pause = (name == "legacy") == (scheme in ("none", "E2CM", "probing alone"))
    world = _scenario(name, scheme, 5 if pause else 1, pause=pause, by_arrival=scheme != "E2CM")

    golden, plain = _seen(world.golden(0.002)), _seen_plain(world.plain(0.002))

    assert sum(flow[2] for flow in golden[1].values()) > 500
    assert golden == plain


def test_pause_avoids_drops() -> None:
    """With PAUSE every frame arrives. Without it, each missing frame is counted as dropped."""
    paused, free = (_scenario("mixed_out", "all probed", 1, pause=pause).golden(0.5) for pause in (True, False))

    assert not any(row[0] or row[1] for row in _seen(paused)[2])
    assert all(flow[0] == flow[2] and flow[1] == flow[4] for flow in _seen(paused)[1].values())
    assert any(row[0] for row in _seen(free)[2])
    assert all(flow[0] == flow[2] + flow[3] for flow in _seen(free)[1].values())


def test_run_in_pieces_is_the_run_in_one_go() -> None:
    """A run split at several times gives the result of one uninterrupted run."""
    world = _scenario("legacy", "E2CM", 5, pause=True)

    assert _seen(world.golden(0.0001, 0.00033, 0.0007, 0.002)) == _seen(world.golden(0.002))


def _pair(rates: tuple[int, int], flight: int, seed: int = 1) -> World:
    """Return two nodes and a switch, with light traffic from the first node to the second."""
    fabric = Fabric(2, 1, ((0, 2, rates[0]), (1, 2, rates[1])), ((0, 1),), (True,))
    shares = np.array([[0.0, 1.0], [0.0, 0.0]])
    options = Options(flight_times=flight)
    return World(fabric, np.array([0.02, 0.0]), shares, _SCHEMES["all probed"], options, seed=seed)


@pytest.mark.parametrize(("rates", "flight"), [((10_000, 10_000), 1250), ((10_000, 1_000), 0), ((1_000, 10_000), 77)])
def test_least_probe_delay_equals_the_computed_delay(rates: tuple[int, int], flight: int) -> None:
    """The least probe delay measured on an idle path equals the delay computed from its links."""
    world = _pair(rates, flight)
    fabric = world.fabric
    least = minimum_delay_cycles(fabric, 0, 1, flight)

    by_hand = 0
    for mbps in rates:
        by_hand = (by_hand * 64 + 64 * (10_000 // mbps) + flight) // 64 + 1
    learned = int(world.golden(0.1).probers.probe["least_delay"][0, 1])

    assert least == by_hand
    assert least <= learned <= least + 10_000 // min(rates) * 1500 // 64 + 1
