"""Random networks: each delivery of the compiled network equals the plain network's."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from tests.network.networks import IDENTITY, made, replayed
from tests.network.plain_by_name import plain_serve
from vlane.golden.network.assembly import PortSettings
from vlane.golden.network.faults import lose_fcps, stall_link, write_forwarding_entry
from vlane.golden.network.swaps import schedule_table_swap
from vlane.golden.plain.credits import Credits
from vlane.golden.plain.faster import faster
from vlane.golden.plain.faults import Faults, Rewrite, Span, Swap
from vlane.golden.plain.fifo import FifoSwitch
from vlane.golden.plain.flits import FlitSwitch
from vlane.golden.plain.link import Serve, Sizes
from vlane.golden.plain.network import PlainNetwork, Switch, Tables
from vlane.golden.plain.opa import ChannelTables, OPASwitch, PlainOPANetwork
from vlane.golden.plain.opa_flits import OPAFlitSwitch
from vlane.golden.plain.per_vl import PerVLSwitch
from vlane.golden.plain.per_vl_fifo import PerVLFifoSwitch
from vlane.golden.plain.traffic import packets_of, random_trace
from vlane.golden.topologies.routing import ChannelRoutes, Routes, dimension_order, dmodk, up_down, with_channels
from vlane.golden.topologies.topology import Topology, dumbbell, irregular, torus, tree
from vlane.tables.lft import UNASSIGNED

NETWORKS, TESTED_BY_DEFAULT = 500, 2
_FASTER_KINDS = (
    *(("ib", "turns", "multiplexed", "returns", name) for name in ("rr", "dtable")),
    ("ib", "turns", "multiplexed", "fcps", "rr"),
)
_KINDS = (
    *(("ib", "turns", "multiplexed", "returns", name) for name in ("rr", "wrr", "drr", "dtable", "scfq", "vlarb")),
    *(("opa", "turns", "multiplexed", "returns", name) for name in ("rr", "wrr", "drr", "dtable", "scfq", "vlarb")),
    *(("ib", "turns", "multiplexed", "fcps", name) for name in ("rr", "dtable", "scfq", "vlarb")),
    *(("ib", "fifo", "multiplexed", "returns", name) for name in ("dtable", "vlarb")),
    *(("ib", "fifo", "multiplexed", "fcps", name) for name in ("scfq", "wrr")),
    *(("ib", "turns", "per_vl", "returns", name) for name in ("scfq", "drr")),
    *(("ib", "turns", "per_vl", "fcps", name) for name in ("vlarb", "rr")),
    *(("ib", "fifo", "per_vl", "returns", name) for name in ("dtable", "rr")),
    ("ib", "fifo", "per_vl", "fcps", "vlarb"),
    *(("ib", "turns", "flits", "returns", name) for name in ("vlarb", "drr")),
    ("ib", "turns", "flits", "fcps", "dtable"),
    *_FASTER_KINDS,
)
"""Switch kind, allocation, crossbar, credits and scheduler, assigned to seeds in turn to limit compilations."""
_LARGEST = 8
_SWITCHES: dict[tuple[str, str], type[Switch]] = {
    ("turns", "multiplexed"): Switch,
    ("fifo", "multiplexed"): FifoSwitch,
    ("turns", "per_vl"): PerVLSwitch,
    ("fifo", "per_vl"): PerVLFifoSwitch,
    ("turns", "flits"): FlitSwitch,
}


@dataclass(frozen=True)
class Case:
    """Random network with its traffic and faults."""

    cycles: int
    topology: Topology
    routes: Routes | ChannelRoutes
    lanes: int
    settings: PortSettings
    trace: list[tuple[int, ...]]
    blocks: int
    minimum: int
    central: int | None
    flight: int
    flit_bytes: int
    allocation: str
    crossbar: str
    credit: str
    fcp_blocks: int
    fcp_period: int
    faults: Faults
    faster: dict[str, Any]
    swapped: tuple[PortSettings, ...] = ()

    def __str__(self) -> str:
        """Return the properties that identify the case in a failure message."""
        how = f"{self.allocation} {self.crossbar} {self.credit}, {self.faster}, flits of {self.flit_bytes}"
        faults = f"{len(self.faults.stalls)} stalls, {len(self.faults.losses)} losses, {self.faults.rewrites}"
        kind = "ib" if self.central is None else "opa"
        settings = f"{self.settings.scheduler} {self.settings.parameters}"
        buffers = f"{self.lanes} lanes of {self.minimum} in {self.blocks}"
        return f"{self.topology.name} {kind}, {buffers}, {settings}, {how}, flight {self.flight}, {faults}"

    def sizes(self, blocks: int) -> Sizes:
        """Return the plain network's sizes of a buffer."""
        least, lanes = self.minimum, self.lanes
        most = blocks - least * (lanes - 1)
        return Sizes(blocks, (least,) * lanes, (most,) * lanes, (_LARGEST,) * lanes, 64 // self.flit_bytes)

    def golden(self) -> list[Any]:
        """Return the deliveries of the compiled network."""
        net = made(
            self.topology,
            self.routes,
            lanes=self.lanes,
            trace=self.trace,
            cycles=self.cycles,
            largest=_LARGEST,
            blocks=self.blocks,
            minimum=self.minimum,
            settings=self.settings,
            allocation=self.allocation,
            crossbar=self.crossbar,
            credit=self.credit,
            fcp_blocks=self.fcp_blocks or None,
            fcp_period=self.fcp_period,
            central=self.central,
            flight=self.flight,
            flit_bytes=self.flit_bytes,
            **self.faster,
        )
        stalls, losses, rewrites = self.faults.stalls, self.faults.losses, self.faults.rewrites
        changes = [
            *(stall_link(it.switch, it.port, cycle=it.cycle, cycles=it.cycles) for it in stalls),
            *(lose_fcps(it.switch, it.port, cycle=it.cycle, cycles=it.cycles) for it in losses),
            *(write_forwarding_entry(it.switch, it.lid, it.port, cycle=it.cycle) for it in rewrites),
            *(
                schedule_table_swap(it.switch, [it.port], settings.writes, cycle=it.cycle)
                for it, settings in zip(self.faults.swaps, self.swapped, strict=True)
            ),
        ]
        return sorted(it for it in replayed(net, self.cycles, changes) if it.delivered < self.cycles)

    def plain(self) -> list[Any]:
        """Return the deliveries of the plain network."""
        packets = packets_of(self.trace, self.routes, self.flit_bytes)
        far, hosts, routes = self.topology.far_ends(), self.topology.hosts, self.routes
        if isinstance(routes, ChannelRoutes):
            assert self.central is not None
            channels = ChannelTables(routes.lft, routes.sc2sc, routes.sc2vl, routes.nic_channel, routes.nic_vl)
            return PlainOPANetwork(
                far,
                hosts,
                channels,
                self.sizes(self.blocks),
                self.sizes(self.central),
                packets,
                self.new_serve,
                self.flight,
                self.faults,
                OPAFlitSwitch if self.crossbar == "flits" else OPASwitch,
            ).run(self.cycles)
        tables = Tables(routes.lft, routes.vl, routes.nic_vl, routes.by_lane)
        credits = Credits(self.credit == "sideband", self.fcp_blocks, self.fcp_period)  # noqa: A001 - their name
        return PlainNetwork(
            far,
            hosts,
            tables,
            self.sizes(self.blocks),
            packets,
            self.new_serve,
            self.flight,
            self.plain_switch,
            None if self.credit == "returns" else credits,
            self.faults,
        ).run(self.cycles)

    @property
    def plain_switch(self) -> type[Switch]:
        """Return the plain switch class."""
        return faster(**self.faster) if self.faster else _SWITCHES[self.allocation, self.crossbar]

    def new_serve(self) -> Serve:
        """Return the decision function of a port's plain scheduler."""
        return plain_serve(self.settings, self.lanes)


def _world(source: random.Random, *, opa: bool) -> tuple[Topology, Routes, int]:
    """Return a random small topology, its routes and its number of lanes."""
    lanes = source.choice((1, 2, 3, 4, 6))
    kind = source.choice(("dumbbell", "tree", "torus", "irregular"))
    if kind == "torus":
        size = source.choice(((3,), (4,), (5,), (3, 3)))
        topology = torus(size, hosts=source.choice((1, 2)), trunks=source.choice((1, 2)))
        classes = source.choice((1, 2))
        return topology, dimension_order(topology, classes), 2 * classes
    if kind == "tree":
        topology = tree(*source.choice(((2, 2), (2, 3), (3, 2), (4, 2))))
        return topology, dmodk(topology, IDENTITY), lanes
    if kind == "dumbbell":
        left, right = source.randrange(1, 5), source.randrange(1, 5)
        topology = dumbbell(left, right, trunks=source.choice((1, 2, 4 if opa else 1)))
    else:
        hosts = source.choice((1, 2, 3))
        topology = irregular(
            source.randrange(3, 6), ports=hosts + source.choice((2, 3)), hosts=hosts, seed=source.randrange(100)
        )
    return topology, up_down(topology, IDENTITY), lanes


def _settings(name: str, lanes: int, source: random.Random) -> PortSettings:
    """Return a scheduler with random tables and, where supported, a random lane map."""
    if name == "vlarb":
        entries = source.choice((lanes + 1, 2 * lanes + 3, 20))
        chosen = [
            (w, entry, source.randrange(lanes), source.choice((0, 1, 2, 5, 30, 255)))
            for entry in range(entries - 1)
            for w in (0, 1)
        ]
        every = [(1, entry, entry % lanes, source.randrange(1, 12)) for entry in range(lanes)]
        limit = (2, 0, 0, source.choice((0, 0, 1, 3, 255)))
        return PortSettings(name, {"entries": entries, "form": "exact", "parity": False}, [*chosen, *every, limit])
    requesters = source.choice((0, 0, 2, 3, 5))
    count = requesters or lanes
    parameters: dict[str, Any] = {"requesters": requesters}
    mapping = [(1, lane, source.randrange(requesters), 0) for lane in range(lanes)] if requesters else []
    if name == "rr":
        return PortSettings(name, parameters, mapping)
    if name == "wrr":
        return PortSettings(
            name, parameters, [*mapping, *((0, at, 0, source.choice((1, 2, 7))) for at in range(count))]
        )
    if name == "scfq":
        parameters |= {"reciprocal_bits": 8, "tag_bits": 16, "units": "per_requester"}
        return PortSettings(
            name, parameters, [*mapping, *((0, at, 0, source.randrange(1, 256)) for at in range(count))]
        )
    parameters |= {"keep_on_stall": source.random() < 0.4, "mtu_blocks": source.choice((_LARGEST, 66))}
    if name == "drr":
        return PortSettings(name, parameters, [*mapping, *((0, at, 0, source.randrange(1, 20)) for at in range(count))])
    entries = source.choice((count, 2 * count + 1, 32))
    form = source.choice(("free", "free", "ib"))
    parameters |= {"entries": max(2, entries), "form": form, "parity": False}
    table = [
        (0, at, at if at < count else source.randrange(count), source.choice((1, 3, 8, 20))) for at in range(entries)
    ]
    return PortSettings(name, parameters, [*mapping, *table])


def _with_channels(topology: Topology, routes: Routes, lanes: int, source: random.Random) -> ChannelRoutes:
    """Return channel tables that fold onto the lanes, possibly with random changes and drops."""
    if routes.by_lane:
        row = (*map(int, routes.nic_vl[0]), *(15,) * 16)
        return with_channels(topology, routes, row, tuple(range(32)), data_vls=lanes)
    fold = tuple(15 if channel == 15 else channel % lanes for channel in range(32))
    made_of = with_channels(topology, routes, tuple(range(32)), fold, data_vls=lanes)
    for _ in range(source.choice((0, 60))):
        at = tuple(source.randrange(size) for size in made_of.sc2sc.shape)
        made_of.sc2sc[at] = source.choice((15, 31, *range(12)))
    return made_of


def _faults(topology: Topology, lids: int, cycles: int, *, by_fcps: bool, source: random.Random) -> Faults:
    """Return random stalls, FCP losses and table rewrites, each empty in half of the networks."""
    ends = [*topology.far_ends(), *topology.hosts]

    def spans() -> tuple[Span, ...]:
        lengths = (1, 7, 40, source.randrange(1, cycles // 2))
        return tuple(
            Span(source.randrange(cycles), source.choice(lengths), *source.choice(ends))
            for _ in range(source.choice((0, 0, 1, 4, 12)))
        )

    written: dict[tuple[int, int], Rewrite] = {}
    for _ in range(source.choice((0, 0, 1, 3))):
        switch, port = source.choice(ends)
        cycle = source.randrange(cycles)
        to = source.choice((port, UNASSIGNED))
        written[cycle, switch] = Rewrite(cycle, switch, source.randrange(1, lids), to)
    return Faults(spans(), spans() if by_fcps else (), tuple(written.values()))


def case_of(seed: int, kind: tuple[str, str, str, str, str] | None = None) -> Case:
    """Return the network of a seed, with the kind of the seed or a given one."""
    source = random.Random(seed)  # noqa: S311 - a repeatable choice
    switch, allocation, crossbar, credit, scheduler = kind or _KINDS[seed % len(_KINDS)]
    is_faster = kind is None and seed % len(_KINDS) >= len(_KINDS) - len(_FASTER_KINDS)
    opa = switch == "opa"
    if credit == "fcps":
        credit = source.choice(("fcp", "sideband"))
    cycles = source.choice((600, 1000, 1000, 2000))
    topology, routes, lanes = _world(source, opa=opa)
    sls: list[int] = list(range(lanes // 2) if routes.by_lane else range(lanes))
    if source.random() < 0.3:
        routes.lft[source.randrange(topology.switches), source.randrange(1, routes.lft.shape[1])] = UNASSIGNED
    in_parts = crossbar == "per_vl" or credit != "returns"
    minimum = source.choice((8, 8, 13, 24, 40))
    blocks = minimum * lanes + (0 if in_parts else source.choice((0, 5, 40)))
    chosen: Routes | ChannelRoutes = routes
    if opa:
        chosen = _with_channels(topology, routes, lanes, source)
        sls = list(range(lanes // 2)) if routes.by_lane else [sl for sl in range(32) if sl != 15]
    flit_bytes = source.choice((64, 64, 64, 32, 16, 8))
    load = source.choice((0.1, 0.4, 0.9, 1.3)) * flit_bytes / 64
    faults = _faults(topology, routes.lft.shape[1], cycles, by_fcps=credit != "returns", source=source)
    made_faster = {"iterations": source.choice((1, 2, 2, 3, 8)), "speed": source.choice((1, 2))} if is_faster else {}
    return Case(
        cycles,
        topology,
        chosen,
        lanes,
        _settings(scheduler, lanes, source),
        random_trace(len(topology.hosts), sls, source, load, cycles),
        blocks,
        minimum,
        minimum * lanes + source.choice((0, 3, 30, 100)) if opa else None,
        source.choice((1, 1, 2, 5, 12)),
        flit_bytes,
        allocation,
        crossbar,
        credit,
        source.choice((0, 1, 3)),
        source.choice((lanes + 1, 30, 50, 1024)),
        faults,
        made_faster,
    )


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=pytest.mark.slow if seed < TESTED_BY_DEFAULT else pytest.mark.long)
        for seed in range(NETWORKS)
    ],
)
def test_every_delivery_of_a_random_network_is_that_of_the_plain_one(seed: int) -> None:
    """Given random topology, switches, scheduler, faults and load, deliveries equal the plain network's."""
    case = case_of(seed)

    got, expected = case.golden(), case.plain()

    first = next((pair for pair in zip(got, expected, strict=False) if pair[0] != pair[1]), "a prefix of the other")
    again = f"python -m pytest -n0 'tests/network/test_random_networks.py' -k '[{seed}]' -m 'slow or long'"
    assert got == expected, f"{case}: {len(got)} and {len(expected)} deliveries, {first}; repeat it with: {again}"


def with_swaps(case: Case, source: random.Random) -> Case:
    """Return the network with random swaps of tables whose entries are permuted."""
    swaps, swapped = [], []
    for end in [*case.topology.far_ends(), *case.topology.hosts]:
        for _ in range(source.choice((0, 1, 6))):
            writes = [list(write) for write in case.settings.writes]
            for which in (0, 1):
                entries = [write for write in writes if write[0] == which]
                for write, other in zip(entries, source.sample(entries, len(entries)), strict=True):
                    write[2:], other[2:] = other[2:], write[2:]
            settings = replace(case.settings, writes=[tuple(write) for write in writes])
            swapped.append(settings)
            swaps.append(Swap(source.randrange(case.cycles), *end, partial(plain_serve, settings, case.lanes)))
    return replace(case, faults=replace(case.faults, swaps=tuple(swaps)), swapped=tuple(swapped))


_SWAPPED = [seed for seed in range(300) if _KINDS[seed % len(_KINDS)][4] == "vlarb"]


@pytest.mark.parametrize("seed", [pytest.param(each, marks=pytest.mark.long) for each in _SWAPPED])
def test_tables_are_swapped_as_in_the_plain_network(seed: int) -> None:
    """Swapped tables take effect in the same cycle as in the plain network."""
    case = with_swaps(case_of(seed), random.Random(seed))  # noqa: S311 - a repeatable choice

    got, expected = case.golden(), case.plain()

    assert got == expected, f"{case}: {len(got)} and {len(expected)} deliveries"


@pytest.mark.long
def test_swaps_change_deliveries() -> None:
    """Swaps change the deliveries of more than 5 of 20 random networks."""
    seeds = _SWAPPED[:20]
    changed = [case_of(seed).plain() != with_swaps(case_of(seed), random.Random(seed)).plain() for seed in seeds]  # noqa: S311 - the same
    assert sum(changed) > 5
