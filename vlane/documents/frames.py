"""Tables that users write, as CSV or Parquet: read whole, each refusal with the file, the row and the column."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vlane.documents.files import note_input
from vlane.errors import InputError

_AGAIN = re.compile(r"(.*)_duplicated_\d+")
"""How polars names a column whose name an earlier one has."""


def read_frame(path: Path, what: str, *, heading: bool = True) -> pl.DataFrame:
    """Return the contents of a CSV or Parquet file.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        What it is, for a refusal.
    heading : bool
        The first line of a CSV names the columns.

    Raises
    ------
    InputError
        If it cannot be read, or a CSV names a column twice.
    """
    note_input(path)
    try:
        with path.open("rb") as file:  # of a name polars would take *, ? and [ for patterns
            if path.suffix == ".parquet":
                return pl.read_parquet(file)
            frame = pl.read_csv(file, infer_schema_length=None, has_header=heading)
    except (OSError, pl.exceptions.PolarsError) as error:
        first = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise InputError(what, "a readable CSV or Parquet file", first, source=str(path)) from None
    for name in frame.columns:
        if (again := _AGAIN.fullmatch(name)) and again[1] in frame.columns:
            raise InputError("columns", "named once each", f"{again[1]} twice", source=str(path), line=1)
    return frame


def check_columns(frame: pl.DataFrame, needed: Iterable[str], path: Path) -> None:
    """Refuse a table without the columns that are needed.

    Raises
    ------
    InputError
        Naming all of them.
    """
    names = list(needed)
    if any(name not in frame.columns for name in names):
        raise InputError("columns", f"{', '.join(names)}", ", ".join(frame.columns), source=str(path))


def whole_numbers(column: pl.Series, least: int, most: int, path: Path) -> NDArray[np.int64]:
    """Return a column of whole numbers in a range.

    Raises
    ------
    InputError
        Naming the first row that holds anything else.
    """
    _check_type(column, path)
    whole = column.cast(pl.Int64, strict=False)
    is_wrong = whole.is_null() | (whole < least) | (whole > most)
    if column.dtype.is_float():
        is_wrong |= column != column.round()
    _refuse_first(column, is_wrong, f"a whole number, {least} to {most}", path, first_line=2)
    return whole.to_numpy()


def numbers(
    column: pl.Series, path: Path, *, first_line: int = 2, least: float = 0, most: float = inf
) -> NDArray[np.float64]:
    """Return a column of numbers in a range; they are 0 or more unless it says otherwise.

    Raises
    ------
    InputError
        Naming the first row that holds anything else.
    """
    _check_type(column, path)
    number = column.cast(pl.Float64, strict=False)
    is_wrong = number.is_null() | ~number.is_finite() | (number < least) | (number > most)
    must = f"a number, at least {least:g}" if most == inf else f"a number, {least:g} to {most:.0f}"
    _refuse_first(column, is_wrong, must, path, first_line=first_line)
    return number.to_numpy()


def _check_type(column: pl.Series, path: Path) -> None:
    """Refuse a column of a Parquet file that holds no numbers; a CSV's may be text."""
    if not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Null)):
        raise InputError(column.name, "a column of numbers", f"one of {column.dtype}", source=str(path))


def _refuse_first(column: pl.Series, is_wrong: pl.Series, must: str, path: Path, *, first_line: int) -> None:
    wrong = np.flatnonzero(is_wrong.fill_null(value=True).to_numpy())
    if len(wrong):
        at = int(wrong[0])
        got = "an empty cell" if column[at] is None else column[at]
        raise InputError(column.name, must, got, source=str(path), line=at + first_line)
