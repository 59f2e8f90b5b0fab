"""CSV and Parquet tables from users. Errors name file, row and column."""

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
"""Name that polars gives a column whose name is already taken."""


def read_frame(path: Path, what: str, *, heading: bool = True) -> pl.DataFrame:
    """Return the contents of a CSV or Parquet file.

    Parameters
    ----------
    path : Path
        File to read.
    what : str
        Name of the file in errors.
    heading : bool
        Whether the first line of a CSV names the columns.

    Raises
    ------
    InputError
        If the file cannot be read, or a CSV names a column twice.
    """
    note_input(path)
    try:
        with path.open("rb") as file:  # polars would treat *, ? and [ in a name as patterns
            if path.suffix == ".parquet":
                return pl.read_parquet(file)
            frame = pl.read_csv(file, infer_schema_length=None, has_header=heading)
    except (OSError, pl.exceptions.PolarsError) as error:
        first = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        problem = f"cannot be read as CSV or Parquet: {first}"
        raise InputError(what, "a readable CSV or Parquet file", first, source=str(path), problem=problem) from None
    for name in frame.columns:
        if (again := _AGAIN.fullmatch(name)) and again[1] in frame.columns:
            problem = f": {again[1]} is named twice"
            raise InputError("columns", "distinct", again[1], source=str(path), line=1, problem=problem)
    return frame


def check_columns(frame: pl.DataFrame, needed: Iterable[str], path: Path) -> None:
    """Reject a table that lacks a column.

    Raises
    ------
    InputError
        If a column is missing; names all required columns.
    """
    names = list(needed)
    if any(name not in frame.columns for name in names):
        lacking = [name for name in names if name not in frame.columns]
        problem = f": {', '.join(lacking)} missing (found {', '.join(frame.columns)})"
        got = ", ".join(frame.columns)
        raise InputError("columns", ", ".join(names), got, source=str(path), problem=problem)


def whole_numbers(column: pl.Series, least: int, most: int, path: Path) -> NDArray[np.int64]:
    """Return a column of whole numbers in a range.

    Raises
    ------
    InputError
        If a row holds anything else; names the first such row.
    """
    _check_type(column, path)
    whole = column.cast(pl.Int64, strict=False)
    is_wrong = whole.is_null() | (whole < least) | (whole > most)
    if column.dtype.is_float():
        is_wrong |= column != column.round()
    _check_cells(column, is_wrong, f"a whole number, {least} to {most}", path, first_line=2)
    return whole.to_numpy()


def numbers(
    column: pl.Series, path: Path, *, first_line: int = 2, least: float = 0, most: float = inf
) -> NDArray[np.float64]:
    """Return a column of numbers in a range, by default at least 0.

    Raises
    ------
    InputError
        If a row holds anything else; names the first such row.
    """
    _check_type(column, path)
    number = column.cast(pl.Float64, strict=False)
    is_wrong = number.is_null() | ~number.is_finite() | (number < least) | (number > most)
    must = f"a number, at least {least:g}" if most == inf else f"a number, {least:g} to {most:.0f}"
    _check_cells(column, is_wrong, must, path, first_line=first_line)
    return number.to_numpy()


def _check_type(column: pl.Series, path: Path) -> None:
    """Reject a Parquet column that is not numeric. A CSV column may be text."""
    if not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Null)):
        raise InputError(column.name, "a column of numbers", f"one of type {column.dtype}", source=str(path))


def _check_cells(column: pl.Series, is_wrong: pl.Series, must: str, path: Path, *, first_line: int) -> None:
    """Reject the first wrong cell of a column."""
    wrong = np.flatnonzero(is_wrong.fill_null(value=True).to_numpy())
    if len(wrong):
        at = int(wrong[0])
        got = "an empty cell" if column[at] is None else column[at]
        raise InputError(column.name, must, got, source=str(path), line=at + first_line)
