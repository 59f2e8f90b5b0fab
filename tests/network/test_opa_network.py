"""Golden networks of Omni-Path switches: latencies, conservation, channels, cycles of links."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.conftest import uncompiled
from tests.network.networks import IDENTITY, made, replayed, run_to
from tests.network.test_network import random_trace
from vlane.golden.network.dependencies import find_cycle
from vlane.golden.network.network import DONE
from vlane.golden.network.paths import follow_paths
from vlane.golden.network.state import Network
from vlane.golden.topologies.routing import ChannelRoutes, Routes, dimension_order, dmodk, up_down, with_channels
from vlane.golden.topologies.topology import Topology, dumbbell, irregular, torus, tree
from vlane.golden.traffic.classes import TrafficClass
from vlane.packets.drop_cause import DropCause

SAME = tuple(range(32))
_NO_PATHS = np.zeros((0, 0), np.uint8)
_ONE_LEVEL = np.zeros(1, np.int64)


def channels(topology: Topology, routes: Routes, lanes: int) -> ChannelRoutes:
    """Return the routes for Omni-Path, with channel and lane equal to the SL or set by datelines."""
    row = (*map(int, routes.nic_vl[0]), *(15,) * 16) if routes.by_lane else SAME
    return with_channels(topology, routes, row, SAME, data_vls=lanes)


def stages(topology: Topology, routes: ChannelRoutes, source: int, to: int, flight: int) -> int:
    """Return the cycles of a head from its NIC's link to the destination.

    A switch takes 4 cycles within an MPort and 7 through the central buffer, plus the flight time.
    """
    far, (switch, port) = topology.far_ends(), topology.hosts[source]
    cycles = flight
    while True:
        output = int(routes.lft[switch, routes.lids[to, 0]])
        cycles += flight + (4 if output // 4 == port // 4 else 7)
        if (switch, output) == topology.hosts[to]:
            return cycles
        switch, port = far[switch, output]


@pytest.mark.parametrize(
    ("topology", "routes", "lanes"),
    [
        (tree(4, 2), dmodk(tree(4, 2), IDENTITY), 1),
        (torus((3, 3), hosts=2), dimension_order(torus((3, 3), hosts=2), 1), 2),
        (dumbbell(9, 3), up_down(dumbbell(9, 3), IDENTITY), 1),
    ],
    ids=["tree", "torus", "three_mports"],
)
@pytest.mark.parametrize(("flight", "flit_bytes"), [(1, 64), (5, 16)])
def test_latency_of_a_lone_packet_is_the_sum_of_the_stages(
    topology: Topology, routes: Routes, lanes: int, flight: int, flit_bytes: int
) -> None:
    """A lone packet's latency is the sum of its stages, within an MPort and through the centre.

    The latency is exact to the cycle for every pair of hosts.
    """
    given = channels(topology, routes, lanes)
    hosts = len(topology.hosts)
    pairs = [(source, to) for source in range(hosts) for to in range(hosts)]
    sizes = [(64, 200, 333)[(source + to) % 3] for source, to in pairs]
    trace = [(400 * at, *pair, 0, size) for at, (pair, size) in enumerate(zip(pairs, sizes, strict=True))]
    cycles = 400 * len(pairs)
    net = made(
        topology, given, lanes=lanes, trace=trace, cycles=cycles, largest=6, flight=flight, flit_bytes=flit_bytes
    )

    deliveries = replayed(net, cycles)

    assert len(deliveries) == len(pairs)
    for each in deliveries:
        alone = 1 + stages(topology, given, each.source, each.target, flight) + each.flits - 1
        assert each.delivered - each.generated == alone, each


@pytest.mark.parametrize(
    ("topology", "routes", "sls", "lanes"),
    [
        (tree(4, 2), dmodk(tree(4, 2), IDENTITY), 3, 3),
        (torus((4, 3), hosts=3), dimension_order(torus((4, 3), hosts=3), 2), 2, 4),
    ],
    ids=["tree", "torus"],
)
def test_every_packet_arrives_once_and_in_order(topology: Topology, routes: Routes, sls: int, lanes: int) -> None:
    """Under overload with tight buffers, every packet arrives once, in order within its flow.

    A flow is a (source, destination, SL).
    """
    trace = random_trace(topology, packets=6000, cycles=2000, sls=sls, seed=1)
    net = made(
        topology,
        channels(topology, routes, lanes),
        lanes=lanes,
        trace=trace,
        cycles=60_000,
        largest=8,
        blocks=9 * lanes,
        central=8 * lanes,
    )

    deliveries = replayed(net, 60_000)

    sent = Counter((source, to, sl, -(-size // 64), born) for born, source, to, sl, size in trace)
    assert Counter((d.source, d.target, d.sl, d.flits, d.generated) for d in deliveries) == sent
    last: dict[tuple[int, ...], int] = {}
    for each in sorted(deliveries, key=lambda each: each.delivered):
        flow = (each.source, each.target, each.sl)
        assert last.get(flow, 0) <= each.generated
        last[flow] = each.generated
    assert net.switches.centre.occupancy.lane["blocks"].max() <= 8  # type: ignore[union-attr]


@pytest.mark.parametrize(("size", "hosts", "trunks"), [((4, 4), 3, 4), ((5,), 2, 3), ((4, 3, 4), 2, 2), ((6, 5), 3, 2)])
def test_tori_with_trunks_are_free_of_circles(size: tuple[int, ...], hosts: int, trunks: int) -> None:
    """Tori with trunks have no cycle of links, because transit packets stay within an MPort.

    A packet stays on its trunk's member, whose ports share an MPort.
    """
    topology = torus(size, hosts=hosts, trunks=trunks)
    given = channels(topology, dimension_order(topology, 1, keeps_member=True), 2)
    net = made(topology, given, lanes=2, cycles=10, trace=[(0, 0, 1, 0, 64)])

    assert not find_cycle(net, follow_paths(net, _ONE_LEVEL, _NO_PATHS))


def test_levels_from_16_on_have_channels_and_lanes_of_their_own() -> None:
    """With 31 data lanes, SLs from 16 on have their own channels and lanes, one below the channel."""
    topology = dumbbell(3, 3)
    given = with_channels(topology, up_down(topology, IDENTITY), SAME, SAME, data_vls=31)
    levels = [sl for sl in range(32) if sl != 15]
    net = made(
        topology,
        given,
        lanes=31,
        cycles=3000,
        largest=1,
        blocks=62,
        trace=[(20 * at, 0, 4, sl, 64) for at, sl in enumerate(levels)],
    )

    deliveries = replayed(net, 3000)

    assert [each.sl for each in deliveries] == levels
    assert net.meters.total[:, 0].tolist() == [int(sl in levels) for sl in range(32)]
    assert given.nic_vl[0].tolist() == [*range(15), 255, *range(15, 31)]


def test_dropped_packets_are_counted_and_free_their_buffer_space() -> None:
    """Packets for an unknown LID or a dropped channel are counted and their space is freed (OPAS-8)."""
    topology = dumbbell(2, 2)
    given = channels(topology, up_down(topology, IDENTITY), 3)
    given.lft[0, 4] = 255
    given.sc2sc[0, 0, :, 1] = 15
    given.sc2vl[0, :, 2] = 3
    given.nic_vl[:] = 0
    trace = [(10 * at, 0, 3 if at % 4 == 0 else 2, at % 4 % 3, 512) for at in range(400)]
    net = made(topology, given, lanes=3, trace=trace, cycles=30_000, largest=8, blocks=24)

    deliveries = replayed(net, 30_000)

    assert len(deliveries) == 100
    assert net.switches.inputs.drop_counts[:, [DropCause.UNKNOWN_LID, DropCause.NO_VL]].tolist() == [[100, 200], [0, 0]]
    assert net.switches.inputs.drop_counts.sum() == 300


def test_circle_through_a_central_buffer_is_found() -> None:
    """Given Up*/Down* routes, a cycle through a central buffer is found that links alone do not have.

    A central buffer connects any two outputs that share a VL.
    """
    topology = irregular(12, ports=8, hosts=2, seed=1)
    routes = up_down(topology, IDENTITY)
    flat = made(topology, routes, lanes=1, trace=[], cycles=1)
    deep = made(topology, channels(topology, routes, 1), lanes=1, trace=[], cycles=1)

    circle = find_cycle(deep, follow_paths(deep, _ONE_LEVEL, _NO_PATHS))

    assert find_cycle(flat, follow_paths(flat, _ONE_LEVEL, _NO_PATHS)) == []
    assert any(place >= len(deep.wiring.cable) for place, _ in circle)


@pytest.mark.slow
def test_compiled_and_uncompiled_runs_agree() -> None:
    """A short run gives the same digest in compiled and uncompiled code."""
    assert uncompiled("small_digest()", "tests.network.test_opa_network") == str(small_digest())


def small_digest() -> int:
    """Return the digest of a short run with contention within MPorts and through the centre."""
    net = small_network()
    assert run_to(net, 500)[0] == DONE
    return int(net.meters.digest[0])


def small_network() -> Network:
    """Return two loaded switches of two MPorts, before their first cycle."""
    topology = dumbbell(7, 7)
    classes = [TrafficClass(sl, 0.3, 64, 300, burst=1 + sl) for sl in range(2)]
    return made(
        topology,
        channels(topology, up_down(topology, IDENTITY), 2),
        lanes=2,
        classes=classes,
        cycles=500,
        largest=5,
        blocks=30,
        central=40,
    )
