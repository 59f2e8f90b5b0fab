"""VOQsw for a network or a captured fabric: construction of the programmed fabric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.fabric.dumps.portinfo import PortInfo
from vlane.fabric.model import Fabric, Kind, Node, Port, ProgrammedVLArb
from vlane.fabric.path_table import PathSLs
from vlane.fabric.sl2vl_tables import SL2VLTables
from vlane.golden.topologies.routing import Routes
from vlane.golden.topologies.topology import Topology
from vlane.planning.voqsw import VOQswTables
from vlane.planning.voqsw_paths import Paths
from vlane.schedulers.vlarb import VLArbEntry
from vlane.tables.lft import FIRST_MULTICAST, UNASSIGNED

_SWITCH_GUID, _HOST_GUID = 0x200000, 0x100000
_OPERATIONAL = (1, 2, 4, 8, 15)
"""Possible numbers of data VLs of a port (PortInfo.OperationalVLs)."""
_ENTRIES, _WEIGHT, _MTU = 8, 66, 2048
"""Weight of two packets of the MTU, 33 blocks each."""


def as_fabric(topology: Topology, routes: Routes, *, data_vls: int) -> Fabric:
    """Return a topology and its routes as a fabric. All VLs of all ports have equal weights, in the low list.

    GUIDs follow the numbers of switches and hosts; LIDs of switches follow the LIDs of hosts.

    Raises
    ------
    InputError
        If the network needs too many LIDs.
    """
    bits = [(int(count) - 1).bit_length() for count in routes.lids[:, 1]]
    following = max(int(first) + (1 << lmc) for first, lmc in zip(routes.lids[:, 0], bits, strict=True))
    if following + topology.switches > FIRST_MULTICAST:
        problem = f": {following + topology.switches} LIDs exceed the limit of {FIRST_MULTICAST - 1}"
        raise InputError(
            "network", f"one with at most {FIRST_MULTICAST - 1} LIDs", following + topology.switches, problem=problem
        )
    nodes: dict[int, Node] = {}
    for switch in range(topology.switches):
        name = topology.switch_names[switch] if topology.switch_names else f"S{switch}"
        guid = _SWITCH_GUID + switch
        nodes[guid] = Node(guid, Kind.SWITCH, name, topology.ports, lids={0: following + switch}, lmc={0: 0})
    for (switch, port), (other, its_port) in topology.far_ends().items():
        nodes[_SWITCH_GUID + switch].links[port + 1] = Port(_SWITCH_GUID + other, its_port + 1)
    for host, (switch, port) in enumerate(topology.hosts):
        name = topology.host_names[host] if topology.host_names else f"H{host}"
        guid = _HOST_GUID + 2 * host
        adapter = Node(guid, Kind.CA, name, 1, lids={1: int(routes.lids[host, 0])}, lmc={1: bits[host]})
        adapter.links[1] = Port(_SWITCH_GUID + switch, port + 1)
        nodes[guid] = adapter
        nodes[_SWITCH_GUID + switch].links[port + 1] = Port(guid, 1)
    fabric = Fabric(topology.name, nodes)
    for switch in range(topology.switches):
        out = routes.lft[switch].astype(np.int64)
        table = bytearray(np.where(out == UNASSIGNED, UNASSIGNED, out + 1).astype(np.uint8).tobytes())
        table = table.ljust(following + switch, b"\xff") + b"\x00"
        fabric.lfts[_SWITCH_GUID + switch] = bytes(table)
    low = tuple(VLArbEntry(vl, _WEIGHT) for vl in range(data_vls))
    nothing = (VLArbEntry(0, 0),) * _ENTRIES
    entries = max(_ENTRIES, -(-data_vls // _ENTRIES) * _ENTRIES)
    lists = ProgrammedVLArb(nothing, low + (VLArbEntry(0, 0),) * (entries - data_vls), _ENTRIES, entries)
    for node in nodes.values():
        for number in node.links:
            fabric.vlarb[Port(node.guid, number)] = lists
            fabric.port_infos[Port(node.guid, number)] = PortInfo(data_vls, _MTU)
    return fabric


def lanes_for(vls: tuple[int, ...]) -> int:
    """Return the number of operational data VLs needed for a set of VLs."""
    return next(count for count in _OPERATIONAL if count > max(vls))


def programmed(fabric: Fabric, topology: Topology, paths: Paths, tables: VOQswTables) -> Fabric:
    """Return a fabric with other SL2VL tables and path SLs.

    Parameters
    ----------
    fabric : Fabric
        Fabric before the change; SL2VL rows of management ports are kept.
    topology : Topology
        Topology of the fabric, with the numbering of ``from_fabric`` or ``as_fabric``.
    paths, tables
        Paths and tables to program. The SLs of a source's paths apply to every LID of the source.
    """
    switches = [node.guid for node in fabric.of_kind(Kind.SWITCH)]
    adapters = [fabric.nodes[switches[switch]].links[port + 1] for switch, port in topology.hosts]
    sl2vl = SL2VLTables()
    sl2vl.update(fabric.sl2vl)
    for switch, guid in enumerate(switches):
        node = fabric.nodes[guid]
        for source in node.links:
            for to in node.links:
                _put(sl2vl, node, source, to, tables.vl[switch, source - 1, to - 1])
    for host, port in enumerate(adapters):
        _put(sl2vl, fabric.nodes[port.guid], 0, port.number, tables.nic_vl[host])
    sls = PathSLs()
    for source, dlid, sl in zip(*(each.tolist() for each in (paths.source, paths.dlid, tables.path_sl)), strict=True):
        first, count = paths.cabled.lids[source].tolist()
        for slid in range(first, first + count):
            sls.put(slid, dlid, sl)
    return replace(fabric, sl2vl=sl2vl, path_sls=sls)


def _put(sl2vl: SL2VLTables, node: Node, source: int, to: int, row: NDArray[np.uint8]) -> None:
    sl2vl.put(node.guid, node.ports, source, to, sl2vl.number_of(tuple(row.tolist())))
