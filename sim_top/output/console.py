"""Screen output: one JSON document or tables on stdout, progress on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from vlane.shown import encodable, harmless
from vlane.sim_top.output.streams import OutputError

_FILE_WIDTH = 120
_MOST_WIDTH = 10_000

_terminal = sys.stdout is not None and sys.stdout.isatty()
screen = Console(highlight=False, width=None if _terminal or "COLUMNS" in os.environ else _FILE_WIDTH)
_notes = Console(stderr=True, highlight=False)


def emit_json(document: dict[str, Any]) -> None:
    """Write one JSON document to stdout. Bytes of names that are not UTF-8 appear as escapes."""
    sys.stdout.write(json.dumps(_encodable(document), indent=2) + "\n")


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(key) if isinstance(key, str) else key: _encodable(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(held) for held in value]
    return value


def say(text: str, *, style: str | None = None, end: str = "\n") -> None:
    """Write one line of arbitrary length to stdout, with control characters escaped."""
    screen.print(Text(harmless(text), style=style or ""), end=end, soft_wrap=True)


def note(text: str) -> None:
    """Write a line of progress to stderr. A failure to write is ignored."""
    with contextlib.suppress(OutputError):
        _notes.print(Text(harmless(text)), style="dim", soft_wrap=True)


def complain(line: str) -> None:
    """Write a line to stderr. A failure to write is ignored, so that the exit status stays."""
    with contextlib.suppress(OutputError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def show(made: Table) -> None:
    """Write a table at its full width, also if the terminal is narrower, so that no digit is cut."""
    needed = screen.measure(made, options=screen.options.update(max_width=_MOST_WIDTH)).maximum
    Console(highlight=False, width=max(screen.width, needed)).print(made)


def plain_table(columns: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table without borders, at full width. ``>`` marks columns to align right.

    Examples
    --------
    >>> plain_table([">load", "word"], [["0.5", "yes"], ["0.25", ""]])
    ['load  word', ' 0.5  yes', '0.25']
    """
    names = [column.lstrip(">") for column in columns]
    widths = [max(len(row[place]) for row in (names, *rows)) for place in range(len(names))]
    return [
        "  ".join(
            cell.rjust(width) if column.startswith(">") else cell.ljust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        ).rstrip()
        for row in (names, *rows)
    ]


def table(title: str, columns: list[str], rows: list[list[str]]) -> Table:
    """Return a table, without a header if all column names are empty.

    Columns whose name starts with ``>`` are right-aligned.
    """
    has_header = any(column.lstrip(">") for column in columns)
    made = Table(title=Text(harmless(title)), title_justify="left", title_style="bold", show_header=has_header)
    for column in columns:
        made.add_column(Text(harmless(column.lstrip(">"))), justify="right" if column.startswith(">") else "left")
    for row in rows:
        made.add_row(*(Text(harmless(cell)) for cell in row))
    return made
