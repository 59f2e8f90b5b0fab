"""Ports by LID or directed route, as the headings of dumps name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlane.errors import InputError
from vlane.fabric.model import Kind, Node, Port

if TYPE_CHECKING:
    from pathlib import Path

    from vlane.documents.textfile import TextFile

ADDRESS = (
    r"(?=Lid |DR path )(?:Lid ([0-9]{1,9})(?: Gid [0-9a-fA-F:.]{2,45})?)? ?"
    r"(?:DR path slid [0-9]{1,9}; dlid [0-9]{1,9}; ([0-9]{1,3}(?:,[0-9]{1,3}){0,63}))?"
)
"""Regular expression for the address of a port, as libibmad prints it; groups: LID, ports of the directed route."""

_NO_LIDS = (0, 0xFFFF)


class LidBook:
    """Ports by LID, LMC copies included.

    Parameters
    ----------
    nodes : dict of int to Node
        Nodes by GUID.
    source : Path
        File from which they were read.
    initiator : int
        GUID of the node from which directed routes start; 0 if it is not known.

    Raises
    ------
    InputError
        If two ports claim one LID.
    """

    def __init__(self, nodes: dict[int, Node], source: Path, initiator: int = 0) -> None:
        self._nodes, self._initiator, self._source = nodes, initiator, source.name
        self._owners: dict[int, Port] = {}
        for node in nodes.values():
            for lid, port in node.owned_lids():
                if lid in self._owners:
                    other = nodes[self._owners[lid].guid].name
                    got = f"assigned to {other} and {node.name}"
                    raise InputError(f"LID {lid}", "unique", got, source=str(source))
                self._owners[lid] = port

    def owner(self, dump: TextFile, lid: str) -> Port:
        """Return the port that owns a LID of the current line. An unknown LID is an error."""
        owner = self._owners.get(int(lid))
        if owner is None:
            if int(lid) in _NO_LIDS:
                dump.refuse("LID", "an assigned LID (a port without a LID is addressed by a directed route)", lid)
            dump.refuse("LID", f"assigned to a port in {self._source}", lid)
        return owner

    def addressed(self, dump: TextFile, lid: str | None, route: str | None) -> Port:
        """Return the port of an ``ADDRESS`` in the current line: the owner of the LID, or the end of the route."""
        if route is None:
            return self.owner(dump, lid or "")
        if lid is None and self._initiator not in self._nodes:
            must = "from a known node ('Initiated from node' in the output of ibnetdiscover), or a LID"
            dump.refuse("directed route", must, route)
        at = self.owner(dump, lid) if lid is not None else Port(self._initiator, 0)
        for step in map(int, route.split(",")[1:]):
            far = self._nodes[at.guid].links.get(step)
            if far is None:
                name = self._nodes[at.guid].name or hex(at.guid)
                must, problem = f"along cables of {self._source}", f"{route}: no cable at {name} port {step}"
                dump.refuse("directed route", must, route, problem=problem)
            at = far
        node = self._nodes[at.guid]
        if node.kind is Kind.SWITCH:
            return Port(node.guid, 0)
        return at if at.number else Port(node.guid, min(node.links, default=1))

    def port(self, dump: TextFile, owner: Port, number: str) -> Port:
        """Return a port of an addressed port's node. Number 0 means the addressed port."""
        value = dump.number("port", number, 0, self._nodes[owner.guid].ports)
        return Port(owner.guid, value or owner.number)

    def ports(self, owner: Port) -> int:
        """Return the number of external ports of a port's node."""
        return self._nodes[owner.guid].ports

    def show(self, port: Port) -> str:
        """Return a port as text."""
        return f"{self._nodes[port.guid].name or hex(port.guid)} port {port.number}"
