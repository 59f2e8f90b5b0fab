"""Crosses of round robin: moves of the turn, the map, and resets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, together, without
from vlane.tb.schedulers.crosses_egress import EVENTS, shared_crosses

__all__ = ["EVENTS", "JUDGED_FROM_CYCLES", "crosses"]

JUDGED_FROM_CYCLES = 200_000
"""Length of a run, in cycles, from which on every cross must have occurred."""
_FEW = 2
"""Most requesters with which a moving turn never skips one."""


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach. Without requesters there is no map to write."""
    found = together("moved_on x skipped", "went_round x skipped", "same_again x skipped", "moved_on x after reset")
    found += together("moved_on x reset", "went_round x reset", forbidden_inputs=True)
    if parameters["requesters"]:
        found += together("moved_on x write", "went_round x write", "same_again x write", "moved_on x after write")
    if (parameters["requesters"] or parameters["data_vls"]) <= _FEW:
        found = without(found, "moved_on x skipped")
    return (*shared_crosses(parameters, writes=bool(parameters["requesters"])), *found)
