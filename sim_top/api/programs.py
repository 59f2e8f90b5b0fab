"""Tables as what an oracle is given in each cycle to program them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from vlane.errors import InputError
from vlane.golden.schedulers.by_name import module_of
from vlane.schedulers.registry import SCHEDULERS
from vlane.schedulers.writes import SchedulerTable
from vlane.tables.sl2vl import SL2VLRow

__all__ = ["Writes", "cycles_of"]

Writes = SchedulerTable | SL2VLRow | Iterable[Sequence[int] | Mapping[str, Any]]
"""What can be programmed: a table, or writes, or the inputs of each cycle."""

_FIELDS = 4


def cycles_of(
    block: str, parameters: Mapping[str, Any], inputs: Collection[str], table: Writes
) -> list[dict[str, Any]]:
    """Return the inputs of each cycle in which a table is programmed; ``inputs`` are the names of all inputs.

    Raises
    ------
    InputError
        If the table is none of this block, or does not fit the instance.
    """
    scheduler = SCHEDULERS.get(block)
    if scheduler is not None and hasattr(table, "writes"):
        if scheduler.section is None or not isinstance(table, scheduler.section.table):  # type: ignore[arg-type]
            raise InputError("table", f"one that {block} has", type(table).__name__)
        table = table.writes(parameters)
    if isinstance(table, SL2VLRow):
        return _every_row(block, parameters, inputs, table)
    if isinstance(table, str | bytes | Mapping) or not isinstance(table, Iterable):
        raise InputError("table", "a table, or a list of writes", table)
    writes = list(table)
    named = [dict(each) for each in writes if isinstance(each, Mapping)]
    if len(named) == len(writes):
        return named
    if scheduler is None:
        raise InputError("table", "a list of the inputs of each cycle, by name", writes[0])
    if scheduler.section is None and not parameters["requesters"]:
        raise InputError("table", f"left out with {block} without a map", "given")
    names = ("program__select", "program__index", f"program__{scheduler.name_field}", "program__weight")
    cycles = []
    for place, each in enumerate(writes):
        if not isinstance(each, tuple | list) or len(each) != _FIELDS:
            must = f"{_FIELDS} numbers: select, index, {scheduler.name_field}, weight"
            raise InputError(f"table[{place}]", must, each)
        cycles.append({"program__enable": 1, **dict(zip(names, each, strict=True))})
    return cycles + _exchange(scheduler.swaps, module_of(block, parameters.get("form", "")).REST_CYCLES)


def _exchange(swaps: bool, rest: int) -> list[dict[str, Any]]:  # noqa: FBT001 - as the registry has it
    """Return the cycles that make what was written the active table: the exchange, and what follows of it."""
    return [{"ready": 1, "swap": 1}, *[{"ready": 1}] * rest] if swaps else []


def _every_row(
    block: str, parameters: Mapping[str, Any], inputs: Collection[str], row: SL2VLRow
) -> list[dict[str, Any]]:
    """Return the writes that give every input and output a row of SL to VL."""
    prefix = next((each for each in ("program__", "sl2vl__") if f"{each}row" in inputs), None)
    if prefix is None:
        raise InputError("table", f"one that {block} has", type(row).__name__)
    packed = sum(vl << 4 * sl for sl, vl in enumerate(row.row))
    return [
        {f"{prefix}enable": 1, f"{prefix}every_input": 1, f"{prefix}output": output, f"{prefix}row": packed}
        for output in range(parameters.get("outputs") or parameters["ports"])
    ]
