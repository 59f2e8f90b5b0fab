"""Stimulus of deficit round robin: random quanta and maps, with golden's outputs."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from vlane.golden.schedulers import drr as golden
from vlane.schedulers.writes import Write, value_writes
from vlane.tb.machinery.native.stimulus import Stimulus
from vlane.tb.schedulers.directed_schedulers import ALL_2, LANES, Scenario, Step, values
from vlane.tb.schedulers.stimulus_egress import applicable_turn_rules, scheduled


def _random_quanta(source: random.Random, count: int) -> list[int]:
    kind = source.choice(("mixed", "light", "heavy", "sparse", "bits"))
    ranges = {"mixed": (1, 90), "light": (1, 4), "heavy": (200, 255), "sparse": (0, 1), "bits": (0, 7)}
    drawn = [source.randint(*ranges[kind]) for _ in range(count)]
    return [1 << bit for bit in drawn] if kind == "bits" else drawn


def qualified(parameters: Mapping[str, Any], **run: Any) -> Stimulus:
    """Return a stimulus that reaches every applicable rule of deficit round robin.

    ``run`` has the keyword parameters of ``scheduled``.
    """
    count = parameters["requesters"] or parameters["data_vls"]
    return scheduled(
        "drr",
        parameters,
        lambda source: value_writes(_random_quanta(source, count), count),
        applicable=applicable_turn_rules(golden.RULES, parameters),
        **run,
    )


def drawn_writes(lanes: int, _entries: int, source: random.Random) -> list[Write]:
    """Return the writes of a random table for a switch's output that serves every lane."""
    return value_writes([source.randrange(1, 60) for _ in range(lanes)], lanes)


SCENARIO_PARAMETERS = {**LANES, "keep_on_stall": False, "mtu_blocks": 66}
"""Parameters of the instance to which the scenarios apply."""
SCENARIOS = (
    Scenario(
        "drr",
        "DT_4_the_deficit_is_carried_to_the_next_round",
        values(3, 2, 0),
        (Step(ALL_2, 0), Step(ALL_2, 1), Step(ALL_2, 0), Step(ALL_2, 0), Step(ALL_2, 1)),
    ),
    Scenario(
        "drr",
        "DT_6_a_quantum_below_the_packet_takes_several_rounds",
        values(1, 4, 0),
        (Step({0: 2, 1: 4}, None), Step({0: 2, 1: 4}, 1), Step({0: 2, 1: 4}, 0), Step({0: 2, 1: 4}, 1)),
    ),
    Scenario(
        "drr",
        "DT_7_an_empty_queue_loses_its_deficit",
        values(3, 2, 0),
        (Step({0: 2}, 0), Step({1: 2}, 1), Step({0: 4}, None), Step({0: 4}, 0)),
    ),
    Scenario(
        "drr",
        "DT_9_a_quantum_of_0_is_never_served",
        values(0, 2, 0),
        (Step({0: 1}, None), Step({0: 1, 1: 1}, 1), Step({0: 1, 2: 1}, None)),
    ),
)
"""Grants written by hand, from the contract only."""
