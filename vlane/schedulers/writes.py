"""Writes of a scheduler's program port: what each field of a write selects, and tables as lists of writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Protocol

__all__ = ["ListSelect", "ScheduleSelect", "SchedulerTable", "Write", "entry_writes", "map_writes", "value_writes"]

Write = tuple[int, int, int, int]
"""Select, index, requester or VL, weight: the fields of a program port behind ``enable``."""


class ScheduleSelect(IntEnum):
    """What a write to a scheduler of one list goes to."""

    TABLE = 0
    MAP = 1


class ListSelect(IntEnum):
    """What a write to the VL arbiter goes to."""

    HIGH = 0
    LOW = 1
    LIMIT = 2


class SchedulerTable(Protocol):
    """A scheduler's section of a table file."""

    def writes(self, parameters: Mapping[str, Any]) -> list[Write]:
        """Return the writes that program all of the table of an instance; what the section leaves out is written 0.

        Raises
        ------
        InputError
            If the table does not fit the instance.
        """

    def shape(self) -> dict[str, int]:
        """Return the parameters that decide how long a table an instance holds, at their least for this one."""

    def requesters(self) -> int:
        """Return the number of requesters or VLs, from 0 on, that the table speaks of."""

    def served(self) -> dict[str, int]:
        """Return the requester or VL of each entry with a weight, by the entry's place in the file."""


def entry_writes(select: IntEnum, entries: Sequence[tuple[int, int]], count: int) -> list[Write]:
    """Return the writes of a list of (requester or VL, weight), filled up to ``count`` with weight 0."""
    padded = [*entries, *[(0, 0)] * (count - len(entries))]
    return [(int(select), index, name, weight) for index, (name, weight) in enumerate(padded)]


def value_writes(values: Sequence[int], requesters: int) -> list[Write]:
    """Return the writes that give each requester its value, those beyond the list 0.

    Raises
    ------
    ValueError
        If there are more values than requesters.
    """
    if len(values) > requesters:
        raise ValueError(f"there must be at most {requesters} values, not {len(values)}")
    padded = [*values, *[0] * (requesters - len(values))]
    return [(int(ScheduleSelect.TABLE), requester, 0, value) for requester, value in enumerate(padded)]


def map_writes(owners: Sequence[int]) -> list[Write]:
    """Return the writes that give each lane its requester."""
    return [(int(ScheduleSelect.MAP), lane, requester, 0) for lane, requester in enumerate(owners)]
