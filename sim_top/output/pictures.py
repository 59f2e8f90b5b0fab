"""Shared parts of pictures: creation, writing, colours and marks.

Matplotlib is imported when a picture is created, because most commands draw none.
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
"""Colours distinguishable with colour vision deficiency (Okabe and Ito)."""
_MARKS = ("o", "s", "^", "v", "D", "P", "X", "*")


def colour(number: int) -> str:
    """Return the colour of a curve."""
    return _COLOURS[number % len(_COLOURS)]


def look(number: int) -> dict[str, Any]:
    """Return mark and colour of a curve as matplotlib arguments."""
    return {"marker": _MARKS[number % len(_MARKS)], "color": colour(number)}


def new_figure(**given: Any) -> Figure:
    """Return an empty figure. ``given`` are matplotlib arguments."""
    _load()
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(**given)
    FigureCanvasAgg(figure)
    return figure


def styled(settings: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Return a context with these matplotlib settings. Use it around all operations on a figure."""
    return _load().rc_context(dict(settings))


def _load() -> Any:
    """Import matplotlib without its settings file in the working directory."""
    with WithoutFile("matplotlibrc"):
        return importlib.import_module("matplotlib")


def write_png(figure: Figure, file: Path, *, option: str = "--out") -> bytes:
    """Write a picture atomically and return its bytes.

    Raises
    ------
    InputError
        If the file cannot be written; names the option.
    """
    made = io.BytesIO()
    figure.savefig(made, format="png")
    write_whole(file, made.getvalue(), option=option)
    return made.getvalue()
