"""Crosses of deficit round robin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross
from vlane.tb.schedulers.crosses_deficit import turn_crosses
from vlane.tb.schedulers.crosses_egress import EVENTS, shared_crosses

__all__ = ["EVENTS", "crosses"]


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    return (*shared_crosses(parameters), *turn_crosses(parameters))
