"""Reader of ``opensm-subnet.lst`` and ``ibdiagnet2.lst``: one line for each end of a cable."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.errors import InputError
from vlane.fabric.dump import Dump, Remarks
from vlane.fabric.model import Kind, Node, Port
from vlane.fabric.topology import MAX_LID, MAX_PORT, Topology, connect, device_of, lid_of
from vlane.rates import lane_generation

if TYPE_CHECKING:
    from pathlib import Path

_END = (
    r"\{{ (?P<kind{0}>CA|SW|Rt|RT|Router)(?:-SM)? Ports:(?P<ports{0}>[0-9a-fA-F]{{1,4}}) "
    r"SystemGUID:[0-9a-fA-F]{{1,16}} NodeGUID:(?P<guid{0}>[0-9a-fA-F]{{1,16}}) "
    r"PortGUID:[0-9a-fA-F]{{1,16}} VenID:[0-9a-fA-F]{{1,8}} "
    r"DevID:(?P<device{0}>[0-9a-fA-F]{{1,8}}) Rev:[0-9a-fA-F]{{1,8}} \{{(?P<name{0}>.*?)\}} "
    r"LID:(?P<lid{0}>[0-9a-fA-F]{{1,4}}) PN:(?P<port{0}>[0-9a-fA-F]{{1,2}}) \}}"
)
_LINE = re.compile(
    _END.format(1)
    + " "
    + _END.format(2)
    + r" PHY=(?P<width>[0-9]{1,2}x|\S{1,8}) LOG=(?P<state>[A-Z]{3})(?: SPD=(?P<speed>[0-9.]{1,8}|\S{1,8}))?\s*$"
)
_LONGEST = 2000
"""Bytes of the longest line: a description has at most 64."""
_KINDS = {"CA": Kind.CA, "SW": Kind.SWITCH}
_UP = ("ACT", "ARM", "INI")


def read_subnet_lst(path: Path, remarks: Remarks | None = None) -> Topology:
    """Return the nodes of a fabric, without inactive links. The file has no LMC, so LMC 0 is assumed.

    Raises
    ------
    InputError
        For a line of another form, and contradictory descriptions of a node, port or cable.
    """
    dump = Dump(path, remarks)
    nodes: dict[int, Node] = {}
    for line in dump:
        if line.startswith("#") or dump.is_noise(line):
            continue
        found = _LINE.match(line.strip()) if len(line) <= _LONGEST else None
        if found is None:
            dump.refuse(
                "line",
                "a description of both ends of a cable: { CA|SW ... } { CA|SW ... } PHY=4x LOG=ACT SPD=2.5",
                line.strip(),
            )
        if found["state"] in _UP:
            _link(dump, nodes, found)
    if not nodes:
        problem = ": no cable found; expected a subnet list (subnet.lst)"
        must = "a subnet list with at least one cable"
        raise InputError("content", must, "a file without cables", source=str(path), problem=problem)
    return Topology(nodes, notes=(f"{path.name} has no LMC: one LID per port is assumed",))


def _link(dump: Dump, nodes: dict[int, Node], found: re.Match[str]) -> None:
    here, there = (_end(dump, nodes, found, number) for number in (1, 2))
    rate = _rate(found["width"], found["speed"] or "")
    for end, far in ((here, there), (there, here)):
        connect(nodes[end.guid], end.number, far, dump.refuse)
        if rate:
            nodes[end.guid].rates[end.number] = rate


def _end(dump: Dump, nodes: dict[int, Node], found: re.Match[str], number: int) -> Port:
    def field(name: str) -> str:
        return found[f"{name}{number}"]

    guid, kind = int(field("guid"), 16), _KINDS.get(field("kind"), Kind.ROUTER)
    ports = int(field("ports"), 16)
    if not 1 <= ports <= MAX_PORT:
        dump.refuse("Ports", f"1 to {MAX_PORT:#x}", field("ports"))
    node = nodes.setdefault(guid, Node(guid, kind, field("name"), ports))
    if (node.kind, node.ports) != (kind, ports):
        got = f"{field('kind')} with {ports} ports"
        problem = f": {got} here, but another kind or number of ports in an earlier line"
        dump.refuse(f"node {guid:#x}", "described as in its earlier line", got, problem=problem)
    if kind is Kind.CA:
        node.device = device_of(node.name, int(field("device")[:4], 16))
    port = int(field("port"), 16)
    if not 1 <= port <= ports:
        dump.refuse("PN", f"1 to {ports:#x}", field("port"))
    lid = lid_of(int(field("lid"), 16))
    if lid is not None:
        at = 0 if kind is Kind.SWITCH else port
        if lid > MAX_LID:
            dump.refuse("LID", f"1 to {MAX_LID:#x}", field("lid"))
        if node.lids.setdefault(at, lid) != lid:
            dump.refuse("LID", f"{node.lids[at]:#x}, as in an earlier line of the port", field("lid"))
    return Port(guid, port)


def _rate(width: str, speed: str) -> str:
    lanes = width.removesuffix("x")
    generation = lane_generation(speed)
    return f"{generation} {lanes}X" if generation and lanes.isdigit() else ""
