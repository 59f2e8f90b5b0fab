"""Crosses of Omni-Path's maps: results of look-ups, writes of each map, and resets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tables.sc import SCTable
from vlane.tb.machinery.native.crosses import Cross, Cycles, Event, Truths, together

JUDGED_FROM_CYCLES = 200_000
"""Length of a run, in cycles, from which on every cross must have occurred."""


def _written(cycles: Cycles) -> Truths:
    return cycles.on("program__enable")


def _writes(table: int) -> Event:
    return lambda cycles: _written(cycles) & (cycles.bits("program__table") == table)


def _just_looked_up(cycles: Cycles) -> Truths:
    """Return whether the channel and ports of a write are those that port 0 looks up."""
    found: Truths = (
        _written(cycles)
        & (cycles.bits("program__index") == cycles.bits("channel", 0, 5))
        & (cycles.bits("program__ingress") == 0)
        & (cycles.bits("program__egress") == cycles.bits("egress", 0, 6))
    )
    return found


_TABLES = {table.name.upper(): int(table) for table in SCTable}
EVENTS: Mapping[str, Event] = {
    "write": _written,
    "write of what port 0 looks up": _just_looked_up,
    "drop at port 0": lambda cycles: cycles.bits("drop", 0, 1) != 0,
    "reset": lambda cycles: cycles.on("rst"),
    "write of a map that is not there": lambda cycles: (
        _written(cycles) & (cycles.bits("program__table") >= len(SCTable))
    ),
    **{f"write of {name}": _writes(table) for name, table in _TABLES.items()},
}
_KINDS = (
    "forwarded",
    "sc15_on_vl15",
    "became_sc15",
    "became_vl15",
    "no_such_lane",
    "no_such_egress",
    "injected",
    "injection_dropped",
    "arrived_on_lane",
    "arrival_invalid",
)


def crosses(_parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    return (
        *(cross for kind in _KINDS for cross in together(f"{kind} x write", f"{kind} x reset")),
        *(cross for name in _TABLES for cross in together(f"forwarded x write of {name}", f"write of {name} x reset")),
        *together(
            "write of what port 0 looks up x drop at port 0",
            "write of what port 0 looks up x forwarded",
            "write of a map that is not there x forwarded",
            "write of a map that is not there x drop at port 0",
            "injected x drop at port 0",
            "injection_dropped x drop at port 0",
        ),
    )
