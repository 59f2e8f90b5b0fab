"""Golden network against known results: hops, latencies, queueing theory, shares, conservation."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.conftest import uncompiled
from tests.network.networks import IDENTITY, made, replayed, run_to, switches_passed
from vlane.golden.engine.pool import IN_USE
from vlane.golden.links.room import fits, new_occupancy, occupy, release
from vlane.golden.network.assembly import PortSettings
from vlane.golden.network.dependencies import find_cycle
from vlane.golden.network.meters import TIMED, TIMED_LATENCY
from vlane.golden.network.network import DONE, STUCK, run
from vlane.golden.network.paths import follow_paths
from vlane.golden.schedulers.bank import idle_decisions_until_rest, new_bank, new_scheduler, serve
from vlane.golden.schedulers.heads import Heads
from vlane.golden.switches.packets import NOBODY, new_packets
from vlane.golden.topologies.routing import Routes, dimension_order, dmodk, up_down, valiant
from vlane.golden.topologies.topology import Topology, dumbbell, irregular, torus, tree
from vlane.golden.traffic.classes import TrafficClass
from vlane.packets.drop_cause import DropCause
from vlane.sim_top.study.course import queued_cycles

_NO_PATHS = np.zeros((0, 0), np.uint8)


def _hops(topology: Topology, routes: Routes, lanes: int) -> np.ndarray[Any, Any]:
    net = made(topology, routes, lanes=lanes, trace=[], cycles=1)
    paths = follow_paths(net, np.zeros(1, np.int64), _NO_PATHS)
    assert paths.lost[0] == 0
    assert find_cycle(net, paths) == []
    return switches_passed(topology, routes)


@pytest.mark.parametrize(
    ("topology", "route", "lanes", "mean"),
    [
        (tree(4, 3), lambda t: dmodk(t, IDENTITY), 1, 4.375),
        (torus((8, 8)), lambda t: dimension_order(t, 1), 2, 5.0),
        (torus((8, 8, 8)), lambda t: dimension_order(t, 1), 2, 7.0),
    ],
    ids=["tree", "torus", "torus3"],
)
def test_mean_switches_over_all_pairs_are_the_known_ones(
    topology: Topology, route: Callable[[Topology], Routes], lanes: int, mean: float
) -> None:
    """The mean number of switches per path equals the known value, and no cycle of links exists.

    Paths from a host to itself are included.
    """
    assert _hops(topology, route(topology), lanes).mean() == mean


def test_measured_switches_are_the_computed_ones() -> None:
    """Under uniform traffic, measured switches per packet are within 1 % of the computed mean."""
    topology = tree(4, 3)
    net = made(topology, dmodk(topology, IDENTITY), lanes=1, classes=[TrafficClass(0, 0.3, 64, 64)], cycles=8000)

    run_to(net, 8000)

    packets, _, _, _, switches, _ = net.meters.total[0]
    assert packets > 100_000
    assert switches / packets == pytest.approx(4.375, rel=0.01)


@pytest.mark.parametrize(
    ("topology", "routes"),
    [
        (tree(2, 3), dmodk(tree(2, 3), IDENTITY)),
        (torus((4, 3)), dimension_order(torus((4, 3)), 1)),
        (irregular(6, ports=5, hosts=1, seed=3), up_down(irregular(6, ports=5, hosts=1, seed=3), IDENTITY, root=2)),
    ],
    ids=["tree", "torus", "irregular"],
)
@pytest.mark.parametrize(("flight", "flit_bytes"), [(1, 64), (5, 16)])
def test_latency_of_a_lone_packet_is_the_sum_of_the_stages(
    topology: Topology, routes: Routes, flight: int, flit_bytes: int
) -> None:
    """A lone packet's latency is the sum of injection, flights, four stages per switch and its flits.

    The latency is exact to the cycle for every pair of hosts.
    """
    hosts, lanes = len(topology.hosts), 1 + routes.by_lane
    pairs = [(source, to) for source in range(hosts) for to in range(hosts)]
    sizes = [(64, 200, 333)[(source + to) % 3] for source, to in pairs]
    trace = [(400 * at, *pair, 0, size) for at, (pair, size) in enumerate(zip(pairs, sizes, strict=True))]
    hops = _hops(topology, routes, lanes)
    cycles = 400 * len(pairs)
    net = made(
        topology, routes, lanes=lanes, trace=trace, cycles=cycles, largest=6, flight=flight, flit_bytes=flit_bytes
    )

    deliveries = replayed(net, cycles)

    assert len(deliveries) == len(pairs)
    for each in deliveries:
        assert each.switches == hops[each.source, each.target]
        alone = 1 + flight + each.switches * (4 + flight) + each.flits - 1
        assert each.delivered - each.generated == alone, each


def random_trace(topology: Topology, *, packets: int, cycles: int, sls: int, seed: int) -> list[tuple[int, ...]]:
    source, hosts = random.Random(seed), len(topology.hosts)  # noqa: S311 - a repeatable choice
    return [
        (
            source.randrange(cycles),
            source.randrange(hosts),
            source.randrange(hosts),
            source.randrange(sls),
            source.randrange(1, 513),
        )
        for _ in range(packets)
    ]


@pytest.mark.parametrize(
    ("topology", "route", "sls", "lanes"),
    [
        (tree(2, 3), lambda t: dmodk(t, IDENTITY), 3, 3),
        (tree(3, 2), lambda t: valiant(t, IDENTITY), 2, 2),
        (torus((4, 4), hosts=2, trunks=2), lambda t: dimension_order(t, 2), 2, 4),
        (irregular(7, ports=6, hosts=2, seed=5), lambda t: up_down(t, IDENTITY), 2, 2),
    ],
    ids=["tree", "valiant", "torus", "irregular"],
)
@pytest.mark.parametrize(
    "how",
    [
        {"allocation": "turns"},
        pytest.param({"allocation": "fifo"}, marks=pytest.mark.long),
        {"crossbar": "per_vl", "minimum": 12},
        pytest.param({"allocation": "fifo", "crossbar": "per_vl", "minimum": 12}, marks=pytest.mark.long),
        pytest.param({"crossbar": "flits"}, marks=pytest.mark.long),
        pytest.param({"iterations": 3, "speed": 2}, marks=pytest.mark.long),
        {"credit": "fcp", "fcp_period": 100, "minimum": 12},
        pytest.param({"crossbar": "per_vl", "credit": "sideband", "minimum": 12}, marks=pytest.mark.long),
    ],
    ids=["turns", "fifo", "per_vl", "per_vl_fifo", "flits", "faster", "fcp", "per_vl_sideband"],
)
def test_every_packet_arrives_once_and_in_order(
    topology: Topology, route: Callable[[Topology], Routes], sls: int, lanes: int, how: dict[str, Any]
) -> None:
    """Under overload with tight buffers, every packet arrives once, in order within its flow.

    A flow is a (source, destination, SL, DLID).
    """
    trace = random_trace(topology, packets=4000, cycles=2000, sls=sls, seed=1)
    net = made(topology, route(topology), lanes=lanes, trace=trace, cycles=60_000, largest=8, blocks=12 * lanes, **how)

    deliveries = replayed(net, 60_000)

    sent = Counter((source, to, sl, -(-size // 64), born) for born, source, to, sl, size in trace)
    assert Counter((d.source, d.target, d.sl, d.flits, d.generated) for d in deliveries) == sent
    last: dict[tuple[int, ...], int] = {}
    for each in sorted(deliveries, key=lambda each: each.delivered):
        flow = (each.source, each.target, each.sl, each.dlid)
        assert last.get(flow, 0) <= each.generated
        last[flow] = each.generated
    assert net.out_ports.buffer.lane["blocks"].min() >= 0


@pytest.mark.parametrize(("load", "flits"), [(0.5, 4), (0.8, 4), (0.7, 32)])
def test_mean_wait_of_one_queue_is_that_of_theory(load: float, flits: int) -> None:
    """The mean wait in one queue agrees with the formula for Bernoulli arrivals of one size.

    The wait is p (n - 1) / (2 (1 - p)) cycles at load p and n flits per packet. For long packets it approaches M/D/1's.
    """
    topology = dumbbell(1, 1)
    classes = [TrafficClass(0, load, 64 * flits, 64 * flits, pattern=(1, -1))]
    cycles = 4_000_000 * flits // 4
    net = made(
        topology, up_down(topology, IDENTITY), lanes=1, classes=classes, cycles=cycles, largest=flits, blocks=1 << 12
    )

    run_to(net, cycles)

    packets, _, latency, _, _, _ = net.meters.total[0]
    batch = net.meters.part[0].reshape(20, 2, -1).sum(axis=1)
    means = batch[:, TIMED_LATENCY] / batch[:, TIMED]
    half_width = 2.093 * means.std(ddof=1) / np.sqrt(len(means))
    wait = latency / packets - (1 + 1 + 2 * 5 + flits - 1)
    discrete = load * (flits - 1) / (2 * (1 - load))
    assert abs(wait - discrete) < 1.5 * half_width
    assert half_width < 0.05 * discrete
    if flits == 32:
        assert abs(wait - load * flits / (2 * (1 - load))) < 1.5 * half_width + 0.04 * discrete


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "weights"),
    [
        pytest.param(
            PortSettings(
                "drr",
                {"requesters": 0, "keep_on_stall": False, "mtu_blocks": 66},
                [(0, lane, 0, quantum) for lane, quantum in enumerate((8, 16, 40))],
            ),
            (8, 16, 40),
            marks=pytest.mark.long,
        ),
        (
            PortSettings("vlarb", {"entries": 3}, [(2, 0, 0, 0), *((1, i, i, w) for i, w in enumerate((8, 24, 64)))]),
            (8, 24, 64),
        ),
        (PortSettings("rr", {"requesters": 0}), (8, 8, 8)),
    ],
    ids=["drr", "vlarb", "rr"],
)
def test_saturated_link_is_shared_by_weight(settings: PortSettings, weights: Sequence[int]) -> None:
    """A saturated link is shared by the table's weights, within twice the largest weight."""
    topology = dumbbell(1, 1)
    classes = [TrafficClass(sl, 1.0, 512, 512, pattern=(1, -1)) for sl in range(3)]
    cycles, warm_up = 60_000, 5000
    net = made(
        topology,
        up_down(topology, IDENTITY),
        lanes=3,
        classes=classes,
        cycles=cycles,
        warm_up=warm_up,
        largest=8,
        blocks=384,
        minimum=128,
        settings=settings,
    )

    run_to(net, cycles)

    received = net.meters.total[:3, 1]
    rounds = (cycles - warm_up) / sum(weights)
    assert received.sum() == cycles - warm_up
    for level, weight in zip(received, weights, strict=True):
        assert abs(level - rounds * weight) <= 2 * max(weights)


def test_cycle_of_links_is_found_and_stops_a_network() -> None:
    """Given a ring without datelines, the cycle of links is found and the loaded network gets stuck."""
    topology = torus((8,))
    routes = dimension_order(topology, 1)
    flat = Routes(routes.lft, np.zeros_like(routes.vl), np.zeros_like(routes.nic_vl), routes.lids)
    net = made(
        topology,
        flat,
        lanes=1,
        classes=[TrafficClass(0, 0.9, 512, 512, pattern=tuple((h + 3) % 8 for h in range(8)))],
        cycles=50_000,
        largest=8,
        blocks=8,
        patience=2000,
    )

    circle = find_cycle(net, follow_paths(net, np.zeros(1, np.int64), _NO_PATHS))
    reason, packets = run_to(net, 50_000)

    assert len(circle) == 8
    assert reason == STUCK
    assert packets.regs[1] > 0


def test_dropped_packets_are_counted_and_free_their_buffer_space() -> None:
    """Packets for an unknown LID or a dropped SL are counted, and their buffer space is freed (IBS-10)."""
    topology = dumbbell(2, 2)
    routes = up_down(topology, (0, 15, *([0] * 14)))
    routes.nic_vl[:] = 0
    routes.lft[0, 4] = 255
    trace = [(10 * at, 0, 3 if at % 3 == 0 else 2, at % 3 == 1, 512) for at in range(300)]
    net = made(topology, routes, lanes=1, trace=trace, cycles=20_000, largest=8, blocks=8)

    deliveries = replayed(net, 20_000)

    assert len(deliveries) == 100
    assert net.switches.inputs.drop_counts[:, [DropCause.UNKNOWN_LID, DropCause.NO_VL]].tolist() == [[100, 100], [0, 0]]
    assert net.switches.inputs.drop_counts.sum() == 200


@pytest.mark.slow
def test_compiled_and_uncompiled_runs_agree() -> None:
    """A short run gives the same digest in compiled and uncompiled code."""
    assert uncompiled("small_digest()", "tests.network.test_network") == str(small_digest())


def small_digest() -> int:
    """Return the digest of short runs with several sizes, levels, contention and datelines."""
    topology = torus((3, 3))
    classes = [TrafficClass(sl, 0.25, 1, 64 + 236 * sl, burst=1 + sl) for sl in range(2)]
    net = made(topology, dimension_order(topology, 2), lanes=4, classes=classes, cycles=200, largest=5, blocks=30)
    assert run_to(net, 200)[0] == DONE
    apart = made(
        topology,
        dimension_order(topology, 2),
        lanes=4,
        classes=classes,
        cycles=200,
        largest=5,
        blocks=32,
        minimum=8,
        crossbar="per_vl",
        credit="fcp",
        fcp_period=50,
    )
    assert run_to(apart, 200)[0] == DONE
    return int(net.meters.digest[0] ^ apart.meters.digest[0] << 1)


_STEPS: dict[str, tuple[dict[str, Any], list[tuple[int, int, int, int]]]] = {
    "rr": ({"requesters": 0}, []),
    "rr with a map": ({"requesters": 3}, [(1, lane, lane // 2, 0) for lane in range(4)]),
    "drr": ({"requesters": 0, "keep_on_stall": True, "mtu_blocks": 66}, [(0, i, 0, 5 + 30 * i) for i in range(4)]),
    "scfq": (
        {"requesters": 0, "tag_bits": 24, "reciprocal_bits": 8, "units": "per_requester"},
        [(0, i, 0, 9 + i) for i in range(4)],
    ),
    "dtable": (
        {"requesters": 0, "entries": 8, "form": "free", "keep_on_stall": True, "mtu_blocks": 66},
        [(0, i, i % 4, 5 + 20 * i) for i in range(8)],
    ),
    "vlarb": ({"entries": 4}, [(2, 0, 0, 1), *((w, i, i, 10 + 9 * i) for i in range(4) for w in (0, 1))]),
    "vlarb line_rate": (
        {"entries": 64, "form": "line_rate"},
        [(2, 0, 0, 1), *((w, i, i % 4, 10 + 3 * i) for i in range(64) for w in (0, 1))],
    ),
    "dtable line_rate": (
        {"entries": 128, "form": "line_rate", "mtu_blocks": 66},
        [(0, i, i % 4, 5 + 20 * (i % 8)) for i in range(128)],
    ),
}


@pytest.mark.parametrize("name", _STEPS)
def test_idle_scheduler_steps_may_be_skipped(name: str) -> None:
    """Scheduler steps without an eligible packet may be skipped without changing later grants.

    Golden skips them on idle links.
    """
    parameters, writes = _STEPS[name]
    always, skipping = (
        _one_port(new_scheduler(name.split(maxsplit=1)[0], data_vls=4, writes=writes, **parameters)) for _ in range(2)
    )
    source = random.Random(7)  # noqa: S311 - a repeatable choice
    sizes, fruitless, sent, skipped = np.array([1, 9, 33, 66, 0]), 0, 0, 0
    request, room, behind, quiet, busy = 0, 0, 0, 0, 0
    for _ in range(20_000):
        quiet = (
            max(0, quiet - 1)
            if quiet or source.random() >= 0.01
            else source.randrange(2 + 2 * idle_decisions_until_rest(always))
        )
        if not quiet:
            request |= source.getrandbits(4) & source.getrandbits(4) if source.random() < 0.3 else 0
            room = source.getrandbits(4) if source.random() < 0.2 else room
            behind = source.getrandbits(4)
        heads, ready = Heads(request, room, sizes, request & room & behind, sizes), not busy
        if not ready and parameters.get("form") != "line_rate":
            busy -= 1
            continue
        wanted = serve(always, 0, heads, ready)
        got = -1
        fruitless = 0 if request & room else fruitless
        if request & room or fruitless < idle_decisions_until_rest(always):
            fruitless += ready and not request & room
            got = serve(skipping, 0, heads, ready)
        else:
            skipped += 1
        assert got == wanted
        busy = max(0, busy - 1)
        if got >= 0:
            sent += 1
            busy = int(sizes[got]) - 1
            if not behind >> got & 1:
                request &= ~(1 << got)
                sizes[got] = source.randrange(1, 67)
        elif source.random() < 0.02 and not busy:
            busy = source.randrange(1, 9)
    assert sent > 300
    assert skipped > 100


def _one_port(state: Any) -> Any:
    return new_bank(state, 1)


def test_rooms_keep_minimum_and_maximum() -> None:
    """The free-space counter permits packets exactly as the written rule for minimum and maximum does."""
    source = random.Random(3)  # noqa: S311 - a repeatable choice
    minimum, maximum = (4, 0, 7), (9, 6, 30)
    rooms = new_occupancy(buffers=2, blocks=25, minimum=minimum, maximum=maximum)
    held = [0, 0, 0]
    refused = Counter[str]()
    for _ in range(3000):
        lane, blocks = source.randrange(3), source.randrange(1, 8)
        after = [each + blocks * (other == lane) for other, each in enumerate(held)]
        beyond = sum(max(0, each - least) for each, least in zip(after, minimum, strict=True))
        inside, common = after[lane] <= maximum[lane], beyond <= 25 - sum(minimum)
        assert fits(rooms, 1, lane, blocks) == (inside and common)
        refused["maximum"] += not inside
        refused["common"] += inside and not common
        if inside and common and source.random() < 0.7:
            occupy(rooms, 1, lane, blocks)
            held = after
        elif held[lane]:
            back = source.randrange(1, held[lane] + 1)
            release(rooms, 1, lane, back)
            held[lane] -= back
    assert rooms.lane["blocks"][1].tolist() == held
    assert not rooms.lane["blocks"][0].any()
    assert min(refused["maximum"], refused["common"]) > 50


def test_packets_in_queues_are_those_that_wait() -> None:
    """Queue lengths summed over all cycles equal the cycles that packets waited for their link."""
    topology = dumbbell(3, 3)
    trace = [
        (3 * number, host, 3 + number % 3, number % 2, 64 + 64 * (number % 4))
        for number in range(60)
        for host in range(3)
    ]
    net = made(topology, up_down(topology, IDENTITY), lanes=2, trace=trace, cycles=2000, largest=4)
    packets, counted = new_packets(1 << 12), 0
    for cycle in range(2000):
        if cycle == 100:
            assert queued_cycles(net, packets).sum() == counted > net.out_ports.counters["queued_cycles"].sum() > 0
        run(net, packets, cycle + 1)
        for queue in net.out_ports.queues.queue.array.flat:
            packet = int(queue["head"])
            while packet != NOBODY:
                counted += 1
                packet = int(packets.pool[packet].next)

    sent = net.out_ports.counters
    assert packets.regs[IN_USE] == 0
    assert counted == sent["queued_cycles"].sum() == queued_cycles(net, packets).sum() > 2 * sent["packets"].sum()
