"""Stimulus of self-clocked fair queueing: random reciprocals and maps, with golden's outputs."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from vlane.golden.schedulers import scfq as golden
from vlane.schedulers.writes import Write, value_writes
from vlane.tb.machinery.native.stimulus import Stimulus
from vlane.tb.schedulers.directed_schedulers import LANES, Scenario, Step, values
from vlane.tb.schedulers.stimulus_egress import applicable_rules, scheduled


def _random_reciprocals(source: random.Random, count: int, bits: int) -> list[int]:
    most = (1 << bits) - 1
    kind = source.choice(("mixed", "light", "heavy", "sparse", "bits", "equal"))
    if kind == "bits":
        return [1 << source.randrange(bits) for _ in range(count)]
    if kind == "equal":
        return [source.randint(1, 3)] * count
    ranges = {"mixed": (1, most), "light": (1, 4), "heavy": (most // 2, most), "sparse": (0, 1)}
    return [source.randint(*ranges[kind]) for _ in range(count)]


def applicable(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the rules that some table can reach in an instance with these parameters."""
    never = set() if parameters["requesters"] else {"lane_lost"}
    never |= set() if parameters["units"] == "shared" else {"tag_waited"}
    return applicable_rules(golden.RULES, parameters, never=never)


def qualified(parameters: Mapping[str, Any], **run: Any) -> Stimulus:
    """Return a stimulus that reaches every applicable rule of self-clocked fair queueing.

    ``run`` has the keyword parameters of ``scheduled``.
    """
    count, bits = parameters["requesters"] or parameters["data_vls"], parameters["reciprocal_bits"]
    return scheduled(
        "scfq",
        parameters,
        lambda source: value_writes(_random_reciprocals(source, count, bits), count),
        applicable=applicable(parameters),
        **run,
    )


def drawn_writes(lanes: int, _entries: int, source: random.Random) -> list[Write]:
    """Return the writes of a random table with a weight for every lane."""
    return value_writes([source.randrange(1, 60) for _ in range(lanes)], lanes)


SCENARIO_PARAMETERS = {**LANES, "tag_bits": 16, "reciprocal_bits": 8, "units": "shared"}
"""Parameters of the instance to which the scenarios apply."""
SCENARIOS = (
    Scenario(
        # Tags grow by 40 and 20 per block, so lane 1 has twice the share. Lane 0: 40; lane 1: 20, then 40, 60, ...
        "scfq",
        "SCFQ_1_twice_the_weight_is_served_twice_as_often",
        values(40, 20, 0),
        (
            Step({0: 1, 1: 1}, None),
            Step({0: 1, 1: 1}, 1),
            Step({0: 1, 1: 1}, 0),
            Step({0: 1, 1: 1}, 1),
            Step({0: 1, 1: 1}, 1),
            Step({0: 1, 1: 1}, 0),
        ),
    ),
    Scenario(
        "scfq",
        "SCFQ_2_of_equal_tags_the_first_requester_goes_first",
        values(8, 8, 8),
        (
            Step({0: 1, 1: 1, 2: 1}, None),
            Step({0: 1, 1: 1, 2: 1}, None),
            Step({0: 1, 1: 1, 2: 1}, 0),
            Step({0: 1, 1: 1, 2: 1}, 1),
            Step({0: 1, 1: 1, 2: 1}, 2),
            Step({0: 1, 1: 1, 2: 1}, 0),
        ),
    ),
    Scenario(
        "scfq",
        "SCFQ_4_the_shared_unit_works_while_the_link_is_busy",
        values(8, 8, 0),
        (Step({0: 1, 1: 1}, None, ready=False), Step({0: 1, 1: 1}, 0, ready=False), Step({0: 1, 1: 1}, 0)),
    ),
    Scenario(
        "scfq",
        "SCFQ_7_a_requester_without_a_weight_is_never_served",
        values(0, 9, 0),
        (Step({0: 1}, None), Step({0: 1, 1: 1}, 1), Step({0: 1}, None)),
    ),
)
"""Grants written by hand, from the contract only."""
