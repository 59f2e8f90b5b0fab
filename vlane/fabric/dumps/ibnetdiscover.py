"""Reader of ``ibnetdiscover``: nodes, cables, LIDs, rates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.errors import InputError
from vlane.fabric.dump import Dump, Remarks
from vlane.fabric.model import Kind, Node, Port
from vlane.fabric.topology import MAX_LID, MAX_PORT, Topology, check_cables, connect, device_of, lid_of, rate_name

if TYPE_CHECKING:
    from pathlib import Path

# A description may contain quotes: it ends at the last quote of the line.
_NODE = re.compile(r'(?:Switch|Ca|Rt)\s+([0-9]{1,9})\s+"([SHR])-([0-9a-fA-F]{1,16})"\s*(?:#\s*"(.*)"([^"]*))?$')
# [port][ext n](port GUID) "X-far GUID"[far port][ext n] (far port GUID) # comment
# Only ports of adapters have a port GUID, so a cable between two adapters has both.
_LINK = re.compile(
    r"\[([0-9]{1,9})\](?:\[ext [0-9]{1,5}\])?(?:\([0-9a-fA-F]+\))?\s+"
    r'"[SHR]-([0-9a-fA-F]{1,16})"\[([0-9]{1,9})\](?:\[ext [0-9]{1,5}\])?(?:\s?\([0-9a-fA-F]+\))?\s*(?:#(.*))?$'
)
_LID = re.compile(r"\blid ([0-9]{1,9})")
_LMC = re.compile(r"\blmc ([0-9]{1,9})")
_DEVICE = re.compile(r"devid=0x([0-9a-fA-F]{1,8})\b")
_INITIATOR = re.compile(r"# Initiated from node (?:0x)?([0-9a-fA-F]{1,16})\b")
_HEADINGS = (
    "vendid=",
    "devid=",
    "sysimgguid=",
    "switchguid=",
    "caguid=",
    "rtguid=",
    "Chassis ",
    "Non-Chassis Nodes",
    "Hostname:",
    "$ ",
)


def read_ibnetdiscover(path: Path, remarks: Remarks | None = None) -> Topology:
    """Return the nodes of a fabric. Headings of ``ibnetdiscover -g`` and external port numbers are ignored.

    A later description of a node replaces an earlier description. A port with LID 0 or 65535, or without a comment,
    has no LID.

    Raises
    ------
    InputError
        For a line of unknown form, two different cables at one port, and a cable with only one end described, as in a
        truncated file.
    """
    dump = Dump(path, remarks)
    reader = _Reader(dump)
    for line in dump:
        text = line.strip()
        if found := _LINK.match(text):
            reader.link(text, *found.groups())
        elif found := _NODE.match(text):
            reader.node(*found.groups())
        elif found := _DEVICE.match(text):
            reader.device_id = int(found.group(1), 16)
        elif found := _INITIATOR.match(text):
            reader.initiator = int(found.group(1), 16)
        elif not (text.startswith(("#", *_HEADINGS)) or dump.is_noise(line)):
            dump.refuse("line", "a node, a port or a header of ibnetdiscover", text)
    if not reader.nodes:
        raise InputError(
            "content",
            "an ibnetdiscover dump with at least one node",
            "a file without nodes",
            source=str(path),
            problem=": no node found; expected the output of ibnetdiscover",
        )
    reader.end()
    check_cables(reader.nodes, reader.lines, path)
    return Topology(reader.nodes, reader.initiator)


class _Reader:
    """Parser state: complete nodes and the current node."""

    def __init__(self, dump: Dump) -> None:
        self._dump = dump
        self.nodes: dict[int, Node] = {}
        self.lines: dict[Port, int] = {}
        self.initiator = self.device_id = 0
        self._current: Node | None = None
        self._replaced: list[tuple[Node, Node]] = []

    def node(self, ports: str, letter: str, guid: str, name: str | None, rest: str | None) -> None:
        """Read the line of a node."""
        dump = self._dump
        node = Node(int(guid, 16), Kind(letter), name or "", dump.number("ports", ports, 1, MAX_PORT))
        if node.kind is Kind.SWITCH and (found := _LID.search(rest or "")):
            lmc = _LMC.search(rest or "")
            self._set_lid(node, 0, found.group(1), lmc.group(1) if lmc else "0")
        if node.kind is Kind.CA:
            node.device = device_of(node.name, self.device_id)
        if node.guid in self.nodes:
            self._replaced.append((self.nodes[node.guid], node))
        self.nodes[node.guid] = self._current = node
        self.device_id = 0

    def end(self) -> None:
        """Record the replaced descriptions of nodes."""
        for before, after in self._replaced:
            self._dump.replace(after.name or f"{after.guid:#x}", differs=before != after)

    def link(self, text: str, port: str, guid: str, far: str, comment: str | None) -> None:
        """Read the line of a port."""
        dump, node = self._dump, self._current
        if node is None:
            dump.refuse("first line of a block", "the description of a node", text)
        number = dump.number("port", port, 1, node.ports)
        connect(node, number, Port(int(guid, 16), dump.number("far port", far, 1, MAX_PORT)), dump.refuse)
        if comment is not None and (rate := rate_name(comment.rpartition('"')[2])):
            node.rates[number] = rate
        if node.kind is not Kind.SWITCH and comment is not None:
            lid = re.match(r"\s*lid ([0-9]{1,9})(?:\s+lmc ([0-9]{1,9}))?", comment)
            if not lid:
                dump.refuse("comment", "the LID and LMC of an adapter port, such as lid 4 lmc 0", comment.strip())
            self._set_lid(node, number, lid.group(1), lid.group(2) or "0")
        self.lines[Port(node.guid, number)] = dump.line

    def _set_lid(self, node: Node, number: int, lid: str, lmc: str) -> None:
        if lid_of(int(lid)) is not None:
            node.lids[number] = self._dump.number("lid", lid, 1, MAX_LID)
            node.lmc[number] = self._dump.number("lmc", lmc, 0, 7)
