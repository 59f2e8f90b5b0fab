"""Reader of ``smpquery vlarb``: the arbitration lists of each port as they were read back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.documents.textfile import TextFile
from vlane.fabric.lids import LidBook
from vlane.fabric.model import Port, ProgrammedVLArb
from vlane.schedulers.vlarb import MAX_ENTRIES, VLArbEntry

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = re.compile(
    r"# VLArbitration tables: Lid ([0-9]{1,9}) port ([0-9]{1,9}) LowCap ([0-9]{1,9}) HighCap ([0-9]{1,9})"
)
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
    """Tables as they are read: equal rows are read once, equal tables are one."""

    def __init__(self, dump: TextFile) -> None:
        self.dump = dump
        self.by_port: dict[Port, ProgrammedVLArb] = {}
        self._same: dict[ProgrammedVLArb, ProgrammedVLArb] = {}
        self._cells: dict[tuple[str, str], tuple[int, ...]] = {}

    def row(self, table: _Table, what: str, cells: str) -> None:
        values = self._cells.get((what, cells))
        if values is None:
            most = 15 if what == "VL" else 255
            values = tuple(self.dump.number(what, cell, 0, most) for cell in cells.split("|"))
            self._cells[what, cells] = values
        if what == "VL":
            table.vls = values
            return
        if len(values) != len(table.vls):
            self.dump.refuse("row", f"as long as the VL row above it, {len(table.vls)}", len(values))
        table.lists[table.current] += map(VLArbEntry, table.vls, values)
        table.vls = ()

    def finish(self, table: _Table | None) -> None:
        if table is None:
            return
        for name, cap in table.caps.items():
            if len(table.lists[name]) != cap:
                must, got = f"{cap} entries", f"{len(table.lists[name])} entries"
                self.dump.refuse(f"{name} list of the table above", must, got)
        made = ProgrammedVLArb(
            tuple(table.lists["High"]), tuple(table.lists["Low"]), table.caps["High"], table.caps["Low"]
        )
        self.by_port[table.port] = self._same.setdefault(made, made)


def read_smpquery_vlarb(path: Path, lids: LidBook) -> dict[Port, ProgrammedVLArb]:
    """Return the lists of every port that was asked.

    Parameters
    ----------
    path : Path
        The output of one or more queries.
    lids : LidBook
        The port of each LID.

    Raises
    ------
    InputError
        For a line of no known form, a lane above 15, a weight above 255, lists shorter than their capacity.
    """
    dump = TextFile(path)
    tables = _Tables(dump)
    table: _Table | None = None
    asked = False
    for line in dump:
        text = line.strip()
        asked = text.startswith("$")
        if found := _HEAD.match(text):
            tables.finish(table)
            table = _table(dump, lids, found)
        elif (found := _LIST.match(text)) and table is not None:
            table.current = found.group(1)
        elif not text or asked:
            continue
        elif (found := _ROW.match(text)) and table is not None and table.current:
            tables.row(table, found.group(1), found.group(2))
        else:
            dump.refuse("line", "a row or a heading of smpquery vlarb", text)
    tables.finish(table)
    if asked:
        dump.refuse("last query", "followed by its tables", "cut off")
    if not tables.by_port:
        dump.refuse("content", "at least one arbitration table", "none")
    return tables.by_port


def _table(dump: TextFile, lids: LidBook, found: re.Match[str]) -> _Table:
    port = lids.port(dump, found.group(1), found.group(2))
    low_cap, high_cap = int(found.group(3)), int(found.group(4))
    for name, cap in (("LowCap", low_cap), ("HighCap", high_cap)):
        if cap > MAX_ENTRIES:
            dump.refuse(name, f"0 to {MAX_ENTRIES}", cap)
    return _Table(port, low_cap, high_cap)
