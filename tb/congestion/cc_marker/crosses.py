"""Crosses of the marker: kinds of starting packets with simultaneous writes, levels and resets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.congestion.cc_marker import CCMarkerSelect
from vlane.tb.machinery.native.crosses import Cross, Cycles, Event, Truths, after, together, without

JUDGED_FROM_CYCLES = 400_000
"""Length of a run, in cycles, from which on every cross must have occurred."""


def _writes(select: CCMarkerSelect) -> Event:
    def chosen(cycles: Cycles) -> Truths:
        found: Truths = cycles.on("program__enable") & (cycles.bits("program__select") == select)
        return found

    return chosen


EVENTS: Mapping[str, Event] = {
    "write of the mask": _writes(CCMarkerSelect.VICTIM_MASK),
    "write of the threshold": _writes(CCMarkerSelect.THRESHOLD),
    "write of the rate": _writes(CCMarkerSelect.MARKING_RATE),
    "write of the element": _writes(CCMarkerSelect.PORT),
    "just written": lambda cycles: after(cycles.on("program__enable")),
    "mark just before": lambda cycles: after(cycles.on("mark")),
    "several lanes over": lambda cycles: (cycles.bits("over") & (cycles.bits("over") - 1)) != 0,
    "lane 0 over": lambda cycles: cycles.bits("over", 0, 1) != 0,
    "lane 0 starved": lambda cycles: cycles.bits("starved", 0, 1) != 0,
    "not free": lambda cycles: ~cycles.on("free"),
    "start": lambda cycles: cycles.on("start"),
    "reset": lambda cycles: cycles.on("rst"),
}


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    found = together(
        "marked x write of the mask",
        "marked x write of the threshold",
        "marked x write of the rate",
        "marked x write of the element",
        "passed x write of the threshold",
        "passed x write of the element",
        "passed x write of the rate",
        "marked x just written",
        "passed x just written",
        "marked x mark just before",
        "marked x root",
        "marked x masked",
        "passed x root",
        "passed x masked",
        "victim x masked",
        "victim x not_masked",
        "neither x masked",
        "neither x not_masked",
        "marked x port_element",
        "marked x starvation_element",
        "root x starvation_element",
        "root x starved",
        "marked x starved",
        "fed x starved",
        "fed x victim",
        "fed x not_over",
        "root x level_full",
        "marked x level_full",
        "neither x became_busy",
        "marked x reset",
        "start x reset",
        "write of the element x reset",
        "starved x reset",
        "too_small x victim",
        "too_small x root",
        "cnp x root",
        "cnp x victim",
        "no_header x root",
        "no_header x victim",
        "out_of_reach x root",
        "out_of_reach x victim",
        "grh_marked x root",
        "grh_marked x masked",
        "fecn_kept x root",
        "fecn_kept x not_over",
        "fecn_kept x passed",
        "lane 0 over x lane 0 starved",
        "several lanes over x marked",
        "absent_lane x level_full",
        "absent_lane x starved",
    )
    found += together("marked x not free", "victim x not free", forbidden_inputs=True)
    if parameters["data_vls"] == 1:
        found = without(found, "several lanes over x marked", "root x starved", "marked x starved", "fed x starved")
    return found
