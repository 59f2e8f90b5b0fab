"""Small golden networks for tests, and helpers for runs and deliveries."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.network import runs
from vlane.golden.network.assembly import Credits, PortSettings, assemble
from vlane.golden.network.buffers import Buffers
from vlane.golden.network.congestion import Congestion
from vlane.golden.network.meters import new_meters
from vlane.golden.network.runs import Change
from vlane.golden.network.state import Network
from vlane.golden.plain.network import Delivery
from vlane.golden.topologies.cabling import CableForm
from vlane.golden.topologies.routing import ChannelRoutes, Routes
from vlane.golden.topologies.topology import End, Topology
from vlane.golden.traffic.classes import TrafficClass
from vlane.golden.traffic.senders import mark_senders, senders_of
from vlane.golden.traffic.source_setup import new_sources
from vlane.tables.lft import UNASSIGNED

IDENTITY = (*range(15), 15)
"""VL of each SL: equal numbers, with 15 dropping."""


def made(
    topology: Topology,
    routes: Routes | ChannelRoutes,
    *,
    lanes: int,
    classes: Sequence[TrafficClass] = (),
    trace: Sequence[Sequence[int]] | None = None,
    cycles: int,
    warm_up: int = 0,
    largest: int = 1,
    blocks: int | None = None,
    minimum: int | None = None,
    settings: PortSettings | None = None,
    allocation: str = "turns",
    crossbar: str = "multiplexed",
    iterations: int = 1,
    speed: int = 1,
    credit: str = "returns",
    fcp_blocks: int | None = None,
    fcp_period: int = 1024,
    central: int | None = None,
    nic: Buffers | None = None,
    flight: int = 1,
    cables: Mapping[End, CableForm] = MappingProxyType({}),
    flit_bytes: int = 64,
    seed: int = 1,
    patience: int = 100_000,
    congestion: Congestion | None = None,
    trace_rows: int | None = None,
    trunk_choice: str = "lid",
    trunk_seed: int = 0,
) -> Network:
    """Return a network at rest in which lanes have a guaranteed minimum and share the remaining blocks.

    Parameters
    ----------
    minimum : int
        Guaranteed blocks of each lane [default: ``largest``].
    central : int or None
        Blocks of each central buffer (Omni-Path).
    trace_rows : int or None
        Number of deliveries to record [default: the packets of the trace, doubled under ``congestion`` for CNPs].
    """
    whole, least = blocks or 4 * lanes * largest, minimum or largest
    rows = None if trace is None else np.array(trace, np.int64).reshape(-1, 5)
    nics = len(topology.hosts)
    if trace_rows is None:
        trace_rows = 0 if rows is None else len(rows) * (1 if congestion is None else 2) + nics + 1
    sources = new_sources(classes, nics=nics, flit_bytes=flit_bytes, seed=seed, lids=routes.lids, trace=rows)
    return assemble(
        topology,
        routes,
        _shared(whole, least, lanes, largest),
        settings or PortSettings("rr", {"requesters": 0}),
        sources,
        new_meters(
            first_cycle=warm_up,
            end_cycle=cycles,
            nics=nics,
            trace_rows=trace_rows,
            message_rows=2 * len(sources.setting) if sources.mtu else 0,
        ),
        allocation=allocation,
        crossbar=crossbar,
        iterations=iterations,
        speed=speed,
        credit=Credits(credit, fcp_blocks, fcp_period),
        central=_shared(central, least, lanes, largest) if central else None,
        nic=nic,
        flight=flight,
        cables=cables,
        flit_bytes=flit_bytes,
        patience=patience,
        congestion=congestion,
        trunk_choice=trunk_choice,
        trunk_seed=trunk_seed,
    )


def _shared(blocks: int, least: int, lanes: int, largest: int) -> Buffers:
    return Buffers(blocks, (least,) * lanes, (blocks - least * (lanes - 1),) * lanes, (largest,) * lanes)


def run_to(net: Network, cycles: int) -> tuple[int, Any]:
    """Run a network up to a cycle and return the stop reason and the packets."""
    return runs.run_to(net, runs.new_packet_pool(net, 1 << 10), cycles)


def replayed(net: Network, cycles: int, changes: Sequence[Change] = ()) -> list[Delivery]:
    """Run a network that replays a trace and return its deliveries in the order of counting."""
    runs.run_to(
        net, runs.new_packet_pool(net, 1 << 10), cycles, changes=deque(sorted(changes, key=lambda each: each.cycle))
    )
    rows: NDArray[np.int64] = net.meters.trace[: net.meters.traced[0]]
    return [Delivery(*map(int, row[: len(Delivery._fields)])) for row in rows]


def switches_passed(topology: Topology, routes: Routes | ChannelRoutes) -> NDArray[np.int64]:
    """Return the number of switches on the path from each source to each destination's first LID.

    The result is indexed by (source, destination), with -1 for an unreachable destination.
    """
    beyond = np.full((topology.switches, UNASSIGNED + 1), -1 - len(topology.hosts))
    for (switch, port), (other, _) in topology.far_ends().items():
        beyond[switch, port] = other
    for host, (switch, port) in enumerate(topology.hosts):
        beyond[switch, port] = -1 - host
    passed = np.full((len(topology.hosts), len(topology.hosts)), -1)
    starts = np.array([switch for switch, _ in topology.hosts])
    for to, lid in enumerate(routes.lids[:, 0].tolist()):
        hops, here = np.full(topology.switches, -1), np.arange(topology.switches)
        for hop in range(1, topology.switches + 1):
            at = np.maximum(here, 0)
            here = np.where(here >= 0, beyond[at, routes.lft[at, lid]], here)
            hops[(here == -1 - to) & (hops < 0)] = hop
            if (here < 0).all():
                break
        passed[:, to] = hops[starts]
    return passed


def pairs_with_traffic(net: Network) -> NDArray[np.bool_]:
    """Return, by source and destination, whether the source sends on SL 0 before the end of the run."""
    senders, pairs = (
        senders_of(net.sources, 0, int(net.meters.window[1])),
        np.zeros((len(net.staged_packets),) * 2, np.bool_),
    )
    for to, sends in enumerate(pairs.T):
        mark_senders(senders, to, sends)
    return pairs
