"""A fabric as a subnet manager programmed it: nodes, cables and every table of every port."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from vlane.fabric.path_table import PathSLs
from vlane.fabric.sl2vl_tables import SL2VLTables
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable
from vlane.tables.sl2vl import VL_DROP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vlane.fabric.dumps.opensm_conf import OpenSMConf
    from vlane.fabric.dumps.portinfo import PortInfo
    from vlane.fabric.missing import Missing

__all__ = ["Fabric", "Kind", "Node", "Port", "ProgrammedVLArb"]


class Kind(Enum):
    """Kind of a node; the value is the letter before its GUID in ibnetdiscover."""

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
        What it is.
    name : str
        Node description.
    ports : int
        External ports.
    links : dict of int to Port
        The far end of each cabled port.
    lids : dict of int to int
        Base LID by port; a switch has one, of port 0.
    lmc : dict of int to int
        LMC by port.
    """

    guid: int
    kind: Kind
    name: str
    ports: int
    links: dict[int, Port] = field(default_factory=dict)
    lids: dict[int, int] = field(default_factory=dict)
    lmc: dict[int, int] = field(default_factory=dict)

    def owned_lids(self) -> Iterator[tuple[int, Port]]:
        """Yield every LID of the node, LMC copies included, with the port that owns it."""
        for number, base in self.lids.items():
            for lid in range(base, base + (1 << self.lmc.get(number, 0))):
                yield lid, Port(self.guid, number)


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
    """Everything that was captured; it must not be changed once it is used.

    Parameters
    ----------
    name : str
        Name of the folder.
    nodes : dict of int to Node
        Nodes by GUID.
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
    missing : list of Missing
        What cannot be checked because a file or part of it is missing.
    """

    name: str
    nodes: dict[int, Node]
    lfts: dict[int, bytes] = field(default_factory=dict)
    sl2vl: SL2VLTables = field(default_factory=SL2VLTables)
    vlarb: dict[Port, ProgrammedVLArb] = field(default_factory=dict)
    path_sls: PathSLs = field(default_factory=PathSLs)
    conf: OpenSMConf | None = None
    port_infos: dict[Port, PortInfo] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    def of_kind(self, kind: Kind) -> list[Node]:
        """Return the nodes of a kind, by GUID."""
        return sorted((n for n in self.nodes.values() if n.kind is kind), key=lambda node: node.guid)

    @property
    def cables(self) -> int:
        """Cables between two ports of the fabric."""
        return sum(len(node.links) for node in self.nodes.values()) // 2

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
    def _limits(self) -> dict[Kind, int]:
        conf = self.conf
        return {kind: 0 if conf is None or not conf.qos else conf.limit(kind) for kind in Kind}

    def limit_of(self, port: Port) -> int:
        """Return LimitOfHighPriority as configured for the port's type; 0, OpenSM's default, without a file or QoS."""
        return self._limits[self.nodes[port.guid].kind]

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

    def show(self, port: Port) -> str:
        """Return a port as text for messages."""
        node = self.nodes[port.guid]
        return f"{node.name or hex(node.guid)} port {port.number}"

    def show_all(self, ports: list[Port]) -> str:
        """Return the first port as text, and the number of the others."""
        return self.show(ports[0]) + (f" and {len(ports) - 1} more" if len(ports) > 1 else "")

    def port_of_lid(self) -> dict[int, Port]:
        """Return the port that owns each LID, LMC copies included."""
        return dict(owned for node in self.nodes.values() for owned in node.owned_lids())
