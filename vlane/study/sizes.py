"""Sizes of packets and messages: a number, a range, a list with weights, or a file (``docs/network.md``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from vlane.documents.frames import check_columns, numbers, read_frame, whole_numbers
from vlane.errors import InputError
from vlane.study.networks import Name

MAX_MESSAGE_BYTES = 1 << 40
"""Largest size of a message."""
MAX_ROWS = 1 << 16
"""Largest number of rows of a distribution."""

_CLOSE = 1e-6
_Range = Annotated[list[int], Field(min_length=2, max_length=2)]
_Pair = Annotated[list[float], Field(min_length=2, max_length=2)]

Sizes = int | _Range | Annotated[list[_Pair], Field(min_length=1, max_length=MAX_ROWS)] | Name
"""Sizes in a study: a number, [least, most], a list of [size, weight], or the name of a file."""


class Distribution(NamedTuple):
    """Distribution of whole numbers: ranges, each with a probability. Numbers of a range are equally likely.

    Parameters
    ----------
    least, most : array of int64, (ranges,)
        Smallest and largest number of each range.
    weight : array of float64, (ranges,)
        Weights above 0, in any unit.
    """

    least: NDArray[np.int64]
    most: NDArray[np.int64]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, float]]) -> Distribution:
        """Return a distribution of (smallest number, largest number, weight) rows. Rows of weight 0 are omitted."""
        kept = [row for row in rows if row[2] > 0]
        least, most = (np.array([row[end] for row in kept], np.int64) for end in (0, 1))
        return cls(least, most, np.array([row[2] for row in kept], np.float64))

    @property
    def largest(self) -> int:
        """Largest number."""
        return int(self.most.max())


def check_sizes(given: Sizes, field: str, most: int) -> None:
    """Reject sizes out of range, and weights that are negative or all 0.

    Raises
    ------
    InputError
        If the sizes are rejected; names the field.
    """
    must = f"1 to {most}, [least, most], or a list of [size, weight]"
    if isinstance(given, str):
        return
    if isinstance(given, int):
        least, largest = given, given
    elif isinstance(given[0], int):
        least, largest = given
    else:
        for place, (size, weight) in enumerate(given):
            if size != int(size) or not 1 <= size <= most:
                raise InputError(f"{field}.{place}.0", f"a whole number, 1 to {most}", size)
            if weight < 0:
                raise InputError(f"{field}.{place}.1", "a weight, at least 0", weight)
        if not any(weight for _, weight in given):
            raise InputError(field, "a list with a weight above 0", given, problem=": all weights are 0")
        return
    if not 1 <= least <= largest <= most:
        raise InputError(field, must, given)


def sizes_of(given: Sizes, base: Path, most: int) -> Distribution:
    """Return the distribution of checked sizes.

    Parameters
    ----------
    base : Path
        Folder against which a file is resolved.

    Raises
    ------
    InputError
        If a file is rejected (see ``read_sizes``).
    """
    if isinstance(given, str):
        return read_sizes(base / given, most)
    if isinstance(given, int):
        return Distribution.of([(given, given, 1.0)])
    if isinstance(given[0], int):
        return Distribution.of([(int(given[0]), int(given[1]), 1.0)])
    return Distribution.of([(int(size), int(size), weight) for size, weight in given])


def read_sizes(path: Path, most: int) -> Distribution:
    """Return the distribution in a file with the column ``bytes`` and either ``weight`` or ``cumulative``.

    A row of ``weight`` gives one size. A row of ``cumulative`` gives the probability of its size and all smaller ones;
    between the sizes of two rows all sizes are equally likely.

    Parameters
    ----------
    most : int
        Largest size.

    Raises
    ------
    InputError
        If the file cannot be read, a column is missing, a size is out of range, all weights are 0, or sizes and
        probabilities do not increase to 1.
    """
    frame = read_frame(path, "file of sizes")
    check_columns(frame, ("bytes",), path)
    if ("weight" in frame.columns) == ("cumulative" in frame.columns):
        problem = f": give either weight or cumulative (found {', '.join(frame.columns)})"
        raise InputError(
            "columns", "bytes and weight, or bytes and cumulative", "others", source=str(path), problem=problem
        )
    if not 1 <= len(frame) <= MAX_ROWS:
        raise InputError("rows", f"1 to {MAX_ROWS}", len(frame), source=str(path))
    size = whole_numbers(frame["bytes"], 1, most, path).tolist()
    if "weight" in frame.columns:
        weight = numbers(frame["weight"], path).tolist()
        if not any(weight):
            raise InputError("weight", "above 0 in at least one row", "0 in all rows", source=str(path))
        return Distribution.of([(each, each, share) for each, share in zip(size, weight, strict=True)])
    reached = numbers(frame["cumulative"], path, most=1).tolist()
    for name, column in (("bytes", size), ("cumulative", reached)):
        for at in range(1, len(column)):
            if column[at] < column[at - 1] or (name == "bytes" and column[at] == column[at - 1]):
                must = f"above {column[at - 1]}, the row before" if name == "bytes" else f"at least {column[at - 1]:g}"
                raise InputError(name, must, column[at], source=str(path), line=at + 2)
    if abs(reached[-1] - 1) > _CLOSE:
        raise InputError("cumulative", "1 in the last row", reached[-1], source=str(path), line=len(reached) + 1)
    rows = [(size[0], size[0], reached[0])]
    rows += [(size[at - 1] + 1, size[at], reached[at] - reached[at - 1]) for at in range(1, len(size))]
    return Distribution.of(rows)
