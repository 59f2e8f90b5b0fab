"""Crosses of the Deficit Table: turns and deficits, swaps, and the look-ahead of its line-rate form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, Event, together, without
from vlane.tb.schedulers.crosses_deficit import turn_crosses
from vlane.tb.schedulers.crosses_egress import EVENTS as EGRESS_EVENTS
from vlane.tb.schedulers.crosses_egress import shared_crosses, swap_crosses

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
_EXACT += together("swap_waited x write", forbidden_inputs=True)
_PACKED = together(
    "saturated x turn_began",
    "saturated x deficit_used",
    "saturated x returned_to_itself",
    "saturated x swapped",
    "saturated x write",
    "low read x turn_continued",
    "low read x remainder_kept",
    "low read x saturated",
    "low read x swapped",
    "low read x after swap",
    "high read x swapped",
    "high read x after swap",
    "high read x after write",
)
_PACKED += together("low read x after reset", "high read x after reset", forbidden_inputs=True)
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
_LINE_RATE += together("stayed x reset", forbidden_inputs=True)

EVENTS: Mapping[str, Event] = {
    **EGRESS_EVENTS,
    "low read": lambda cycles: cycles.on("read_low"),
    "high read": lambda cycles: ~cycles.on("read_low"),
}
"""Conditions on the ports in a cycle: those of every scheduler, and which list of the ib form is read."""


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can show."""
    if parameters["form"] == "line_rate":
        return (*shared_crosses(parameters), *swap_crosses(parameters), *_LINE_RATE)
    found = (*shared_crosses(parameters), *swap_crosses(parameters), *turn_crosses(parameters), *_EXACT)
    if parameters["form"] == "ib":
        found += _PACKED
    return without(found, "deficit_lost x swapped") if parameters["keep_on_stall"] else found
