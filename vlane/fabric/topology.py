"""Nodes and cables, from whichever file of a capture names them, and the checks that all of these files need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from vlane.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vlane.fabric.model import Node, Port

MAX_LID, MAX_PORT = 0xBFFF, 254
_UNASSIGNED = (0, 0xFFFF)
_AGGREGATION_NODE = 0xCF09
_DEVICES = (
    ("aggregation node", re.compile(r"\bAggregation Node\b")),
    ("gateway", re.compile(r"\b(?:GW|Gateway|BridgeX|Bridge [0-9])\b")),
    ("switch", re.compile(r"\bSwitch-?X?-?[0-9]? (?:IB )?(?:Management|Internal)\b")),
)
_RATE = re.compile(r"([0-9]{1,2})[xX] ?([A-Z]{3}[0-9]{0,2})\b")


class Topology(NamedTuple):
    """Nodes and cables of a fabric.

    Parameters
    ----------
    nodes : dict of int to Node
        Nodes by GUID.
    initiator : int
        GUID of the node from which directed routes start; 0 if it is not known.
    notes : tuple of str
        Assumptions about what the file does not hold.
    """

    nodes: dict[int, Node]
    initiator: int = 0
    notes: tuple[str, ...] = ()


def device_of(name: str, device_id: int = 0) -> str:
    """Return the device of a channel adapter that belongs to no host; empty for an adapter of a host.

    Examples
    --------
    >>> device_of("Mellanox Technologies Aggregation Node"), device_of("node01 mlx5_0")
    ('aggregation node', '')
    """
    if device_id == _AGGREGATION_NODE:
        return "aggregation node"
    return next((device for device, pattern in _DEVICES if pattern.search(name)), "")


def rate_name(text: str) -> str:
    """Return a rate printed as ``4xEDR`` in the form ``EDR 4X``; empty if there is none.

    Examples
    --------
    >>> rate_name("lid 4 4xEDR"), rate_name("4x???")
    ('EDR 4X', '')
    """
    found = _RATE.search(text)
    return f"{found.group(2)} {found.group(1)}X" if found else ""


def lid_of(value: int) -> int | None:
    """Return a LID, or ``None`` for a value that stands for none: 0 and 65535."""
    return None if value in _UNASSIGNED else value


def connect(node: Node, number: int, far: Port, refuse: object) -> None:
    """Set the far end of a port; a second, different far end is refused by a function of field, need and value."""
    before = node.links.setdefault(number, far)
    if before != far:
        refuse("port", f"described once, with the cable to {before.guid:#x} port {before.number}", number)  # type: ignore[operator]


def check_cables(nodes: Mapping[int, Node], lines: Mapping[Port, int], path: Path) -> None:
    """Refuse a cable whose far end is missing or names another cable: the file was cut off.

    Parameters
    ----------
    nodes : mapping of int to Node
        Nodes by GUID.
    lines : mapping of Port to int
        Line number of each port that has a cable.
    path : Path
        The file.

    Raises
    ------
    InputError
        Naming the line of the first such port.
    """
    for here, at in lines.items():
        far = nodes[here.guid].links.get(here.number)
        if far is None:
            continue
        if far.guid not in nodes or nodes[far.guid].links.get(far.number) != here:
            cable = f"cable to {far.guid:#x} port {far.number}"
            raise InputError(cable, "described from both ends", "one end", source=str(path), line=at)
