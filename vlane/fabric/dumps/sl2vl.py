"""Readers of SL2VL rows: the subnet manager's dump, and what ``smpquery sl2vl`` read back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.documents.textfile import TextFile
from vlane.fabric.lids import LidBook
from vlane.fabric.model import Port
from vlane.fabric.sl2vl_tables import SL2VLTables

if TYPE_CHECKING:
    from pathlib import Path

_SLS = 16

_HEAD = re.compile(r'(Switch|Channel Adapter|Router) 0x[0-9a-fA-F]{1,16}, base LID ([0-9]{1,9}), ".*"$')
_LINE = re.compile(r"\s*([0-9]{1,9})\s+([0-9]{1,9})\s*:\s*(.*)$")
_RULE = re.compile(r"#-+$")
_QUERY = re.compile(r"# SL2VL table: Lid ([0-9]{1,9})")
_SLS_HEAD = re.compile(r"#\s+SL: \|")
_PORTS = re.compile(r"\s*ports: in\s+([0-9]{1,9}), out\s+([0-9]{1,9}): \|(.*)\|\s*$")


def read_opensm_sl2vl(path: Path, lids: LidBook) -> SL2VLTables:
    """Return the rows of ``opensm-sl2vl.dump`` by (GUID, input, output); (GUID, 0, port) of an adapter.

    Parameters
    ----------
    path : Path
        The dump.
    lids : LidBook
        The port of each LID.

    Raises
    ------
    InputError
        For a line of no known form, a lane above 15, an unknown LID, a section that is not closed.
    """
    dump = TextFile(path)
    rows = _Rows(dump, lids, None)
    owner: Port | None = None
    rules = 0
    for line in dump:
        if (found := _LINE.match(line)) and owner is not None:
            rows.add(owner, *found.groups())
            continue
        text = line.strip()
        if _RULE.match(text):
            rules += 1
        elif not text or text.startswith("#in out :"):
            continue
        elif found := _HEAD.match(text):
            _closed(dump, owner, rules)
            owner, rules = lids.owner(dump, found.group(2)), 0
        else:
            dump.refuse("line", "a row or a heading of an SL2VL dump", text)
    _closed(dump, owner, rules)
    return rows.tables


def read_smpquery_sl2vl(path: Path, lids: LidBook) -> SL2VLTables:
    """Return the rows that ``smpquery sl2vl`` printed, keyed as ``read_opensm_sl2vl`` does.

    Parameters
    ----------
    path : Path
        The output of one or more queries.
    lids : LidBook
        The port of each LID.

    Raises
    ------
    InputError
        For a line of no known form, a lane above 15, an unknown LID, a query without rows.
    """
    dump = TextFile(path)
    rows = _Rows(dump, lids, "|")
    owner: Port | None = None
    count = 1
    for line in dump:
        if (found := _PORTS.match(line)) and owner is not None:
            rows.add(owner, *found.groups())
            count += 1
            continue
        text = line.strip()
        if found := _QUERY.match(text):
            if not count:
                dump.refuse("table", "followed by rows", "no row")
            owner, count = lids.owner(dump, found.group(1)), 0
        elif not text or text.startswith("$") or _SLS_HEAD.match(text):
            continue
        else:
            dump.refuse("line", "a row or a heading of smpquery sl2vl", text)
    if not count or owner is None:
        dump.refuse("table", "followed by rows", "cut off")
    return rows.tables


def _closed(dump: TextFile, owner: Port | None, rules: int) -> None:
    if owner is not None and rules != 2:
        dump.refuse("section", "closed by a line of dashes", "cut off")


class _Rows:
    """Rows as they are read; equal texts are read once."""

    def __init__(self, dump: TextFile, lids: LidBook, between: str | None) -> None:
        self.dump, self.lids, self.between = dump, lids, between
        self.tables = SL2VLTables()
        self.known: dict[str, int] = {}

    def add(self, owner: Port, source: str, to: str, lanes: str) -> None:
        number = self.known.get(lanes)
        if number is None:
            number = self._number(lanes)
        ports, in_port, out_port = self.lids.ports(owner), int(source), int(to)
        for name, value in (("in port", in_port), ("out port", out_port)):
            if value > ports:
                self.dump.refuse(name, f"0 to {ports}", value)
        self.tables.put(owner.guid, ports, in_port, out_port or owner.number, number)

    def _number(self, lanes: str) -> int:
        vls = lanes.split(self.between)
        if len(vls) != _SLS:
            self.dump.refuse("row", f"{_SLS} lanes", f"{len(vls)} lanes")
        row = tuple(self.dump.number(f"VL of SL{sl}", vl, 0, 15) for sl, vl in enumerate(vls))
        self.known[lanes] = number = self.tables.number_of(row)
        return number
