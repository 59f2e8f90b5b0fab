"""Self-clocked fair queueing: lockstep, fairness bound, weights and their reciprocals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.schedulers.scheduling import qualified_lockstep, run_rows
from vlane.errors import InputError
from vlane.golden.schedulers import scfq as golden
from vlane.golden.schedulers.heads import NO_WRITE, Heads, no_heads
from vlane.golden.schedulers.lanes import SELECT_MAP, SELECT_TABLE
from vlane.schedulers.scfq import SCFQWeights

SHAPES = [
    {"data_vls": 2},
    {"data_vls": 15, "units": "per_requester"},
    {"data_vls": 7, "requesters": 4, "vl15": False, "tag_bits": 24, "reciprocal_bits": 16},
    pytest.param({"data_vls": 20, "requesters": 17, "tag_bits": 12, "reciprocal_bits": 4}, marks=pytest.mark.long),
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hardware_agrees_with_golden(shape: dict[str, Any]) -> None:
    """Hardware and golden agree in lockstep in every cycle, with and without tag wrap-around.

    The traffic includes saturation, stalls, resets, live rewrites and forbidden inputs.
    """
    assert qualified_lockstep("scfq", shape).decisions > 10_000


SETTINGS = ((1, SELECT_TABLE, 0, 0, 15), (1, SELECT_TABLE, 1, 0, 1), (1, SELECT_MAP, 1, 0, 0))
"""Lanes 0 to 2 belong to requester 0 (reciprocal 15) and lane 3 to requester 1 (reciprocal 1)."""

DROPPED_TAGS = (
    (0b1111, 3),
    (0b1110, 3),
    (0b1101, 3),
    (0b0111, 0),  # tags of lanes 0 and 1 are dropped because these lanes cannot send
    (0b1111, 3),
    (0b1000, 3),
    (0b0111, 1),
    (0b0111, 2),  # the tag of lane 1 is dropped because its requester cannot send
)
"""Lanes that fit in a decision, and the lane that sends."""


def send_golden(shape: dict[str, Any]) -> list[int]:
    """Return the lanes golden sends from, with one cycle without ``ready`` before every decision."""
    state = golden.make_state(**shape)
    rules, blocks = np.zeros(golden.RULE_COUNT, np.int64), np.ones(5, np.int64)
    for write in SETTINGS:
        golden.step(state, no_heads(4), True, False, write, False, rules)
    lanes = []
    for fits, _ in DROPPED_TAGS:
        for ready in (False, True):
            lane, _, _ = golden.step(state, Heads(15, fits, blocks, 0, blocks), ready, False, NO_WRITE, False, rules)
        lanes.append(lane)
    return lanes


def send_hardware(shape: dict[str, Any]) -> list[int]:
    """Return the lanes the hardware sends from, with the inputs of ``send_golden``."""
    fields = ("enable", "select", "index", "requester", "weight")
    rows = [dict(zip((f"program__{field}" for field in fields), write, strict=True)) for write in SETTINGS]
    one = sum(1 << 7 * lane for lane in range(4))
    for fits, _ in DROPPED_TAGS:
        heads = {"heads__request": 15, "heads__fits": fits, "heads__blocks": one}
        rows += [{**heads, "ready": ready} for ready in (0, 1)]
    outs = run_rows("scfq", shape, [({"rst": 1}, {"vl": 0})] + [(row, {"vl": 0, "grant": 1}) for row in rows])
    assert all(out["grant"] for out, _ in outs[len(SETTINGS) + 2 :: 2])
    return [out["vl"] for out, _ in outs[len(SETTINGS) + 2 :: 2]]


@pytest.mark.parametrize("send", [send_golden, send_hardware])
@pytest.mark.parametrize("units", ["shared", "per_requester"])
def test_a_dropped_tag_does_not_pass_the_turn_of_the_lanes(
    send: Callable[[dict[str, Any]], list[int]], units: str
) -> None:
    """Given a dropped tag, the round robin among a requester's lanes does not advance.

    It advances when a packet is sent, not when a tag is computed.
    """
    shape = {"data_vls": 4, "requesters": 2, "vl15": False, "tag_bits": 24, "reciprocal_bits": 4, "units": units}

    assert send(shape) == [lane for _, lane in DROPPED_TAGS]


@pytest.mark.parametrize("reciprocals", [(3, 5), (1, 15), (7, 7)])
def test_service_of_requesters_with_mixed_lanes_stays_within_the_bound(reciprocals: tuple[int, int]) -> None:
    """For requesters with small and large packets, normalized service stays within Golestani's bound.

    Over any interval, normalized services differ by at most one largest packet of each requester.
    """
    state = golden.make_state(data_vls=4, requesters=2, vl15=False, tag_bits=24, reciprocal_bits=4, units="shared")
    rules, blocks = np.zeros(golden.RULE_COUNT, np.int64), np.array([1, 3, 66, 40, 0])
    for requester, reciprocal in enumerate(reciprocals):
        golden.step(state, no_heads(4), True, False, (1, SELECT_TABLE, requester, 0, reciprocal), False, rules)
    heads, ahead, least, most = Heads(15, 15, blocks, 0, blocks), 0, 0, 0
    served = np.zeros(4, np.int64)
    for _ in range(20_000):
        lane, _, _ = golden.step(state, heads, True, False, NO_WRITE, False, rules)
        served[lane] += 1
        ahead += (1, -1)[lane % 2] * blocks[lane] * reciprocals[lane % 2]
        least, most = min(least, ahead), max(most, ahead)

    assert served.min() > 0
    assert most - least <= 66 * reciprocals[0] + 40 * reciprocals[1]


def test_reciprocals_keep_the_ratio_of_the_weights() -> None:
    """Reciprocals keep the ratio of the weights, with the smallest weight at the largest reciprocal."""
    assert SCFQWeights((10, 20, 40, 0)).reciprocals(8) == (255, 128, 64, 0)
    assert SCFQWeights((100, 1000)).reciprocals(4) == (15, 2)


def test_weights_whose_ratio_no_reciprocal_can_hold_are_refused() -> None:
    """Given weights whose reciprocals would round to equal values, the weights are refused."""
    with pytest.raises(InputError, match=r"scfq.weight\[1\] must be at most 170") as refused:
        SCFQWeights((1, 400, 800)).reciprocals(8)

    assert refused.value.got == 400


@pytest.mark.parametrize(("field", "weight"), [("scfq.weight[0]", (65536,)), ("scfq.weight", [])])
def test_weights_that_no_scheduler_can_hold_are_refused(field: str, weight: Any) -> None:
    """Given weights out of range or none, the table is refused and the field is named."""
    with pytest.raises(InputError) as refused:
        SCFQWeights(weight)

    assert refused.value.field == field
