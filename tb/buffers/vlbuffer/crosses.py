"""Crosses of the VL buffer: reservation, write and read in one cycle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, Cycles, Event, Truths, together

_LANE_BITS = 5


def _writes(cycles: Cycles) -> Truths:
    return cycles.on("write_count")


def _reads(cycles: Cycles) -> Truths:
    return cycles.on("read_count") & cycles.on("readable")


def _same_lane(one: str, other: str) -> Event:
    """Return an event: the first ports of two kinds name the same lane."""
    return lambda cycles: cycles.bits(one, 0, _LANE_BITS) == cycles.bits(other, 0, _LANE_BITS)


EVENTS: Mapping[str, Event] = {
    "write": _writes,
    "read": _reads,
    "asked": lambda cycles: cycles.on("reserve_flits"),
    "accepted": lambda cycles: cycles.on("accepted"),
    "reservation refused": lambda cycles: cycles.on("reserve_flits") & ~cycles.on("accepted"),
    "discarded": lambda cycles: cycles.on("discarded"),
    "reset": lambda cycles: cycles.on("rst"),
    "write and read of a lane": _same_lane("write_vl", "read_vl"),
    "reservation and write of a lane": _same_lane("reserve_vl", "write_vl"),
    "reservation and read of a lane": _same_lane("reserve_vl", "read_vl"),
}


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    found = together(
        "reserved x written",
        "reserved x read",
        "reserved x written x read",
        "refused x written",
        "refused x read",
        "refused x written x read",
        "at_maximum x written",
        "at_maximum x read",
        "shared_gone x written",
        "shared_gone x read",
        "from_shared x read",
        "within_minimum x read",
        "emptied_and_filled x reserved",
        "emptied_and_filled x refused",
        "written x read x write and read of a lane",
        "reserved x written x reservation and write of a lane",
        "reserved x read x reservation and read of a lane",
        "refused x read x reservation and read of a lane",
    )
    found += together(
        "reserved x reset",
        "written x reset",
        "read x reset",
        "refused x reset",
        "discarded x read",
        "discarded x accepted",
        "discarded x reservation refused",
        forbidden_inputs=True,
    )
    if parameters["writers"] > 1:
        found += together("two_writers x read", "two_writers x reserved", "two_writers x refused")
    if parameters["readers"] > 1:
        found += together("two_readers x written", "two_readers x reserved", "same_lane_refused x written")
    if parameters["writers"] > 1 and parameters["readers"] > 1:
        found += together("two_writers x two_readers", "two_writers x same_lane_refused")
    if parameters["write_flits"] > 1 and parameters["read_flits"] > 1:
        found += together("several_written x several_read")
    return found
