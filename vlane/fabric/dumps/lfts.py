"""Reader of forwarding tables: ``opensm-lfts.dump``, ``dump_fts`` and ``ibroute`` differ in punctuation only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.documents.textfile import TextFile
from vlane.errors import InputError
from vlane.tables.lft import UNASSIGNED

if TYPE_CHECKING:
    from pathlib import Path

# Between "switch" and "guid" stand a LID or a directed route, in which there is no g; a name comes after the GUID.
_HEAD = re.compile(r"Unicast lids \[[^\]]*\] of switch [^g]*guid 0x([0-9a-fA-F]{1,16})")
_ROW = re.compile(r"\s*0x([0-9a-fA-F]{1,4})\s+([0-9]{1,3})\s*(?:[#:].*)?$")
_TAIL = re.compile(r"([0-9]{1,9}) (valid )?lids dumped")
_COLUMNS = ("Lid  Out", "Port     Info")
_LIDS = 1 << 16
_EMPTY = bytes([UNASSIGNED])


def read_lfts(path: Path) -> dict[int, bytes]:
    """Return the forwarding table of each switch, by GUID: the output port by LID, 255 if unassigned.

    Unassigned LIDs at the end of a table are removed, so that tables compare equal whichever tool printed them.

    Raises
    ------
    InputError
        For a line of no known form, and for a table whose closing count is missing or differs: a file that
        was cut off.
    """
    dump = TextFile(path)
    tables: dict[int, bytes] = {}
    table, guid, rows = bytearray(), -1, 0
    row_of = _ROW.match
    for line in dump:
        found = row_of(line)
        if found is not None and guid >= 0:
            lid, port = found.groups()
            out = int(port)
            if out != UNASSIGNED:
                if out > UNASSIGNED:
                    dump.refuse("port", f"0 to {UNASSIGNED}", port)
                table[int(lid, 16)] = out
            rows += 1
            continue
        text = line.strip()
        if not text or text.startswith(("$", *_COLUMNS)):
            continue
        if found := _HEAD.match(text):
            if guid >= 0:
                dump.refuse("table", "closed by a count of its lids", text)
            guid, rows = int(found.group(1), 16), 0
            table = bytearray(tables.get(guid, b"").ljust(_LIDS, _EMPTY))
        elif (found := _TAIL.match(text)) and guid >= 0:
            count, exact = int(found.group(1)), found.group(2)  # OpenSM counts unreachable LIDs too
            if rows > count or (exact and rows != count):
                dump.refuse("count of lids", f"the rows above it, {rows}", count)
            tables[guid], guid = bytes(table.rstrip(_EMPTY)), -1
        else:
            dump.refuse("line", "a row or a heading of a forwarding table", text)
    if guid >= 0:
        dump.refuse("last table", "closed by a count of its lids", "cut off")
    if not tables:
        raise InputError("content", "forwarding tables", "none", source=str(path))
    return tables
