"""Crosses of the Deficit Table: those of turns and deficits, and swaps; what its line-rate form does ahead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, together, without
from vlane.tb.schedulers.crosses_deficit import turns
from vlane.tb.schedulers.crosses_egress import EVENTS, shared, swapped

__all__ = ["EVENTS", "crosses"]

_EXACT = together(
    "turn_continued x swapped",
    "turn_began x swapped",
    "fits_exactly x swapped",
    "remainder_kept x swapped",
    "deficit_used x swapped",
    "turn_without_grant x swapped",
    "accumulated_over_turns x swapped",
    "turn_lost x swapped",
    "deficit_lost x swapped",
    "nobody_served x swapped",
    "turn_began x after swap",
)
_EXACT += together("swap_waited x write", wild=True)
_LINE_RATE = together(
    "stayed x swapped",
    "turn_began x swapped",
    "began_ahead x swapped",
    "turn_without_grant x swapped",
    "returned x swapped",
    "remainder_kept x swapped",
    "fits_exactly x swapped",
    "ended_for_want x swapped",
    "account_lost x swapped",
    "stayed x write",
    "turn_began x write",
    "fits_exactly x write",
    "fits_exactly x stayed",
    "fits_exactly x turn_began",
    "returned x account_lost",
    "turn_began x account_lost",
    "ended_for_want x account_lost",
    "added_late x start",
    "dropped x start",
    "waited x start",
    "emptied x start",
)
_LINE_RATE += together("stayed x reset", wild=True)


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can show."""
    if parameters["form"] == "line_rate":
        return (*shared(parameters), *swapped(parameters), *_LINE_RATE)
    found = (*shared(parameters), *swapped(parameters), *turns(parameters), *_EXACT)
    return without(found, "deficit_lost x swapped") if parameters["keep_on_stall"] else found
