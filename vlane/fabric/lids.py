"""Owners of LIDs: the dumps name ports by LID and number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlane.errors import InputError
from vlane.fabric.model import Node, Port

if TYPE_CHECKING:
    from pathlib import Path

    from vlane.documents.textfile import TextFile


class LidBook:
    """Ports by LID, LMC copies included.

    Parameters
    ----------
    nodes : dict of int to Node
        Nodes by GUID.
    source : Path
        File from which they were read.

    Raises
    ------
    InputError
        If two ports claim one LID.
    """

    def __init__(self, nodes: dict[int, Node], source: Path) -> None:
        self._nodes = nodes
        self._owners: dict[int, Port] = {}
        for node in nodes.values():
            for lid, port in node.owned_lids():
                if lid in self._owners:
                    other = nodes[self._owners[lid].guid].name
                    raise InputError(f"LID {lid}", "of one port", f"of {other} and {node.name}", source=str(source))
                self._owners[lid] = port

    def owner(self, dump: TextFile, lid: str) -> Port:
        """Return the port that owns a LID of the current line; an unknown LID is an error."""
        owner = self._owners.get(int(lid))
        if owner is None:
            dump.refuse("LID", "of a port in ibnetdiscover", lid)
        return owner

    def port(self, dump: TextFile, lid: str, number: str) -> Port:
        """Return a port of the node with a LID; 0 is the port that has the LID."""
        owner = self.owner(dump, lid)
        value = dump.number("port", number, 0, self._nodes[owner.guid].ports)
        return Port(owner.guid, value or owner.number)

    def ports(self, owner: Port) -> int:
        """Return how many external ports a port's node has."""
        return self._nodes[owner.guid].ports
