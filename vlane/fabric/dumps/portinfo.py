"""Reader of ``smpquery portinfo``: operational lanes, MTU and LimitOfHighPriority."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from vlane.errors import InputError
from vlane.fabric.dump import Dump, Remarks
from vlane.fabric.lids import ADDRESS, LidBook
from vlane.fabric.model import Port

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = re.compile(r"# Port info: " + ADDRESS + r" port ([0-9]{1,9})")
_OPER = re.compile(r"OperVLs:\.*VL0(?:-([0-9]{1,9}))?$")
_UNKNOWN = re.compile(r"OperVLs:\.*(?:No change|\?\([0-9]{1,9}\)|0)$")
_MTU = re.compile(r"NeighborMTU:\.*(256|512|1024|2048|4096)$")
_LIMIT = re.compile(r"VLHighLimit:\.*([0-9]{1,9})$")
_READ = ("# Port info:", "OperVLs:", "NeighborMTU:", "VLHighLimit:")


class PortInfo(NamedTuple):
    """Attributes of a port from PortInfo.

    Parameters
    ----------
    vls : int
        Number of operational data lanes.
    mtu : int
        Largest payload of a packet between the port and its neighbour, in bytes; 0 if unknown.
    high_limit : int or None
        LimitOfHighPriority, 0 to 255; ``None`` if unknown.
    """

    vls: int
    mtu: int
    high_limit: int | None = None


def read_portinfo(path: Path, lids: LidBook, remarks: Remarks | None = None) -> dict[Port, PortInfo]:
    """Return lanes, MTU and limit of every queried port.

    Ports with OperVLs ``No change`` or an unknown code are left out.

    Parameters
    ----------
    path : Path
        Output of one or more queries.
    lids : LidBook
        Ports by LID.
    remarks : Remarks, optional
        Record of unreadable ports; by default, the first unreadable port raises its error.

    Raises
    ------
    InputError
        For an unknown LID, an OperVLs of unknown form, and two different values of a field in one query, unless the
        remarks permit leaving the port out. Other fields are ignored. Always for a file without any OperVLs.
    """
    dump = Dump(path, remarks)
    reader = _Reader(dump, lids)
    for line in dump:
        text = line.strip()
        if not text.startswith(_READ):
            if not text.startswith(("#", "$")) and "..." not in text:
                dump.is_noise(text)
            continue
        try:
            reader.line(text)
        except InputError as error:
            reader.drop()
            dump.leave_out(error)
    reader.finish()
    if not reader.infos:
        raise InputError(
            "file",
            "a PortInfo dump with OperVLs",
            "a file without OperVLs",
            source=str(path),
            line=dump.line,
            problem=": no OperVLs found; expected the output of smpquery portinfo",
        )
    return reader.infos


class _Reader:
    """Parser state: complete ports and the current port."""

    def __init__(self, dump: Dump, lids: LidBook) -> None:
        self._dump, self._lids = dump, lids
        self.infos: dict[Port, PortInfo] = {}
        self._port: Port | None = None
        self._ignored = False
        self._fields: dict[str, int] = {}

    def line(self, text: str) -> None:
        """Read a heading or a field."""
        if found := _HEAD.match(text):
            self.finish()
            self._ignored = False
            self._port = self._lids.port(self._dump, self._lids.addressed(self._dump, *found.groups()[:2]), found[3])
        elif text.startswith("OperVLs:"):
            found = _OPER.match(text)
            if found is not None and self._port is not None:
                self._set("OperVLs", self._dump.number("OperVLs", found.group(1) or "0", 0, 14) + 1)
            elif not self._ignored and (self._port is None or not _UNKNOWN.match(text)):
                self._dump.refuse("OperVLs", "VL0, VL0-n or No change, below a port's heading", text)
        elif self._port is not None and (found := _MTU.match(text)):
            self._set("NeighborMTU", int(found.group(1)))
        elif self._port is not None and (found := _LIMIT.match(text)):
            self._set("VLHighLimit", self._dump.number("VLHighLimit", found.group(1), 0, 255))
        elif text.startswith("# Port info:"):
            self._dump.refuse("heading", "# Port info: Lid n port n", text)

    def finish(self) -> None:
        """Store the current port, in place of an earlier answer of the same port."""
        port, self._port, fields, self._fields = self._port, None, self._fields, {}
        if port is None or "OperVLs" not in fields:
            return
        made = PortInfo(fields["OperVLs"], fields.get("NeighborMTU", 0), fields.get("VLHighLimit"))
        if port in self.infos:
            self._dump.replace(self._lids.show(port), differs=self.infos[port] != made)
        self.infos[port] = made

    def drop(self) -> None:
        """Leave out the current port."""
        self._port, self._ignored, self._fields = None, True, {}

    def _set(self, name: str, value: int) -> None:
        if self._fields.setdefault(name, value) != value:
            self._dump.refuse(name, f"{self._fields[name]}, as in an earlier line of the query", value)
