"""Readers of SL2VL rows: the subnet manager's dump, and what ``smpquery sl2vl`` read back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.fabric.lids import LidBook
from vlane.fabric.model import Port, SL2VLRow
from vlane.textfile import TextFile

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Rows", "read_opensm_sl2vl", "read_smpquery_sl2vl"]

Rows = dict[tuple[int, int, int], SL2VLRow]
_SLS = 16

_HEAD = re.compile(r'(Switch|Channel Adapter|Router) 0x[0-9a-fA-F]{1,16}, base LID ([0-9]{1,9}), ".*"$')
_LINE = re.compile(r"([0-9]{1,9})\s+([0-9]{1,9})\s*:\s*(.*)$")
_RULE = re.compile(r"#-+$")
_QUERY = re.compile(r"# SL2VL table: Lid ([0-9]{1,9})")
_SLS_HEAD = re.compile(r"#\s+SL: \|")
_PORTS = re.compile(r"ports: in\s+([0-9]{1,9}), out\s+([0-9]{1,9}): \|(.*)\|$")


def read_opensm_sl2vl(path: Path, lids: LidBook) -> Rows:
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
    rows: Rows = {}
    owner: Port | None = None
    rules = 0
    for line in dump:
        text = line.strip()
        if _RULE.match(text):
            rules += 1
        elif not text or text.startswith("#in out :"):
            continue
        elif found := _HEAD.match(text):
            _closed(dump, owner, rules)
            owner, rules = lids.owner(dump, found.group(2)), 0
        elif (found := _LINE.match(text)) and owner is not None:
            _add(dump, lids, rows, owner, found.group(1), found.group(2), found.group(3).split())
        else:
            dump.refuse("line", "a row or a heading of an SL2VL dump", text)
    _closed(dump, owner, rules)
    return rows


def read_smpquery_sl2vl(path: Path, lids: LidBook) -> Rows:
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
    rows: Rows = {}
    owner: Port | None = None
    count = 1
    for line in dump:
        text = line.strip()
        if found := _QUERY.match(text):
            if not count:
                dump.refuse("table", "followed by rows", "no row")
            owner, count = lids.owner(dump, found.group(1)), 0
        elif not text or text.startswith("$") or _SLS_HEAD.match(text):
            continue
        elif (found := _PORTS.match(text)) and owner is not None:
            _add(dump, lids, rows, owner, found.group(1), found.group(2), found.group(3).split("|"))
            count += 1
        else:
            dump.refuse("line", "a row or a heading of smpquery sl2vl", text)
    if not count or owner is None:
        dump.refuse("table", "followed by rows", "cut off")
    return rows


def _closed(dump: TextFile, owner: Port | None, rules: int) -> None:
    if owner is not None and rules != 2:
        dump.refuse("section", "closed by a line of dashes", "cut off")


def _add(dump: TextFile, lids: LidBook, rows: Rows, owner: Port, source: str, to: str, vls: list[str]) -> None:
    if len(vls) != _SLS:
        dump.refuse("row", f"{_SLS} lanes", f"{len(vls)} lanes")
    row = tuple(dump.number(f"VL of SL{sl}", vl, 0, 15) for sl, vl in enumerate(vls))
    in_port, out_port = (
        dump.number(name, text, 0, lids.ports(owner)) for name, text in (("in port", source), ("out port", to))
    )
    rows[owner.guid, in_port, out_port or owner.number] = row
