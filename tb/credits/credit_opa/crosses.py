"""Crosses of Omni-Path credits: units used, returned and freed in one cycle, and simultaneous changes of limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, Cycles, Event, Truths, after, together, without


def _changing(cycles: Cycles) -> Truths:
    return cycles.on("step")


def _sent_and_freed(cycles: Cycles) -> Truths:
    found: Truths = cycles.on("grant") & cycles.on("freed") & (cycles.bits("grant_vl") == cycles.bits("freed_vl"))
    return found


EVENTS: Mapping[str, Event] = {
    "return error": lambda cycles: cycles.on("return_error"),
    "reset": lambda cycles: cycles.on("rst"),
    "freed": lambda cycles: cycles.on("freed"),
    "return sent": lambda cycles: cycles.on("ltp_sent") & cycles.on("credit_out"),
    "write": lambda cycles: cycles.on("program__enable"),
    "change requested": lambda cycles: cycles.on("apply"),
    "change under way": _changing,
    "change begins": lambda cycles: _changing(cycles) & ~after(_changing(cycles)),
    "of one lane": _sent_and_freed,
}
"""Events. ``of one lane``: a packet starts and units are freed on the same lane."""

_FEW = 2
"""Fewest lanes with which one lane often sends while another one changes."""


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    found = together(
        "granted x returned",
        "granted x freed",
        "freed x return sent",
        "returned x return sent",
        "granted x of one lane",
        "from_shared x returned",
        "from_dedicated x returned",
        "lane_full x returned",
        "shared_full x returned",
        "granted x write",
        "granted x change requested",
        "granted x change under way",
        "returned x write",
        "returned x change requested",
        "returned x change under way",
        "from_shared x change under way",
        "from_dedicated x change under way",
        "returned_one x granted",
        "change requested x change under way",
        "write x change under way",
        "resized x granted",
        "resized x returned",
        "resized x freed",
        "overall_shrank x granted",
        "overall_shrank x returned",
        "shared_drained x returned",
        "dedicated_drained x returned",
        "shared_drained x granted",
        "dedicated_drained x granted",
        "change begins x granted",
        "change begins x returned",
    ) + together(
        "returned_most x granted",
        "granted x reset",
        "returned x reset",
        "freed x reset",
        "write x reset",
        "change requested x reset",
        "change under way x reset",
        "return error x granted",
        "return error x freed",
        "return error x change under way",
        forbidden_inputs=True,
    )
    if parameters["vls"] > _FEW:
        return found
    return without(
        found,
        "shared_drained x granted",
        "dedicated_drained x granted",
        "from_shared x change under way",
        "returned_most x granted",
        "shared_full x returned",
    )
