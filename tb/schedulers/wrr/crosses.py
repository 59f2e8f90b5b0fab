"""Crosses of weighted round robin: turns, their remainders, and writes of weights and of the map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, together, without
from vlane.tb.schedulers.crosses_egress import EVENTS, shared_crosses

__all__ = ["EVENTS", "crosses"]

_TURNS = together(
    "turn_continued x weight_used_up",
    "turn_passed x weight_used_up",
    "turn_passed x skipped",
    "turn_passed x went_round",
    "turn_repeated x weight_used_up",
    "turn_repeated x skipped",
    "rest_lost x turn_passed",
    "rest_lost x went_round",
    "rest_lost x weight_used_up",
    "weight_removed x turn_passed",
    "weight_lowered x turn_passed",
    "turn_continued x write",
    "turn_passed x write",
    "turn_repeated x write",
    "weight_used_up x write",
    "rest_lost x write",
    "rest_kept x write",
    "weight_removed x write",
    "weight_lowered x write",
    "turn_continued x after write",
)
_RESETS = together("turn_continued x reset", "turn_passed x reset", forbidden_inputs=True)
_FEW = 2
"""Most requesters with which a moving turn never skips one."""


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    found = (*shared_crosses(parameters), *_TURNS, *_RESETS)
    if (parameters["requesters"] or parameters["data_vls"]) <= _FEW:
        found = without(found, "turn_passed x skipped", "turn_passed x went_round", "rest_lost x went_round")
    return (*found, *together("lane_changed x write")) if parameters["requesters"] else found
