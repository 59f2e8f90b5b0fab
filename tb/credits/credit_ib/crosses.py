"""Crosses of InfiniBand credits: sending, receiving, accepting and freeing, on equal and different lanes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.tb.credits.credit_ib.phases import AHEAD
from vlane.tb.machinery.native.crosses import Cross, Cycles, Event, Truths, together, without

_LANE_AT, _LANE_BITS = np.uint64(28), np.uint64(15)
"""Bit position and mask of a flow-control packet's lane."""
_MOST_WATCHDOG = 1000
"""Longest watchdog window of which a run contains many."""
_FEW = 4
"""Fewest lanes with which random draws reach the rare crosses often enough."""
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


def _received_lane(cycles: Cycles) -> NDArray[np.uint64]:
    lanes: NDArray[np.uint64] = cycles.bits("fcp_in") >> _LANE_AT & _LANE_BITS
    return lanes


def _sent_lane(cycles: Cycles) -> NDArray[np.uint64]:
    lanes: NDArray[np.uint64] = cycles.bits("fcp") >> _LANE_AT & _LANE_BITS
    return lanes


def _accepted_and_freed(cycles: Cycles) -> Truths:
    found: Truths = cycles.on("accepted") & cycles.on("freed") & (cycles.bits("arrived_vl") == cycles.bits("freed_vl"))
    return found


def _sent_and_received(cycles: Cycles) -> Truths:
    found: Truths = cycles.on("grant") & cycles.on("fcp_arrived") & (cycles.bits("grant_vl") == _received_lane(cycles))
    return found


def _received_while_sending(cycles: Cycles) -> Truths:
    found: Truths = cycles.on("fcp_taken") & cycles.on("fcp_arrived") & (_sent_lane(cycles) == _received_lane(cycles))
    return found


def _freed_while_sending(cycles: Cycles) -> Truths:
    found: Truths = cycles.on("fcp_taken") & cycles.on("freed") & (_sent_lane(cycles) == cycles.bits("freed_vl"))
    return found


EVENTS: Mapping[str, Event] = {
    "reset": lambda cycles: cycles.on("rst"),
    "set-up": lambda cycles: cycles.on("initializing"),
    "arrival and release": _accepted_and_freed,
    "grant and FCP received": _sent_and_received,
    "FCPs both ways": _received_while_sending,
    "release and FCP sent": _freed_while_sending,
    "FCP sent": lambda cycles: cycles.on("fcp_valid") & cycles.on("fcp_taken"),
    AHEAD: lambda cycles: cycles.phase == AHEAD,
    "refused": lambda cycles: cycles.on("arrived") & ~cycles.on("accepted"),
}
"""Events.

On one lane: ``arrival and release``, a packet is accepted and a block is freed; ``grant and FCP received``, a packet
starts and an FCP arrives; ``FCPs both ways``, an FCP arrives and one is sent; ``release and FCP sent``, a block is
freed and an FCP is sent. On any lane: ``FCP sent``.
"""


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
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
        "arrival and release x accepted",
        "grant and FCP received x taken_over",
    )
    found += together(
        "sent_for_advance x taken_over",
        "sent_for_advance x freed",
        "sent_for_advance x accepted",
        "FCPs both ways x taken_over",
        "release and FCP sent x freed",
        "blocks_returned x FCPs both ways",
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
        f"FCP sent x {AHEAD}",
        forbidden_inputs=True,
    )
    if parameters["watchdog_cycles"] <= _MOST_WATCHDOG:
        found += together("overdue x granted", "overdue x taken_over", "overdue x corrupt", forbidden_inputs=True)
    return without(found, *_SELDOM) if parameters["data_vls"] < _FEW else found
