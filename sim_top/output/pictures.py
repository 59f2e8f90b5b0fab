"""What pictures share: how they are begun and written, colours, marks.

Matplotlib is imported when a picture is begun, not before: most commands draw none.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlane.documents.files import write_whole
from vlane.isolation import WithoutFile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933")
"""Told apart by people who see few colours (Okabe and Ito)."""
_MARKS = ("o", "s", "^", "v", "D", "P", "X", "*")


def colour(number: int) -> str:
    """Return the colour of a curve."""
    return _COLOURS[number % len(_COLOURS)]


def look(number: int) -> dict[str, Any]:
    """Return mark and colour of a curve, as matplotlib's arguments."""
    return {"marker": _MARKS[number % len(_MARKS)], "color": colour(number)}


def new_figure(**given: Any) -> Figure:
    """Return a figure without anything; ``given`` are matplotlib's arguments."""
    _load()
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(**given)
    FigureCanvasAgg(figure)
    return figure


def styled(settings: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Return a context in which matplotlib has these settings: for all that is done with a figure."""
    return _load().rc_context(dict(settings))


def _load() -> Any:
    """Import matplotlib, which reads a file of settings in the working directory, without that file."""
    with WithoutFile("matplotlibrc"):
        return importlib.import_module("matplotlib")


def write_png(figure: Figure, file: Path, *, option: str = "--out") -> bytes:
    """Write a picture, whole or not at all, and return it.

    Raises
    ------
    InputError
        Naming the option, if the file cannot be written.
    """
    made = io.BytesIO()
    figure.savefig(made, format="png")
    write_whole(file, made.getvalue(), option=option)
    return made.getvalue()
