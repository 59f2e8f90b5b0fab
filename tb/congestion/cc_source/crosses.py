"""Crosses of the source: requests, BECNs and visits of one cycle, with simultaneous writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vlane.congestion.cc_source import SHOWN_CYCLES, CCSourceSelect
from vlane.tb.machinery.native.crosses import Cross, Cycles, Event, Truths, after, together

JUDGED_FROM_CYCLES = 400_000
"""Length of a run, in cycles, from which on every cross must have occurred."""


def _writes(select: CCSourceSelect) -> Event:
    def chosen(cycles: Cycles) -> Truths:
        found: Truths = cycles.on("program__enable") & (cycles.bits("program__select") == select)
        return found

    return chosen


def _aligned_with_inputs(outputs: Truths) -> Truths:
    """Return outputs aligned with the cycle in which their inputs acted. The last cycles of a batch are false."""
    acted = np.zeros_like(outputs)
    acted[:-SHOWN_CYCLES] = outputs[SHOWN_CYCLES:]
    return acted


EVENTS: Mapping[str, Event] = {
    "write of the mode": _writes(CCSourceSelect.PORT_CONTROL),
    "write of the limit": _writes(CCSourceSelect.LIMIT),
    "write of a level": _writes(CCSourceSelect.LEVEL),
    "write of the table": _writes(CCSourceSelect.TABLE),
    "BECN just before": lambda cycles: after(after(cycles.on("becn"))),
    "freed before": lambda cycles: after(cycles.rule("freed")),
    "may just before": lambda cycles: after(cycles.rule("injected") | cycles.rule("unknown")),
    "none taken": lambda cycles: _aligned_with_inputs(~cycles.on("taken")),
    "reset": lambda cycles: cycles.on("rst"),
}


def crosses(_parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    return together(
        "injected x raised",
        "injected x taken",
        "injected x lost",
        "injected x lowered",
        "injected x freed",
        "held x raised",
        "held x taken",
        "held x lost",
        "held x lowered",
        "held x freed",
        "unknown x taken",
        "unknown x freed",
        "unknown x lost",
        "asked_and_told x limited",
        "asked_and_told x raised",
        "asked_and_visited x lowered",
        "kept_for_packet x injected",
        "kept_for_gap x held",
        "first_packet x taken",
        "first_packet x raised",
        "just_in_time x lowered",
        "shortest_gap x just_in_time",
        "raised x BECN just before",
        "taken x BECN just before",
        "lost x BECN just before",
        "taken x freed before",
        "lost x freed before",
        "freed x freed before",
        "injected x may just before",
        "held x may just before",
        "raised x write of the limit",
        "raised x write of a level",
        "lowered x write of a level",
        "freed x write of a level",
        "injected x write of the table",
        "injected x write of the mode",
        "taken x write of the mode",
        "limited x write of the limit",
        "logged x raised",
        "logged x taken",
        "above_trigger x limited",
        "caught_up x held",
        "last_of_set x injected",
        "timer_started x injected",
        "injected x reset",
        "taken x reset",
        "lowered x reset",
        "raised x reset",
        "unknown x none taken",
        "taken x none taken",
        "by_level x taken",
        "by_level x raised",
    )
