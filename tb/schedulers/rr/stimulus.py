"""Stimulus of round robin: random maps, with golden's outputs."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from vlane.golden.schedulers import rr as golden
from vlane.schedulers.writes import Write
from vlane.tb.machinery.native.stimulus import Stimulus
from vlane.tb.schedulers.directed_schedulers import ALL_2, LANES, Scenario, Step
from vlane.tb.schedulers.stimulus_egress import applicable_rules, scheduled


def qualified(parameters: Mapping[str, Any], **run: Any) -> Stimulus:
    """Return a stimulus that reaches every applicable rule of round robin.

    ``run`` has the keyword parameters of ``scheduled``.
    """
    return scheduled("rr", parameters, lambda _: [], applicable=applicable_rules(golden.RULES, parameters), **run)


def drawn_writes(_lanes: int, _entries: int, _source: random.Random) -> list[Write]:
    """Return an empty list: round robin has no table for a switch's output."""
    return []


SCENARIO_PARAMETERS = LANES
"""Parameters of the instance to which the scenarios apply."""
SCENARIOS = (
    Scenario(
        "rr",
        "RR_1_requesters_take_turns_and_those_that_cannot_send_are_skipped",
        (),
        (
            Step(ALL_2, 0),
            Step(ALL_2, 1),
            Step(ALL_2, 2),
            Step(ALL_2, 0),
            Step(ALL_2, 2, frozenset({1})),
            Step(ALL_2, 0),
        ),
    ),
    Scenario("rr", "RR_2_alone_it_sends_again", (), (Step({1: 5}, 1), Step({1: 66}, 1), Step({0: 1, 1: 1}, 0))),
    Scenario(
        "rr",
        "RR_3_idle_held_and_busy_cycles_leave_the_order",
        (),
        (
            Step({0: 1}, 0),
            Step({}, None),
            Step(ALL_2, None, hold=True),
            Step(ALL_2, 1, ready=False),
            Step({**ALL_2, 3: 1}, 15, hold=True),
            Step(ALL_2, 1),
        ),
    ),
)
"""Grants written by hand, from the contract only."""
