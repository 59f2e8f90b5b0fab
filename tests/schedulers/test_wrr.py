"""Weighted round robin: lockstep, writes during a turn, shares, weights, and proofs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import assert_refused, call, long_but
from tests.schedulers.scheduling import qualified_lockstep, run_rows
from vlane.errors import InputError
from vlane.golden.schedulers import wrr
from vlane.golden.schedulers.heads import NO_WRITE, Heads, Program
from vlane.hdl.schedulers.wrr import WRR
from vlane.schedulers.writes import ScheduleSelect
from vlane.schedulers.wrr import WRRWeights
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.machinery.proofs.prove import prove
from vlane.tb.schedulers.directed_schedulers import heads
from vlane.tb.schedulers.wrr.stimulus import applicable

SHAPES = [
    {"data_vls": 2},
    {"data_vls": 15},
    {"data_vls": 7, "requesters": 4, "vl15": False},
    pytest.param({"data_vls": 31, "requesters": 32}, marks=pytest.mark.long),
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hardware_agrees_with_golden(shape: dict[str, Any]) -> None:
    """Hardware and golden agree in lockstep on every output in every cycle.

    The traffic includes saturation, stalls, resets, live rewrites of weights and map, and forbidden inputs.
    """
    assert qualified_lockstep("wrr", shape).decisions > 10_000


def test_every_rule_of_the_page_is_counted() -> None:
    """Each rule WRR-1 to WRR-8 of the contract has a counter, and with a map all counters apply."""
    assert {rule.decision for rule in wrr.RULES} >= {f"WRR-{number}" for number in range(1, 9)}
    assert applicable({"vl15": True, "requesters": 3}) == {rule.name for rule in wrr.RULES}
    assert applicable({"vl15": False, "requesters": 0}) == {rule.name for rule in wrr.RULES} - {
        "vl15_first",
        "lane_changed",
    }


TABLE, MAP = int(ScheduleSelect.TABLE), int(ScheduleSelect.MAP)
BOTH = (0, 1)
Row = tuple[tuple[int, int, int, int] | None, tuple[int, ...], int | None]
"""One cycle: a write, the lanes with a head of one block, the granted lane."""


def weight(requester: int, value: int) -> tuple[int, int, int, int]:
    return (TABLE, requester, 0, value)


def owner(lane: int, requester: int) -> tuple[int, int, int, int]:
    return (MAP, lane, requester, 0)


LANES: dict[str, Any] = {"data_vls": 3, "requesters": 0, "vl15": False}
MAPPED: dict[str, Any] = {"data_vls": 3, "requesters": 2, "vl15": False}
WRITTEN: dict[str, tuple[dict[str, Any], list[Row]]] = {
    "WRR-7_to_0": (
        LANES,
        [
            (weight(0, 3), (), None),
            (weight(1, 1), (), None),
            (None, BOTH, 0),
            (weight(0, 0), BOTH, 0),
            (None, BOTH, 1),
            (None, BOTH, 1),
        ],
    ),
    "WRR-7_below_the_count": (
        LANES,
        [
            (weight(0, 5), (), None),
            (weight(1, 1), (), None),
            (None, BOTH, 0),
            (None, BOTH, 0),
            (weight(0, 2), BOTH, 0),
            (None, BOTH, 1),
            (None, BOTH, 0),
            (None, BOTH, 0),
            (None, BOTH, 1),
        ],
    ),
    "WRR-7_above_the_count_the_turn_goes_on": (
        LANES,
        [
            (weight(0, 1), (), None),
            (weight(1, 1), (), None),
            (None, BOTH, 0),
            (weight(0, 3), (), None),
            (None, BOTH, 0),
            (None, BOTH, 0),
            (None, BOTH, 1),
        ],
    ),
    "WRR-7_lowered_and_raised_again": (
        LANES,
        [
            (weight(0, 3), (), None),
            (weight(1, 1), (), None),
            (None, BOTH, 0),
            (weight(0, 0), (), None),
            (weight(0, 2), (), None),
            (None, BOTH, 0),
            (None, BOTH, 1),
        ],
    ),
    "WRR-7_used_from_the_next_cycle_on": (
        LANES,
        [
            (weight(0, 1), (), None),
            (weight(1, 1), BOTH, 0),
            (None, BOTH, 1),
            (weight(0, 2), BOTH, 0),
            (None, BOTH, 0),
            (None, BOTH, 1),
        ],
    ),
    "WRR-8_the_count_is_the_requester_s": (
        MAPPED,  # lanes 0 and 2 belong to requester 0
        [
            (weight(0, 3), (), None),
            (weight(1, 1), (), None),
            (None, (0, 1, 2), 0),
            (None, (0, 1, 2), 2),
            (None, (0, 1, 2), 0),
            (None, (0, 1, 2), 1),
            (None, (0, 1, 2), 2),
        ],
    ),
    "WRR-8_a_write_of_the_map_leaves_turn_and_count": (
        MAPPED,
        [
            (weight(0, 3), (), None),
            (weight(1, 1), (), None),
            (None, BOTH, 0),
            (owner(0, 1), (), None),
            (owner(2, 1), (), None),
            (owner(1, 0), (), None),
            (None, (0, 1, 2), 1),
            (None, (0, 1, 2), 1),
            (None, (0, 1, 2), 0),
        ],
    ),
    "WRR-8_without_a_lane_the_rest_is_lost": (
        MAPPED,
        [
            (weight(0, 3), (), None),
            (weight(1, 2), (), None),
            (None, BOTH, 0),
            (owner(0, 1), (), None),
            (None, BOTH, 0),
            (owner(0, 0), BOTH, 1),
            (None, BOTH, 0),
            (None, BOTH, 0),
            (None, BOTH, 0),
            (None, BOTH, 1),
        ],
    ),
}
"""Writes during a turn: parameters, and grants written by hand."""


def rows_of(steps: list[Row]) -> list[tuple[dict[str, int], dict[str, int]]]:
    """Return rows of inputs and expected outputs by port name."""
    rows = []
    for write, lanes, grant in steps:
        inputs = heads(dict.fromkeys(lanes, 1))
        if write:
            names = ("select", "index", "requester", "weight")
            inputs |= {"program__enable": 1, **{f"program__{n}": v for n, v in zip(names, write, strict=True)}}
        rows.append((inputs, {"grant": int(grant is not None), "vl": grant or 0}))
    return rows


@pytest.mark.parametrize("name", WRITTEN)
def test_golden_takes_writes_during_a_turn_as_written_by_hand(name: str) -> None:
    """Given a write during a turn, golden's grants equal those written by hand."""
    parameters, steps = WRITTEN[name]
    state, rules, sizes = wrr.make_state(**parameters), np.zeros(wrr.RULE_COUNT, np.int64), np.ones(4, np.int64)

    for cycle, (write, lanes, grant) in enumerate(steps):
        program: Program = (1, *write) if write else NO_WRITE
        able = sum(1 << lane for lane in lanes)
        lane, _, _ = wrr.step(state, Heads(able, able, sizes, 0, sizes), True, False, program, False, rules)
        assert (None if lane < 0 else lane) == grant, f"cycle {cycle}"


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITTEN)
def test_hardware_takes_writes_during_a_turn_as_written_by_hand(name: str) -> None:
    """Given a write during a turn, the hardware's grants equal those written by hand."""
    parameters, steps = WRITTEN[name]

    for cycle, (got, expected) in enumerate(run_rows("wrr", parameters, rows_of(steps))):
        assert got == expected, f"cycle {cycle}"


def saturated(weights: list[int], grants: int) -> list[int]:
    """Return the granted lanes in order, with all queues full."""
    state = wrr.make_state(data_vls=len(weights), requesters=0)
    state.weight[:] = weights
    every, sizes = (1 << len(weights)) - 1, np.ones(len(weights) + 1, np.int64)
    rules, full = np.zeros(wrr.RULE_COUNT, np.int64), Heads(every, every, sizes, 0, sizes)
    return [int(wrr.step(state, full, True, False, NO_WRITE, False, rules)[0]) for _ in range(grants)]


@pytest.mark.parametrize("seed", range(6))
def test_shares_in_packets_are_the_weights(seed: int) -> None:
    """With full queues, each round has as many packets of a requester as its weight, back to back."""
    weights = [int(each) for each in np.random.default_rng(seed).integers(0, 40, 6)]
    round_of = [requester for requester, count in enumerate(weights) for _ in range(count)]

    assert saturated(weights, 5 * sum(weights)) == 5 * round_of


def test_the_largest_weight_is_sent_to_the_last_packet() -> None:
    """With weight 255, a turn sends 255 packets and the count does not wrap."""
    assert saturated([255, 1], 3 * 256) == 3 * ([0] * 255 + [1])


def test_shares_in_bytes_follow_the_sizes() -> None:
    """With weights 3 and 1 and packets of 4 and 66 blocks, the second lane gets 84.6 % of the bytes."""
    granted, blocks = saturated([3, 1], 400), (4, 66)

    sent = [granted.count(lane) * blocks[lane] for lane in (0, 1)]

    assert granted.count(1) == 100
    assert sent == [100 * 12, 100 * 66]
    assert round(100 * sent[1] / sum(sent), 1) == 84.6


def test_nobody_waits_longer_than_the_sum_of_the_other_weights() -> None:
    """With full queues, a requester of weight 1 waits for exactly the sum of the other weights."""
    weights = [5, 1, 3, 7]
    served = [place for place, lane in enumerate(saturated(weights, 100)) if lane == 1]

    assert {after - before - 1 for before, after in pairwise(served)} == {15}


@pytest.mark.parametrize(
    ("field", "weights"),
    [
        ("wrr.weight[1]", (1, 256)),
        ("wrr.weight[0]", (-1,)),
        ("wrr.weight[0]", (True,)),
        ("wrr.weight[2]", (1, 2, 0.5)),
        ("wrr.weight", ()),
        ("wrr.weight", (1,) * 33),
        ("wrr.weight", 3),
    ],
)
def test_weights_that_no_scheduler_can_hold_are_refused(field: str, weights: Any) -> None:
    """Given weights out of range or of the wrong type, the table is refused and the field is named."""
    with pytest.raises(InputError) as refused:
        WRRWeights(weights)

    assert refused.value.field == field


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("[wrr]\nweight = [1, 256]\n", ["2: wrr.weight[1] must be 0 to 255, not 256"]),
        ("[wrr]\nweight = [1, 2, 3]\n", ["wrr.weight", "the instance allows 2"]),
        ("[wrr]\nweights = [1, 2]\n", ["wrr.weights", "did you mean weight?"]),
        ("[wrr]\n", ["wrr.weight", "missing"]),
        ("[drr]\nquantum = [1, 2]\n", ["wrr", "missing"]),
    ],
)
def test_a_wrong_table_file_is_refused_in_one_line(tmp_path: Path, section: str, told: list[str]) -> None:
    """Given a wrong table file, the command prints one line with file, key and fix."""
    table, arrivals = tmp_path / "table.toml", tmp_path / "arrivals.csv"
    table.write_text(section)
    arrivals.write_text("cycle,vl,bytes\n0,0,64\n0,1,64\n")

    done = call("egress", "--scheduler", "wrr", "--table", table, "--arrivals", arrivals, "--param", "data_vls=2")

    assert_refused(done, "table.toml", *told)


class Overstaying(WRR):
    """Weighted round robin that sends one packet too many in a turn."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        held = self.weights[0].any() & (self.turn == 0) & (self.count <= self.weights[0])
        m.d.comb += self.search.weight_left.eq(held)
        return m


class Forgetting(WRR):
    """Weighted round robin that does not count the packets of a turn."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.sync += self.count.eq(1)
        return m


class Generous(WRR):
    """Weighted round robin that serves requesters of weight 0."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.search.eligible.eq(self.active)
        return m


@pytest.mark.slow
@pytest.mark.parametrize("broken", long_but([Generous], [Overstaying, Forgetting, Generous]))
def test_a_broken_weighted_round_robin_is_not_proven(broken: type[Any]) -> None:
    """Given a broken scheduler, the proof fails."""
    block = BLOCKS["wrr"]

    proof = prove(
        block.proofs[0].properties(broken(block.shape(**block.proofs[0].parameters))),
        f"test-wrr-{broken.__name__.lower()}",
        depth=10,
    )

    assert proof.verdict == "FAIL", proof.detail
    assert "Assert failed" in proof.detail
