"""Reader of ``smpquery portinfo``: operational lanes and MTU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from vlane.documents.textfile import TextFile
from vlane.fabric.lids import LidBook
from vlane.fabric.model import Port

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = re.compile(r"# Port info: Lid ([0-9]{1,9}) port ([0-9]{1,9})")
_OPER = re.compile(r"OperVLs:\.*VL0(?:-([0-9]{1,9}))?$")


_MTU = re.compile(r"NeighborMTU:\.*(256|512|1024|2048|4096)$")
_READ = ("# Port info:", "OperVLs:", "NeighborMTU:")


class PortInfo(NamedTuple):
    """What PortInfo says of a port.

    Parameters
    ----------
    vls : int
        Operational data lanes.
    mtu : int
        Largest payload of a packet, in bytes, that the port and its neighbour take; 0 if it does not say.
    """

    vls: int
    mtu: int


def read_portinfo(path: Path, lids: LidBook) -> dict[Port, PortInfo]:
    """Return lanes and MTU of each port that was asked.

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
    mtus: dict[Port, int] = {}
    port: Port | None = None
    for line in dump:
        text = line.strip()
        if not text.startswith(_READ):
            continue
        if found := _HEAD.match(text):
            port = lids.port(dump, found.group(1), found.group(2))
        elif text.startswith("OperVLs:"):
            found = _OPER.match(text)
            if found is None or port is None:
                dump.refuse("OperVLs", "VL0 or VL0-n, under a port's heading", text)
            lanes[port] = dump.number("OperVLs", found.group(1) or "0", 0, 14) + 1
        elif port is not None and (found := _MTU.match(text)):
            mtus[port] = int(found.group(1))
    if not lanes:
        dump.refuse("content", "PortInfo with OperVLs", "none")
    return {port: PortInfo(vls, mtus.get(port, 0)) for port, vls in lanes.items()}
