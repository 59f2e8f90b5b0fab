"""Crosses of the Omni-Path switch: the shared crosses, paths through the switch, and writes of the maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tables.sc import SCTable
from vlane.tb.machinery.native.crosses import Cross, Cycles, Event, Truths, together
from vlane.tb.switches.crosses_switch import CAUSES, JUDGED_FROM_CYCLES, PHASES, drops, shared, switch_events

__all__ = ["JUDGED_FROM_CYCLES", "crosses", "events"]

_WAYS = ("to_centre", "from_centre", "large_to_centre")


def _written(cycles: Cycles) -> Truths:
    return cycles.on("sc__enable")


def _map_written(table: SCTable) -> Event:
    return lambda cycles: _written(cycles) & (cycles.bits("sc__table") == int(table))


def events(parameters: Mapping[str, Any]) -> dict[str, Event]:
    """Return the events of an instance that are not rules."""
    return {
        **switch_events(parameters),
        "SC2SC written": _map_written(SCTable.SC2SC),
        "SC2VL_T written": _map_written(SCTable.SC2VL_T),
    }


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach: paths in every phase, and with every drop cause."""
    found = (*drops(parameters), *shared())
    for name in ("SC2SC written", "SC2VL_T written"):
        found += together(f"{name} x granted", f"{name} x started", f"{name} x no_vl")
    for way in _WAYS:
        found += together(*(f"{phase} x {way}" for phase in PHASES if (way, phase) != ("large_to_centre", "one flit")))
        found += together(*(f"{cause} x {way}" for cause in CAUSES))
        found += together(f"table_written x {way}", f"credit returned x {way}", f"{way} x started")
    return (*found, *together("to_centre x from_centre", "large_to_centre x from_centre", "one_flit x to_centre"))
