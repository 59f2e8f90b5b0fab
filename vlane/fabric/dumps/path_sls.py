"""Readers of path SLs: a CSV, path records of ``saquery``, OpenSM's path record dump, and ibdiagnet's ``.psl``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.errors import InputError
from vlane.fabric.dump import Dump, Remarks
from vlane.fabric.path_table import NO_SL, PathSLs

if TYPE_CHECKING:
    from pathlib import Path

    from vlane.fabric.model import Node

_COLUMNS = ("slid", "dlid", "sl")
_MAX_LID = 0xBFFF
_FIELD = re.compile(r"([A-Za-z_0-9]+)\.{2,}(.*)$")
_SOURCE = re.compile(r"(?:Channel Adapter|Switch|Router) 0x[0-9a-fA-F]{1,16}, base LID ([0-9]{1,9}), ")
_RECORD = re.compile(r"0x([0-9a-fA-F]{1,4})\s+:\s+([0-9]{1,2})\s+:\s+[0-9]{1,3}\s+:\s+[0-9]{1,3}\s*$")
_NO_RECORD = re.compile(r"0x[0-9a-fA-F]{1,4}\s+:\s+UNREACHABLE\b")
_PSL = re.compile(r"0x([0-9a-fA-F]{1,16})\s+([0-9]{1,5})\s+([0-9]{1,2})\s*$")


def read_path_csv(path: Path, remarks: Remarks | None = None) -> PathSLs:
    """Return the SL by (SLID, DLID) of a CSV with columns slid, dlid and sl. Further columns are ignored.

    Concatenated files are allowed: after a repeated header, pairs replace earlier pairs.

    Raises
    ------
    InputError
        For a header without these columns. For a short row, a value out of range and two SLs for one pair, unless the
        remarks permit leaving the row out.
    """
    dump = Dump(path, remarks)
    sls = _PathSLs(dump)
    header: list[str] = []
    slid = dlid = sl = 0
    slids, dlids, levels = (
        dump.numbers(name, least, most)
        for name, least, most in (("slid", 1, _MAX_LID), ("dlid", 1, _MAX_LID), ("sl", 0, 15))
    )
    put = sls.put
    for line in dump:
        cells = line.split(",")
        if len(cells) == len(header) and cells[0] != header[0]:
            try:
                put(slids[cells[slid]], dlids[cells[dlid]], levels[cells[sl]])
            except InputError as error:
                if not dump.is_noise(line):  # a diagnostic may have as many commas as a row
                    dump.leave_out(error)
        elif dump.is_noise(line):
            continue
        elif not header or cells[0].strip("\ufeff ") == header[0]:
            header = [cell.strip("\ufeff \t") for cell in cells]
            _check_header(dump, header, line)
            slid, dlid, sl = (header.index(name) for name in _COLUMNS)
            sls.restart()
        else:
            place = {"source": str(path), "line": dump.line}
            dump.leave_out(InputError("number of cells in the row", str(len(header)), len(cells), **place))  # type: ignore[arg-type]
    return sls.sls


def _check_header(dump: Dump, header: list[str], line: str) -> None:
    if len(set(header)) != len(header):
        dump.refuse("header", "a CSV row without repeated names", line)
    if missing := [name for name in _COLUMNS if name not in header]:
        names = ", ".join(missing)
        must = f"a CSV row with {', '.join(_COLUMNS)}"
        dump.refuse("header", must, f"a row without {names}", problem=f"has no column {names}")


class _PathSLs:
    """SLs by pair. Two SLs for one pair in the same part of a file are an error."""

    def __init__(self, dump: Dump) -> None:
        self._dump = dump
        self.sls = PathSLs()
        self._earlier: PathSLs | None = None

    def restart(self) -> None:
        """Begin another part of the file. Its records replace earlier records."""
        if self.sls:
            self._earlier = self.sls.copy()

    def put(self, slid: int, dlid: int, sl: int) -> None:
        """Record the SL of a pair."""
        before = self.sls.put(slid, dlid, sl)
        if before in (NO_SL, sl):
            return
        if self._earlier is not None and self._earlier.get((slid, dlid)) == before:
            self._dump.replace(f"pair {slid} to {dlid}", differs=True)
            return
        self.sls.put(slid, dlid, before)
        self._dump.refuse(f"sl of {slid} to {dlid}", f"{before}, as in an earlier row", sl)


def read_saquery(path: Path, remarks: Remarks | None = None) -> PathSLs:
    """Return the SL by (SLID, DLID) of path records printed by ``saquery -p``.

    A later record of a pair replaces an earlier record.

    Raises
    ------
    InputError
        For a line of unknown form, a value out of range and an incomplete record, unless the remarks permit leaving
        the record out.
    """
    dump = Dump(path, remarks)
    reader = _Saquery(dump)
    for line in dump:
        text = line.strip()
        try:
            if text == "PathRecord dump:":
                reader.store()
                reader.record, reader.ignored = {}, False
            elif text.startswith(("$", "#")) or dump.is_noise(line):
                continue
            elif (found := _FIELD.match(text)) and reader.record is not None:
                reader.field(found.group(1), found.group(2))
            elif not reader.ignored:
                dump.refuse("line", "a field of a path record", text)
        except InputError as error:
            reader.drop()
            dump.leave_out(error)
            if text == "PathRecord dump:":
                reader.record, reader.ignored = {}, False
    try:
        reader.store()
    except InputError as error:
        dump.leave_out(error)
    return reader.sls


class _Saquery:
    """Parser state: complete path records and the current record."""

    def __init__(self, dump: Dump) -> None:
        self._dump = dump
        self.sls = PathSLs()
        self.record: dict[str, int] | None = None
        self.ignored = False

    def field(self, name: str, text: str) -> None:
        """Read a field of the current record."""
        if name not in _COLUMNS or self.record is None:
            return
        value = self._dump.number(name, text, 0, 15 if name == "sl" else _MAX_LID)
        if self.record.setdefault(name, value) != value:
            self._dump.refuse(name, f"{self.record[name]}, as in an earlier line of the record", value)

    def store(self) -> None:
        """Keep the current record."""
        record, self.record = self.record, None
        if record is None:
            return
        if missing := [name for name in _COLUMNS if name not in record]:
            names = ", ".join(missing)
            must, problem = f"complete, with {', '.join(_COLUMNS)}", f"has no {names}"
            self._dump.refuse("path record above", must, f"without {names}", problem=problem)
        before = self.sls.put(record["slid"], record["dlid"], record["sl"])
        if before != NO_SL:
            pair = f"pair {record['slid']} to {record['dlid']}"
            self._dump.replace(pair, differs=before != record["sl"])

    def drop(self) -> None:
        """Leave out the current record."""
        self.record, self.ignored = None, True


def read_path_records(path: Path, remarks: Remarks | None = None) -> PathSLs:
    """Return the SL by (SLID, DLID) of ``opensm-path-records.dump``.

    Raises
    ------
    InputError
        For a line of unknown form and a value out of range, unless the remarks permit leaving the row out.
    """
    dump = Dump(path, remarks)
    sls = _PathSLs(dump)
    slid = 0
    for line in dump:
        text = line.strip()
        try:
            if (found := _RECORD.match(text)) and slid:
                sls.put(slid, int(found.group(1), 16), dump.number("sl", found.group(2), 0, 15))
            elif found := _SOURCE.match(text):
                slid = 0
                slid = dump.number("base LID", found.group(1), 1, _MAX_LID)
            elif not (text.startswith("#") or dump.is_noise(line) or (slid and _NO_RECORD.match(text))):
                dump.refuse("line", "a row or a heading of a path record dump", text)
        except InputError as error:
            dump.leave_out(error)
    return sls.sls


def read_psl(path: Path, nodes: dict[int, Node], remarks: Remarks | None = None) -> PathSLs:
    """Return the SL by (SLID, DLID) of an ``ibdiagnet.psl`` file: GUID of the source node, DLID and SL.

    The SL applies to every port of the source node.

    Raises
    ------
    InputError
        For a row of another form, or with an unknown node, unless the remarks permit leaving the row out.
    """
    dump = Dump(path, remarks)
    sls = _PathSLs(dump)
    for line in dump:
        try:
            if found := _PSL.match(line.strip()):
                guid = int(found.group(1), 16)
                if guid not in nodes:
                    dump.refuse("node GUID", "a GUID of the topology", hex(guid))
                dlid, sl = dump.number("dlid", found.group(2), 1, _MAX_LID), dump.number("sl", found.group(3), 0, 15)
                for slid in nodes[guid].lids.values():
                    sls.put(slid, dlid, sl)
            elif not line.startswith("#") and not dump.is_noise(line):
                dump.refuse("line", "a node GUID, a LID and an SL", line.strip())
        except InputError as error:
            dump.leave_out(error)
    return sls.sls
