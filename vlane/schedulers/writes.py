"""Writes to a scheduler's program port: selections, and tables as lists of writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Protocol

from vlane.errors import InputError

__all__ = ["ListSelect", "ScheduleSelect", "SchedulerTable", "Write", "entry_writes", "map_writes", "value_writes"]

Write = tuple[int, int, int, int]
"""Fields of a program port after ``enable``: select, index, requester or VL, weight."""


class ScheduleSelect(IntEnum):
    """Target of a write to a scheduler with a single list."""

    TABLE = 0
    MAP = 1


class ListSelect(IntEnum):
    """Target of a write to the VL arbiter."""

    HIGH = 0
    LOW = 1
    LIMIT = 2


class SchedulerTable(Protocol):
    """Section of a table file for a scheduler."""

    def writes(self, parameters: Mapping[str, Any]) -> list[Write]:
        """Return the writes that program the complete table of an instance. Missing entries are written as 0.

        Raises
        ------
        InputError
            If the table does not fit the instance.
        """

    def shape(self) -> dict[str, int]:
        """Return the smallest table parameters of an instance for this table."""

    def requesters(self) -> int:
        """Return the number of requesters or VLs, from 0, that the table covers."""

    def served(self) -> dict[str, int]:
        """Return the requester or VL of each entry with a nonzero weight, by the entry's key in the file."""


def entry_writes(select: IntEnum, entries: Sequence[tuple[int, int]], count: int) -> list[Write]:
    """Return the writes of a list of (requester or VL, weight), padded to ``count`` with weight 0."""
    padded = [*entries, *[(0, 0)] * (count - len(entries))]
    return [(int(select), index, name, weight) for index, (name, weight) in enumerate(padded)]


def value_writes(values: Sequence[int], requesters: int) -> list[Write]:
    """Return the writes of a value per requester. Requesters without a value get 0.

    Raises
    ------
    ValueError
        If there are more values than requesters.
    """
    if len(values) > requesters:
        raise ValueError(f"there must be at most {requesters} values, not {len(values)}")
    padded = [*values, *[0] * (requesters - len(values))]
    return [(int(ScheduleSelect.TABLE), requester, 0, value) for requester, value in enumerate(padded)]


def too_long(field: str, most: int, got: int, meaning: str = "requesters") -> InputError:
    """Return the error about a list that is longer than an instance allows."""
    problem = f": {got} values; the instance allows {most} ({meaning})"
    return InputError(field, f"at most {most} long", got, problem=problem)


def map_writes(owners: Sequence[int]) -> list[Write]:
    """Return the writes that assign each lane to its requester."""
    return [(int(ScheduleSelect.MAP), lane, requester, 0) for lane, requester in enumerate(owners)]
