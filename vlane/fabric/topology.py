"""Nodes and cables of a capture, and the checks common to all topology files."""

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
        GUID of the node at the start of directed routes; 0 if unknown.
    notes : tuple of str
        Assumptions about information missing from the file.
    """

    nodes: dict[int, Node]
    initiator: int = 0
    notes: tuple[str, ...] = ()


def device_of(name: str, device_id: int = 0) -> str:
    """Return the device type of a channel adapter without a host, or empty for an adapter of a host.

    Examples
    --------
    >>> device_of("Mellanox Technologies Aggregation Node"), device_of("node01 mlx5_0")
    ('aggregation node', '')
    """
    if device_id == _AGGREGATION_NODE:
        return "aggregation node"
    return next((device for device, pattern in _DEVICES if pattern.search(name)), "")


def rate_name(text: str) -> str:
    """Return a rate printed as ``4xEDR`` in the form ``EDR 4X``, or empty without a rate.

    Examples
    --------
    >>> rate_name("lid 4 4xEDR"), rate_name("4x???")
    ('EDR 4X', '')
    """
    found = _RATE.search(text)
    return f"{found.group(2)} {found.group(1)}X" if found else ""


def lid_of(value: int) -> int | None:
    """Return a LID, or ``None`` for the reserved values 0 and 65535."""
    return None if value in _UNASSIGNED else value


def connect(node: Node, number: int, far: Port, refuse: object) -> None:
    """Set the far end of a port. Call ``refuse`` with field, need and value if another far end is already set."""
    before = node.links.setdefault(number, far)
    if before != far:
        must, got = (f"{end.guid:#x} port {end.number}" for end in (before, far))
        refuse(f"far end of port {number}", f"{must}, as in an earlier line", got)  # type: ignore[operator]


def check_cables(nodes: Mapping[int, Node], lines: Mapping[Port, int], path: Path) -> None:
    """Check that both ends of every cable name each other. A mismatch means a truncated file.

    Parameters
    ----------
    nodes : mapping of int to Node
        Nodes by GUID.
    lines : mapping of Port to int
        Line number of each cabled port.
    path : Path
        The file.

    Raises
    ------
    InputError
        For the first port with a mismatch, with its line.
    """
    for here, at in lines.items():
        far = nodes[here.guid].links.get(here.number)
        if far is None:
            continue
        if far.guid not in nodes or nodes[far.guid].links.get(far.number) != here:
            cable = f"cable to {far.guid:#x} port {far.number}"
            problem = "is described from one end only"
            raise InputError(cable, "described from both ends", "one end", source=str(path), line=at, problem=problem)
