"""VL arbiter, line-rate form: lockstep and agreement with the exact form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module

from tests.conftest import long_but
from tests.schedulers.scheduling import assert_bench_agrees, qualification_of, qualified_lockstep
from vlane.egress import ListCode
from vlane.golden.schedulers import vlarb as exact
from vlane.golden.schedulers import vlarb_line_rate as golden
from vlane.golden.schedulers.heads import NO_WRITE, Heads, no_heads
from vlane.hdl.schedulers.list_walk import ListWalk
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, VLArbTable
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.silicon.decision_rate import decisions_per_cycle
from vlane.tb.machinery.native.rows import row_words
from vlane.tb.machinery.proofs.prove import prove
from vlane.tb.schedulers.proofs_walk import ListWalkProperties
from vlane.tb.schedulers.vlarb.qualification import qualification
from vlane.tb.schedulers.vlarb.tables import random_tables

FORM = {"form": "line_rate"}


class Unfair(ListWalk):
    """List walk that always chooses the lowest awake row."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.pulls):
            m.d.sync += self.beyond.eq(~0)
        return m


SHAPES: list[dict[str, Any]] = [
    {"data_vls": 15, "entries": 64, "vl15": True, **FORM},
    {"data_vls": 3, "entries": 5, "vl15": False, **FORM},
    {"data_vls": 1, "entries": 1, "vl15": False, **FORM},
    {"data_vls": 10, "entries": 33, "vl15": True, **FORM},
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", long_but(SHAPES[:2], SHAPES), ids=lambda shape: f"{shape['data_vls']}-{shape['entries']}"
)
def test_hardware_is_golden_in_every_cycle(shape: dict[str, Any]) -> None:
    qualified_lockstep("vlarb", shape)


@pytest.mark.slow
def test_cocotb_agrees() -> None:
    only = ("agrees_with_golden_in_every_cycle",)
    assert_bench_agrees("vlarb", {"data_vls": 4, "entries": 8, "vl15": True, **FORM}, tests=1, cycles=3000, apart=only)


Grant = tuple[int, int]


def grants_of_exact(table: VLArbTable, entries: int, able: int, sizes: np.ndarray[Any, Any], count: int) -> list[Grant]:
    state, rules = exact.make_state(data_vls=15, entries=entries), np.zeros(exact.RULE_COUNT, np.int64)
    exact.load(state, table)
    found: list[Grant] = []
    heads = Heads(able, able, sizes, 0, sizes)
    while len(found) < count:
        lane, source, granted = exact.step(state, heads, True, False, NO_WRITE, False, rules)
        if not granted:
            break
        found.append((int(lane), int(source)))
    return found


def grants_of_line_rate(
    table: VLArbTable, entries: int, able: int, sizes: np.ndarray[Any, Any], count: int
) -> tuple[list[Grant], list[int]]:
    """Return grants and their cycles. A packet occupies the link for one cycle per block."""
    state, rules = golden.make_state(data_vls=15, entries=entries), np.zeros(golden.RULE_COUNT, np.int64)
    heads = Heads(able, able, sizes, able, sizes)
    writes = [(1, *write) for write in table.padded(entries)]
    found: list[Grant] = []
    cycles: list[int] = []
    busy = 0
    for cycle in range(len(writes) + 200 + 70 * count):
        write = writes[cycle] if cycle < len(writes) else NO_WRITE
        swap = cycle == len(writes)
        lane, source, granted = golden.step(state, heads, busy == 0, False, write, swap, rules)
        if granted and busy == 0:
            found.append((int(lane), int(source)))
            cycles.append(cycle)
            busy = int(sizes[lane])
        busy = max(0, busy - 1)
        if len(found) == count:
            break
    assert not rules[golden.LOST]
    assert not rules[golden.DROPPED]
    return found, cycles


@pytest.mark.parametrize("seed", range(12))
def test_steady_lanes_are_served_in_the_order_and_by_the_weights_of_the_exact_form(seed: int) -> None:
    """Given constantly backlogged lanes, the line-rate form grants in the order of the exact form."""
    draw = np.random.default_rng(seed)
    entries = int(draw.choice([8, 20, 64]))
    table = random_tables(12, data_vls=15, entries=entries, seed=seed)[seed]
    able = int(draw.integers(1, 1 << 15))
    sizes = draw.integers(1, 67, 17) if seed % 2 else np.ones(17, np.int64)
    wanted = grants_of_exact(table, entries, able, sizes, 400)
    got, cycles = grants_of_line_rate(table, entries, able, sizes, len(wanted))
    assert got == wanted
    if not seed % 2 and len(cycles) > 1:
        assert cycles[-1] - cycles[0] == len(cycles) - 1, "packets of one block follow each other without a gap"


@pytest.mark.parametrize("form", ["exact", "line_rate"])
def test_a_decision_is_taken_in_every_cycle(form: str) -> None:
    block = BLOCKS["vlarb"]
    assert decisions_per_cycle(block, {**block.defaults(), "entries": 16, "form": form}) == 1


def test_a_lane_that_wakes_in_an_idle_arbiter_is_granted_after_seven_cycles() -> None:
    table = random_tables(1, data_vls=15, entries=8, seed=5)[0]
    state, rules = golden.make_state(data_vls=15, entries=8), np.zeros(golden.RULE_COUNT, np.int64)
    sizes = np.ones(17, np.int64)
    writes = [(1, 0, index, 3, 5) for index in range(len(table.high))]
    for cycle in range(120):
        write = writes[cycle] if cycle < len(writes) else NO_WRITE
        golden.step(state, no_heads(15), True, False, write, cycle == len(writes), rules)
    waited = 0
    while not golden.step(state, Heads(8, 8, sizes, 8, sizes), True, False, NO_WRITE, False, rules)[2]:
        waited += 1
    assert waited == 7


@pytest.mark.slow
@pytest.mark.parametrize("walk", [ListWalk, Unfair])
def test_turns_before_an_entry_are_proven_and_an_unfair_walk_is_not(walk: type[ListWalk]) -> None:
    """The walk's bound on the turns before an entry is proven. For the unfair walk the proof fails.

    An unfair walk may serve low rows again and again while an awake row waits.
    """
    properties = ListWalkProperties(walk(data_vls=2, entries=9, lane_bits=4))

    proof = prove(properties, f"test-{walk.__name__}")

    if walk is ListWalk:
        assert proof.verdict == "PASS", proof.detail
    else:
        assert "Assert failed" in proof.detail, proof.verdict


def test_the_qualification_lets_every_limit_run_out() -> None:
    """Each limit expires at least twice in the qualification, except the unbounded limit.

    The qualification charges one block per cycle.
    """
    block = BLOCKS["vlarb"]
    parameters = block.parameters(["form=line_rate"], block.mutated)
    plan = qualification(
        data_vls=parameters["data_vls"], entries=parameters["entries"], cycles=1_000_000, seed=1, block_by_block=True
    )
    traffic, inputs, outputs = qualification_of("vlarb", parameters, 1_000_000)
    _, expected = traffic.record(row_words(inputs), row_words(outputs))
    lists = outputs["from_list"].get(expected)
    begin, seen = 0, []
    for phase in plan.phases:
        limit = plan.tables[phase.table].limit_of_high_priority
        if phase.name == "limit":
            low = lists[begin : begin + phase.cycles] == int(ListCode.LOW)
            turns = int((low[1:] > low[:-1]).sum())
            assert turns >= 2 if limit < LIMIT_UNBOUNDED else not turns, limit
            seen.append(limit)
        begin += phase.cycles
    assert {1 << bit for bit in range(8)} < set(seen)


def test_the_qualification_has_weights_a_bit_away_from_one_and_two_in_both_lists() -> None:
    """The qualification has weights one bit away from 1 and from 2 in both lists.

    The walk predicts turns of one and two blocks in advance, so each weight bit matters.
    """
    plan = qualification(data_vls=5, entries=8, cycles=1_000_000, seed=1, block_by_block=True)
    tables = [plan.tables[phase.table] for phase in plan.phases if phase.name == "weight"]

    near = {number ^ 1 << bit for number in (1, 2) for bit in range(8)} - {0}
    for listed in ([table.high for table in tables], [table.low for table in tables]):
        assert near <= {entry.weight for entries in listed for entry in entries if entry.vl < 5}
