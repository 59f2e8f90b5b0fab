"""Crosses of the VL arbiter: entries, weights and the limit, writes and swaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, together, without
from vlane.tb.schedulers.crosses_egress import EVENTS, shared_crosses, swap_crosses

__all__ = ["EVENTS", "crosses"]

_ENTRIES = together(
    "entry_overshot x swapped",
    "entry_expired_exactly x swapped",
    "remainder_forfeited x swapped",
    "remainder_kept x swapped",
    "entry_continued x swapped",
    "list_resumed x swapped",
    "entry_overshot x write",
    "remainder_forfeited x write",
    "entry_continued x write",
    "entry_overshot x remainder_forfeited",
    "bad_entry_skipped x swapped",
    "zero_weight_skipped x swapped",
    "entry_continued x after swap",
    "remainder_forfeited x after swap",
)
_LIMITS = together(
    "limit_overshot x swapped",
    "limit_expired_exactly x swapped",
    "expired_but_low_empty x swapped",
    "low_after_expiry x swapped",
    "high_before_low x swapped",
    "low_alone x swapped",
    "limit_overshot x entry_overshot",
    "limit_overshot x entry_expired_exactly",
    "limit_zero x entry_overshot",
    "limit_expired_exactly x entry_expired_exactly",
    "limit_expired_exactly x entry_overshot",
    "expired_but_low_empty x entry_overshot",
    "low_after_expiry x entry_overshot",
    "low_after_expiry x remainder_forfeited",
    "low_after_expiry x list_resumed",
    "limit_overshot x write",
    "low_after_expiry x write",
    "reloaded_on_high_empty x list_resumed",
    "expired_but_low_empty x limit_overshot",
)
_VL15 = together("vl15_under_hold x write", "vl15_under_hold x swapped", forbidden_inputs=True)
_LINE_RATE = together(
    "stayed x swapped",
    "taken x swapped",
    "weight_ended x swapped",
    "overshot x swapped",
    "lost x swapped",
    "stayed x write",
    "taken x write",
    "weight_ended x write",
    "overshot x write",
    "low_after_expiry x overshot",
    "low_after_expiry x taken",
    "expired_but_low_empty x taken",
    "high_before_low x swapped",
    "low_after_expiry x swapped",
    "dropped x start",
    "waited x start",
    "charged_later x swapped",
    "lost x taken",
    "emptied x start",
    "high_before_low x weight_ended",
    "low_after_expiry x weight_ended",
)


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    if parameters.get("form") == "line_rate":
        return (*shared_crosses(parameters), *swap_crosses(parameters), *_LINE_RATE)
    ahead = "vl15_changes_nothing"
    limits = without(_LIMITS, "reloaded_on_high_empty x list_resumed") if parameters["data_vls"] == 1 else _LIMITS
    return (
        *shared_crosses(parameters, ahead=ahead),
        *swap_crosses(parameters, ahead=ahead),
        *_ENTRIES,
        *limits,
        *_VL15,
    )
