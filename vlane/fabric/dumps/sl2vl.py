"""Readers of SL2VL rows: the subnet manager's dump, ``smpquery sl2vl``, and the ``.slvl`` file of ibdiagnet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.errors import InputError
from vlane.fabric.dump import Dump, Remarks
from vlane.fabric.lids import ADDRESS, LidBook
from vlane.fabric.model import Node, Port
from vlane.fabric.sl2vl_tables import SL2VLTables

if TYPE_CHECKING:
    from pathlib import Path

_SLS = 16
_MOST_PORTS = 256

_HEAD = re.compile(r'(Switch|Channel Adapter|Router) 0x[0-9a-fA-F]{1,16}, base LID ([0-9]{1,9}), ".*"$')
_LINE = re.compile(r"\s*([0-9]{1,9})\s+([0-9]{1,9})\s*:\s*(.*)$")
_RULE = re.compile(r"#-+$")
_QUERY = re.compile(r"# SL2VL table: " + ADDRESS)
_SLS_HEAD = re.compile(r"#\s+SL: \|")
_PORTS = re.compile(r"\s*ports: in\s+([0-9]{1,9}), out\s+([0-9]{1,9}): \|(.*)\|\s*$")
_SLVL = re.compile(r"0x([0-9a-fA-F]{1,16}) ([0-9]{1,9}) ([0-9]{1,9})((?: 0x[0-9a-fA-F]{2}){8})\s*$")


def read_opensm_sl2vl(path: Path, lids: LidBook, remarks: Remarks | None = None) -> SL2VLTables:
    """Return the rows of ``opensm-sl2vl.dump`` by (GUID, input, output), or (GUID, 0, port) of an adapter.

    Parameters
    ----------
    path : Path
        The dump.
    lids : LidBook
        Ports by LID.
    remarks : Remarks, optional
        Record of unreadable sections; by default, the first unreadable section raises its error.

    Raises
    ------
    InputError
        For a line of unknown form, a lane above 15, an unknown LID, two different rows for one place in a section, and
        an unclosed section, unless the remarks permit leaving the section out.
    """
    dump = Dump(path, remarks)
    rows = _Rows(dump, lids, None)
    rules = 0
    for line in dump:
        try:
            if (found := _LINE.match(line)) and rows.is_open:
                rows.add(*found.groups())
                continue
            text = line.strip()
            if _RULE.match(text):
                rules += 1
                if rules == 2:
                    rows.store()
            elif text.startswith("#") or dump.is_noise(line):
                continue
            elif found := _HEAD.match(text):
                if rows.is_open:
                    rows.drop()
                    dump.refuse("section", "closed by a line of dashes", text)
                rules = 0
                rows.open(lids.owner(dump, found.group(2)))
            elif not rows.ignored:
                dump.refuse("line", "a row or a heading of an SL2VL dump", text)
        except InputError as error:
            rows.drop()
            dump.leave_out(error)
            if _HEAD.match(line.strip()) and "section" in error.field:
                rules = 0
                _reopen(rows, lids, dump, line)
    if rows.is_open:
        dump.leave_out(
            InputError(
                "section",
                "closed by a line of dashes",
                "truncated",
                source=str(path),
                line=dump.line,
                problem="is truncated: the closing line of dashes is missing",
            )
        )
    return rows.tables


def _reopen(rows: _Rows, lids: LidBook, dump: Dump, line: str) -> None:
    """Open a section with a heading before the end of the previous section."""
    found = _HEAD.match(line.strip())
    try:
        if found:
            rows.open(lids.owner(dump, found.group(2)))
    except InputError as error:
        dump.leave_out(error)


def read_smpquery_sl2vl(path: Path, lids: LidBook, remarks: Remarks | None = None) -> SL2VLTables:
    """Return the rows printed by ``smpquery sl2vl``, with the keys of ``read_opensm_sl2vl``.

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
        For a line of unknown form, a lane above 15, an unknown LID, two different rows for one place in a query, and a
        query without rows, unless the remarks permit leaving the table out. Always for a file without any table.
    """
    dump = Dump(path, remarks)
    rows = _Rows(dump, lids, "|")
    for line in dump:
        try:
            if (found := _PORTS.match(line)) and rows.is_open:
                rows.add(*found.groups())
                continue
            text = line.strip()
            if found := _QUERY.match(text):
                rows.close()
                rows.open(lids.addressed(dump, *found.groups()))
            elif text.startswith("$") or _SLS_HEAD.match(text) or dump.is_noise(line):
                continue
            elif not (rows.ignored and _PORTS.match(line)):
                dump.refuse("line", "a row or a heading of smpquery sl2vl", text)
        except InputError as error:
            rows.drop()
            dump.leave_out(error)
    try:
        rows.close()
    except InputError as error:
        dump.leave_out(error)
    if not rows.is_used:
        problem = ": no SL2VL table found; expected the output of smpquery sl2vl"
        must = "a dump with at least one SL2VL table"
        raise InputError("file", must, "a file without tables", source=str(path), problem=problem)
    return rows.tables


def read_slvl(path: Path, nodes: dict[int, Node], remarks: Remarks | None = None) -> SL2VLTables:
    """Return the rows of an ``ibdiagnet.slvl`` file: node GUID, input, output, and eight bytes of two lanes each.

    Parameters
    ----------
    path : Path
        The file.
    nodes : dict of int to Node
        Nodes by GUID.
    remarks : Remarks, optional
        Record of unreadable rows; by default, the first unreadable row raises its error.

    Raises
    ------
    InputError
        For a row of another form, with an unknown node or port, or in contradiction to an earlier row, unless the
        remarks permit leaving the row out. Always for a file without any row.
    """
    dump = Dump(path, remarks)
    tables = SL2VLTables()
    for line in dump:
        try:
            if found := _SLVL.match(line):
                _slvl_row(dump, nodes, tables, found)
            elif not line.startswith("#") and not dump.is_noise(line):
                dump.refuse("line", "a node GUID, two ports and eight bytes of lanes", line.strip())
        except InputError as error:
            dump.leave_out(error)
    if not tables:
        problem = ": no SL2VL row found; expected a node GUID, two ports and eight bytes of lanes in each line"
        raise InputError("file", "a dump with SL2VL rows", "a file without rows", source=str(path), problem=problem)
    return tables


def _slvl_row(dump: Dump, nodes: dict[int, Node], tables: SL2VLTables, found: re.Match[str]) -> None:
    guid, source, to, lanes = int(found.group(1), 16), *map(int, found.groups()[1:3]), found.group(4)
    if guid not in nodes:
        dump.refuse("node GUID", "a GUID of the topology", hex(guid))
    ports = nodes[guid].ports
    for name, value in (("in port", source), ("out port", to)):
        if value > ports:
            dump.refuse(name, f"0 to {ports}", value)
    row = tuple(int(digit, 16) for byte in lanes.split() for digit in byte[2:])
    number = tables.number_of(row)
    before = tables.put(guid, ports, source, to, number)
    if before not in (number, SL2VLTables.NONE):
        tables.put(guid, ports, source, to, before)
        dump.refuse(f"row of input {source} and output {to}", "equal to the node's earlier row", lanes.strip())


class _Rows:
    """Parser state: complete tables and the rows of the current block. Equal texts are parsed once."""

    def __init__(self, dump: Dump, lids: LidBook, between: str | None) -> None:
        self.dump, self.lids, self.between = dump, lids, between
        self.tables = SL2VLTables()
        self.is_open = self.ignored = self.is_used = False
        self._owner, self._ports = Port(0, 0), 0
        self._known: dict[str, int] = {}
        self._block: dict[int, int] = {}

    def open(self, owner: Port) -> None:
        """Begin the block of a port's node."""
        self._owner, self._ports = owner, self.lids.ports(owner)
        self.is_open, self.ignored = True, False
        self._block = {}

    def add(self, source: str, to: str, lanes: str) -> None:
        """Read a row of the current block."""
        number = self._known.get(lanes)
        if number is None:
            number = self._number(lanes)
        in_port, out_port = int(source), int(to)
        for name, value in (("in port", in_port), ("out port", out_port)):
            if value > self._ports:
                self.dump.refuse(name, f"0 to {self._ports}", value)
        place = in_port * _MOST_PORTS + (out_port or self._owner.number)
        if self._block.setdefault(place, number) != number:
            place_text = f"row of input {in_port} and output {out_port}"
            self.dump.refuse(place_text, "equal to the earlier row of the table", lanes.strip())

    def close(self) -> None:
        """End the block before the next heading. A block without rows is an error."""
        if self.is_open and not self._block:
            self.is_open = False
            self.dump.refuse("table", "followed by rows", "empty", problem="has no rows")
        if self.is_open:
            self.store()

    def store(self) -> None:
        """Store the rows of the current block, in place of rows of earlier blocks."""
        replaced = differs = False
        put, guid, ports = self.tables.put, self._owner.guid, self._ports
        for place, number in self._block.items():
            before = put(guid, ports, place // _MOST_PORTS, place % _MOST_PORTS, number)
            if before != SL2VLTables.NONE:
                replaced, differs = True, differs or before != number
        if replaced:
            self.dump.replace(self.lids.show(self._owner), differs=differs)
        self.is_used = True
        self.is_open, self._block = False, {}

    def drop(self) -> None:
        """Leave out the current block."""
        self.is_open, self.ignored, self._block = False, True, {}

    def _number(self, lanes: str) -> int:
        vls = lanes.split(self.between)
        if len(vls) != _SLS:
            self.dump.refuse("number of lanes in the row", str(_SLS), len(vls))
        row = tuple(self.dump.number(f"VL of SL{sl}", vl, 0, 15) for sl, vl in enumerate(vls))
        self._known[lanes] = number = self.tables.number_of(row)
        return number
