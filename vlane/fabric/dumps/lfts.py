"""Reader of unicast forwarding tables, in the two forms that the tools print.

``opensm-lfts.dump``, ``dump_fts`` and ``ibroute`` print ``Unicast lids ... of switch ...``, rows and a closing count.
``opensm.fdbs`` and ``ibdiagnet2.fdbs`` print ``... Switch 0xGUID``, rows with hops, and no count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.errors import InputError
from vlane.fabric.dump import Dump, Remarks
from vlane.tables.lft import UNASSIGNED

if TYPE_CHECKING:
    from pathlib import Path

# Between "switch" and "guid" stand a LID or a directed route, in which there is no g; a name comes after the GUID.
_HEAD = re.compile(
    r"Unicast lids \[(?:(0x[0-9a-fA-F]{1,4}|[0-9]{1,5})-[^\]]*|[^\]]*)\] of (switch|router) [^g]*"
    r"guid 0x([0-9a-fA-F]{1,16})"
)
_FDB_HEAD = re.compile(r"(?:[a-z_]{0,40}dump_ucast_routes: )?Switch 0x([0-9a-fA-F]{1,16})(?:\s|,|$)")
_MULTICAST_HEAD = re.compile(r"Multicast mlids \[")
_ROW = re.compile(r"\s*0x([0-9a-fA-F]{1,4})\s+(?::\s+)?([0-9]{1,3})\s*(?:[#:].*)?$")
_NO_ROUTE = re.compile(r"\s*0x[0-9a-fA-F]{1,4}\s*:\s*UNREACHABLE\b")
_TAIL = re.compile(r"([0-9]{1,9}) (valid )?m?lids dumped")
_PLFT = re.compile(r"PLFT_NUM: ?([0-9]{1,3})")
_COLUMNS = ("$", "#", "Lid  Out", "Port     Info", "LID    :", "MLid", "Ports:", "0                   1")
_LIDS = 1 << 16
_EMPTY = bytes([UNASSIGNED])


def read_lfts(path: Path, remarks: Remarks | None = None) -> dict[int, bytes]:
    """Return the forwarding table of each switch, by GUID: the output port by LID, 255 if unassigned.

    Unassigned LIDs at the end of a table are removed, so tables from different tools compare equal. A later table of
    the same switch replaces an earlier table, or extends an earlier table with a separate range of LIDs. Multicast
    tables, tables of routers and private tables other than the first are skipped.

    Raises
    ------
    InputError
        For a line of unknown form, two ports for one LID in a table, and a table with a missing or wrong closing count
        (a truncated file), unless the remarks permit leaving the table out. Always for a file without any table.
    """
    dump = Dump(path, remarks)
    reader = _Reader(dump)
    row_of = _ROW.match
    for line in dump:
        found = row_of(line)
        try:
            if found is not None and reader.is_open:
                reader.row(*found.groups())
            else:
                reader.other(line)
        except InputError as error:
            reader.drop()
            dump.leave_out(error)
    try:
        reader.end()
    except InputError as error:
        dump.leave_out(error)
    if not reader.tables:
        problem = ": no forwarding table found; expected the output of dump_lfts or dump_fts"
        must = "a dump with at least one forwarding table"
        raise InputError("file", must, "a file without tables", source=str(path), problem=problem)
    return reader.tables


class _Reader:
    """Parser state: complete tables and the current table."""

    def __init__(self, dump: Dump) -> None:
        self._dump = dump
        self.tables: dict[int, bytes] = {}
        self._first: dict[int, set[int]] = {}
        self.is_open = False
        """Whether rows belong to a table in use."""
        self._ignored = False
        """Whether rows belong to a skipped or unreadable table."""
        self._is_counted = False
        self._guid, self._rows, self._start = 0, 0, 0
        self._table = bytearray()

    def row(self, lid: str, port: str) -> None:
        """Read a row of the open table."""
        out, at = int(port), int(lid, 16)
        before = self._table[at]
        if before != out:
            if out > UNASSIGNED:
                self._dump.refuse("port", f"0 to {UNASSIGNED}", port)
            if before != UNASSIGNED:
                self._dump.refuse(f"port of LID {at}", f"{before}, as in an earlier row of the table", port)
            self._table[at] = out
            self._rows += 1
        elif out == UNASSIGNED:
            self._rows += 1

    def other(self, line: str) -> None:
        """Read a line other than a row of the open table."""
        text = line.strip()
        if self._ignored and (_ROW.match(text) or text.startswith("0x")):
            return
        if not text or text.startswith(_COLUMNS) or self._dump.is_noise(line):
            return
        if found := _HEAD.match(text):
            self._close(text)
            start, kind, guid = found.groups()
            if kind == "router":
                self._skip("forwarding tables of routers")
            else:
                self._open(int(guid, 16), int(start or "0", 0), is_counted=True)
        elif found := _FDB_HEAD.match(text):
            self._close(text)
            self._open(int(found.group(1), 16), 0, is_counted=False)
        elif _MULTICAST_HEAD.match(text):
            self._close(text)
            self._skip("multicast forwarding tables")
        elif found := _TAIL.match(text):
            self._count(int(found.group(1)), is_exact=bool(found.group(2)))
        elif found := _PLFT.match(text):
            if int(found.group(1)):
                self._close(text)
                self._skip("private forwarding tables (PLFT) other than 0")
        elif self.is_open and _NO_ROUTE.match(text):
            self._rows += 1
        else:
            self._dump.refuse("line", "a row or a heading of a forwarding table", text)

    def drop(self) -> None:
        """Leave out the open table."""
        self.is_open, self._ignored = False, True

    def end(self) -> None:
        """Close the last table."""
        if self.is_open and self._is_counted:
            problem = "is truncated: the count of LIDs that closes a table is missing"
            self._dump.refuse("last table", "closed by a count of LIDs", "truncated", problem=problem)
        self._close("")

    def _open(self, guid: int, start: int, *, is_counted: bool) -> None:
        self.is_open, self._ignored, self._is_counted = True, False, is_counted
        self._guid, self._start, self._rows = guid, start, 0
        self._table = bytearray(_EMPTY * _LIDS)

    def _skip(self, kind: str) -> None:
        self._dump.skip(kind)
        self.is_open, self._ignored = False, True

    def _close(self, text: str) -> None:
        """Close the open table before the next heading."""
        if self.is_open and self._is_counted:
            error = InputError(
                "table", "closed by a count of LIDs", text, source=str(self._dump.path), line=self._dump.line
            )
            self._dump.leave_out(error)
        elif self.is_open:
            self._store()
        self.is_open = self._ignored = False

    def _count(self, count: int, *, is_exact: bool) -> None:
        """Compare the closing count. OpenSM's count includes unreachable LIDs."""
        if self.is_open and (self._rows > count or (is_exact and self._rows != count)):
            self._dump.refuse("count of LIDs", f"{self._rows}, the number of rows above", count)
        if self.is_open:
            self._store()
        elif not self._ignored:
            self._dump.refuse("count of LIDs", "preceded by a table", count, problem=": no table precedes this line")
        self.is_open = self._ignored = False

    def _store(self) -> None:
        """Store the open table: replace an earlier table, or extend an earlier table with a separate range of LIDs."""
        table, before = self._table, self.tables.get(self._guid)
        starts = self._first.setdefault(self._guid, set())
        if before is not None and self._start not in starts and not table[: self._start].strip(_EMPTY):
            earlier = bytes(before[: self._start]).ljust(self._start, _EMPTY)
            later = bytes(before[self._start :]).ljust(_LIDS - self._start, _EMPTY)
            table = bytearray(earlier) + bytearray(
                new if new != UNASSIGNED else old for new, old in zip(table[self._start :], later, strict=True)
            )
        elif before is not None:
            self._dump.replace(f"switch {self._guid:#x}", differs=bytes(table.rstrip(_EMPTY)) != before)
            starts.clear()
        starts.add(self._start)
        self.tables[self._guid] = bytes(table.rstrip(_EMPTY))
