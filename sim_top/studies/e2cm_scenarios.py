"""Scenarios of the E2CM study: networks, traffic, slow ports and measured groups of flows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from vlane.golden.ethernet.fabric import Cable, Fabric
from vlane.golden.ethernet.maxmin import max_min
from vlane.golden.ethernet.network import Service
from vlane.golden.topologies.routing import dmodk
from vlane.golden.topologies.topology import fat_tree

Flow = tuple[int, int]
"""Source and destination."""
_SLOWER = 10
_GBPS = 1e-3
HOT_FROM, HOT_TO = 0.1, 0.5
"""Interval in seconds in which the trees' hot port is slow, in a full run."""


@dataclass(frozen=True)
class Group:
    """Flows that form one row of the results.

    Parameters
    ----------
    name : str
        Human-readable name.
    flows : tuple of (int, int)
        Source and destination of each.
    is_hot : bool
        Whether the flows cross the hot spot.
    """

    name: str
    flows: tuple[Flow, ...]
    is_hot: bool


@dataclass(frozen=True)
class Scenario:
    """Network with its traffic.

    Parameters
    ----------
    name, words : str
        Label and heading.
    fabric : Fabric
        The network.
    load : tuple of float
        Load of each node as a fraction of its link.
    shares : array of float64, (nodes, nodes)
        Fraction of each node's messages by destination.
    hot : (int, int)
        Ends of the output that is the hot spot.
    slow : (float, float) or None
        Fractions of the sending time between which the hot spot serves at a tenth of its rate; ``None`` if it is never
        slow.
    measured : (float, float)
        Fractions of the sending time between which rates are measured.
    groups : tuple of Group
        All measured flows.
    """

    name: str
    words: str
    fabric: Fabric
    load: tuple[float, ...]
    shares: NDArray[np.float64]
    hot: tuple[int, int]
    slow: tuple[float, float] | None
    measured: tuple[float, float]
    groups: tuple[Group, ...]

    @cached_property
    def digest(self) -> str:
        """Digest of the scenario's content."""
        content = repr(replace(self, shares=np.zeros(0))).encode() + self.shares.tobytes()
        return hashlib.sha256(content).hexdigest()[:16]

    def services(self, seconds: float) -> tuple[Service, ...]:
        """Return the changes of the hot spot's rate for a run whose sources send for ``seconds``."""
        if self.slow is None:
            return ()
        begin, end = self.slow
        slow = Service(begin * seconds, self.hot, _SLOWER)
        return (slow, Service(end * seconds, self.hot, 1)) if end < 1 else (slow,)


def fair_rates(scenario: Scenario) -> dict[Flow, float]:
    """Return the max-min fair rate of every flow in Gb/s while the hot spot is slow."""
    channels = scenario.fabric.channels()
    capacity = {place: mbps * _GBPS for place, (_, _, mbps) in enumerate(channels)}
    if scenario.slow is not None:
        capacity[[way[:2] for way in channels].index(scenario.hot)] /= _SLOWER
    nodes = range(scenario.fabric.nodes)
    flows = [(one, to) for one in nodes for to in nodes if scenario.load[one] and scenario.shares[one, to]]
    paths = {flow: scenario.fabric.path(*flow) for flow in flows}
    demand = {
        flow: scenario.load[flow[0]] * scenario.shares[flow] * channels[paths[flow][0]][2] * _GBPS for flow in flows
    }
    return max_min(paths, capacity, demand)


def _to_others(nodes: int, sources: Sequence[int]) -> NDArray[np.float64]:
    """Return the shares of sources that send equally to all other nodes."""
    shares = np.zeros((nodes, nodes))
    for source in sources:
        shares[source] = 1 / (nodes - 1)
        shares[source, source] = 0
    return shares


def _legacy() -> Scenario:
    """Return the legacy scenario. Slide nodes 1 to 7 are nodes 0 to 6, and slide switches 1 to 5 are ends 7 to 11."""
    pairs = [(0, 7), (1, 7), (2, 8), (3, 8), (4, 9), (7, 10), (8, 10), (9, 10), (10, 11), (11, 5), (11, 6)]
    near = {switch: {node for node, at in pairs if at == switch and node < 7} for switch in (7, 8, 9)}
    hops = [tuple(node if node in near[switch] else 10 for node in range(7)) for switch in (7, 8, 9)]
    hops += [(7, 7, 8, 8, 9, 11, 11), (10, 10, 10, 10, 10, 5, 6)]
    cables: tuple[Cable, ...] = tuple((one, other, 10_000) for one, other in pairs)
    fabric = Fabric(7, 5, cables, tuple(hops), (True, True, True, False, True))
    shares = np.zeros((7, 7))
    shares[:4, 5] = 1
    shares[4, 6] = 1
    groups = [Group(f"node {node + 1} to 6", ((node, 5),), is_hot=True) for node in range(4)]
    groups.append(Group("node 5 to 7", ((4, 6),), is_hot=True))
    words = "a switch without congestion management"
    return Scenario("legacy", words, fabric, (1.0,) * 5 + (0.0,) * 2, shares, (10, 11), None, (0.5, 1.0), tuple(groups))


def _tree(levels: int) -> Scenario:
    """Return a fat-tree scenario. Port 1 of the slides is node 1."""
    topology = fat_tree(4, levels)
    nodes, switches = len(topology.hosts), topology.switches
    lft = dmodk(topology, (0,) * 16).lft
    ends = {end: nodes + other[0] for end, other in topology.far_ends().items()}
    ends |= {end: node for node, end in enumerate(topology.hosts)}
    hops = [tuple(ends[switch, int(lft[switch, 1 + node])] for node in range(nodes)) for switch in range(switches)]
    cables = [(node, nodes + switch, 10_000) for node, (switch, _) in enumerate(topology.hosts)]
    cables += [(nodes + one, nodes + other, 10_000) for (one, _), (other, _) in topology.cables]
    fabric = Fabric(nodes, switches, tuple(cables), tuple(hops), (True,) * switches)
    shares, target = _to_others(nodes, range(nodes)), 1
    hot = tuple((node, target) for node in range(nodes) if node != target)
    cold = tuple((one, to) for one in range(nodes) for to in range(nodes) if to not in (one, target))
    groups = (Group("to the hot port", hot, is_hot=True), Group("cold", cold, is_hot=False))
    return Scenario(
        f"tree{nodes}",
        f"a fat tree of {nodes} nodes",
        fabric,
        (0.5,) * nodes,
        shares,
        (nodes, target),
        (HOT_FROM, HOT_TO),
        (0.3, HOT_TO),
        groups,
    )


def _mixed_fabric() -> Fabric:
    """Return the mixed-rate network.

    Slide nodes 1 to 11 are nodes 0 to 10; slide switches 1 and 2 are ends 11 and 12.
    """
    cables = [(node, 11, 1_000) for node in range(10)] + [(10, 12, 10_000), (11, 12, 10_000)]
    hops = ((*range(10), 12), (11,) * 10 + (10,))
    return Fabric(11, 2, tuple(cables), hops, (True, True))


def _mixed_out() -> Scenario:
    shares = np.zeros((11, 11))
    shares[:10, 10] = 1
    shares[10, :10] = 0.1
    groups = [Group(f"node {node + 1} to 11", ((node, 10),), is_hot=True) for node in range(10)]
    groups.append(Group("cold", tuple((10, node) for node in range(10)), is_hot=False))
    return Scenario(
        "mixed_out",
        "1 and 10 Gb/s, an output at a tenth",
        _mixed_fabric(),
        (0.5,) * 11,
        shares,
        (12, 10),
        (0.0, 1.0),
        (0.5, 1.0),
        tuple(groups),
    )


def _mixed_in() -> Scenario:
    shares = _to_others(11, range(10))
    shares[10, 0] = 1
    groups = [Group("node 11 to 1", ((10, 0),), is_hot=True)]
    groups += [Group(f"node {node + 1} to 1", ((node, 0),), is_hot=True) for node in range(1, 10)]
    cold = tuple((one, to) for one in range(10) for to in range(1, 11) if one != to)
    groups.append(Group("cold", cold, is_hot=False))
    return Scenario(
        "mixed_in",
        "1 and 10 Gb/s, an input of 10 Gb/s",
        _mixed_fabric(),
        (0.5,) * 11,
        shares,
        (11, 0),
        None,
        (0.5, 1.0),
        tuple(groups),
    )


SCENARIOS: Mapping[str, Callable[[], Scenario]] = {
    "legacy": _legacy,
    "tree16": lambda: _tree(3),
    "tree32": lambda: _tree(4),
    "mixed_out": _mixed_out,
    "mixed_in": _mixed_in,
}
"""Constructors of the slides' scenarios, by label."""


@cache
def scenario_named(name: str) -> Scenario:
    """Return a scenario by label."""
    return SCENARIOS[name]()
