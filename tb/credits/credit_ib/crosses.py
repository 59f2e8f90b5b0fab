"""Crosses of InfiniBand's credits: what is sent, heard, taken and let go in one cycle, of one lane and of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.tb.credits.credit_ib.phases import AHEAD
from vlane.tb.machinery.native.crosses import Cross, Cycles, Event, Truths, together, without

_LANE_AT, _LANE_BITS = np.uint64(28), np.uint64(15)
"""Where a flow-control packet names its lane."""
_MOST_WATCHDOG = 1000
"""Longest window of which a run has many."""
_FEW = 4
"""Lanes of which what is drawn at random names few."""
_SELDOM = (
    "sent_for_period x taken_over",
    "sent_for_period x freed",
    "initializing x taken_over",
    "initializing x accepted",
    "taken_over x accepted",
    "counter_wrapped x taken_over",
    "accepted x reset",
    "taken_over x reset",
    "sent_for_advance x reset",
    "overdue x taken_over",
    "overdue x corrupt",
)


def _heard_lane(cycles: Cycles) -> NDArray[np.uint64]:
    lanes: NDArray[np.uint64] = cycles.bits("fcp_in") >> _LANE_AT & _LANE_BITS
    return lanes


def _sent_lane(cycles: Cycles) -> NDArray[np.uint64]:
    lanes: NDArray[np.uint64] = cycles.bits("fcp") >> _LANE_AT & _LANE_BITS
    return lanes


def _come_and_gone(cycles: Cycles) -> Truths:
    found: Truths = cycles.on("accepted") & cycles.on("freed") & (cycles.bits("arrived_vl") == cycles.bits("freed_vl"))
    return found


def _sent_and_heard(cycles: Cycles) -> Truths:
    found: Truths = cycles.on("grant") & cycles.on("fcp_arrived") & (cycles.bits("grant_vl") == _heard_lane(cycles))
    return found


def _heard_while_told(cycles: Cycles) -> Truths:
    found: Truths = cycles.on("fcp_taken") & cycles.on("fcp_arrived") & (_sent_lane(cycles) == _heard_lane(cycles))
    return found


def _freed_while_told(cycles: Cycles) -> Truths:
    found: Truths = cycles.on("fcp_taken") & cycles.on("freed") & (_sent_lane(cycles) == cycles.bits("freed_vl"))
    return found


EVENTS: Mapping[str, Event] = {
    "reset": lambda cycles: cycles.on("rst"),
    "set-up": lambda cycles: cycles.on("initializing"),
    "come and gone": _come_and_gone,
    "sent and heard": _sent_and_heard,
    "heard while told": _heard_while_told,
    "freed while told": _freed_while_told,
    "told": lambda cycles: cycles.on("fcp_valid") & cycles.on("fcp_taken"),
    AHEAD: lambda cycles: cycles.phase == AHEAD,
    "refused": lambda cycles: cycles.on("arrived") & ~cycles.on("accepted"),
}
"""Of one lane: ``come and gone``, a packet is taken and a block let go; ``sent and heard``, a packet is sent and an FCP
heard; ``heard while told``, an FCP is heard and one sent; ``freed while told``, a block is let go and an FCP sent.
``told``, an FCP is sent."""


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can show."""
    found = together(
        "granted x taken_over",
        "granted x accepted",
        "granted x freed",
        "accepted x freed",
        "taken_over x freed",
        "granted x corrupt",
        "sent_for_period x taken_over",
        "sent_for_period x freed",
        "waited_for_packet x taken_over",
        "waited_for_packet x accepted",
        "waited_for_packet x freed",
        "blocks_returned x granted",
        "blocks_returned x freed",
        "come and gone x accepted",
        "sent and heard x taken_over",
    )
    found += together(
        "sent_for_advance x taken_over",
        "sent_for_advance x freed",
        "sent_for_advance x accepted",
        "heard while told x taken_over",
        "freed while told x freed",
        "blocks_returned x heard while told",
        "counter_wrapped x taken_over",
        "counter_wrapped x freed",
        "corrupt x sent_for_advance",
        "initializing x taken_over",
        "initializing x freed",
        "initializing x accepted",
        "taken_over x set-up",
        "taken_over x accepted",
        "taken_over x refused",
        "refused x freed",
        "refused x granted",
        "granted x reset",
        "taken_over x reset",
        "accepted x reset",
        "freed x reset",
        "sent_for_advance x reset",
        "corrupt x reset",
        f"told x {AHEAD}",
        wild=True,
    )
    if parameters["watchdog_cycles"] <= _MOST_WATCHDOG:
        found += together("overdue x granted", "overdue x taken_over", "overdue x corrupt", wild=True)
    return without(found, *_SELDOM) if parameters["data_vls"] < _FEW else found
