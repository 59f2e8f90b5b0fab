"""Readers of path SLs: a CSV, or the text of one path record query per pair."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.documents.textfile import TextFile
from vlane.fabric.path_table import PathSLs

if TYPE_CHECKING:
    from pathlib import Path

_COLUMNS = ("slid", "dlid", "sl")
_MAX_LID = 0xBFFF
_FIELD = re.compile(r"([a-z_0-9]+)\.{2,}(.*)$")


def read_path_csv(path: Path) -> PathSLs:
    """Return the SL by (SLID, DLID) of a CSV whose header names slid, dlid and sl; further columns are left.

    Raises
    ------
    InputError
        For another header, a short row, a value out of range.
    """
    dump = TextFile(path)
    sls = PathSLs()
    header: list[str] = []
    slid = dlid = sl = 0
    slids, dlids, levels = (
        dump.numbers(name, least, most)
        for name, least, most in (("slid", 1, _MAX_LID), ("dlid", 1, _MAX_LID), ("sl", 0, 15))
    )
    for line in dump:
        if not line or line.isspace():
            continue
        cells = line.split(",")
        if not header:
            header = [cell.strip() for cell in cells]
            if len(set(header)) != len(header):
                dump.refuse("header", "a CSV row of different names", line)
            if missing := [name for name in _COLUMNS if name not in header]:
                dump.refuse("header", f"a CSV row with {', '.join(_COLUMNS)}", f"without {', '.join(missing)}")
            slid, dlid, sl = (header.index(name) for name in _COLUMNS)
            continue
        if len(cells) != len(header):
            dump.refuse("row", f"{len(header)} columns", f"{len(cells)} columns")
        sls.put(slids[cells[slid]], dlids[cells[dlid]], levels[cells[sl]])
    return sls


def read_saquery(path: Path) -> PathSLs:
    """Return the SL by (SLID, DLID) of path records as ``saquery -p`` prints them.

    Raises
    ------
    InputError
        For a line of no known form, a value out of range, a record that was cut off.
    """
    dump = TextFile(path)
    sls = PathSLs()
    record: dict[str, int] | None = None
    for line in dump:
        text = line.strip()
        if text == "PathRecord dump:":
            _store(dump, sls, record)
            record = {}
        elif not text or text.startswith("$"):
            continue
        elif (found := _FIELD.match(text)) and record is not None:
            name = found.group(1)
            if name in _COLUMNS:
                record[name] = dump.number(name, found.group(2), 0, 15 if name == "sl" else _MAX_LID)
        else:
            dump.refuse("line", "a field of a path record", text)
    _store(dump, sls, record)
    return sls


def _store(dump: TextFile, sls: PathSLs, record: dict[str, int] | None) -> None:
    if record is None:
        return
    if missing := [name for name in _COLUMNS if name not in record]:
        dump.refuse("path record above", f"complete, with {', '.join(_COLUMNS)}", f"without {', '.join(missing)}")
    sls.put(record["slid"], record["dlid"], record["sl"])
