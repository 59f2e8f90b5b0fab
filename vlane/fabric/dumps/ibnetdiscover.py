"""Reader of ``ibnetdiscover``: nodes, cables, LIDs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.documents.textfile import TextFile
from vlane.errors import InputError
from vlane.fabric.model import Kind, Node, Port

if TYPE_CHECKING:
    from pathlib import Path

# A description may contain quotes: it ends at the last quote of the line.
_NODE = re.compile(r'(?:Switch|Ca|Rt)\s+([0-9]{1,9})\s+"([SHR])-([0-9a-fA-F]{1,16})"\s*(?:#\s*"(.*)"([^"]*))?$')
_LINK = re.compile(
    r'\[([0-9]{1,9})\](?:\([0-9a-fA-F]+\))?\s+"[SHR]-([0-9a-fA-F]{1,16})"\[([0-9]{1,9})\](?:\([0-9a-fA-F]+\))?\s*(?:#(.*))?$'
)
_LID = re.compile(r"\blid ([0-9]{1,9})")
_LMC = re.compile(r"\blmc ([0-9]{1,9})")
_HEADER = re.compile(r"(?:vendid|devid|sysimgguid|switchguid|caguid|rtguid)=")
_MAX_LID, _MAX_PORT = 0xBFFF, 254


def read_ibnetdiscover(path: Path) -> dict[int, Node]:
    """Return the nodes of a fabric by GUID.

    Raises
    ------
    InputError
        For a line of no known form, and for a cable whose far end is missing or says otherwise: a file that
        was cut off.
    """
    dump = TextFile(path)
    nodes: dict[int, Node] = {}
    lines: dict[Port, int] = {}
    node: Node | None = None
    for line in dump:
        text = line.strip()
        if not text or text.startswith("#") or _HEADER.match(text):
            continue
        if found := _NODE.match(text):
            node = _node(dump, *found.groups())
            if node.guid in nodes:
                dump.refuse("node", "described once", hex(node.guid))
            nodes[node.guid] = node
        elif found := _LINK.match(text):
            if node is None:
                dump.refuse("line", "a node before its ports", text)
            lines[_link(dump, node, *found.groups())] = dump.line
        else:
            dump.refuse("line", "a node, a port or a header of ibnetdiscover", text)
    if not nodes:
        raise InputError("content", "an ibnetdiscover dump with at least one node", "none", source=str(path))
    for here, at in lines.items():
        far = nodes[here.guid].links[here.number]
        if far.guid not in nodes or nodes[far.guid].links.get(far.number) != here:
            raise InputError(
                f"cable to {far.guid:#x} port {far.number}",
                "described from both ends",
                "one end",
                source=str(path),
                line=at,
            )
    return nodes


def _node(dump: TextFile, ports: str, letter: str, guid: str, name: str | None, rest: str | None) -> Node:
    node = Node(int(guid, 16), Kind(letter), name or "", dump.number("ports", ports, 1, _MAX_PORT))
    if node.kind is Kind.SWITCH and (lid := _LID.search(rest or "")):
        node.lids[0] = dump.number("lid", lid.group(1), 1, _MAX_LID)
        lmc = _LMC.search(rest or "")
        node.lmc[0] = dump.number("lmc", lmc.group(1), 0, 7) if lmc else 0
    return node


def _link(dump: TextFile, node: Node, port: str, guid: str, far: str, rest: str | None) -> Port:
    number = dump.number("port", port, 1, node.ports)
    if number in node.links:
        dump.refuse("port", "described once", port)
    node.links[number] = Port(int(guid, 16), dump.number("far port", far, 1, _MAX_PORT))
    if node.kind is not Kind.SWITCH:
        lid = re.match(r"\s*lid ([0-9]{1,9})(?:\s+lmc ([0-9]{1,9}))?", rest or "")
        if not lid:
            dump.refuse("comment", "an adapter's lid and lmc", (rest or "").strip())
        node.lids[number] = dump.number("lid", lid.group(1), 1, _MAX_LID)
        node.lmc[number] = dump.number("lmc", lid.group(2) or "0", 0, 7)
    return Port(node.guid, number)
