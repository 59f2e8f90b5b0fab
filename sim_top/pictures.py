"""What pictures of curves share: colours, marks, and files that are whole or not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

__all__ = ["colour", "look", "write_png"]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933")
"""Told apart by people who see few colours (Okabe and Ito)."""
_MARKS = ("o", "s", "^", "v", "D", "P", "X", "*")


def colour(number: int) -> str:
    """Return the colour of a curve."""
    return _COLOURS[number % len(_COLOURS)]


def look(number: int) -> dict[str, Any]:
    """Return mark and colour of a curve, as matplotlib's arguments."""
    return {"marker": _MARKS[number % len(_MARKS)], "color": colour(number)}


def write_png(figure: Figure, file: Path) -> None:
    """Write a picture; nothing is left half-written."""
    part = file.with_name(f".{file.name}.part")
    FigureCanvasAgg(figure)
    figure.savefig(part, format="png")
    part.replace(file)
