"""Reader of ``smpquery vlarb``: arbitration lists returned by ports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.errors import InputError
from vlane.fabric.dump import Dump, Remarks
from vlane.fabric.lids import ADDRESS, LidBook
from vlane.fabric.model import Port, ProgrammedVLArb
from vlane.schedulers.vlarb import MAX_ENTRIES, VLArbEntry

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = re.compile(
    r"# VLArbitration tables: " + ADDRESS + r" port ([0-9]{1,9}) LowCap ([0-9]{1,9}) High ?Cap ([0-9]{1,9})"
)
_NO_TABLE = "# No VLArbitration tables (BSP0)"
_LIST = re.compile(r"# (Low|High) priority VL Arbitration Table:")
_ROW = re.compile(r"(VL|WEIGHT)\s*: \|(.*)\|$")


class _Table:
    def __init__(self, port: Port, low_cap: int, high_cap: int) -> None:
        self.port = port
        self.caps = {"Low": low_cap, "High": high_cap}
        self.lists: dict[str, list[VLArbEntry]] = {"Low": [], "High": []}
        self.current = ""
        self.vls: tuple[int, ...] = ()


class _Tables:
    """Parser state: complete tables and the current table. Equal rows are parsed once, equal tables share an object."""

    def __init__(self, dump: Dump, lids: LidBook) -> None:
        self.dump, self.lids = dump, lids
        self.by_port: dict[Port, ProgrammedVLArb] = {}
        self.table: _Table | None = None
        self.ignored = False
        self._same: dict[ProgrammedVLArb, ProgrammedVLArb] = {}
        self._cells: dict[tuple[str, str], tuple[int, ...]] = {}

    def line(self, text: str) -> None:
        """Read a line other than a blank line or a command."""
        if found := _ROW.match(text):
            if self.table is not None and self.table.current:
                self._row(self.table, found.group(1), found.group(2))
                return
            if self.ignored:
                return
        elif found := _HEAD.match(text):
            self.finish()
            self.table, self.ignored = self._open(*found.groups()), False
            return
        elif found := _LIST.match(text):
            if self.table is not None:
                self.table.current = found.group(1)
                return
            if self.ignored:
                return
        elif text.startswith(_NO_TABLE):
            self.finish()
            return
        elif self.dump.is_noise(text):
            return
        self.dump.refuse("line", "a row or a heading of smpquery vlarb", text)

    def finish(self) -> None:
        """Store the current table, in place of an earlier table of the same port."""
        table, self.table = self.table, None
        if table is None:
            return
        for name, cap in table.caps.items():
            if len(table.lists[name]) != cap:
                self.dump.refuse(f"length of the {name} list above", str(cap), len(table.lists[name]))
        made = ProgrammedVLArb(
            tuple(table.lists["High"]), tuple(table.lists["Low"]), table.caps["High"], table.caps["Low"]
        )
        before = self.by_port.get(table.port)
        if before is not None:
            self.dump.replace(self.lids.show(table.port), differs=before != made)
        self.by_port[table.port] = self._same.setdefault(made, made)

    def drop(self) -> None:
        """Leave out the current table."""
        self.table, self.ignored = None, True

    def _row(self, table: _Table, what: str, cells: str) -> None:
        values = self._cells.get((what, cells))
        if values is None:
            most = 15 if what == "VL" else 255
            values = tuple(self.dump.number(what, cell, 0, most) for cell in cells.split("|"))
            self._cells[what, cells] = values
        if what == "VL":
            if table.vls and table.vls != values:
                self.dump.refuse("row below a row of VLs", "a row of weights", "another row of VLs")
            table.vls = values
            return
        if len(values) != len(table.vls):
            self.dump.refuse("number of weights", f"{len(table.vls)}, the number of VLs in the row above", len(values))
        table.lists[table.current] += map(VLArbEntry, table.vls, values)
        table.vls = ()

    def _open(self, lid: str | None, route: str | None, number: str, low: str, high: str) -> _Table:
        port = self.lids.port(self.dump, self.lids.addressed(self.dump, lid, route), number)
        for name, cap in (("LowCap", low), ("HighCap", high)):
            if int(cap) > MAX_ENTRIES:
                self.dump.refuse(name, f"0 to {MAX_ENTRIES}", cap)
        return _Table(port, int(low), int(high))


def read_smpquery_vlarb(path: Path, lids: LidBook, remarks: Remarks | None = None) -> dict[Port, ProgrammedVLArb]:
    """Return the lists of every queried port.

    Parameters
    ----------
    path : Path
        Output of one or more queries.
    lids : LidBook
        Ports by LID.
    remarks : Remarks, optional
        Record of unreadable tables; by default, the first unreadable table raises its error.

    Raises
    ------
    InputError
        For a line of unknown form, a lane above 15, a weight above 255, lists shorter than their capacity, and a last
        query without an answer, unless the remarks permit leaving the table out. Always for a file without any table.
    """
    dump = Dump(path, remarks)
    tables = _Tables(dump, lids)
    asked, diagnostics = False, 0
    for line in dump:
        text = line.strip()
        if not text:
            continue
        if text.startswith("$"):
            asked, diagnostics = True, dump.diagnostics
            continue
        asked = False
        try:
            tables.line(text)
        except InputError as error:
            tables.drop()
            dump.leave_out(error)
    try:
        tables.finish()
        if asked and dump.diagnostics == diagnostics:
            problem = "has no tables: the file is truncated"
            dump.refuse("last query", "followed by tables", "truncated", problem=problem)
    except InputError as error:
        dump.leave_out(error)
    if not tables.by_port:
        raise InputError(
            "file",
            "a dump with at least one arbitration table",
            "a file without tables",
            source=str(path),
            line=dump.line,
            problem=": no arbitration table found; expected the output of smpquery vlarb",
        )
    return tables.by_port
