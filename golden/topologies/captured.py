"""Conversion of a captured fabric to a topology with its programmed tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.fabric.model import Fabric, Kind, Port
from vlane.golden.topologies.routing import Routes
from vlane.golden.topologies.topology import Topology
from vlane.schedulers.vlarb import VLArbTable
from vlane.tables.lft import UNASSIGNED
from vlane.tables.sl2vl import SL_COUNT, VL_DROP


@dataclass(frozen=True)
class Captured:
    """A captured fabric as a simulation model.

    Parameters
    ----------
    topology : Topology
        Switches in order of GUID, hosts in order of LID. Adapters without a host, routers, and ports without a LID are
        left out.
    routes : Routes
        Forwarding and SL2VL tables.
    path_sl : array of int16, (hosts, hosts)
        SL of each path.
    data_vls : int
        Largest number of data lanes of a switch port.
    vlarb : dict of (int, int) to VLArbTable
        Programmed VL arbitration tables of switch ports, by (switch, port).
    host_vlarb : dict of int to VLArbTable
        Programmed tables of hosts.
    rates : dict of (int, int) to str
        Captured rate of each cable, such as ``EDR 4X``, by the (switch, port) of its first end; empty if unknown.
    """

    topology: Topology
    routes: Routes
    path_sl: NDArray[np.int16]
    data_vls: int
    vlarb: dict[tuple[int, int], VLArbTable]
    host_vlarb: dict[int, VLArbTable]
    rates: dict[tuple[int, int], str]


def from_fabric(fabric: Fabric) -> Captured:
    """Return a fabric as a topology with tables.

    Raises
    ------
    InputError
        If the fabric has no switch, or is no valid topology (``Topology``).
    """
    switches = sorted(node.guid for node in fabric.nodes.values() if node.kind is Kind.SWITCH)
    if not switches:
        raise InputError("fabric", "one with switches", fabric.name, problem=f": {fabric.name} has no switches")
    numbers = {guid: number for number, guid in enumerate(switches)}
    ports = max(fabric.nodes[guid].ports for guid in switches)
    cables, hosts, rates = [], [], {}
    for guid in switches:
        for port, far in sorted(fabric.nodes[guid].links.items()):
            end = (numbers[guid], port - 1)
            if far.guid in numbers:
                other = (numbers[far.guid], far.number - 1)
                if end < other:
                    cables.append((end, other))
                    rates[end] = fabric.nodes[guid].rates.get(port, fabric.nodes[far.guid].rates.get(far.number, ""))
            elif fabric.nodes[far.guid].is_host and far.number in fabric.nodes[far.guid].lids:
                hosts.append((fabric.nodes[far.guid].lids[far.number], far, end))
                rates[end] = fabric.nodes[far.guid].rates.get(far.number, fabric.nodes[guid].rates.get(port, ""))
    hosts.sort()
    topology = Topology(
        fabric.name,
        len(switches),
        ports,
        tuple(cables),
        tuple(end for _, _, end in hosts),
        switch_names=tuple(fabric.nodes[guid].name for guid in switches),
        host_names=tuple(fabric.nodes[far.guid].name for _, far, _ in hosts),
    )
    adapters = [adapter for _, adapter, _ in hosts]
    lids = np.array([(lid, 1 << fabric.nodes[far.guid].lmc.get(far.number, 0)) for lid, far, _ in hosts], np.int64)
    path_sl = np.zeros((len(hosts), len(hosts)), np.int16)
    for source, (slid, _, _) in enumerate(hosts):
        for to, (dlid, _, _) in enumerate(hosts):
            path_sl[source, to] = fabric.path_sls.get((slid, dlid), 0)
    lft = np.full((len(switches), int(lids.sum(axis=1).max()) + 1), UNASSIGNED, np.uint8)
    cabled = {*topology.far_ends(), *topology.hosts}
    for guid, table in fabric.lfts.items():
        for lid, port in enumerate(table[: lft.shape[1]]):
            if guid in numbers and (numbers[guid], port - 1) in cabled:
                lft[numbers[guid], lid] = port - 1
    routes = Routes(lft, _vl(fabric, switches, ports), _nic_vl(fabric, adapters), lids)
    data_vls = max(fabric.data_vls_of(Port(guid, port)) for guid in switches for port in fabric.nodes[guid].links)
    ports_with_tables = [port for port in fabric.vlarb if port.number]
    vlarb = {
        (numbers[port.guid], port.number - 1): fabric.table_of(port)
        for port in ports_with_tables
        if port.guid in numbers
    }
    host_vlarb = {adapters.index(port): fabric.table_of(port) for port in ports_with_tables if port in adapters}
    return Captured(topology, routes, path_sl, data_vls, vlarb, host_vlarb, rates)


def _row(fabric: Fabric, guid: int, source: int, output_port: int) -> list[int]:
    """Return a row of VLs by SL, or SL modulo the number of data lanes if no row was captured."""
    row = fabric.sl2vl.get((guid, source, output_port))
    lanes = fabric.data_vls_of(Port(guid, output_port))
    return list(row) if row else [sl % lanes for sl in range(SL_COUNT)]


def _vl(fabric: Fabric, switches: list[int], ports: int) -> NDArray[np.uint8]:
    table = np.full((len(switches), ports, ports, SL_COUNT), VL_DROP, np.uint8)
    for number, guid in enumerate(switches):
        for source in fabric.nodes[guid].links:
            for to in fabric.nodes[guid].links:
                table[number, source - 1, to - 1] = _row(fabric, guid, source, to)
    return table


def _nic_vl(fabric: Fabric, adapters: list[Port]) -> NDArray[np.uint8]:
    return np.array([_row(fabric, port.guid, 0, port.number) for port in adapters], np.uint8)
