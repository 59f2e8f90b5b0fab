"""Crosses of the prober: consecutive orders, feedback at its bounds, writes and resets during orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, Event, together

JUDGED_FROM_CYCLES = 400_000
"""Length of a run, in cycles, from which on every cross must have occurred."""

EVENTS: Mapping[str, Event] = {
    "answered": lambda cycles: cycles.on("done"),
    "order": lambda cycles: cycles.on("order"),
    "not ready": lambda cycles: ~cycles.on("ready"),
    "reset": lambda cycles: cycles.on("rst"),
    "write": lambda cycles: cycles.on("program__enable"),
}


def crosses(_parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    return together(
        "first x answered",
        "due x answered",
        "not_due x answered",
        "carried x answered",
        "negative x answered",
        "positive x answered",
        "same_cycle x answered",
        "earlier x answered",
        "not ready x order",
        "most_excess x negative",
        "most_bytes x negative",
        "most_bytes x no_excess",
        "most_occupancy x least",
        "second_reply x negative",
        "second_reply x positive",
        "lower x positive",
        "no_excess x positive",
        "below_given x positive",
        "given x order",
        "write x not ready",
        "counted x reset",
        "first_reply x reset",
        "not ready x reset",
        "given x reset",
    )
