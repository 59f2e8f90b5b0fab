"""Conversion of tables to the oracle inputs that program them, cycle by cycle."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from vlane.errors import InputError, misplaced
from vlane.golden.schedulers.by_name import module_of
from vlane.schedulers.registry import SCHEDULERS
from vlane.schedulers.writes import SchedulerTable
from vlane.tables.sl2vl import SL2VLRow

__all__ = ["Writes", "cycles_of"]

Writes = SchedulerTable | SL2VLRow | Iterable[Sequence[int] | Mapping[str, Any]]
"""Accepted programs: a table, writes, or the inputs of each cycle."""

_FIELDS = 4


def cycles_of(
    block: str, parameters: Mapping[str, Any], inputs: Collection[str], table: Writes
) -> list[dict[str, Any]]:
    """Return the inputs of each cycle that programs a table.

    Raises
    ------
    InputError
        If the block has no such table, or the table does not fit the instance.
    """
    scheduler = SCHEDULERS.get(block)
    if scheduler is not None and hasattr(table, "writes"):
        if scheduler.section is None or not isinstance(table, scheduler.section.table):  # type: ignore[arg-type]
            raise _wrong_table(block, type(table).__name__)
        table = table.writes(parameters)
    if isinstance(table, SL2VLRow):
        return _every_row(block, parameters, inputs, table)
    if isinstance(table, str | bytes | Mapping) or not isinstance(table, Iterable):
        raise InputError("table", "a table object, such as DTable, or a list of writes", table)
    writes = list(table)
    named = [dict(each) for each in writes if isinstance(each, Mapping)]
    if len(named) == len(writes):
        return named
    if scheduler is None:
        raise InputError("table", f"a list of the inputs of each cycle, by name, for {block}", writes[0])
    if scheduler.section is None and not parameters["requesters"]:
        raise misplaced("table", f"with {block} and requesters = 0: there is no requester map to program")
    names = ("program__select", "program__index", f"program__{scheduler.name_field}", "program__weight")
    cycles = []
    for place, each in enumerate(writes):
        if not isinstance(each, tuple | list) or len(each) != _FIELDS:
            must = f"{_FIELDS} numbers: select, index, {scheduler.name_field}, weight"
            raise InputError(f"table[{place}]", must, each)
        cycles.append({"program__enable": 1, **dict(zip(names, each, strict=True))})
    return cycles + _exchange(scheduler.swaps, module_of(block, parameters.get("form", "")).REST_CYCLES)


def _wrong_table(block: str, kind: str) -> InputError:
    return InputError("table", f"a table of {block}", kind, problem=f": {block} has no table of type {kind}")


def _exchange(swaps: bool, rest: int) -> list[dict[str, Any]]:  # noqa: FBT001 - as the registry has it
    """Return the cycles that activate the written table: the exchange and the block's latency."""
    return [{"ready": 1, "swap": 1}, *[{"ready": 1}] * rest] if swaps else []


def _every_row(
    block: str, parameters: Mapping[str, Any], inputs: Collection[str], row: SL2VLRow
) -> list[dict[str, Any]]:
    """Return the writes that give every input and output one SL2VL row."""
    prefix = next((each for each in ("program__", "sl2vl__") if f"{each}row" in inputs), None)
    if prefix is None:
        raise _wrong_table(block, type(row).__name__)
    packed = sum(vl << 4 * sl for sl, vl in enumerate(row.row))
    return [
        {f"{prefix}enable": 1, f"{prefix}every_input": 1, f"{prefix}output": output, f"{prefix}row": packed}
        for output in range(parameters.get("outputs") or parameters["ports"])
    ]
