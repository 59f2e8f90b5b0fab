"""Golden's search over all paths together, against a plain search path by path."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.network.networks import IDENTITY, made
from vlane.golden.network.paths import follow_paths
from vlane.golden.network.state import Network
from vlane.golden.topologies.routing import Routes, dimension_order, sl_rows, up_down
from vlane.golden.topologies.topology import Topology, irregular, torus
from vlane.golden.traffic.classes import TrafficClass

LANES = 4
_EVERYWHERE = [TrafficClass(sl, 0.1, 64, 64) for sl in (0, 1)]
_NO_PATHS = np.zeros((0, 0), np.uint8)
Found = tuple[set[tuple[tuple[int, int], int, int]], dict[tuple[int, int], set[int]], int]
"""Waits as ((sending end, lane), port, lane); SLs carried by (sending end, lane); number of lost paths."""


def one_by_one(topology: Topology, routes: Routes, pairs: dict[int, set[tuple[int, int]]]) -> Found:
    """Follow every LID from every host on every SL, with golden's numbering of sending ends."""
    bits, beyond = (topology.ports - 1).bit_length(), topology.far_ends()
    owner = {end: host for host, end in enumerate(topology.hosts)}
    waits = set[tuple[tuple[int, int], int, int]]()
    carried, lost = dict[tuple[int, int], set[int]](), 0
    for sl, sends in pairs.items():
        for source in range(len(topology.hosts)):
            for to, (first, count) in enumerate(routes.lids.tolist()):
                for lid in range(first, first + count):
                    held = (topology.switches << bits) + source, int(routes.nic_vl[source, sl])
                    switch, port = topology.hosts[source]
                    for _ in range(topology.switches + 1):
                        if (source, to) in sends and held[1] < LANES:
                            carried.setdefault(held, set()).add(sl)
                        output = int(routes.lft[switch, lid])
                        if output == 255 or held[1] >= LANES:
                            lost += 1
                            break
                        vl = int(routes.vl[switch, port, output, held[1] if routes.by_lane else sl])
                        if vl >= LANES:
                            lost += 1
                            break
                        waits.add((held, output, vl))
                        held = (switch << bits) + output, vl
                        if (switch, output) in owner:
                            if (source, to) in sends:
                                carried.setdefault(held, set()).add(sl)
                            lost += owner[switch, output] != to
                            break
                        switch, port = beyond[switch, output]
                    else:
                        lost += 1
    return waits, carried, lost


def together(net: Network, sls: list[int]) -> tuple[set[tuple[tuple[int, int], int, int]], NDArray[np.int8], int]:
    """Return golden's result in the format of ``one_by_one``, with a single SL per carried lane."""
    paths = follow_paths(net, np.array(sls), _NO_PATHS)
    channels, wanted = np.nonzero(np.unpackbits(paths.waits, axis=1, bitorder="little"))
    held = [(channel // LANES, channel % LANES) for channel in channels.tolist()]
    waits = {(each, place // LANES, place % LANES) for each, place in zip(held, wanted.tolist(), strict=True)}
    return waits, paths.carried, int(paths.lost[0])


def assert_same(topology: Topology, routes: Routes, classes: list[TrafficClass]) -> None:
    hosts = range(len(topology.hosts))
    pairs: dict[int, set[tuple[int, int]]] = {}
    for each in classes:
        some = each.pattern if isinstance(each.pattern, tuple) else None
        pairs.setdefault(each.sl, set()).update((x, y) for x in hosts for y in hosts if some is None or some[x] == y)
    lids = routes.lids
    net = made(topology, routes, lanes=LANES, classes=classes, cycles=100)

    waits, carried, lost = together(net, sorted(pairs))
    right = one_by_one(topology, Routes(routes.lft, routes.vl, routes.nic_vl, lids, routes.by_lane), pairs)

    assert (waits, lost) == (right[0], right[2])
    shown = {(int(at) // LANES, int(at) % LANES): int(carried[at]) for at in np.flatnonzero(carried >= 0)}
    assert shown.keys() == right[1].keys()
    assert all(sl in right[1][at] for at, sl in shown.items())


def classes(hosts: int, source: random.Random) -> list[TrafficClass]:
    """Return classes with SLs 0 and 1 between all hosts and SLs 2 and 3 to one host per source."""
    return [
        *_EVERYWHERE,
        *(TrafficClass(sl, 0.1, 64, 64, tuple(source.randrange(-1, hosts) for _ in range(hosts))) for sl in (2, 3)),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_any_tables(seed: int) -> None:
    """For random tables with drops, cycles and dead ends, golden finds the paths of the plain search."""
    source = random.Random(seed)  # noqa: S311 - repeatable
    topology = irregular(5, ports=6, hosts=3, seed=seed)
    routes = up_down(topology, IDENTITY)
    cabled = [*topology.far_ends(), *topology.hosts]
    drawn = np.random.default_rng(seed)
    if seed % 2:
        some = drawn.random(routes.vl.shape) < 0.1
        routes.vl[some] = drawn.integers(0, LANES + 1, int(some.sum()))
        routes.nic_vl[:] = drawn.integers(0, LANES, routes.nic_vl.shape)
    if seed > 2:
        for _ in range(4):
            switch, port = source.choice(cabled)
            routes.lft[switch, source.randrange(1, routes.lft.shape[1])] = port
    assert_same(topology, routes, classes(len(topology.hosts), source))


def test_tables_by_lane() -> None:
    """With lanes chosen by datelines, golden finds the paths of the plain search."""
    topology = torus((4, 3), hosts=2)
    assert_same(topology, dimension_order(topology, 2), _EVERYWHERE)


def test_levels_whose_lanes_cross() -> None:
    """Given two SLs with exchanged lanes, golden still finds their common chains."""
    topology = torus((5,), hosts=2)
    lft = dimension_order(topology, 1).lft
    vl, nic_vl = sl_rows(topology, IDENTITY)
    vl[..., 0] = np.arange(topology.switches)[:, None, None] % 2
    vl[..., 1] = 1 - vl[..., 0]
    routes = Routes(lft, vl, nic_vl, dimension_order(topology, 1).lids)
    assert_same(topology, routes, _EVERYWHERE)
