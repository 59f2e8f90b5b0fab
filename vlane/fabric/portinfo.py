"""Reader of ``smpquery portinfo``: operational lanes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.fabric.model import Port
from vlane.textfile import TextFile

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_portinfo"]

_HEAD = re.compile(r"# Port info: Lid (\d+) port (\d+)")
_OPER = re.compile(r"OperVLs:\.*VL0(?:-(\d+))?$")


def read_portinfo(path: Path, owners: dict[int, Port]) -> dict[Port, int]:
    """Return the operational data lanes of each port that was asked.

    Parameters
    ----------
    path : Path
        The output of one or more queries.
    owners : dict of int to Port
        The port of each LID.

    Raises
    ------
    InputError
        For an unknown LID or an OperVLs of no known form; other fields are left unread.
    """
    dump = TextFile(path)
    lanes: dict[Port, int] = {}
    port: Port | None = None
    for line in dump:
        text = line.strip()
        if found := _HEAD.match(text):
            owner = owners.get(int(found.group(1)))
            if owner is None:
                dump.refuse("LID", "of a port in ibnetdiscover", found.group(1))
            port = Port(owner.guid, int(found.group(2)) or owner.number)
        elif text.startswith("OperVLs:"):
            found = _OPER.match(text)
            if found is None or port is None:
                dump.refuse("OperVLs", "VL0 or VL0-n, under a port's heading", text)
            lanes[port] = dump.number("OperVLs", found.group(1) or "0", 0, 14) + 1
    if not lanes:
        dump.refuse("content", "PortInfo with OperVLs", "none")
    return lanes
