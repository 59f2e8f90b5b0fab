"""Crosses of round robin: where its turn goes, the map and resets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, together, without
from vlane.tb.schedulers.crosses_egress import EVENTS, shared

__all__ = ["EVENTS", "JUDGED_FROM_CYCLES", "crosses"]

JUDGED_FROM_CYCLES = 200_000
"""Shortest run that must show everything."""
_FEW = 2
"""Requesters of which none is passed over when the turn moves."""


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can show; without requesters there is no map to write."""
    found = together("moved_on x skipped", "went_round x skipped", "same_again x skipped", "moved_on x after reset")
    found += together("moved_on x reset", "went_round x reset", wild=True)
    if parameters["requesters"]:
        found += together("moved_on x write", "went_round x write", "same_again x write", "moved_on x after write")
    if (parameters["requesters"] or parameters["data_vls"]) <= _FEW:
        found = without(found, "moved_on x skipped")
    return (*shared(parameters, writes=bool(parameters["requesters"])), *found)
