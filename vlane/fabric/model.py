"""A fabric as a subnet manager left it: nodes, cables and every table of every port."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from vlane.vlarb import VLArbEntry, VLArbTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vlane.fabric.opensm_conf import OpenSMConf

__all__ = ["Fabric", "Kind", "Node", "Port", "ProgrammedVLArb", "SL2VLRow"]

SL2VLRow = tuple[int, ...]
"""Sixteen lanes, indexed by SL; 15 drops."""

DROP_VL = 15


class Kind(Enum):
    """What a node is; the value is the letter before its GUID in ibnetdiscover."""

    SWITCH = "S"
    CA = "H"
    ROUTER = "R"


class Port(NamedTuple):
    """A port of a node.

    Parameters
    ----------
    guid : int
        Of the node.
    number : int
        From 1; 0 is a switch's own port.
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
        Its description.
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


@dataclass(slots=True)
class Fabric:
    """Everything that was captured.

    Parameters
    ----------
    name : str
        Of the folder.
    nodes : dict of int to Node
        By GUID.
    lfts : dict of int to dict of int to int
        Output port by DLID, of each switch.
    sl2vl : dict of (int, int, int) to SL2VLRow
        By (GUID, input, output) of a switch; (GUID, 0, port) of an adapter.
    vlarb : dict of Port to ProgrammedVLArb
        By port.
    path_sls : dict of (int, int) to int
        SL by (SLID, DLID).
    conf : OpenSMConf or None
        What the subnet manager was told.
    oper_vls : dict of Port to int
        Operational data lanes of ports whose PortInfo was captured.
    notes : list of str
        Files that are missing and what was assumed instead.
    """

    name: str
    nodes: dict[int, Node]
    lfts: dict[int, dict[int, int]] = field(default_factory=dict)
    sl2vl: dict[tuple[int, int, int], SL2VLRow] = field(default_factory=dict)
    vlarb: dict[Port, ProgrammedVLArb] = field(default_factory=dict)
    path_sls: dict[tuple[int, int], int] = field(default_factory=dict)
    conf: OpenSMConf | None = None
    oper_vls: dict[Port, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def of_kind(self, kind: Kind) -> list[Node]:
        """Return the nodes of a kind, by GUID."""
        return sorted((n for n in self.nodes.values() if n.kind is kind), key=lambda node: node.guid)

    @property
    def cables(self) -> int:
        """Cables between two ports of the fabric."""
        return sum(len(node.links) for node in self.nodes.values()) // 2

    @property
    def data_vls(self) -> int:
        """Operational data lanes: from PortInfo, else as many as the tables name."""
        if self.oper_vls:
            return max(self.oper_vls.values())
        named = [e.vl for table in self.vlarb.values() for e in table.high + table.low if e.weight]
        named += [vl for row in self.sl2vl.values() for vl in row if vl != DROP_VL]
        return next(count for count in (1, 2, 4, 8, 15) if count > max(named, default=0) or count == 15)

    def data_vls_of(self, port: Port) -> int:
        """Return the operational data lanes of one port."""
        return self.oper_vls.get(port, self.data_vls)

    def limit_of(self, port: Port) -> int:
        """Return LimitOfHighPriority as configured for the port's type; 0, OpenSM's default, without a file or QoS."""
        return 0 if self.conf is None or not self.conf.qos else self.conf.limit(self.nodes[port.guid].kind)

    def table_of(self, port: Port) -> VLArbTable:
        """Return the port's arbitration table with its limit."""
        lists = self.vlarb[port]
        return VLArbTable(lists.high, lists.low, self.limit_of(port))

    def distinct_tables(self) -> dict[VLArbTable, list[Port]]:
        """Return every different table with the ports that have it, in the order of the first."""
        tables: dict[VLArbTable, list[Port]] = {}
        for port in sorted(self.vlarb):
            tables.setdefault(self.table_of(port), []).append(port)
        return tables

    def show(self, port: Port) -> str:
        """Return a port as a person names it."""
        node = self.nodes[port.guid]
        return f"{node.name or hex(node.guid)} port {port.number}"

    def port_of_lid(self) -> dict[int, Port]:
        """Return the port that owns each LID, LMC copies included."""
        return dict(owned for node in self.nodes.values() for owned in node.owned_lids())
