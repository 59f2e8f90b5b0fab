"""Deficit Table, line-rate form: lockstep and agreement with the exact form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from numpy.typing import NDArray

from tests.conftest import assert_refused, call, long_but
from tests.schedulers.scheduling import assert_bench_agrees, qualification_of, qualified_lockstep
from vlane.golden.schedulers import dtable as exact
from vlane.golden.schedulers import dtable_line_rate as golden
from vlane.golden.schedulers.heads import NO_WRITE, Heads
from vlane.hdl.schedulers.lane_account import LaneAccount
from vlane.schedulers.dtable import DTable
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.silicon.decision_rate import decisions_per_cycle
from vlane.tb.machinery.proofs.prove import prove

FORM = {"form": "line_rate"}
SHAPES: list[dict[str, Any]] = [
    {"data_vls": 16, "entries": 64, "vl15": False, **FORM},
    {"data_vls": 3, "entries": 5, "vl15": True, "mtu_blocks": 5, **FORM},
    {"data_vls": 2, "entries": 2, "vl15": False, "mtu_blocks": 1, **FORM},
    {"data_vls": 31, "entries": 128, "vl15": True, **FORM},
]
LANES = 16
EXACT: dict[str, Any] = {
    "data_vls": LANES,
    "requesters": 0,
    "vl15": False,
    "form": "free",
    "keep_on_stall": False,
    "mtu_blocks": 66,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", long_but(SHAPES[:2], SHAPES), ids=lambda shape: f"{shape['data_vls']}-{shape['entries']}"
)
def test_hardware_is_golden_in_every_cycle(shape: dict[str, Any]) -> None:
    qualified_lockstep("dtable", shape)


@pytest.mark.long
def test_cocotb_agrees() -> None:
    only = ("agrees_with_golden_in_every_cycle",)
    assert_bench_agrees("dtable", {"data_vls": 4, "entries": 8, "vl15": True, **FORM}, tests=1, cycles=3000, apart=only)


def test_the_qualification_s_tables_name_lanes_that_are_not_there_in_every_place() -> None:
    """The qualification's tables name missing lanes at every position, one bit away from real lanes.

    Weights lie one bit away from the limits.
    """
    block = BLOCKS["dtable"]
    parameters = block.parameters(["form=line_rate", "entries=20"], block.mutated)
    stimulus, _, _ = qualification_of("dtable", parameters, 2_000_000)

    writes = stimulus._tables.writes.reshape(-1, 4)
    absent = {(index % 8, lane & ~3) for _, index, lane, weight in writes.tolist() if weight and lane >= 4}
    weights = {weight for *_, weight in writes.tolist()}
    assert parameters["data_vls"] == 4
    assert absent >= {(place, 1 << bit) for place in range(8) for bit in (2, 3, 4)}
    assert weights >= {number ^ 1 << bit for number in (1, 66) for bit in range(8)}


class Lanes:
    """Backlogged lanes, each with its own sequence of packet sizes."""

    def __init__(self, sizes: NDArray[np.int64], able: int) -> None:
        self.sizes, self.able, self.at = sizes, able, np.zeros(LANES, np.int64)

    def heads(self) -> Heads:
        sizes, behind = (self.sizes[np.arange(LANES), (self.at + n) % self.sizes.shape[1]] for n in range(2))
        return Heads(self.able, self.able, np.append(sizes, 0), self.able, np.append(behind, 0))


Grants = list[int]


def grants_of_exact(table: DTable, lanes: Lanes, count: int) -> Grants:
    entries = len(table.entries)
    state, rules = exact.make_state(entries=entries, **EXACT), np.zeros(exact.RULE_COUNT, np.int64)
    for index, entry in enumerate(table.entries):
        state.entry_requester[0, index], state.weight[0, index] = entry
    found: Grants = []
    for _ in range(400 * count):
        lane, _, _ = exact.step(state, lanes.heads(), True, False, NO_WRITE, False, rules)
        if lane >= 0:
            found.append(int(lane))
            lanes.at[lane] += 1
        if len(found) == count:
            break
    return found


def grants_of_line_rate(table: DTable, lanes: Lanes, count: int, mtu_blocks: int = 66) -> tuple[Grants, list[int]]:
    """Return the grants and, for each, the cycles the link waited."""
    entries = len(table.entries)
    state = golden.make_state(data_vls=LANES, entries=entries, mtu_blocks=mtu_blocks)
    rules = np.zeros(golden.RULE_COUNT, np.int64)
    writes = [(1, *write) for write in table.padded(entries)]
    found: Grants = []
    waits: list[int] = []
    busy, waited = 0, 0
    for cycle in range(len(writes) + 200 + 600 * count):
        write = writes[cycle] if cycle < len(writes) else NO_WRITE
        heads = lanes.heads()
        lane, _, granted = golden.step(state, heads, busy == 0, False, write, cycle == len(writes), rules)
        waited += busy == 0
        if granted and busy == 0:
            found.append(int(lane))
            waits.append(waited - 1)
            busy, waited = int(heads.blocks[lane]), 0
            lanes.at[lane] += 1
        busy = max(0, busy - 1)
        if len(found) == count:
            break
    assert not rules[golden.LOST]
    assert not rules[golden.ACCOUNT_LOST]
    return found, waits


def drawn(seed: int, most: int) -> tuple[DTable, Lanes, Lanes]:
    """Return a random table and two equal sets of lanes.

    Some seeds leave a single lane able to send.
    """
    draw = np.random.default_rng(seed)
    entries = int(draw.choice([2, 9, 64, 128]))
    weights = np.arange(int(draw.choice([3, 6, 80, 256])))
    usual = weights[weights != seed % 2]
    drawn_weights = [int(usual[-1]), *(int(draw.choice(usual)) for _ in range(entries - 1))]
    table = DTable(tuple((int(draw.integers(0, LANES)), weight) for weight in drawn_weights))
    named = next(sl for sl, weight in table.entries if weight)
    able = 1 << named if seed % 4 == 3 else 1 << named | int(draw.integers(1, 1 << LANES))
    sizes = draw.integers(1, most + 1, (LANES, 37))
    return table, Lanes(sizes, able), Lanes(sizes, able)


@pytest.mark.parametrize("most", [1, 2, 5, 66])
@pytest.mark.parametrize("seed", range(8))
def test_steady_lanes_are_served_in_the_order_and_by_the_weights_of_the_exact_form(seed: int, most: int) -> None:
    table, before, after = drawn(seed, most)
    wanted = grants_of_exact(table, before, 300)
    got, waits = grants_of_line_rate(table, after, len(wanted))
    assert len(wanted) == 300
    assert got == wanted
    if most == 1 and all(weight != 1 for _, weight in table.entries):
        assert not any(waits[1:]), "packets of one block follow each other without a gap"


@pytest.mark.parametrize("able", [0xFFFF, 1 << 5])
def test_entries_of_weight_one_are_served_without_a_gap(able: int) -> None:
    table = DTable(tuple((3 * index % LANES, 1) for index in range(64)))
    _, waits = grants_of_line_rate(table, Lanes(np.ones((LANES, 1), np.int64), able), 300)
    assert not any(waits[1:])


@pytest.mark.parametrize("seed", range(4))
def test_weights_that_cover_the_largest_packet_cost_no_cycle_but_behind_a_packet_of_one_block(seed: int) -> None:
    draw = np.random.default_rng(seed)
    table = DTable(tuple((int(draw.integers(0, LANES)), int(draw.integers(33, 128))) for _ in range(64)))
    lanes = Lanes(draw.integers(2, 34, (LANES, 41)), int(draw.integers(1, 1 << LANES)))
    _, waits = grants_of_line_rate(table, lanes, 300, 33)
    assert not any(waits[1:])


@pytest.mark.parametrize("able", [0xFFFF, 1 << 3])
def test_sizes_of_every_kind_cost_less_than_a_cycle_in_a_thousand(able: int) -> None:
    """Given weights of at least the largest packet and packets of all sizes, idle cycles are below 0.1 %."""
    draw = np.random.default_rng(1)
    table = DTable(tuple((int(draw.integers(0, LANES)), int(draw.integers(33, 128))) for _ in range(64)))
    lanes = Lanes(draw.integers(1, 34, (LANES, 41)), able)
    grants, waits = grants_of_line_rate(table, lanes, 600, 33)
    assert sum(waits[1:]) * 1000 < len(grants) * lanes.sizes.mean()


@pytest.mark.parametrize("form", ["free", "line_rate"])
def test_a_decision_is_taken_in_every_cycle(form: str) -> None:
    block = BLOCKS["dtable"]
    assert decisions_per_cycle(block, {**block.defaults(), "entries": 16, "form": form}) == 1


@pytest.mark.parametrize(("blocks", "cycles"), [(1, 10), (2, 11)])
def test_a_lane_that_wakes_in_an_idle_scheduler_is_granted_after_some_cycles(blocks: int, cycles: int) -> None:
    state, rules = (golden.make_state(data_vls=LANES, entries=8, mtu_blocks=66), np.zeros(golden.RULE_COUNT, np.int64))
    sizes = np.full(LANES + 1, blocks)
    nothing, heads = Heads(0, 0, sizes, 0, sizes), Heads(8, 8, sizes, 8, sizes)
    writes = [(1, *write) for write in DTable(((3, 5),)).padded(8)]
    for cycle in range(120):
        write = writes[cycle] if cycle < len(writes) else NO_WRITE
        golden.step(state, nothing, True, False, write, cycle == len(writes), rules)
    waited = 0
    while not golden.step(state, heads, True, False, NO_WRITE, False, rules)[2]:
        waited += 1
    assert waited == cycles
    if blocks == 1:
        for _ in range(20):
            golden.step(state, nothing, True, False, NO_WRITE, False, rules)
        waited = 0
        while not golden.step(state, heads, True, False, NO_WRITE, False, rules)[2]:
            waited += 1
        assert waited == 9


class Generous(LaneAccount):
    """Account that always reports the next packet as covered."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.covers_next.eq(1)
        return m


@pytest.mark.slow
@pytest.mark.parametrize("account", [LaneAccount, Generous])
def test_accounts_are_proven_and_a_generous_one_is_not(account: type[LaneAccount]) -> None:
    block = BLOCKS["dtable"]
    instance = block.instance("line-rate-small")
    scheduler = block.make(instance.parameters)
    scheduler.accounts[1] = account()

    proof = prove(instance.properties(scheduler), f"test-{account.__name__}", depth=3)

    if account is LaneAccount:
        assert proof.verdict == "PASS", proof.detail
    else:
        assert "Assert failed" in proof.detail, proof.verdict


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["requesters=4"], ["requesters", "0", "4"]),
        (["keep_on_stall=yes"], ["keep_on_stall", "false"]),
        (["data_vls=32", "vl15=no"], ["data_vls", "31", "32"]),
    ],
)
def test_what_the_form_does_not_have_is_refused(given: list[str], words: list[str]) -> None:
    shape = [word for each in ["form=line_rate", *given] for word in ("--param", each)]
    assert_refused(call("cosim", "dtable", *shape), *words)
