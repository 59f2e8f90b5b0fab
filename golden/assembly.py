"""A network put together: topology, routes, buffers, schedulers and traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from vlane.golden.central import INNER_FLITS, READERS
from vlane.golden.fifo_switch import new_fifo_switches
from vlane.golden.ib_switch import new_ib_switches
from vlane.golden.inputs import port_bits_for
from vlane.golden.links import new_links
from vlane.golden.meters import Meters
from vlane.golden.network import NOWHERE, Network, Wiring
from vlane.golden.opa_switch import OPA_PORTS, OPASwitches, mports_of, new_opa_switches
from vlane.golden.packets import NOBODY
from vlane.golden.room import Rooms, new_rooms
from vlane.golden.routing import ChannelRoutes, Routes
from vlane.golden.schedulers import Write, install, new_bank, new_scheduler
from vlane.golden.sources import CLASS_SL, PATH_SL, WITH_SL, Sources
from vlane.golden.switches import Switches
from vlane.golden.topology import Topology

from vlane.errors import InputError
from vlane.lft import UNASSIGNED
from vlane.units import BLOCK_BYTES

__all__ = ["Buffers", "PortSettings", "assemble"]


@dataclass(frozen=True)
class Buffers:
    """Sizes of the buffers, in 64-byte blocks.

    Parameters
    ----------
    blocks : int
        Each of the input and output buffers of switches and NICs.
    minimum, maximum : tuple of int
        Guaranteed to and allowed for each lane.
    largest : tuple of int
        Blocks of the largest packet of each lane.

    Raises
    ------
    InputError
        If a minimum cannot hold the largest packet, or the minima do not fit.
    """

    blocks: int
    minimum: tuple[int, ...]
    maximum: tuple[int, ...]
    largest: tuple[int, ...]

    def __post_init__(self) -> None:
        if sum(self.minimum) > self.blocks:
            raise InputError("buffer_blocks", f"at least {sum(self.minimum)}, the minima of all VLs", self.blocks)
        for lane, (least, most, packet) in enumerate(zip(self.minimum, self.maximum, self.largest, strict=True)):
            if least < packet:
                raise InputError(f"minimum_blocks of VL {lane}", f"at least {packet}, its largest packet", least)
            if not least <= most <= self.blocks - sum(self.minimum) + least:
                must = f"{least} to {self.blocks - sum(self.minimum) + least}, what the other minima leave"
                raise InputError(f"maximum_blocks of VL {lane}", must, most)

    def rooms(self, count: int) -> Rooms:
        """Return so many such buffers, empty."""
        return new_rooms(buffers=count, blocks=self.blocks, minimum=self.minimum, maximum=self.maximum)


@dataclass(frozen=True)
class PortSettings:
    """The egress scheduler of every port.

    Parameters
    ----------
    scheduler : str
        One of ``SCHEDULERS``.
    parameters : dict
        Of the component, apart from lanes.
    writes : sequence of (select, index, requester or VL, weight)
        What its program port is told, at every port alike.
    of_port : dict of (int, int) to writes
        Ports of switches that are told something else, by (switch, port).
    of_nic : dict of int to writes
        NICs that are.
    """

    scheduler: str
    parameters: dict[str, Any] = field(default_factory=dict)
    writes: Sequence[Write] = ()
    of_port: dict[tuple[int, int], Sequence[Write]] = field(default_factory=dict)
    of_nic: dict[int, Sequence[Write]] = field(default_factory=dict)


def assemble(
    topology: Topology,
    routes: Routes | ChannelRoutes,
    buffers: Buffers,
    settings: PortSettings,
    sources: Sources,
    meters: Meters,
    *,
    allocation: str = "turns",
    central: Buffers | None = None,
    flight: int = 1,
    flit_bytes: int = 64,
    patience: int = 100_000,
) -> Network:
    """Return a network at rest, before cycle 0.

    Parameters
    ----------
    routes : Routes or ChannelRoutes
        Tables of InfiniBand or Omni-Path switches; they say which kind it is.
    allocation : str
        Of InfiniBand switches: ``turns`` (rules S2 to S4) or ``fifo`` (Q1 to Q3).
    central : Buffers
        Of the central buffers of Omni-Path switches; as all others if left out.
    flight : int
        Cycles that every cable takes, 1 to 64.
    flit_bytes : int
        8, 16, 32 or 64.
    patience : int
        Cycles without any movement after which it is called stuck.
    """
    lanes, bits = len(buffers.largest), port_bits_for(topology.ports)
    groups = topology.switches + -(-len(topology.hosts) >> bits)
    ends = groups << bits
    _check_tables(topology, routes)
    _check_lanes(routes, sources, lanes)
    state = new_scheduler(settings.scheduler, data_vls=lanes, writes=settings.writes, **settings.parameters)
    bank = new_bank(state, ends)
    own = {(switch << bits) + port: writes for (switch, port), writes in settings.of_port.items()}
    own |= {(topology.switches << bits) + nic: writes for nic, writes in settings.of_nic.items()}
    for end, writes in own.items():
        state = new_scheduler(settings.scheduler, data_vls=lanes, writes=writes, **settings.parameters)
        install(bank, end, state)
    switches = _switches(topology, routes, central or buffers, allocation)
    links = new_links(
        buffer=buffers.rooms(ends), far=buffers.rooms(ends), bank=bank, largest=buffers.largest, flight=flight,
        flit_shift=(BLOCK_BYTES // flit_bytes).bit_length() - 1,
        inner_flits=INNER_FLITS if isinstance(switches, OPASwitches) else 1,
    )  # fmt: skip
    return Network(
        _wiring(topology, routes, ends, flight), switches, links, sources, meters,
        np.full(sources.due.shape, NOBODY, np.int64), np.zeros(groups, np.int64),
        np.zeros((topology.ports + READERS * mports_of(topology.ports), 3), np.int64), np.zeros(2, np.int64),
        flit_bytes, patience,
    )  # fmt: skip


def _switches(topology: Topology, routes: Routes | ChannelRoutes, central: Buffers, allocation: str) -> Switches:
    if isinstance(routes, Routes):
        tables: dict[str, Any] = {"lft": routes.lft, "vl": routes.vl, "by_lane": routes.by_lane}
        if allocation == "fifo":
            return new_fifo_switches(lanes=len(central.largest), **tables)
        return new_ib_switches(lanes=len(central.largest), **tables)
    if topology.ports > OPA_PORTS:
        raise InputError("ports", f"up to {OPA_PORTS} of an Omni-Path switch", topology.ports)
    rooms = central.rooms(topology.switches * mports_of(topology.ports))
    return new_opa_switches(central=rooms, lft=routes.lft, sc2sc=routes.sc2sc, sc2vl=routes.sc2vl)


def _wiring(topology: Topology, routes: Routes | ChannelRoutes, ends: int, flight: int) -> Wiring:
    bits, hosts = port_bits_for(topology.ports), len(topology.hosts)
    inputs = topology.switches << bits
    far, sender = np.full(ends, NOWHERE, np.int64), np.full(inputs, NOWHERE, np.int64)
    feeder = np.zeros(hosts, np.int64)
    for (switch, port), (other, other_port) in topology.far_ends().items():
        far[(switch << bits) + port] = (other << bits) + other_port
        sender[(other << bits) + other_port] = (switch << bits) + port
    for host, (switch, port) in enumerate(topology.hosts):
        at = (switch << bits) + port
        far[at], far[inputs + host] = -1 - host, at
        sender[at], feeder[host] = inputs + host, at
    channel = routes.nic_channel if isinstance(routes, ChannelRoutes) else np.zeros_like(routes.nic_vl)
    return Wiring(far, sender, feeder, np.full(ends, flight, np.int64), routes.nic_vl, channel)


def _check_tables(topology: Topology, routes: Routes | ChannelRoutes) -> None:
    """Refuse a forwarding table that names a port without a cable."""
    cabled = np.zeros((topology.switches, UNASSIGNED + 1), np.bool_)
    cabled[:, UNASSIGNED] = True
    for switch, port in (*topology.far_ends(), *topology.hosts):
        cabled[switch, port] = True
    wrong = np.argwhere(~np.take_along_axis(cabled, routes.lft.astype(np.int64), axis=1))
    if len(wrong):
        switch, lid = map(int, wrong[0])
        raise InputError(f"LFT of switch {switch}, LID {lid}", "a cabled port", int(routes.lft[switch, lid]))


def _check_lanes(routes: Routes | ChannelRoutes, sources: Sources, lanes: int) -> None:
    """Refuse traffic on a service level that a NIC has no lane for."""
    levels = {*sources.setting[:, CLASS_SL].tolist(), *sources.trace[:, WITH_SL].tolist(), *sources.path_sl.flat}
    for sl in sorted(int(level) for level in levels if level != PATH_SL):
        if int(routes.nic_vl[:, sl].max()) >= lanes:
            raise InputError(f"VL of SL {sl} at a NIC", f"0 to {lanes - 1}", int(routes.nic_vl[:, sl].max()))
