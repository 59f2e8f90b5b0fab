"""Files of who sends to whom: a list of connections, or a matrix of weights (``docs/network.md``)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vlane.documents.frames import check_columns, numbers, read_frame, whole_numbers
from vlane.errors import InputError

_MOST_WEIGHT = 1e12
"""Of a pair: sums and shares of as many as there can be stay numbers."""


def read_connections(path: Path, hosts: int) -> NDArray[np.float64]:
    """Return (source, destination, weight) of every connection of a list, in the order of the sources.

    Raises
    ------
    InputError
        If the file cannot be read, a column is missing, a host is not there, a weight is negative, a pair is given
        twice, or no weight is above 0.
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
        got = f"{int(source[at])} to {int(target[at])} again"
        raise InputError("connection", "of two hosts that none before it has", got, source=str(path), line=at + 2)
    return _kept(rows, path)


def read_matrix(path: Path, hosts: int) -> NDArray[np.float64]:
    """Return (source, destination, weight) of every pair of a matrix with a weight, in the order of the sources.

    Raises
    ------
    InputError
        If the file cannot be read, it does not have a row and a column for each host, a weight is negative, or none is
        above 0.
    """
    frame = read_frame(path, "matrix of weights", heading=False)
    if frame.shape != (hosts, hosts):
        got = f"{frame.height} rows of {frame.width}"
        raise InputError(
            "matrix of weights", f"{hosts} rows of {hosts} weights, one for each host", got, source=str(path)
        )
    weights = np.stack([numbers(column, path, first_line=1) for column in frame.get_columns()], axis=1)
    source, target = np.nonzero(weights)
    return _kept(np.stack([source, target, weights[source, target]], axis=1), path)


def _kept(rows: NDArray[np.float64], path: Path) -> NDArray[np.float64]:
    if rows[:, 2].max(initial=0) > _MOST_WEIGHT:
        raise InputError("weight", f"at most {_MOST_WEIGHT:g}", f"{rows[:, 2].max():g}", source=str(path))
    kept = rows[rows[:, 2] > 0]
    if not len(kept):
        raise InputError("weight", "above 0 for one pair at least", "0 for all", source=str(path))
    return kept[np.argsort(kept[:, 0], kind="stable")]
