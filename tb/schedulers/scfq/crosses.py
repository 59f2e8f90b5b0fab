"""Crosses of self-clocked fair queueing: tags computed, dropped and chosen, virtual time, and writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, together, without
from vlane.tb.schedulers.crosses_egress import EVENTS, shared_crosses

__all__ = ["EVENTS", "crosses"]

_TAGS = together(
    "least_tag x tie",
    "least_tag x tagged",
    "least_tag x tag_dropped",
    "least_tag x write",
    "tie x write",
    "tagged x write",
    "tagged x busy link",
    "tagged x hold",
    "tagged x tag_dropped",
    "tag_dropped x write",
    "clock_reset x write",
    "clock_reset x tag_dropped",
    "tag_wrapped x write",
    "tag_wrapped x tagged",
    "tag_waited x tagged",
    "tag_waited x write",
    "lane_lost x least_tag",
    "lane_lost x tagged",
)
_RESETS = together("tagged x reset", "least_tag x reset", forbidden_inputs=True)
_FEW = 2
"""Most requesters of which none is left when two have tags."""


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    found = (*shared_crosses(parameters), *_TAGS, *_RESETS)
    if (parameters["requesters"] or parameters["data_vls"]) <= _FEW:
        found = without(found, "least_tag x tag_dropped", "tag_wrapped x write")
    if parameters["units"] != "shared":  # every requester computes its tag within the decision
        return without(found, "tagged x busy link", "tagged x hold")
    return (*found, *together("vl15_first x tagged")) if parameters["vl15"] else found
