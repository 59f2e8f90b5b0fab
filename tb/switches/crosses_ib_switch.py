"""Crosses of the InfiniBand switch: those of both kinds, and writes of SL2VL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.native.crosses import Cross, Event, together
from vlane.tb.switches.crosses_switch import JUDGED_FROM_CYCLES, drops, shared, switch_events

__all__ = ["JUDGED_FROM_CYCLES", "crosses", "events"]


def events(parameters: Mapping[str, Any]) -> dict[str, Event]:
    """Return the events of an instance that are no rules."""
    return {
        **switch_events(parameters),
        "SL2VL written": lambda cycles: cycles.on("sl2vl__enable"),
        "SL2VL written for every input": lambda cycles: cycles.on("sl2vl__enable") & cycles.on("sl2vl__every_input"),
    }


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can show."""
    return (
        *drops(parameters), *shared(),
        *together(
            "SL2VL written x granted", "SL2VL written x started", "SL2VL written x no_vl",
            "SL2VL written for every input x granted",
        ),
    )  # fmt: skip
