"""Assignment of SLs to paths, and the number of 4-tuples that the SLs allow: stage 4 of VOQsw (``docs/voqsw.md``).

Sets of SLs are integers with one bit for each SL. Every trial of a number of considered tuples is a bit field of such
an integer, so one pass over the paths evaluates many independent trials.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vlane.planning.voqsw_paths import Ints, Tuples

_AT_ONCE = 1 << 16
"""Number of paths whose tuples are converted to Python integers at once."""
_MOST_BITS = 1 << 16
"""Width of the integers of a pass over the paths."""
_FEW = 64
"""Trials of the first pass; every further pass has twice as many."""


def assign_sls(tuples: Tuples, considered: int) -> Ints:
    """Return the level of every path: in path order, the lowest level without a conflict at considered tuples.

    Levels are counted from 0 without an upper bound. A path without a considered tuple gets 0.
    """
    some, first, passed = tuples.through(considered)
    row_of, rows = _rows(tuples, considered)
    used, in_row = [0] * considered, [0] * rows
    chosen = []
    for mine in _paths(first, passed):
        busy = 0
        for each in mine:
            busy |= in_row[row_of[each]] ^ used[each]
        free = (busy + 1) & ~busy
        for each in mine:
            used[each] |= free
            in_row[row_of[each]] |= free
        chosen.append(free.bit_length() - 1)
    sls = np.zeros(len(tuples.first) - 1, np.int64)
    sls[some] = chosen
    return sls


def grow(tuples: Tuples, sls: int) -> int:
    """Return the paper's number of tuples: the largest up to which every number of tuples needs at most ``sls`` SLs."""
    least, fields = 1, _FEW
    while least <= len(tuples.weight):
        fields = max(1, min(fields, _MOST_BITS // (sls + 1), len(tuples.weight) + 1 - least))
        failed = _try(tuples, sls, least, fields, first_only=True)
        if failed:
            return least + failed[0] - 1
        least += fields
        fields *= 2
    return len(tuples.weight)


def largest(tuples: Tuples, sls: int) -> int:
    """Return the largest number of tuples with at most ``sls`` SLs, even if a smaller number needs more."""
    end = len(tuples.weight) + 1
    while end > 1:
        fields = max(1, min(_MOST_BITS // (sls + 1), end - 1))
        succeeded = set(range(fields)) - set(_try(tuples, sls, end - fields, fields, first_only=False))
        if succeeded:
            return end - fields + max(succeeded)
        end -= fields
    return 0


def _try(tuples: Tuples, sls: int, least: int, fields: int, *, first_only: bool) -> list[int]:
    """Try ``least``, ``least + 1``, ... considered tuples. Return the numbers, from 0, of the failed trials.

    A trial fails if the SLs do not suffice. With ``first_only``, only the first failure is searched and returned.
    """
    width = sls + 1  # an addition carries into the last bit of a field if all other bits are set
    ones = sum(1 << width * field for field in range(fields))
    guards, whole = ones << sls, (1 << width * fields) - 1
    most = least + fields - 1
    _, first, passed = tuples.through(most)
    row_of, rows = _rows(tuples, most)
    mask = [whole >> width * max(0, rank + 1 - least) << width * max(0, rank + 1 - least) for rank in range(most)]
    used, in_row = [0] * most, [0] * rows
    failed = 0
    for mine in _paths(first, passed):
        busy = 0
        for each in mine:
            busy |= (in_row[row_of[each]] ^ used[each]) & mask[each]
        free = (busy + ones) & ~busy
        over = free & guards
        if over:
            failed |= over
            free ^= over
            ones &= ~(over >> sls)
            if first_only:
                ones &= (over & -over) - 1
            guards &= ones << sls
            if not ones:
                break
        for each in mine:
            got = free & mask[each]
            used[each] |= got
            in_row[row_of[each]] |= got
    places = [field for field in range(fields) if failed >> (width * field + sls) & 1]
    return places[:1] if first_only else places


def _rows(tuples: Tuples, considered: int) -> tuple[list[int], int]:
    """Return the row of each of the first tuples, renumbered from 0, and the number of rows."""
    different, row = np.unique(tuples.row[:considered], return_inverse=True)
    return row.tolist(), len(different)


def _paths(first: Ints, passed: Ints) -> Iterator[list[int]]:
    """Yield the tuples of each path."""
    for start in range(0, len(first) - 1, _AT_ONCE):
        ends = first[start : start + _AT_ONCE + 1]
        held = passed[ends[0] : ends[-1]].tolist()
        at = 0
        for end in (ends[1:] - ends[0]).tolist():
            yield held[at:end]
            at = end
