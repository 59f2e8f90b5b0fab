"""Evenness of routes: maximum over mean load of each class of links, all host pairs equal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vlane.golden.topologies.routing import Routes, dimension_order, dmodk, valiant
from vlane.golden.topologies.topology import Topology, fat_tree, torus, torus_port, tree
from vlane.sim_top.scenario.link_loads import carried_pairs, link_classes, most_over_mean

IDENTITY = tuple(range(16))


@pytest.mark.parametrize(
    "topology",
    [tree(4, 3), tree(24, 2), tree(3, 3), fat_tree(4, 3), fat_tree(4, 4), fat_tree(36, 2)],
    ids=lambda topology: topology.name,
)
@pytest.mark.parametrize("routing", [dmodk, valiant])
def test_trees(routing: Callable[[Topology, tuple[int, ...]], Routes], topology: Topology) -> None:
    """D-mod-k and Valiant routing load all links of a tree level equally.

    Valiant uses each of the k^(n-1) roots equally often, although LID counts are powers of two.
    """
    ratios = most_over_mean(topology, routing(topology, IDENTITY))

    assert len(ratios) == 2 * (topology.shape["n"] - 1)
    assert list(ratios.values()) == pytest.approx([1] * len(ratios))


@pytest.mark.parametrize("lmc", [1, 2])
@pytest.mark.parametrize("topology", [tree(4, 3), tree(3, 3), fat_tree(8, 2)], ids=lambda topology: topology.name)
def test_lids_of_an_lmc_climb_to_roots_of_their_own(topology: Topology, lmc: int) -> None:
    """With LMC, the LIDs of a host lead over different roots, and all links of a level are equally loaded.

    Base LIDs are multiples of 2^LMC.
    """
    k, n, halves = (topology.shape[key] for key in ("k", "n", "halves"))
    row = halves * k ** (n - 1)
    routes = dmodk(topology, IDENTITY, lmc=lmc)
    ratios, beyond = most_over_mean(topology, routes), topology.far_ends()

    assert (routes.lids[:, 0] % 2**lmc == 0).all()
    assert (routes.lids[:, 1] == 2**lmc).all()
    assert list(ratios.values()) == pytest.approx([1] * len(ratios))
    for to in (0, len(topology.hosts) // 2 - 1):
        roots = set()
        for lid in range(int(routes.lids[to, 0]), int(routes.lids[to, 0]) + 2**lmc):
            switch = topology.hosts[-1][0]
            while (port := int(routes.lft[switch, lid])) >= k and switch < (n - 1) * row:
                switch = beyond[switch, port][0]
            roots.add(switch)
        assert len(roots) == 2**lmc


@pytest.mark.parametrize(("m", "n", "switches", "hosts"), [(4, 3, 20, 16), (4, 4, 56, 32), (36, 2, 54, 648)])
def test_fat_trees_have_their_published_sizes(m: int, n: int, switches: int, hosts: int) -> None:
    """Fat trees have the published numbers of switches and hosts and use every port.

    Sizes are those of Lin, Chung and Huang (2004).
    """
    topology = fat_tree(m, n)

    assert (topology.switches, len(topology.hosts)) == (switches, hosts)
    assert 2 * len(topology.cables) + hosts == m * switches


@pytest.mark.parametrize(
    ("size", "hosts", "trunks", "keeps", "lmc", "bars"),
    [
        ((8, 8, 8), 4, 4, False, 0, (1, 1, 1)),
        ((8, 8), 1, 1, False, 0, (1, 1)),
        ((8, 8), 8, 10, False, 0, (7 / 6.4, 7 / 6.4)),  # 6.4 times a host's load cannot be split into whole hosts
        (
            (8, 8),
            8,
            10,
            True,
            0,
            (7 / 6.4, 8 / 6.4),
        ),  # each of 10 members carries 6 or 7 of a column's 64 destinations, so loads differ
        ((6, 5), 3, 2, False, 0, (1.15, 1.15)),
        ((4, 4, 4), 2, 2, False, 0, (1, 1, 1)),
        ((8, 8), 8, 10, False, 1, (13 / 12.8, 13 / 12.8)),
        ((8, 8), 8, 10, True, 1, (13 / 12.8, 14 / 12.8)),
        ((6, 5), 3, 2, False, 1, (1.01, 1)),
        ((4, 4), 1, 4, False, 2, (1, 1)),
    ],
)
def test_tori(
    size: tuple[int, ...], hosts: int, trunks: int, *, keeps: bool, lmc: int, bars: tuple[float, ...]
) -> None:
    """The most loaded link of each direction of a torus stays within the given ratio to the mean."""
    topology = torus(size, hosts=hosts, trunks=trunks)
    ratios = most_over_mean(topology, dimension_order(topology, 1, keeps_member=keeps, lmc=lmc))

    for name, bar in zip("xyz", bars, strict=False):
        for sign in "+-":
            assert ratios[sign + name] <= bar + 1e-9


def test_every_link_between_switches_is_in_one_class() -> None:
    """Every link between switches is in exactly one class, and loads sum to the path lengths."""
    for topology, routes in ((tree(3, 3), dmodk), (fat_tree(4, 3), dmodk), (torus((4, 3, 3), trunks=2), None)):
        tables = routes(topology, IDENTITY) if routes else dimension_order(topology, 1)
        classes, loads = list(link_classes(topology).values()), carried_pairs(topology, tables)

        assert {(int(switch), int(port)) for switch, port in np.argwhere(sum(classes))} == set(topology.far_ends())
        assert int(sum(classes).max()) == 1
        assert loads[~sum(classes).astype(bool)].sum() == 0
    assert loads.sum() == pytest.approx(36 * 36 * (1 + 2 / 3 + 2 / 3))  # mean distances in rings of 4, 3 and 3


def test_ports_of_a_member_share_an_mport() -> None:
    """A trunk member's +x, -x, +y and -y ports share one MPort, followed by z pairs and hosts."""
    two = [[torus_port(dimension, member, dimensions=2, trunks=3) for dimension in (0, 1)] for member in range(3)]
    three = [[torus_port(dimension, member, dimensions=3, trunks=2) for dimension in range(3)] for member in range(2)]

    assert two == [[0, 2], [4, 6], [8, 10]]
    assert three == [[0, 2, 8], [4, 6, 10]]
    assert min(port for _, port in torus((4, 4, 4), hosts=2, trunks=2).hosts) == 12
