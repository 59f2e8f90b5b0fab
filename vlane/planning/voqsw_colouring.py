"""Colouring of paths to use fewer SLs than VOQsw's rule, and a lower bound on the SLs (``docs/voqsw.md``).

Paths are vertices, SLs are colours. Two paths conflict if they pass neighbouring considered 4-tuples: tuples of one
SL2VL row with different next outputs.
"""

from __future__ import annotations

import numpy as np

from vlane.errors import InputError
from vlane.planning.voqsw_paths import Ints, Tuples

__all__ = ["colour_paths", "least_levels"]

_MOST_CELLS = 1 << 28
"""Largest product of paths and levels; the colouring uses one byte for each pair."""


def least_levels(tuples: Tuples) -> int:
    """Return a lower bound on the levels of full VOQ: the largest number of destinations behind an SL2VL row.

    Paths to different hosts through one row diverge behind the row, where they conflict.
    """
    hosts = len(tuples.paths.cabled.hosts)
    target = np.repeat(tuples.target, np.diff(tuples.first))
    behind = np.unique(tuples.row[tuples.passed] * hosts + target) // hosts
    _, counts = np.unique(behind, return_counts=True)
    return max(int(counts.max(initial=0)), min(len(tuples.target), 1))


def colour_paths(tuples: Tuples, considered: int, levels: int) -> Ints | None:
    """Return a level for every path by DSATUR, or ``None`` if more than ``levels`` are needed.

    The next path has the most different levels among its conflicting paths. Ties go to the path with most conflicts,
    then to the first. The path gets the lowest level without a conflict. A path without a considered tuple gets 0.

    Raises
    ------
    InputError
        If the number of paths and levels needs too much memory.
    """
    conflicts = _Conflicts(tuples, considered)
    count = len(conflicts.paths)
    if count * (levels + 1) > _MOST_CELLS:
        raise InputError("--search", "growth or largest for this number of paths", "colouring")
    busy = np.zeros((count, levels + 1), bool)
    degree = np.array([len(conflicts.of(path)) for path in range(count)], np.int64)
    urgency = degree.copy()
    more = int(degree.max(initial=0)) + 1
    chosen = np.zeros(count, np.int64)
    for _ in range(count):
        path = int(urgency.argmax())
        level = int(busy[path].argmin())
        if level == levels:
            return None
        chosen[path], urgency[path] = level, np.iinfo(np.int64).min
        others = conflicts.of(path)
        fresh = np.unique(others[~busy[others, level]])
        busy[fresh, level] = True
        urgency[fresh] += more
    found = np.zeros(len(tuples.first) - 1, np.int64)
    found[conflicts.paths] = chosen
    return found


class _Conflicts:
    """Conflicts between paths: passages sorted by row and tuple, with the range of each row and tuple."""

    def __init__(self, tuples: Tuples, considered: int) -> None:
        self.paths, first, passed = tuples.through(considered)
        path = np.repeat(np.arange(len(self.paths)), np.diff(first))
        row = tuples.row[passed]
        order = np.lexsort((path, passed, row))
        self._path = path[order]
        rows, of = row[order], passed[order]
        self._row = np.searchsorted(rows, tuples.row[:considered]), np.searchsorted(rows, tuples.row[:considered] + 1)
        begins = np.flatnonzero(np.diff(of, prepend=-1))
        self._tuple = np.zeros(considered, np.int64), np.zeros(considered, np.int64)
        self._tuple[0][of[begins]] = begins
        self._tuple[1][of[begins]] = np.append(begins[1:], len(of))
        self._first, self._passed = first, passed

    def of(self, path: int) -> Ints:
        """Return the paths that conflict with a path, repeated for each place of a conflict."""
        parts = []
        for each in self._passed[self._first[path] : self._first[path + 1]].tolist():
            parts.append(self._path[self._row[0][each] : self._tuple[0][each]])
            parts.append(self._path[self._tuple[1][each] : self._row[1][each]])
        return np.concatenate(parts)
