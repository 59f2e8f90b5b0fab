"""Crosses of the congestion point: frames, samples and thresholds in one cycle, and consecutive samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, Event, after, together

JUDGED_FROM_CYCLES = 400_000
"""Length of a run, in cycles, from which on every cross must have occurred."""


EVENTS: Mapping[str, Event] = {
    "sample just before": lambda cycles: after(cycles.rule("sampled") | cycles.rule("reached")),
    "sample two before": lambda cycles: after(after(cycles.rule("sampled") | cycles.rule("reached"))),
    "managed just before": lambda cycles: after(cycles.rule("drawn") | cycles.rule("added")),
    "tagged": lambda cycles: cycles.on("has_tag"),
    "sample shown": lambda cycles: cycles.on("sampled"),
    "empty": lambda cycles: ~cycles.on("waiting"),
    "reset": lambda cycles: cycles.on("rst"),
}


def crosses(_parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    return together(
        "sampled x left",
        "reached x left",
        "sampled x sample just before",
        "sampled x sample two before",
        "reached x managed just before",
        "passed x sample just before",
        "negative x sample just before",
        "negative x tagged",
        "positive x left",
        "positive x sample two before",
        "stopped x tagged",
        "stopped x left",
        "beyond_max x tagged",
        "beyond_max x left",
        "least x left",
        "most x left",
        "zero x tagged",
        "untagged x left",
        "unmanaged x sample just before",
        "unmanaged x tagged",
        "emptied x joined",
        "emptied x sampled",
        "longest x sampled",
        "longest x left",
        "sampled x reset",
        "joined x reset",
        "sample shown x reset",
        "first x empty",
        "growing x left",
        "falling x left",
        "both x empty",
    )
