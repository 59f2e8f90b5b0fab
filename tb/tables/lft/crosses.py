"""Crosses of the LFT: drop causes, writes of entries and of the top, and resets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, Cycles, Event, Truths, after, together

JUDGED_FROM_CYCLES = 200_000
"""Length of a run, in cycles, from which on every cross must have occurred."""


def _written(cycles: Cycles) -> Truths:
    return cycles.on("program__enable")


def _entry(cycles: Cycles) -> Truths:
    return _written(cycles) & ~cycles.on("program__top")


def _same(cycles: Cycles) -> Truths:
    """Return whether look-up 0 reads the entry being written."""
    found: Truths = _entry(cycles) & (cycles.bits("dlid", 0, 16) == cycles.bits("program__lid"))
    return found


def _just_written(cycles: Cycles) -> Truths:
    """Return whether look-up 0 reads the entry written in the previous cycle."""
    found: Truths = after(_entry(cycles)) & (cycles.bits("dlid", 0, 16) == after(cycles.bits("program__lid")))
    return found


EVENTS: Mapping[str, Event] = {
    "write": _written,
    "write of an entry": _entry,
    "write of the top": lambda cycles: _written(cycles) & cycles.on("program__top"),
    "after write of the top": lambda cycles: after(_written(cycles) & cycles.on("program__top")),
    "write of the entry looked up": _same,
    "entry just written": _just_written,
    "drop at look-up 0": lambda cycles: cycles.bits("drop", 0, 1) != 0,
    "look-up 0 routed": lambda cycles: cycles.bits("drop", 0, 1) == 0,
    "reset": lambda cycles: cycles.on("rst"),
}
_KINDS = ("routed", "to_itself", "reserved", "multicast", "above_top", "unassigned", "no_such_port", "last_entry")


def crosses(_parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    return (
        *(cross for kind in _KINDS for cross in together(f"{kind} x write of an entry", f"{kind} x write of the top")),
        *together(
            "above_top x after write of the top",
            "routed x after write of the top",
            "routed x reset",
            "above_top x reset",
            "write x reset",
            "write of the entry looked up x drop at look-up 0",
            "write of the entry looked up x look-up 0 routed",
            "entry just written x look-up 0 routed",
            "entry just written x drop at look-up 0",
            "last_entry x after write of the top",
        ),
    )
