"""Reader of ``smpquery portinfo``: operational lanes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.fabric.lids import LidBook
from vlane.fabric.model import Port
from vlane.textfile import TextFile

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_portinfo"]

_HEAD = re.compile(r"# Port info: Lid ([0-9]{1,9}) port ([0-9]{1,9})")
_OPER = re.compile(r"OperVLs:\.*VL0(?:-([0-9]{1,9}))?$")


def read_portinfo(path: Path, lids: LidBook) -> dict[Port, int]:
    """Return the operational data lanes of each port that was asked.

    Parameters
    ----------
    path : Path
        The output of one or more queries.
    lids : LidBook
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
            port = lids.port(dump, found.group(1), found.group(2))
        elif text.startswith("OperVLs:"):
            found = _OPER.match(text)
            if found is None or port is None:
                dump.refuse("OperVLs", "VL0 or VL0-n, under a port's heading", text)
            lanes[port] = dump.number("OperVLs", found.group(1) or "0", 0, 14) + 1
    if not lanes:
        dump.refuse("content", "PortInfo with OperVLs", "none")
    return lanes
