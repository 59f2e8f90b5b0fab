"""Courses of a class's load over time: a file of factors, and lengths of bursts and pauses (``docs/network.md``)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vlane.documents.frames import check_columns, numbers, read_frame, whole_numbers
from vlane.errors import InputError
from vlane.study.sizes import Distribution

MOST_CYCLE = 1 << 40
"""Largest cycle in a file of factors."""
_MOST_FACTOR = 1e6
_OCTAVE = 32
_LONGEST = 1 << 20
"""Longest burst or pause, relative to the shortest of a Pareto distribution or to the mean of a geometric one."""


Course = tuple[tuple[int, float], ...]
"""Factors of a load, each from its cycle on."""


def read_course(path: Path) -> Course:
    """Return (cycle, factor) rows of a file: from each cycle on, the factor multiplies the load.

    Raises
    ------
    InputError
        If the file cannot be read, the first cycle is not 0, the cycles do not increase, or no factor is above 0.
    """
    frame = read_frame(path, "file of factors")
    check_columns(frame, ("cycle", "factor"), path)
    cycle = whole_numbers(frame["cycle"], 0, MOST_CYCLE, path).tolist()
    factor = numbers(frame["factor"], path, most=_MOST_FACTOR)
    if not cycle or cycle[0] != 0:
        raise InputError("cycle", "0 in the first row", cycle[0] if cycle else "no row", source=str(path), line=2)
    for at, (before, now) in enumerate(pairwise(cycle), start=1):
        if now <= before:
            raise InputError("cycle", f"above {before}, the row before", now, source=str(path), line=at + 2)
    if not factor.any():
        raise InputError("factor", "above 0 in at least one row", "0 in all rows", source=str(path))
    return tuple(zip(cycle, factor.tolist(), strict=True))


def lengths(mean: float, shape: float | None) -> Distribution:
    """Return the distribution of the lengths of bursts or pauses, in cycles.

    Lengths are geometric, or those of a Pareto distribution of this shape, rounded up and at most 2^20 times the
    shortest. Lengths above 64 are in ranges of 1/32, within which all are equally likely.

    Parameters
    ----------
    mean : float
        Mean length, at least 1.
    shape : float or None
        Shape of the Pareto distribution, above 1; ``None`` for geometric lengths.

    Examples
    --------
    >>> each = lengths(100, 1.5)
    >>> mean = float((each.weight * (each.least + each.most) / 2).sum() / each.weight.sum())
    >>> round(mean, 6), int(each.least[0])
    (100.0, 34)
    """
    low, high = (1.0, mean * 2) if shape is None else (1e-9, mean)
    for _ in range(200):
        middle = (low + high) / 2
        made = _table(_survival(middle, shape), middle)
        if float((made.weight * (made.least + made.most)).sum() / 2 / made.weight.sum()) < mean:
            low = middle
        else:
            high = middle
    return made


def _survival(parameter: float, shape: float | None) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the probability of a length above each number, for a mean or for the shortest Pareto length."""
    if shape is None:
        return lambda number: (1 - 1 / parameter) ** number
    return lambda number: (parameter / np.maximum(number, parameter)) ** shape


def _table(survival: Callable[[NDArray[np.float64]], NDArray[np.float64]], parameter: float) -> Distribution:
    longest = max(2.0, parameter) * _LONGEST
    borders = np.unique(np.rint(2 ** (np.arange(np.log2(longest) * _OCTAVE) / _OCTAVE))).astype(np.int64)
    weight = -np.diff(survival((borders - 1).astype(np.float64)))
    return Distribution.of(list(zip(borders[:-1].tolist(), (borders[1:] - 1).tolist(), weight.tolist(), strict=True)))
