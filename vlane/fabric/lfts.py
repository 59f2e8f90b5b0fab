"""Reader of forwarding tables: ``opensm-lfts.dump``, ``dump_fts`` and ``ibroute`` differ in punctuation only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.errors import InputError
from vlane.textfile import TextFile

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_lfts"]

_HEAD = re.compile(r"Unicast lids \[.*\] of switch .*guid 0x([0-9a-fA-F]{1,16})")
_ROW = re.compile(r"0x([0-9a-fA-F]{1,4})\s+([0-9]{1,3})\s*(?:[#:].*)?$")
_TAIL = re.compile(r"([0-9]{1,9}) (valid )?lids dumped")
_COLUMNS = ("Lid  Out", "Port     Info")
_NO_PORT = 255


def read_lfts(path: Path) -> dict[int, dict[int, int]]:
    """Return the output port by LID of each switch, by GUID; port 255 (unreachable) is left out.

    Raises
    ------
    InputError
        For a line of no known form, and for a table whose closing count is missing or differs: a file that
        was cut off.
    """
    dump = TextFile(path)
    tables: dict[int, dict[int, int]] = {}
    table: dict[int, int] | None = None
    rows = 0
    for line in dump:
        text = line.strip()
        if not text or text.startswith(("$", *_COLUMNS)):
            continue
        if found := _HEAD.match(text):
            if table is not None:
                dump.refuse("table", "closed by a count of its lids", text)
            table, rows = tables.setdefault(int(found.group(1), 16), {}), 0
        elif (found := _ROW.match(text)) and table is not None:
            rows += 1
            port = dump.number("port", found.group(2), 0, _NO_PORT)
            if port != _NO_PORT:
                table[int(found.group(1), 16)] = port
        elif (found := _TAIL.match(text)) and table is not None:
            count, exact = int(found.group(1)), found.group(2)  # OpenSM counts unreachable LIDs too
            if rows > count or (exact and rows != count):
                dump.refuse("count of lids", f"the rows above it, {rows}", count)
            table = None
        else:
            dump.refuse("line", "a row or a heading of a forwarding table", text)
    if table is not None:
        dump.refuse("last table", "closed by a count of its lids", "cut off")
    if not tables:
        raise InputError("content", "forwarding tables", "none", source=str(path))
    return tables
