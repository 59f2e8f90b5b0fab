"""Sections ``[[swap]]`` of a study file: tables of egress schedulers, swapped under traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import Field, create_model

from vlane.errors import InputError, misplaced, missing_value
from vlane.schedulers.registry import SCHEDULERS
from vlane.schedulers.writes import SchedulerTable
from vlane.study.networks import Section


class _SwapPlace(Section):
    cycle: int = Field(ge=1, description="Cycle of the swap request; the writes precede it.")
    switch: int = Field(ge=0, description="Number of the switch.")
    ports: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1)] | None = Field(
        None, description="Numbers of the switch's ports, from 1. [default: all ports with a cable]"
    )


_SWAPPED = {name: each.section for name, each in SCHEDULERS.items() if each.swaps and each.section}
_TABLE_KEYS: dict[str, Any] = {
    key: (kind | None, Field(None, description=f"With {name}: {section.about[key]}"))
    for name, section in _SWAPPED.items()
    for key, (kind, _) in section.keys.items()
}
_SwapKeys = cast("type[_SwapPlace]", create_model("_SwapKeys", __base__=_SwapPlace, **_TABLE_KEYS))


class Swap(_SwapKeys):  # type: ignore[valid-type, misc]
    """Table of a switch's egress schedulers that is swapped under traffic."""

    def table_of(self, scheduler: str) -> SchedulerTable:
        """Return the table for a scheduler.

        Raises
        ------
        InputError
            If the scheduler has no shadow table, or a key is missing, belongs to another scheduler, or is out of range.
        """
        if scheduler not in _SWAPPED:
            raise InputError("scheduler.name", f"{' or '.join(_SWAPPED)} with swap", scheduler)
        section, given = _SWAPPED[scheduler], {key for key in _TABLE_KEYS if getattr(self, key) is not None}
        for key in sorted(given - set(section.keys)):
            raise misplaced(key, f"with scheduler.name {scheduler}")
        missing = next((key for key, (_, default) in section.keys.items() if default is ... and key not in given), None)
        if missing is not None:
            raise missing_value(missing, f"{scheduler} requires it")
        try:
            return section.table(
                **{key: getattr(self, key) if key in given else default for key, (_, default) in section.keys.items()}
            )
        except InputError as error:
            raise error.of(error.field.removeprefix(f"{scheduler}.")) from None


def swapped_tables(swaps: Sequence[Swap], scheduler: str) -> list[SchedulerTable]:
    """Return the tables of a study's swaps.

    Raises
    ------
    InputError
        If a table does not belong to the scheduler; the error names the key.
    """
    tables = []
    for number, swap in enumerate(swaps):
        try:
            tables.append(swap.table_of(scheduler))
        except InputError as error:
            field = error.field if error.field == "scheduler.name" else f"swap.{number}.{error.field}"
            raise error.of(field) from None
    return tables


def longest_shape(shape: Mapping[str, Any], tables: Sequence[SchedulerTable]) -> dict[str, Any]:
    """Return table parameters that are large enough for further tables."""
    longest = dict(shape)
    for table in tables:
        longest |= {key: max(longest[key], value) for key, value in table.shape().items()}
    return longest
