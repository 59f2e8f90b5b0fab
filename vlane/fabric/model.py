"""A fabric as a subnet manager programmed it: nodes, cables and every table of every port."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from vlane.fabric.dump import Remarks
from vlane.fabric.path_table import PathSLs
from vlane.fabric.sl2vl_tables import SL2VLTables
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable
from vlane.tables.sl2vl import VL_DROP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vlane.fabric.dumps.opensm_conf import OpenSMConf
    from vlane.fabric.dumps.portinfo import PortInfo

__all__ = ["Fabric", "Kind", "Location", "Node", "Port", "ProgrammedVLArb"]


class Kind(Enum):
    """Kind of a node; the value is the letter before the node's GUID in ibnetdiscover."""

    SWITCH = "S"
    CA = "H"
    ROUTER = "R"


class Port(NamedTuple):
    """A port of a node.

    Parameters
    ----------
    guid : int
        GUID of the node.
    number : int
        Port number, from 1; 0 is a switch's management port.
    """

    guid: int
    number: int


@dataclass(slots=True)
class Node:
    """A switch, channel adapter or router.

    Parameters
    ----------
    guid : int
        Node GUID.
    kind : Kind
        Switch, channel adapter or router.
    name : str
        Node description, or the name of the node-name-map.
    ports : int
        External ports.
    links : dict of int to Port
        The far end of each cabled port.
    lids : dict of int to int
        Base LID by port; a switch has one, of port 0. A port without a LID has no entry.
    lmc : dict of int to int
        LMC by port.
    rates : dict of int to str
        Rate of each cabled port, such as ``EDR 4X``, where the topology names it.
    device : str
        Device of a channel adapter that belongs to no host, such as ``aggregation node``; otherwise empty.
    """

    guid: int
    kind: Kind
    name: str
    ports: int
    links: dict[int, Port] = field(default_factory=dict)
    lids: dict[int, int] = field(default_factory=dict)
    lmc: dict[int, int] = field(default_factory=dict)
    rates: dict[int, str] = field(default_factory=dict)
    device: str = ""

    @property
    def is_host(self) -> bool:
        """Whether the node is a channel adapter of a host."""
        return self.kind is Kind.CA and not self.device

    @property
    def without_lid(self) -> list[int]:
        """Cabled ports that have no LID: they cannot send or receive."""
        if self.kind is Kind.SWITCH:
            return []
        return [number for number in sorted(self.links) if number not in self.lids]

    def owned_lids(self) -> Iterator[tuple[int, Port]]:
        """Yield every LID of the node, LMC copies included, with the port that owns it."""
        for number, base in self.lids.items():
            for lid in range(base, base + (1 << self.lmc.get(number, 0))):
                yield lid, Port(self.guid, number)


class Location(NamedTuple):
    """A port, identified in every way that other tools use.

    Parameters
    ----------
    node : str
        Node description.
    guid : int
        GUID of the node.
    lid : int or None
        LID of the port, of a switch that of the switch.
    port : int
        Port number.
    """

    node: str
    guid: int
    lid: int | None
    port: int


class ProgrammedVLArb(NamedTuple):
    """Arbitration lists as a port returned them.

    Parameters
    ----------
    high, low : tuple of VLArbEntry
        All entries of the port's capacity.
    high_cap, low_cap : int
        Its capacities.
    """

    high: tuple[VLArbEntry, ...]
    low: tuple[VLArbEntry, ...]
    high_cap: int
    low_cap: int


@dataclass
class Fabric:
    """A captured fabric; it must not be changed once it is used.

    Parameters
    ----------
    name : str
        Name of the folder.
    nodes : dict of int to Node
        Nodes by GUID.
    topology_file : str
        Name of the file that gave nodes and cables.
    lfts : dict of int to bytes
        Output port by DLID, of each switch; 255 and LIDs past the end are unassigned.
    sl2vl : SL2VLTables
        By (GUID, input, output) of a switch; (GUID, 0, port) of an adapter.
    vlarb : dict of Port to ProgrammedVLArb
        Tables by port; equal tables share one object.
    path_sls : PathSLs
        SL by (SLID, DLID).
    conf : OpenSMConf or None
        Options of the subnet manager.
    port_infos : dict of Port to PortInfo
        PortInfo by port, as far as it was captured.
    notes : list of str
        Assumptions made where no file gave the value.
    remarks : Remarks
        Observations of the readers.
    """

    name: str
    nodes: dict[int, Node]
    topology_file: str = "ibnetdiscover.txt"
    lfts: dict[int, bytes] = field(default_factory=dict)
    sl2vl: SL2VLTables = field(default_factory=SL2VLTables)
    vlarb: dict[Port, ProgrammedVLArb] = field(default_factory=dict)
    path_sls: PathSLs = field(default_factory=PathSLs)
    conf: OpenSMConf | None = None
    port_infos: dict[Port, PortInfo] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    remarks: Remarks = field(default_factory=Remarks)

    def of_kind(self, kind: Kind) -> list[Node]:
        """Return the nodes of a kind, by GUID."""
        return sorted((n for n in self.nodes.values() if n.kind is kind), key=lambda node: node.guid)

    @property
    def hosts(self) -> list[Node]:
        """Channel adapters of hosts, by GUID."""
        return [node for node in self.of_kind(Kind.CA) if node.is_host]

    @property
    def devices(self) -> list[Node]:
        """Channel adapters that belong to no host, by GUID."""
        return [node for node in self.of_kind(Kind.CA) if not node.is_host]

    @property
    def cables(self) -> int:
        """Number of cables between two ports of the fabric."""
        return sum(len(node.links) for node in self.nodes.values()) // 2

    @cached_property
    def cabled(self) -> tuple[Port, ...]:
        """Every port with a cable, in order."""
        return tuple(sorted(Port(node.guid, number) for node in self.nodes.values() for number in node.links))

    @cached_property
    def data_vls(self) -> int:
        """Operational data lanes: from PortInfo, else as many as the tables name."""
        if self.port_infos:
            return max(info.vls for info in self.port_infos.values())
        tables = {id(table): table for table in self.vlarb.values()}.values()
        named = {e.vl for table in tables for e in table.high + table.low if e.weight}
        named |= {vl for row in self.sl2vl.different() for vl in row if vl != VL_DROP}
        return next(count for count in (1, 2, 4, 8, 15) if count > max(named, default=0) or count == 15)

    def data_vls_of(self, port: Port) -> int:
        """Return the operational data lanes of one port."""
        info = self.port_infos.get(port)
        return self.data_vls if info is None else info.vls

    @cached_property
    def mtu(self) -> int:
        """Largest MTU that PortInfo names, in bytes, which is taken of ports that it does not; 0 without any."""
        return max((info.mtu for info in self.port_infos.values()), default=0)

    def mtu_of(self, port: Port) -> int:
        """Return the MTU of one port, in bytes; 0 if it is not known of any."""
        info = self.port_infos.get(port)
        return info.mtu if info is not None and info.mtu else self.mtu

    @cached_property
    def configured_limits(self) -> dict[Kind, tuple[int, str]]:
        """LimitOfHighPriority by ``opensm.conf`` and its source, for each kind of node; 0 without a file or QoS."""
        conf, found = self.conf, {}
        for kind in Kind:
            option = conf.configured(kind).limit_option() if conf and conf.qos else None
            source = f"{conf.file}:{option.line} {option.name}" if conf and option else "OpenSM's default"
            found[kind] = conf.limit(kind) if conf and conf.qos else 0, source
        return found

    @cached_property
    def held_limits(self) -> dict[Port, int]:
        """LimitOfHighPriority that ports hold by PortInfo; empty if all hold 0, as the ports of simulators do."""
        held = {port: info.high_limit for port, info in self.port_infos.items() if info.high_limit is not None}
        return held if any(held.values()) else {}

    def limit_of(self, port: Port) -> int:
        """Return LimitOfHighPriority of a port: what the port holds, else what is configured for ports of its kind."""
        return self.held_limits.get(port, self.configured_limits[self.nodes[port.guid].kind][0])

    def limit_source(self, port: Port) -> str:
        """Return the source of a port's LimitOfHighPriority: ``PortInfo``, a line of ``opensm.conf`` or the default."""
        if port in self.held_limits:
            return "PortInfo"
        return self.configured_limits[self.nodes[port.guid].kind][1]

    def knows_limit(self, port: Port) -> bool:
        """Return whether the port's LimitOfHighPriority was captured, as the port holds it or as it is configured."""
        return self.conf is not None or port in self.held_limits

    @cached_property
    def _made(self) -> dict[tuple[int, int], VLArbTable]:
        return {}

    def table_of(self, port: Port) -> VLArbTable:
        """Return the port's arbitration table with its limit."""
        lists, limit = self.vlarb[port], self.limit_of(port)
        made = self._made.get((id(lists), limit))  # compared by identity: hashing long lists is slow, and few are alive
        if made is None:
            made = self._made[id(lists), limit] = VLArbTable(lists.high, lists.low, limit)
        return made

    def distinct_tables(self) -> dict[VLArbTable, list[Port]]:
        """Return every different table with the ports that have it, in the order of the first."""
        same: dict[int, tuple[VLArbTable, list[Port]]] = {}
        for port in sorted(self.vlarb):
            table = self.table_of(port)
            same.setdefault(id(table), (table, []))[1].append(port)
        tables: dict[VLArbTable, list[Port]] = {}
        for table, ports in same.values():
            tables.setdefault(table, []).extend(ports)
        return {table: sorted(ports) for table, ports in tables.items()}

    @cached_property
    def _shared_names(self) -> frozenset[str]:
        """Descriptions that several nodes have."""
        counts = Counter(node.name for node in self.nodes.values())
        return frozenset(name for name, count in counts.items() if count > 1)

    def show_node(self, node: Node, number: int = 0) -> str:
        """Return a node as text: its description, with GUID and LID unless no other node has the same description."""
        if not node.name:
            return f"{node.guid:#x}"
        if node.name not in self._shared_names:
            return node.name
        lid = node.lids.get(number, node.lids.get(0))
        return f"{node.name} ({f'LID {lid}, ' if lid is not None else ''}GUID {node.guid:#x})"

    def show(self, port: Port) -> str:
        """Return a port as text for messages."""
        return f"{self.show_node(self.nodes[port.guid], port.number)} port {port.number}"

    def show_all(self, ports: Sequence[Port]) -> str:
        """Return the first port as text, and the number of the others."""
        return self.show(ports[0]) + (f" and {len(ports) - 1} more" if len(ports) > 1 else "")

    def locate(self, port: Port) -> Location:
        """Return name, GUID, LID and number of a port."""
        node = self.nodes[port.guid]
        return Location(node.name, node.guid, node.lids.get(port.number, node.lids.get(0)), port.number)

    def port_of_lid(self) -> dict[int, Port]:
        """Return the port that owns each LID, LMC copies included."""
        return dict(owned for node in self.nodes.values() for owned in node.owned_lids())
