"""Reader of node-name-map files: names that administrators give to nodes, by GUID."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.errors import InputError
from vlane.fabric.dump import Dump, Remarks

if TYPE_CHECKING:
    from pathlib import Path

    from vlane.fabric.model import Node

_LINE = re.compile(r'(?:0x)?([0-9a-fA-F]{1,16})\s+(?:"([^"]{0,256})"|([^\s"#]{1,256}))\s*(?:#.*)?$')


def read_name_map(path: Path, remarks: Remarks | None = None) -> dict[int, str]:
    """Return the names of a file whose lines are a GUID and a quoted name; ``#`` begins a comment.

    Raises
    ------
    InputError
        For a line of another form, and two names of one GUID, unless the remarks permit leaving the line out.
    """
    dump = Dump(path, remarks)
    names: dict[int, str] = {}
    for line in dump:
        text = line.strip()
        try:
            if not text or text.startswith("#"):
                continue
            found = _LINE.match(text)
            if found is None:
                dump.refuse("line", 'a GUID and a name in quotes, such as 0x0008f10403960984 "leaf 1"', text)
            guid, name = int(found.group(1), 16), found.group(2) or found.group(3) or ""
            if names.setdefault(guid, name) != name:
                dump.refuse(f"name of {guid:#x}", f"given once, as {names[guid]}", name)
        except InputError as error:
            dump.leave_out(error)
    return names


def apply_names(nodes: dict[int, Node], names: dict[int, str]) -> None:
    """Replace the descriptions of nodes by their names of a map; GUIDs of other fabrics are ignored."""
    for guid, name in names.items():
        if guid in nodes and name:
            nodes[guid].name = name
