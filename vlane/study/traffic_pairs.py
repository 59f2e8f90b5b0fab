"""Files of communicating hosts: a list of connections, or a matrix of weights (``docs/network.md``)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vlane.documents.frames import check_columns, numbers, read_frame, whole_numbers
from vlane.errors import InputError

_MOST_WEIGHT = 1e12
"""Largest weight of a pair, so that sums over all pairs stay finite."""


def read_connections(path: Path, hosts: int) -> NDArray[np.float64]:
    """Return (source, destination, weight) of every connection of a list, sorted by source.

    Raises
    ------
    InputError
        If the file cannot be read, a column is missing, a host does not exist, a weight is negative, a pair occurs
        twice, or all weights are 0.
    """
    frame = read_frame(path, "list of connections")
    check_columns(frame, ("source", "destination"), path)
    source, target = (whole_numbers(frame[name], 0, hosts - 1, path) for name in ("source", "destination"))
    weight = numbers(frame["weight"], path) if "weight" in frame.columns else np.ones(len(frame))
    rows = np.stack([source, target, weight], axis=1)
    _, first = np.unique(source * hosts + target, return_index=True)
    again = np.setdiff1d(np.arange(len(rows)), first)
    if len(again):
        at = int(again[0])
        got = f"{int(source[at])} to {int(target[at])}"
        problem = f"{got} is already listed above"
        raise InputError("connection", "listed once", got, problem=problem, source=str(path), line=at + 2)
    return _kept(rows, path)


def read_matrix(path: Path, hosts: int) -> NDArray[np.float64]:
    """Return (source, destination, weight) of every nonzero element of a matrix, sorted by source.

    Raises
    ------
    InputError
        If the file cannot be read, the matrix does not have a row and column per host, a weight is negative, or all are
        0.
    """
    frame = read_frame(path, "matrix of weights", heading=False)
    if frame.shape != (hosts, hosts):
        got = f"{frame.height} rows of {frame.width}"
        raise InputError("matrix of weights", f"{hosts} rows of {hosts} weights, one per host", got, source=str(path))
    weights = np.stack([numbers(column, path, first_line=1) for column in frame.get_columns()], axis=1)
    source, target = np.nonzero(weights)
    return _kept(np.stack([source, target, weights[source, target]], axis=1), path)


def _kept(rows: NDArray[np.float64], path: Path) -> NDArray[np.float64]:
    if rows[:, 2].max(initial=0) > _MOST_WEIGHT:
        raise InputError("weight", f"at most {_MOST_WEIGHT:g}", f"{rows[:, 2].max():g}", source=str(path))
    kept = rows[rows[:, 2] > 0]
    if not len(kept):
        raise InputError("weight", "above 0 for at least one pair", "0 for all pairs", source=str(path))
    return kept[np.argsort(kept[:, 0], kind="stable")]
