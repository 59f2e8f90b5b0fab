"""Pages: self-contained HTML files of tables and drawings in one frame (``docs/pages.md``).

A page loads nothing from outside, runs one script, and stays below one megabyte because the writer limits rows and
links. Every text is escaped and made harmless (``vlane.shown``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import jinja2
from markupsafe import Markup, escape

import vlane
from vlane.documents.files import write_whole
from vlane.shown import harmless

MOST_BYTES = 1_000_000
"""Largest size of a page."""
MOST_ROWS = 500
"""Largest number of rows of a table."""
_MOST_TABLE_BYTES = 75_000
_CELL_BYTES = 22
"""Largest total size of a table's cells, and the overhead of one cell."""
_MOST_CHARACTERS = 60
_ONE_LINE = 36
_MOST_IN_CELL = 400
_FOLDER = Path(__file__).parent / "pages"


def short(text: str, most: int = _MOST_CHARACTERS) -> str:
    r"""Return a text with control characters escaped, shortened to ``most`` characters.

    Examples
    --------
    >>> short("S1\nx"), len(short("x" * 100))
    ('S1\\nx', 60)
    """
    shown = harmless(text)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table.

    Parameters
    ----------
    name : str
        Heading, with unit.
    is_number : bool
        Whether the cells are numbers, which are right-aligned.
    meaning : str
        Tooltip of the heading.
    form : str
        Format of the numbers.
    """

    name: str
    is_number: bool = True
    meaning: str = ""
    form: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell with its displayed text, and a sort key if it differs from the text."""

    text: str
    is_number: bool
    order: float | str = ""

    @property
    def kind(self) -> str:
        """CSS class of the cell: numbers are right-aligned, long texts wrap, short texts do not."""
        return "n" if self.is_number else "long" if len(self.text) > _ONE_LINE else "name"


@dataclass(frozen=True)
class Table:
    """Sortable table.

    Parameters
    ----------
    caption : str
        Description of the rows.
    columns : sequence of Column
        Columns in order.
    rows : sequence of sequence
        Rows of values: text, number, ``None`` for an empty cell, or ``Cell``. Rows beyond the size limit are omitted.
    rest : str
        Place where the omitted rows can be found.
    whole : int
        Total number of rows, if only the first are given.
    """

    kind: ClassVar[str] = "table"
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    rest: str = ""
    whole: int = 0

    @cached_property
    def shown_rows(self) -> list[list[Cell]]:
        """Cells of the displayed rows, limited by the size of a page."""
        made: list[list[Cell]] = []
        room = _MOST_TABLE_BYTES
        for row in self.rows[:MOST_ROWS]:
            cells = [_cell(value, column) for value, column in zip(row, self.columns, strict=True)]
            room -= sum(len(escape(cell.text).encode(errors="replace")) + _CELL_BYTES for cell in cells)
            if room < 0:
                break
            made.append(cells)
        return made

    @property
    def left_out(self) -> str:
        """Sentence about omitted rows, empty if all are shown."""
        whole, shown = max(self.whole, len(self.rows)), len(self.shown_rows)
        if whole <= shown:
            return ""
        return f"The first {shown} of {whole:,} rows{f'; {self.rest}' if self.rest else ''}."


def _cell(value: Any, column: Column) -> Cell:
    if isinstance(value, Cell):
        return value
    if value is None:
        return Cell("", column.is_number)
    if isinstance(value, bool):
        return Cell("yes" if value else "", is_number=False)
    if isinstance(value, str):
        return Cell(short(value, _MOST_IN_CELL), column.is_number)
    return Cell(format(value, column.form or ("," if isinstance(value, int) else ",.4g")), is_number=True)


@dataclass(frozen=True)
class Drawing:
    """SVG drawings with a legend and tooltips.

    Parameters
    ----------
    kind : str
        ``curves`` or ``network``.
    caption : str
        Description of the drawings.
    content, legend : Markup
        Drawings, and the legend above them.
    notes : sequence of str
        Lines below the drawings.
    data : Markup
        Data for the script, from ``embedded``.
    """

    kind: str
    caption: str
    content: Markup
    legend: Markup = field(default_factory=Markup)
    notes: Sequence[str] = ()
    data: Markup = field(default_factory=Markup)


@dataclass(frozen=True)
class Section:
    """Part of a page: heading, paragraphs, then tables and drawings."""

    heading: str
    parts: Sequence[Table | Drawing] = ()
    texts: Sequence[str] = ()


@dataclass(frozen=True)
class Verdict:
    """Headline of a page: kind (``good``, ``bad`` or ``warn``), text and details."""

    kind: str
    text: str
    detail: str = ""


@dataclass(frozen=True)
class Page:
    """Page with verdicts, facts and sections.

    Parameters
    ----------
    title : str
        Title of the page.
    verdicts : sequence of Verdict
        Results.
    facts : sequence of (str, str)
        Settings and measurements, as (name, value).
    sections : sequence of Section
        Sections in order.
    """

    title: str
    sections: Sequence[Section]
    verdicts: Sequence[Verdict] = ()
    facts: Sequence[tuple[str, str]] = ()

    @property
    def made_by(self) -> str:
        """Footer of the page."""
        return f"vlane {vlane.__version__}"


def embedded(data: Any) -> Markup:
    """Return data as JSON that is safe inside a script element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - no HTML metacharacter is left


def write(page: Page, file: Path, *, option: str) -> Path:
    """Write a page atomically and return its file.

    Raises
    ------
    InputError
        If the file cannot be written; names the option.
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, finalize=_shown, trim_blocks=True, keep_trailing_newline=True
    )
    style, script = (Markup(_own(name)) for name in ("style.css", "script.js"))  # noqa: S704 - our own files
    shown = environment.from_string(_own("frame.html.j2")).render(page=page, style=style, script=script)
    write_whole(file, shown, option=option)
    return file


def _own(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8").strip()


def _shown(value: Any) -> Any:
    return harmless(value) if isinstance(value, str) and not isinstance(value, Markup) else value
