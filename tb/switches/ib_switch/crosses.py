"""Crosses of the InfiniBand switch: those of both kinds, and writes of SL2VL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vlane.credits.credit_schemes import CREDIT_SCHEMES
from vlane.switches.ib_switch import IBSwitchParameters
from vlane.tb.machinery.native.crosses import Cross, Event, together
from vlane.tb.switches.crosses_switch import CAUSES, JUDGED_FROM_CYCLES, PHASES, drops, shared, switch_events

__all__ = ["JUDGED_FROM_CYCLES", "crosses", "events"]

_PAIR = 2
"""Blocks freed in a cycle when flits cross two at a time."""


def _two_blocks_returned(ports: int, name: str) -> Event:
    """Return the event that two blocks are returned at once at a port."""
    blocks = [f"{name}__{port}__blocks" for port in range(ports)]
    return lambda cycles: np.logical_or.reduce([cycles.bits(each) == _PAIR for each in blocks])


def events(parameters: Mapping[str, Any]) -> dict[str, Event]:
    """Return the events of an instance that are not rules."""
    ports = parameters["ports"]
    return {
        **switch_events(parameters),
        "two blocks returned": _two_blocks_returned(ports, "returned"),
        "two blocks received": _two_blocks_returned(ports, "far_returned"),
        "SL2VL written": lambda cycles: cycles.on("sl2vl__enable"),
        "SL2VL written for every input": lambda cycles: cycles.on("sl2vl__enable") & cycles.on("sl2vl__every_input"),
    }


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    shape = IBSwitchParameters(**parameters)
    return (
        *drops(parameters),
        *shared(),
        *_gap_crosses(),
        *_starvation_crosses(shape),
        *_fast_crossbar_crosses(shape),
        *together(
            "SL2VL written x granted",
            "SL2VL written x started",
            "SL2VL written x no_vl",
            "SL2VL written for every input x granted",
        ),
    )


def _gap_crosses() -> tuple[Cross, ...]:
    """Return the crosses of packets that arrive with gaps. Without gaps the rule does not apply."""
    beside = ("granted", "one_flit", "started", "credit returned", "table_written", "anything", *CAUSES)
    return together(*(f"gap x {each}" for each in beside))


def _starvation_crosses(parameters: IBSwitchParameters) -> tuple[Cross, ...]:
    """Return the crosses of credit starvation."""
    if not parameters.starving:
        return ()
    beside = ("granted", "started", "waited", "table_written", "settings_written", "starvation_written", "marked")
    return together(*(f"withheld x {each}" for each in beside))


def _fast_crossbar_crosses(parameters: IBSwitchParameters) -> tuple[Cross, ...]:
    """Return the crosses of a crossbar faster than the links, with rules that other switches lack."""
    found = together(*(f"{phase} x two_crossed" for phase in PHASES if phase != "one flit"))
    found += together(*(f"{phase} x half_the_time" for phase in PHASES if phase not in ("light", "one flit")))
    found += together(
        "anything x as_they_come",
        "as_they_come x half_the_time",
        "as_they_come x started",
        "rewritten x two_discarded",
        "anything x two_discarded",
        "last_alone x started",
        "last_alone x two_crossed",
        "half_the_time x several_granted",
        "two_discarded x two_crossed",
        "two_discarded x table_written",
    )
    for beside in (
        "started",
        "waited",
        "stalled",
        "table_written",
        "limit_told",
        "credit received",
        "credit returned",
        *CAUSES,
    ):
        found += together(f"two_crossed x {beside}")
    if parameters.speed == 1 or CREDIT_SCHEMES[parameters.credit].by_fcps:
        return found
    found += together("two blocks received x started", "two blocks received x waited", "two blocks received x granted")
    if parameters.largest > 1:
        found += together(
            "two blocks returned x granted",
            "two blocks returned x started",
            "two blocks returned x two blocks received",
        )
    return found
