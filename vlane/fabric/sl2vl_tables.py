"""Every SL2VL row of a fabric, equal rows shared."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

SL2VLRow = tuple[int, ...]
"""Sixteen lanes, indexed by SL; 15 drops."""

_NONE = -1


class SL2VLTables(Mapping[tuple[int, int, int], SL2VLRow]):
    """SL2VL rows by (GUID, input, output) of a switch, (GUID, 0, port) of an adapter.

    A large fabric has a million rows, few of them different: each node has an array of row numbers.

    Parameters
    ----------
    rows : list of SL2VLRow
        The different rows.
    """

    NONE = _NONE
    """Number of a place without a row."""

    def __init__(self) -> None:
        self.rows: list[SL2VLRow] = []
        self._numbers: dict[SL2VLRow, int] = {}
        self._tables: dict[int, tuple[int, array[int]]] = {}

    def number_of(self, row: SL2VLRow) -> int:
        """Return the number of a row among the different ones; a new one is added."""
        number = self._numbers.setdefault(row, len(self.rows))
        if number == len(self.rows):
            self.rows.append(row)
        return number

    def put(self, guid: int, ports: int, source: int, to: int, number: int) -> int:
        """Set a row of a node by its number, which replaces an earlier one; return the earlier number, or ``NONE``."""
        known = self._tables.get(guid)
        if known is None:
            known = self._tables[guid] = (ports + 1, array("i", [_NONE]) * (ports + 1) ** 2)
        width, table = known
        place = source * width + to
        before, table[place] = table[place], number
        return before

    def table(self, guid: int) -> NDArray[np.int32] | None:
        """Return the numbers of a node's rows by input and output, -1 where there is none; ``None`` without any."""
        known = self._tables.get(guid)
        if known is None:
            return None
        width, table = known
        return np.frombuffer(table, np.int32).reshape(width, width)

    def guids(self) -> list[int]:
        """Return the nodes that have rows, in order."""
        return sorted(self._tables)

    def different(self) -> list[SL2VLRow]:
        """Return the different rows that some place has."""
        used = np.zeros(len(self.rows) + 1, bool)
        for _, table in self._tables.values():
            used[np.frombuffer(table, np.int32)] = True
        return [row for row, some in zip(self.rows, used[:-1].tolist(), strict=True) if some]

    def differing(self, other: SL2VLTables) -> list[tuple[int, int, int]]:
        """Return the places whose rows differ in the two tables."""
        same = np.array([self._numbers.get(row, _NONE - 1) for row in other.rows] + [_NONE], np.int32)
        found = []
        for guid in other.guids():
            theirs, ours = other.table(guid), self.table(guid)
            if theirs is None or ours is None:
                continue
            unlike = (theirs != _NONE) & (ours != _NONE) & (same[theirs] != ours)
            found += [(guid, int(source), int(to)) for source, to in np.argwhere(unlike)]
        return found

    def update(self, other: SL2VLTables) -> None:
        """Set every row of the other tables."""
        numbers = np.array([self.number_of(row) for row in other.rows] + [_NONE], np.int32)
        for guid in other.guids():
            width, theirs = other._tables[guid]
            ours = self._tables.setdefault(guid, (width, array("i", [_NONE]) * width**2))[1]
            view, given = np.frombuffer(ours, np.int32), np.frombuffer(theirs, np.int32)
            view[given != _NONE] = numbers[given[given != _NONE]]

    def __getitem__(self, key: tuple[int, int, int]) -> SL2VLRow:
        guid, source, to = key
        width, table = self._tables[guid]
        if not (0 <= source < width and 0 <= to < width) or table[source * width + to] == _NONE:
            raise KeyError(key)
        return self.rows[table[source * width + to]]

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        for guid, (width, table) in self._tables.items():
            for place, number in enumerate(table):
                if number != _NONE:
                    yield guid, place // width, place % width

    def __len__(self) -> int:
        return sum(len(table) - table.count(_NONE) for _, table in self._tables.values())
