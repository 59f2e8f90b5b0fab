"""Crosses of the reaction point: consecutive orders, simultaneous visits, stops and resets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, Event, after, together

JUDGED_FROM_CYCLES = 400_000
"""Length of a run, in cycles, from which on every cross must have occurred."""

EVENTS: Mapping[str, Event] = {
    "answered": lambda cycles: cycles.on("done"),
    "visited just before": lambda cycles: after(cycles.rule("visited")),
    "order": lambda cycles: cycles.on("order"),
    "not ready": lambda cycles: ~cycles.on("ready"),
    "reset": lambda cycles: cycles.on("rst"),
}


def crosses(_parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    return together(
        "started x answered",
        "short x answered",
        "lowered x answered",
        "raised x answered",
        "visited x answered",
        "visited just before x order",
        "not ready x order",
        "started x full",
        "just_enough x full",
        "oversized x full",
        "installed x largest",
        "lowered x largest",
        "at_least x largest",
        "removed x raised",
        "removed x probe_raised",
        "probe_raised x largest",
        "started x visit_waits",
        "held x answered",
        "started x reset",
        "installed x reset",
        "stopped x reset",
        "not ready x reset",
    )
