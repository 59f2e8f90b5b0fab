"""What goes to the screen: one JSON document on stdout, or tables for a person; progress on stderr."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["emit_json", "note", "screen", "table"]

_FILE_WIDTH = 120

screen = Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else _FILE_WIDTH)
_notes = Console(stderr=True, highlight=False)


def emit_json(document: dict[str, Any]) -> None:
    """Write one JSON document to stdout."""
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def note(text: str) -> None:
    """Write a line of progress to stderr."""
    _notes.print(text, style="dim", markup=False, soft_wrap=True)


def table(title: str, columns: list[str], rows: list[list[str]]) -> Table:
    """Return a table; columns whose name starts with ``>`` are aligned to the right."""
    made = Table(title=Text(title), title_justify="left", title_style="bold")
    for column in columns:
        made.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made
