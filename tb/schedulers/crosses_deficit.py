"""Crosses of the schedulers with deficits (deficit round robin, Deficit Table): turns and remaining deficits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, together


def turn_crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses of turns and deficits."""
    found = together(
        "fits_exactly x turn_began",
        "fits_exactly x turn_continued",
        "fits_exactly x deficit_used",
        "remainder_kept x deficit_used",
        "remainder_kept x turn_without_grant",
        "turn_lost x turn_began",
        "turn_lost x deficit_used",
        "deficit_lost x turn_began",
        "deficit_lost x turn_continued",
        "deficit_lost x turn_lost",
        "accumulated_over_turns x fits_exactly",
        "turn_without_grant x returned_to_itself",
        "turn_began x write",
        "turn_continued x write",
        "remainder_kept x write",
        "deficit_used x write",
        "turn_lost x write",
        "turn_began x after write",
        "accumulated_over_turns x write",
    )
    found += together("turn_began x reset", "turn_continued x reset", "deficit_lost x write", forbidden_inputs=True)
    if parameters["keep_on_stall"]:
        found += together("kept_on_stall x turn_began", "kept_on_stall x write")
    return found
