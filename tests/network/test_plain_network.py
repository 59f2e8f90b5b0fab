"""Compiled networks against plain models that move each flit: equal deliveries."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.network.networks import IDENTITY, made, replayed
from tests.network.plain_by_name import plain_serve
from vlane.golden.network.assembly import PortSettings
from vlane.golden.plain.credits import Credits
from vlane.golden.plain.fast import FastSwitch
from vlane.golden.plain.faster import faster
from vlane.golden.plain.fifo import FifoSwitch
from vlane.golden.plain.flits import FlitSwitch
from vlane.golden.plain.link import Seen, Serve, Sizes
from vlane.golden.plain.network import PlainNetwork, Switch, Tables
from vlane.golden.plain.opa import ChannelTables, PlainOPANetwork
from vlane.golden.plain.per_vl import PerVLSwitch
from vlane.golden.plain.per_vl_fifo import PerVLFifoSwitch
from vlane.golden.plain.traffic import packets_of, random_trace
from vlane.golden.schedulers.bank import new_scheduler
from vlane.golden.schedulers.by_name import module_of
from vlane.golden.schedulers.heads import NO_WRITE, Heads
from vlane.golden.topologies.routing import ChannelRoutes, Routes, dimension_order, dmodk, up_down, with_channels
from vlane.golden.topologies.topology import Topology, dumbbell, irregular, torus, tree
from vlane.tables.lft import UNASSIGNED

_WORLDS: dict[str, tuple[Topology, Callable[[Topology], Routes], int]] = {
    "dumbbell": (dumbbell(3, 3), lambda topology: up_down(topology, IDENTITY), 3),
    "tree": (tree(2, 3), lambda topology: dmodk(topology, IDENTITY), 2),
    "torus": (torus((3, 3)), lambda topology: dimension_order(topology, 2), 4),
    "ring": (torus((4,), hosts=2, trunks=2), lambda topology: dimension_order(topology, 1), 2),
    "irregular": (irregular(5, ports=5, hosts=2, seed=4), lambda topology: up_down(topology, IDENTITY), 1),
}
_CYCLES = 1000


class How(NamedTuple):
    """Allocation, crossbar and credit options of a network."""

    allocation: str = "turns"
    crossbar: str = "multiplexed"
    credit: str = "returns"
    fcp_blocks: int | None = None
    fcp_period: int = 1024
    iterations: int = 1
    speed: int = 1

    def __str__(self) -> str:
        """Return the non-default options as the name of a scenario."""
        return "+".join(f"{name}={value}" for name, value in self.chosen.items()) or "turns"

    @property
    def chosen(self) -> dict[str, Any]:
        """Return the non-default options."""
        return {name: value for name, value in self._asdict().items() if value != self._field_defaults[name]}

    @property
    def needs_partitions(self) -> bool:
        """Return whether buffers must be static partitions."""
        return self.crossbar == "per_vl" or self.credit != "returns"

    @property
    def switch(self) -> type[Switch]:
        """Return the plain switch class for these options."""
        if self.crossbar == "per_vl":
            return PerVLFifoSwitch if self.allocation == "fifo" else PerVLSwitch
        if self.crossbar == "flits":
            return FlitSwitch
        if self.allocation == "bids":
            return FastSwitch
        if self.iterations > 1 or self.speed > 1:
            return faster(self.iterations, self.speed)
        return FifoSwitch if self.allocation == "fifo" else Switch

    @property
    def plain_credits(self) -> Credits | None:
        """Return the plain network's credit options, or ``None`` for returned credits."""
        if self.credit == "returns":
            return None
        return Credits(self.credit == "sideband", self.fcp_blocks or 0, self.fcp_period)


def _settings(name: str, lanes: int, source: random.Random) -> PortSettings:
    if name == "rr":
        return PortSettings("rr", {"requesters": 0})
    if name == "rr with a map":
        return PortSettings("rr", {"requesters": 2}, [(1, lane, lane % 3, 0) for lane in range(lanes)])
    turns = {"requesters": 0, "keep_on_stall": False, "mtu_blocks": 66}
    if name == "drr":
        return PortSettings("drr", turns, [(0, lane, 0, source.randrange(1, 20)) for lane in range(lanes)])
    if name == "vlarb":
        writes = [(w, entry, entry % lanes, source.randrange(1, 12)) for entry in range(2 * lanes + 1) for w in (0, 1)]
        return PortSettings("vlarb", {"entries": 20, "form": "line_rate"}, [*writes, (2, 0, 0, 1)])
    form = {"entries": 32, "form": "line_rate" if name == "dtable line_rate" else "free"}
    writes = [(0, entry, entry % lanes, source.randrange(1, 12)) for entry in range(2 * lanes + 1)]
    return PortSettings("dtable", {**turns, **form}, writes)


def _serve(settings: PortSettings, lanes: int) -> Serve:
    """Return one port's decision function.

    Line-rate forms use golden's scheduler, stepped in every cycle.
    """
    if settings.parameters.get("form") != "line_rate":
        return plain_serve(settings, lanes)
    state = new_scheduler(settings.scheduler, data_vls=lanes, writes=settings.writes, **settings.parameters)
    module, counters = module_of(settings.scheduler, settings.parameters.get("form", "")), np.zeros(64, np.int64)

    def step(seen: Seen, ready: bool) -> int:  # noqa: FBT001 - a signal of the hardware
        sizes, behind_sizes = (np.array([*blocks, 0], np.int64) for blocks in (seen.blocks, seen.behind_blocks))
        heads = Heads(seen.request, seen.fits, sizes, seen.behind, behind_sizes)
        lane, _, granted = module.step(state, heads, ready, False, NO_WRITE, False, counters)
        return int(lane) if granted and ready else -1

    return step


_QUICK: list[tuple[How, str, int, int, float]] = [
    (How(), "rr", 64, 1, 0.6),
    (How(), "rr", 16, 5, 0.3),
    (How("fifo"), "rr", 64, 1, 0.6),
    (How("fifo", "per_vl"), "rr", 16, 5, 0.3),
    (How(credit="fcp", fcp_blocks=1, fcp_period=50), "rr", 64, 2, 0.6),
    (How(credit="sideband", fcp_period=3), "rr", 64, 1, 0.6),
    (How("bids"), "rr", 64, 2, 0.9),
]
_SLOW: list[tuple[How, str, int, int, float]] = [
    (How(), "dtable", 64, 1, 1.2),
    (How("fifo"), "rr", 16, 5, 0.3),
    (How(crossbar="per_vl"), "rr", 64, 1, 0.6),
    (How(crossbar="per_vl"), "rr", 16, 5, 0.3),
    (How("fifo", "per_vl"), "rr", 64, 1, 0.6),
    (How(credit="fcp", fcp_period=7), "rr", 16, 1, 0.3),
    (How(crossbar="per_vl", credit="fcp", fcp_blocks=3, fcp_period=50), "rr", 16, 7, 0.3),
    (How(iterations=2, speed=2), "rr", 64, 1, 0.9),
    (How("bids"), "dtable", 64, 1, 1.2),
    (How("bids"), "rr", 16, 3, 0.3),
    (How(crossbar="flits"), "rr", 64, 1, 0.6),
    (How(crossbar="flits"), "rr", 16, 5, 0.3),
    (How(crossbar="flits"), "dtable", 8, 3, 0.2),
    (How(crossbar="flits", credit="fcp", fcp_blocks=1), "rr", 64, 2, 1.2),
    (How(iterations=2), "rr", 64, 1, 0.9),
    (How(iterations=8), "rr", 16, 5, 0.3),
    (How(iterations=3, credit="fcp", fcp_blocks=1), "rr", 64, 2, 1.2),
    (How(speed=2), "rr", 64, 2, 1.2),
    (How(speed=2), "rr", 16, 5, 0.3),
    (How(speed=2, credit="fcp", fcp_period=50), "rr", 8, 3, 0.2),
    (How(speed=2), "vlarb", 64, 1, 0.9),
    (How(), "rr with a map", 64, 3, 0.9),
    (How(), "dtable", 8, 3, 0.2),
    (How(), "vlarb", 64, 1, 0.6),
    (How(), "dtable line_rate", 16, 2, 0.2),
    (How(credit="fcp", fcp_blocks=1), "dtable", 64, 4, 0.6),
    (How(crossbar="per_vl"), "dtable", 64, 2, 0.9),
    (How(crossbar="per_vl"), "dtable", 64, 1, 1.2),
    (How(crossbar="per_vl"), "dtable", 8, 3, 0.2),
    (How("fifo", "per_vl"), "dtable", 64, 1, 1.2),
    (How("fifo", "per_vl"), "vlarb", 8, 3, 0.2),
    (How("fifo", "per_vl", credit="fcp", fcp_blocks=1), "rr", 64, 4, 1.2),
    (How(credit="fcp", fcp_blocks=1), "rr", 64, 4, 0.9),
    (How(credit="fcp", fcp_blocks=1, fcp_period=5), "rr", 8, 12, 0.2),
    (How("fifo", credit="fcp", fcp_period=50), "rr", 64, 11, 1.2),
    (How(crossbar="per_vl", credit="fcp", fcp_period=7), "rr", 64, 64, 1.2),
    (How(crossbar="per_vl", credit="sideband", fcp_blocks=1), "rr", 8, 3, 0.2),
]


def _in_turns(
    quick: Sequence[tuple[Any, ...]], slow: Sequence[tuple[Any, ...]], worlds: Iterable[str], *, tested: int
) -> list[Any]:
    """Return every scenario in every world as test parameters with marks.

    Two of three combinations, and slow scenarios beyond the first ``tested``, are marked long.
    """
    chosen = []
    for number, scenario in enumerate((*quick, *slow)):
        for place, world in enumerate(worlds):
            is_long = (number + place) % 3 > 0 or number >= len(quick) + tested
            tier = pytest.mark.long if is_long else pytest.mark.slow if number >= len(quick) else ()
            chosen.append(pytest.param(world, *scenario, marks=tier))
    return chosen


@pytest.mark.parametrize(
    ("world", "how", "scheduler", "flit_bytes", "flight", "load"),
    _in_turns(_QUICK[:2], [*_QUICK[2:], *_SLOW], _WORLDS, tested=len(_QUICK[2:]) + 1),
    ids=str,
)
def test_every_delivery_is_that_of_the_plain_network(
    world: str, how: How, scheduler: str, flit_bytes: int, flight: int, load: float
) -> None:
    """Under random overload, each delivery equals the plain network's.

    Buffers vary from tight to large, and some destinations and levels are dropped.
    """
    topology, route, lanes = _WORLDS[world]
    seed = sum(map(ord, f"{world}{scheduler}{flit_bytes}{how if how.needs_partitions else ''}"))
    source = random.Random(seed)  # noqa: S311 - a repeatable choice
    routes = route(topology)
    if source.random() < 0.5:
        routes.lft[source.randrange(topology.switches), source.randrange(1, routes.lft.shape[1])] = UNASSIGNED
    settings = _settings(scheduler, lanes, source)
    minimum = source.choice((8, 8, 13, 24, 40) if how.needs_partitions else (8, 8, 14))
    blocks = minimum * lanes + (0 if how.needs_partitions else source.choice((0, 5, 40)))
    sls = range(lanes // 2) if routes.by_lane else range(lanes)
    trace = random_trace(len(topology.hosts), sls, source, load, _CYCLES)
    net = made(
        topology,
        routes,
        lanes=lanes,
        trace=trace,
        cycles=_CYCLES,
        largest=8,
        blocks=blocks,
        minimum=minimum,
        settings=settings,
        flight=flight,
        flit_bytes=flit_bytes,
        **how.chosen,
    )
    most = blocks - minimum * (lanes - 1)
    sizes = Sizes(blocks, (minimum,) * lanes, (most,) * lanes, (8,) * lanes, 64 // flit_bytes)

    got = sorted(each for each in replayed(net, _CYCLES) if each.delivered < _CYCLES)
    packets = packets_of(trace, routes, flit_bytes)
    tables = Tables(routes.lft, routes.vl, routes.nic_vl, routes.by_lane)
    plain = PlainNetwork(
        topology.far_ends(),
        topology.hosts,
        tables,
        sizes,
        packets,
        lambda: _serve(settings, lanes),
        flight,
        how.switch,
        how.plain_credits,
    )

    assert len(got) > 50
    assert got == plain.run(_CYCLES)


@pytest.mark.parametrize(
    "how",
    [
        How(),
        pytest.param(How("fifo"), marks=pytest.mark.long),
        pytest.param(How(crossbar="per_vl"), marks=pytest.mark.slow),
        pytest.param(How("fifo", "per_vl"), marks=pytest.mark.long),
    ],
    ids=str,
)
@pytest.mark.parametrize(("left", "right"), [(71, 6), pytest.param(240, 5, marks=pytest.mark.long)])
def test_wide_switches_are_those_of_the_plain_network(how: How, left: int, right: int) -> None:
    """Switches with 80 or 254 ports, more than the bits of a word, deliver as in the plain network."""
    topology, lanes, cycles = dumbbell(left, right, trunks=9 if left < 100 else 14), 2, 150
    source = random.Random(left)  # noqa: S311 - a repeatable choice
    routes = up_down(topology, IDENTITY)
    hosts = len(topology.hosts)
    trace = [
        (born, host, source.choice((1, 63, 64, 65, left - 1, left + 1, source.randrange(hosts))) % hosts, sl, size)
        for host in range(hosts)
        for sl in range(lanes)
        for born in (source.randrange(cycles),)
        for size in (source.choice((1, 64, 200, 512)),)
        for _ in range(3)
    ]
    net = made(topology, routes, lanes=lanes, trace=trace, cycles=cycles, largest=8, blocks=16, minimum=8, **how.chosen)
    sizes = Sizes(16, (8,) * lanes, (8,) * lanes, (8,) * lanes, 1)

    got = sorted(each for each in replayed(net, cycles) if each.delivered < cycles)
    plain = PlainNetwork(
        topology.far_ends(),
        topology.hosts,
        Tables(routes.lft, routes.vl, routes.nic_vl, routes.by_lane),
        sizes,
        packets_of(trace, routes, 64),
        lambda: _serve(_settings("rr", lanes, source), lanes),
        1,
        how.switch,
        None,
    )

    assert topology.ports == (80 if left < 100 else 254)
    assert len({each.source // 64 for each in got}) == -(-hosts // 64)
    assert got == plain.run(cycles)


@pytest.mark.parametrize(
    ("topology", "route", "lanes"),
    [
        (tree(2, 3), lambda topology: dmodk(topology, IDENTITY, lmc=2), 2),
        (torus((3, 3), hosts=2, trunks=3), lambda topology: dimension_order(topology, 1, lmc=1), 2),
    ],
    ids=["tree", "torus"],
)
def test_several_lids_of_a_host_take_the_ways_of_their_columns(
    topology: Topology, route: Callable[[Topology], Routes], lanes: int
) -> None:
    """Given several LIDs per host, each packet takes the path of its LID, as in the plain network.

    The plain network receives the LIDs golden drew, and all LIDs occur.
    """
    routes, cycles, hosts = route(topology), 1500, len(topology.hosts)
    source = random.Random(hosts)  # noqa: S311 - a repeatable choice
    trace = [(2 * at, at % hosts, source.randrange(hosts), 0, source.choice((1, 64, 512))) for at in range(500)]
    net = made(topology, routes, lanes=lanes, trace=trace, cycles=cycles, largest=8, blocks=8 * lanes, minimum=8)

    got = sorted(replayed(net, cycles))
    drawn = {(each.source, each.generated): each.dlid for each in got}
    packets = [replace(each, dlid=drawn[each.source, each.generated]) for each in packets_of(trace, routes, 64)]
    sizes = Sizes(8 * lanes, (8,) * lanes, (8,) * lanes, (8,) * lanes, 1)
    plain = PlainNetwork(
        topology.far_ends(),
        topology.hosts,
        Tables(routes.lft, routes.vl, routes.nic_vl, routes.by_lane),
        sizes,
        packets,
        lambda: _serve(_settings("rr", lanes, source), lanes),
        1,
        Switch,
        None,
    )

    assert len(drawn) == len(trace)
    assert {each.dlid - int(routes.lids[each.target, 0]) for each in got} == set(range(int(routes.lids[0, 1])))
    assert got == plain.run(cycles)


_HIERARCHIES: dict[str, tuple[Topology, Callable[[Topology], Routes], int]] = {
    "dumbbell": (dumbbell(7, 6), lambda topology: up_down(topology, IDENTITY), 3),
    "three_mports": (dumbbell(9, 9, trunks=1), lambda topology: up_down(topology, IDENTITY), 2),
    "tree": (tree(4, 2), lambda topology: dmodk(topology, IDENTITY), 2),
    "torus": (torus((3, 3), hosts=2), lambda topology: dimension_order(topology, 2), 4),
    "irregular": (irregular(4, ports=7, hosts=4, seed=2), lambda topology: up_down(topology, IDENTITY), 1),
}


def _channels(topology: Topology, routes: Routes, lanes: int, source: random.Random) -> ChannelRoutes:
    """Return channel tables that fold onto the lanes, with random changes and drops."""
    if routes.by_lane:
        row = (*map(int, routes.nic_vl[0]), *(15,) * 16)
        return with_channels(topology, routes, row, tuple(range(32)), data_vls=lanes)
    fold = tuple(15 if channel == 15 else channel % lanes for channel in range(32))
    made_of = with_channels(topology, routes, tuple(range(32)), fold, data_vls=lanes)
    for _ in range(60):
        at = tuple(source.randrange(size) for size in made_of.sc2sc.shape)
        made_of.sc2sc[at] = source.choice((15, 31, *range(12)))
    return made_of


_HIERARCHY_QUICK = [("rr", 64, 1, 0.6, 512, False), ("rr", 64, 2, 0.9, 4096, True), ("rr", 16, 5, 0.3, 512, False)]
_HIERARCHY_SLOW = [("dtable", 64, 1, 1.2, 512, True), ("dtable", 8, 3, 0.2, 1024, False)]


@pytest.mark.parametrize(
    ("world", "scheduler", "flit_bytes", "flight", "load", "most", "roomy"),
    _in_turns(_HIERARCHY_QUICK, _HIERARCHY_SLOW, _HIERARCHIES, tested=0),
)
def test_every_delivery_is_that_of_the_plain_hierarchy(
    world: str,
    scheduler: str,
    flit_bytes: int,
    flight: int,
    load: float,
    most: int,
    roomy: bool,  # noqa: FBT001
) -> None:
    """Given Omni-Path networks under random overload, each delivery equals the plain network's.

    Channels are random, and central buffers and packet sizes vary.
    """
    topology, route, lanes = _HIERARCHIES[world]
    source = random.Random(sum(map(ord, f"{world}{scheduler}{flit_bytes}{most}")))  # noqa: S311 - a repeatable choice
    routes = _channels(topology, route(topology), lanes, source)
    settings = _settings(scheduler, lanes, source)
    largest = most // 64
    blocks = largest * lanes + (8 * largest if roomy else source.choice((0, 5)))
    central = largest * lanes + (16 * largest if roomy else source.choice((0, 3, 30)))
    sls = range(lanes // 2) if world == "torus" else [sl for sl in range(32) if sl != 15]
    trace = random_trace(len(topology.hosts), sls, source, load, _CYCLES, most)
    net = made(
        topology,
        routes,
        lanes=lanes,
        trace=trace,
        cycles=_CYCLES,
        largest=largest,
        blocks=blocks,
        settings=settings,
        central=central,
        flight=flight,
        flit_bytes=flit_bytes,
    )

    got = sorted(each for each in replayed(net, _CYCLES) if each.delivered < _CYCLES)
    packets = packets_of(trace, routes, flit_bytes)
    sizes, of_centre = (
        Sizes(whole, (largest,) * lanes, (whole - largest * (lanes - 1),) * lanes, (largest,) * lanes, 64 // flit_bytes)
        for whole in (blocks, central)
    )
    tables = ChannelTables(routes.lft, routes.sc2sc, routes.sc2vl, routes.nic_channel, routes.nic_vl)
    plain = PlainOPANetwork(
        topology.far_ends(), topology.hosts, tables, sizes, of_centre, packets, lambda: _serve(settings, lanes), flight
    )

    assert len(got) > 45
    assert got == plain.run(_CYCLES)
