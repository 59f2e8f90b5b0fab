"""Stimulus of weighted round robin: random weights and maps, with golden's outputs."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from vlane.golden.schedulers import wrr as golden
from vlane.schedulers.writes import Write, value_writes
from vlane.tb.machinery.native.stimulus import Stimulus
from vlane.tb.schedulers.directed_schedulers import ALL_2, LANES, Scenario, Step, values
from vlane.tb.schedulers.stimulus_egress import applicable_rules, scheduled


def _random_weights(source: random.Random, count: int) -> list[int]:
    kind = source.choice(("mixed", "light", "heavy", "sparse", "bits", "equal"))
    if kind == "equal":
        return [source.randint(1, 3)] * count
    ranges = {"mixed": (1, 20), "light": (1, 4), "heavy": (200, 255), "sparse": (0, 1), "bits": (0, 7)}
    drawn = [source.randint(*ranges[kind]) for _ in range(count)]
    return [1 << bit for bit in drawn] if kind == "bits" else drawn


def applicable(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the rules that some table can reach in an instance with these parameters."""
    never = set() if parameters["requesters"] else {"lane_changed"}
    return applicable_rules(golden.RULES, parameters, never=never)


def qualified(parameters: Mapping[str, Any], **run: Any) -> Stimulus:
    """Return a stimulus that reaches every applicable rule of weighted round robin.

    ``run`` has the keyword parameters of ``scheduled``.
    """
    count = parameters["requesters"] or parameters["data_vls"]
    return scheduled(
        "wrr",
        parameters,
        lambda source: value_writes(_random_weights(source, count), count),
        applicable=applicable(parameters),
        **run,
    )


def drawn_writes(lanes: int, _entries: int, source: random.Random) -> list[Write]:
    """Return the writes of a random table for a switch's output that serves every lane."""
    return value_writes([source.randrange(1, 12) for _ in range(lanes)], lanes)


BOTH = {0: 1, 1: 1}
"""Heads of one block on lanes 0 and 1."""
SCENARIO_PARAMETERS = LANES
"""Parameters of the instance to which the scenarios apply."""
SCENARIOS = (
    Scenario(
        "wrr",
        "WRR_1_a_weight_of_0_is_never_served",
        values(0, 2, 0),
        (Step({0: 1}, None), Step({0: 1, 1: 1}, 1), Step({0: 1, 2: 1}, None)),
    ),
    Scenario(
        "wrr",
        "WRR_2_a_turn_has_as_many_packets_as_the_weight",
        values(3, 1, 2),
        (
            Step(ALL_2, 0),
            Step(ALL_2, 0),
            Step(ALL_2, 0),
            Step(ALL_2, 1),
            Step(ALL_2, 2),
            Step(ALL_2, 2),
            Step(ALL_2, 0),
        ),
    ),
    Scenario(
        "wrr",
        "WRR_2_the_size_of_a_packet_does_not_matter",
        values(2, 1, 0),
        (
            Step({0: 66, 1: 1}, 0),
            Step({0: 66, 1: 1}, 0),
            Step({0: 66, 1: 1}, 1),
            Step({0: 1, 1: 66}, 0),
            Step({0: 1, 1: 66}, 0),
            Step({0: 1, 1: 66}, 1),
        ),
    ),
    Scenario(
        "wrr",
        "WRR_3_the_turn_passes_over_those_that_cannot_be_served",
        values(1, 2, 2),
        (
            Step(ALL_2, 0),
            Step(ALL_2, 2, frozenset({1})),
            Step(ALL_2, 2),
            Step({1: 2, 2: 2}, 1),
            Step(ALL_2, 1),
            Step({0: 2}, 0),
        ),
    ),
    Scenario(
        "wrr",
        "WRR_4_alone_it_begins_a_new_turn",
        values(2, 1, 0),
        (Step({0: 1}, 0), Step({0: 1}, 0), Step({0: 1}, 0), Step(BOTH, 0), Step(BOTH, 1)),
    ),
    Scenario(
        "wrr",
        "WRR_5_a_stall_costs_the_rest_when_another_is_served",
        values(3, 1, 0),
        (Step(BOTH, 0), Step(BOTH, 1, frozenset({0})), Step(BOTH, 0), Step(BOTH, 0), Step(BOTH, 0), Step(BOTH, 1)),
    ),
    Scenario(
        "wrr",
        "WRR_5_an_empty_queue_costs_the_rest_when_another_is_served",
        values(3, 1, 0),
        (Step({0: 1}, 0), Step({1: 1}, 1), Step(BOTH, 0), Step(BOTH, 0), Step(BOTH, 0), Step(BOTH, 1)),
    ),
    Scenario(
        "wrr",
        "WRR_6_the_rest_is_kept_while_nobody_is_served",
        values(3, 1, 0),
        (
            Step(BOTH, 0),
            Step({0: 1}, None, frozenset({0})),
            Step({}, None),
            Step({2: 1}, None),
            Step(BOTH, 0),
            Step(BOTH, 0),
            Step(BOTH, 1),
        ),
    ),
    Scenario(
        "wrr",
        "WRR_6_held_and_busy_cycles_and_VL15_leave_the_count",
        values(2, 1, 0),
        (
            Step(BOTH, 0),
            Step(BOTH, None, hold=True),
            Step(BOTH, 0, ready=False),
            Step({1: 1}, 1, ready=False),
            Step({1: 1, 3: 1}, 15),
            Step({**BOTH, 3: 4}, 15, hold=True),
            Step(BOTH, 0),
            Step(BOTH, 1),
        ),
    ),
)
"""Grants written by hand, from the contract only."""
