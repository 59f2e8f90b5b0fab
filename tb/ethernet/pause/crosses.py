"""Crosses of PAUSE: frames, watermarks, PAUSE frames and writes in one cycle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, Event, after, together

JUDGED_FROM_CYCLES = 400_000
"""Length of a run, in cycles, from which on every cross must have occurred."""

EVENTS: Mapping[str, Event] = {
    "write": lambda cycles: cycles.on("program__enable"),
    "just written": lambda cycles: after(cycles.on("program__enable")),
    "PAUSE sent just before": lambda cycles: after(cycles.on("pause_sent")),
    "PAUSE sent": lambda cycles: cycles.on("pause_sent"),
    "reset": lambda cycles: cycles.on("rst"),
    "still paused": lambda cycles: cycles.on("paused"),
    "request": lambda cycles: cycles.on("request"),
}


def crosses(_parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    return together(
        "arrived x paused",
        "both x paused",
        "left x resumed",
        "both x resumed",
        "dropped x still paused",
        "dropped x left",
        "filled x left",
        "filled x still paused",
        "emptied x arrived",
        "said_pause x paused",
        "said_go x resumed",
        "said_pause x dropped",
        "unasked x still paused",
        "refreshed x dropped",
        "PAUSE sent x write",
        "missed x paused",
        "missed x resumed",
        "paused x just written",
        "resumed x just written",
        "switched_off x just written",
        "switched_off x request",
        "switched_off x PAUSE sent",
        "crossed x still paused",
        "at_high x arrived",
        "at_low x left",
        "paused x PAUSE sent just before",
        "resumed x PAUSE sent just before",
        "dropped x write",
        "arrived x reset",
        "said_pause x reset",
        "write x reset",
        "paused x reset",
        "late_room x still paused",
    )
