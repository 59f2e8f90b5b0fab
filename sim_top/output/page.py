"""Pages: one self-contained HTML file each, of tables and drawings, in one frame (``docs/pages.md``).

A page asks for nothing from outside, runs one script of ours, and holds less than a megabyte: what writes one bounds
its rows and links. Every text is escaped, and shown harmless (``vlane.shown``), whoever wrote it.
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
"""Of a page."""
MOST_ROWS = 500
"""Of a table."""
_MOST_TABLE_BYTES = 75_000
_CELL_BYTES = 22
"""Of a table's cells, and of what is around the text of one."""
_MOST_CHARACTERS = 60
_ONE_LINE = 36
_MOST_IN_CELL = 400
_FOLDER = Path(__file__).parent / "pages"


def short(text: str, most: int = _MOST_CHARACTERS) -> str:
    r"""Return a text that is harmless and no longer than a page has room for.

    Examples
    --------
    >>> short("S1\nx"), len(short("x" * 100))
    ('S1\\nx', 60)
    """
    shown = harmless(text)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : str
        With its unit.
    is_number : bool
        Whether its cells are numbers, which stand right.
    meaning : str
        What is told where somebody points at it.
    form : str
        Format of its numbers.
    """

    name: str
    is_number: bool = True
    meaning: str = ""
    form: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as it is shown; what it is sorted by, if that is not what it shows."""

    text: str
    is_number: bool
    order: float | str = ""

    @property
    def kind(self) -> str:
        """Class of the cell: a number stands right, a long text wraps, a short one does not."""
        return "n" if self.is_number else "long" if len(self.text) > _ONE_LINE else "name"


@dataclass(frozen=True)
class Table:
    """A table that readers sort.

    Parameters
    ----------
    caption : str
        What its rows are.
    columns : sequence of Column
        In order.
    rows : sequence of sequence
        Of values: text, numbers, None for nothing, or a ``Cell``; as many are shown as there is room for.
    rest : str
        Where the other rows are.
    whole : int
        Rows in all, if only the first are given.
    """

    kind: ClassVar[str] = "table"
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    rest: str = ""
    whole: int = 0

    @cached_property
    def shown_rows(self) -> list[list[Cell]]:
        """The cells of the rows that are shown, as many as a page has room for."""
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
        """What is said of rows that are not shown."""
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
    """Drawings in SVG, with a legend and what is said where somebody points.

    Parameters
    ----------
    kind : str
        ``curves`` or ``network``.
    caption : str
        What they show.
    content, legend : Markup
        The drawings; what stands above them.
    notes : sequence of str
        What stands below them.
    data : Markup
        What the script needs, of ``embedded``.
    """

    kind: str
    caption: str
    content: Markup
    legend: Markup = field(default_factory=Markup)
    notes: Sequence[str] = ()
    data: Markup = field(default_factory=Markup)


@dataclass(frozen=True)
class Section:
    """A part of a page: its heading, paragraphs, then tables and drawings."""

    heading: str
    parts: Sequence[Table | Drawing] = ()
    texts: Sequence[str] = ()


@dataclass(frozen=True)
class Verdict:
    """What a page says first: ``good``, ``bad`` or ``warn``, in words, and what belongs to it."""

    kind: str
    text: str
    detail: str = ""


@dataclass(frozen=True)
class Page:
    """A page.

    Parameters
    ----------
    title : str
        Of what it is.
    verdicts : sequence of Verdict
        What came out.
    facts : sequence of (str, str)
        What was measured, how long, how sure.
    sections : sequence of Section
        In order.
    """

    title: str
    sections: Sequence[Section]
    verdicts: Sequence[Verdict] = ()
    facts: Sequence[tuple[str, str]] = ()

    @property
    def made_by(self) -> str:
        """The last line."""
        return f"vlane {vlane.__version__}"


def embedded(data: Any) -> Markup:
    """Return data as JSON that can stand in a script element, whatever text is in it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - no character that HTML knows is left


def write(page: Page, file: Path, *, option: str) -> Path:
    """Write a page, whole or not at all; return its file.

    Raises
    ------
    InputError
        Naming the option, if the file cannot be written.
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
