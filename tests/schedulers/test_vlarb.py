"""VL arbiter: golden by hand, hardware in lockstep, cocotb, and coverage of the contract's rules."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.conftest import long_but
from vlane.errors import InputError
from vlane.golden.schedulers import vlarb as golden
from vlane.golden.schedulers.heads import NO_WRITE, Heads, no_heads
from vlane.golden.schedulers.vlarb_rules import RULES, applicable_rules
from vlane.hdl.schedulers.vlarb import VLArb
from vlane.schedulers.vlarb import VLArbEntry, VLArbParameters, VLArbTable
from vlane.tb.machinery.cocotb_benches.cocotb_bench import run_cocotb, simulator_installed
from vlane.tb.machinery.native.lockstep import run_lockstep
from vlane.tb.machinery.native.model import CompiledModel, compile_model, component_ports
from vlane.tb.machinery.native.rows import row_layout, row_words
from vlane.tb.schedulers.traffic import Phase
from vlane.tb.schedulers.vlarb.directed import DATA_VLS, ENTRIES, SCENARIOS, Scenario, directed_state, play
from vlane.tb.schedulers.vlarb.qualification import qualification
from vlane.tb.schedulers.vlarb.setting import encode_plan
from vlane.tb.schedulers.vlarb.stimulus import VLArbTraffic
from vlane.tb.schedulers.vlarb.tables import random_tables
from vlane.units import blocks_of

DIRECTED = {"data_vls": DATA_VLS, "entries": ENTRIES, "vl15": True}
SHAPES: list[dict[str, Any]] = [
    DIRECTED,
    {"data_vls": 15, "entries": 64, "vl15": True},
    {"data_vls": 1, "entries": 1, "vl15": False},
    {"data_vls": 3, "entries": 5, "vl15": False},
    {"data_vls": 10, "entries": 33, "vl15": True},
    {"data_vls": 15, "entries": 6, "vl15": False},
]
IDS = ["-".join(map(str, shape.values())) for shape in SHAPES]


def model_of(shape: dict[str, Any]) -> CompiledModel:
    return compile_model(VLArb(VLArbParameters(**shape)), "vlarb")


def rules() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.zeros(len(RULES), np.int64)


def lockstep(
    shape: dict[str, Any], tables: tuple[VLArbTable, ...], phases: tuple[Phase, ...], seed: int
) -> VLArbTraffic:
    with model_of(shape) as model:
        traffic = VLArbTraffic(
            **shape, tables=tables, phases=phases, seed=seed, inputs=model.inputs, outputs=model.outputs
        )
        outcome = run_lockstep(model, traffic)
    assert outcome.mismatch is None, str(outcome.mismatch)
    assert outcome.cycles == traffic.cycles
    return traffic


@pytest.mark.parametrize(
    ("field", "high", "low", "limit"),
    [
        ("vlarb.high[0] VL", [(16, 1)], [], 0),
        ("vlarb.high[1] VL", [(0, 1), (-1, 1)], [], 0),
        ("vlarb.low[0] weight", [], [(0, 256)], 0),
        ("vlarb.low", [], [(0, 1)] * 65, 0),
        ("vlarb.limit_of_high_priority", [], [], 256),
        ("vlarb.limit_of_high_priority", [], [], True),
        ("vlarb.low[0]", [], [(1, 2, 3)], 0),
    ],
)
def test_table_refuses_values_out_of_range(field: str, high: Any, low: Any, limit: Any) -> None:
    """Given a VL, weight, limit or number of entries out of range, the table is refused."""
    with pytest.raises(InputError) as refused:
        VLArbTable(tuple(high), tuple(low), limit)

    assert refused.value.field == field


def test_table_keeps_entries_that_no_port_serves() -> None:
    """Table entries for VL15 and missing lanes are kept and never served (decision VLA-17)."""
    table = VLArbTable(((15, 9), (14, 255)), ((0, 0),), 255)

    assert table.high == (VLArbEntry(15, 9), VLArbEntry(14, 255))
    assert table.served_vls(8) == frozenset()


@pytest.mark.parametrize(
    ("packet_bytes", "with_vcrc", "without"),
    [(1, 1, 1), (64, 1, 1), (65, 2, 1), (66, 2, 1), (67, 2, 2), (4122, 65, 65)],
)
def test_packet_size_counts_started_blocks(packet_bytes: int, with_vcrc: int, without: int) -> None:
    """Packet sizes count started blocks from LRH to VCRC, or without VCRC by option (decision VLA-1)."""
    assert blocks_of(packet_bytes) == with_vcrc
    assert blocks_of(packet_bytes, count_vcrc=False) == without


@pytest.mark.parametrize("packet_bytes", [0, -1, 66 * 64 + 1])
def test_packet_size_refuses_impossible_lengths(packet_bytes: int) -> None:
    """Given a length of at most 0 bytes or above 66 blocks, the size computation is refused."""
    with pytest.raises(InputError):
        blocks_of(packet_bytes)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[s.name for s in SCENARIOS])
def test_golden_follows_the_scenario(scenario: Scenario) -> None:
    """Golden's grants equal the grants written by hand in each scenario."""
    cycles = list(play(scenario, directed_state(), rules()))

    assert len(cycles) >= len(scenario.steps) > 0


def test_scenarios_show_every_decision_of_the_contract() -> None:
    """Each decision VLA-1 to VLA-17 of the contract has a scenario."""
    shown = {scenario.name.split("_")[0] for scenario in SCENARIOS}

    assert {f"VLA-{number}" for number in range(1, 18)} <= shown


@pytest.mark.slow
def test_hardware_follows_every_scenario() -> None:
    """From power-on, every hardware output equals the hand-written value in each scenario cycle."""
    with model_of(DIRECTED) as model:
        for scenario in SCENARIOS:
            cycles = list(play(scenario, directed_state(), rules()))
            rows = np.zeros((len(cycles), model.input_words), np.uint64)
            for row, (given, _) in zip(rows, cycles, strict=True):
                for name, value in given.items():
                    model.inputs[name].put(row, value)
            model.restart()

            outputs = model.run(rows)

            for number, (out, (_, expected)) in enumerate(zip(outputs, cycles, strict=True)):
                got = {name: model.outputs[name].value(out) for name in expected}
                assert got == expected, f"{scenario.name}, cycle {number}"


@pytest.mark.parametrize(
    ("limit", "share"), [(0, 0.5), (1, 2 / 3), (2, 0.8), (16, 32 / 33), (254, 493 / 494), (255, 1.0)]
)
def test_limit_gives_high_its_share(limit: int, share: float) -> None:
    """With 33-block packets in both lists, each limit gives High the published share of packets."""
    state, counted = golden.make_state(data_vls=2, entries=2, vl15=True), rules()
    golden.load(state, VLArbTable(((0, 255),), ((1, 255),), limit))
    blocks = np.full(3, 33, np.int64)
    heads = Heads(3, 3, blocks, 0, blocks)
    packets = 494 * 66
    high = 0

    for _ in range(packets):
        _, source, _ = golden.step(state, heads, True, False, NO_WRITE, False, counted)
        high += source == 1

    assert high / packets == pytest.approx(share, abs=1 / packets)


def test_uncompiled_golden_gives_the_same_rows() -> None:
    """Compiled and uncompiled golden code produce the same rows."""
    code = (
        "import hashlib, numpy as np\n"
        "from vlane.tb.schedulers.vlarb.stimulus import *\nfrom vlane.tb.schedulers.traffic import Phase\n"
        "from vlane.tb.schedulers.vlarb.tables import random_tables\n"
        "from vlane.sim_top.blocks import BLOCKS\n"
        "from vlane.tb.machinery.native.model import component_ports, row_layout, row_words\n"
        "shape = {'data_vls': 4, 'entries': 6, 'vl15': True}\n"
        "ports = component_ports(BLOCKS['vlarb'].make(shape))\n"
        "given, shown = row_layout(ports, inputs=True), row_layout(ports, inputs=False)\n"
        "tables = random_tables(3, data_vls=4, entries=6, seed=3)\n"
        "phases = (Phase(300, 0, idle_bits=2, extremes=64, stall=9, vl15=4, hold=9), Phase(300, wild=True))\n"
        "t = VLArbTraffic(**shape, tables=tables, phases=phases, seed=5, inputs=given, outputs=shown)\n"
        "rows, out = np.zeros((600, row_words(given)), np.uint64), np.zeros((600, row_words(shown)), np.uint64)\n"
        "n = t.fill(rows, out)\nt.fill(rows[n:], out[n:])\n"
        "print(hashlib.sha256(rows.tobytes() + out.tobytes()).hexdigest(), sum(t.rule_counts().values()) > 500)\n"
    )

    compiled, plain = (
        subprocess.run(
            [sys.executable, "-W", "error", "-W", "ignore::amaranth.hdl.UnusedElaboratable", "-c", code],
            env={**os.environ, "VLANE_KERNELS": mode},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for mode in ("compiled", "python")
    )

    assert compiled == plain
    assert compiled.endswith("True\n")


def test_the_qualification_uses_up_every_weight_in_each_bank() -> None:
    """The qualification uses up a weight with each single bit set, in each bank.

    Each table's phases lie an odd number of phases apart, so both banks see it.
    """
    plan = qualification(data_vls=5, entries=8, cycles=400_000, seed=7)
    used_up = [phase for phase in plan.phases if phase.name == "weights run out"]
    tables = [phase.table for phase in used_up]

    assert len(tables) % 4 == 2
    assert tables[: len(tables) // 2] == tables[len(tables) // 2 :]
    for phase in used_up:
        table = plan.tables[phase.table]
        assert phase.cycles > sum(entry.weight for entry in (*table.high, *table.low) if entry.vl < 5)
    first = {plan.tables[table].high[0].weight for table in tables if plan.tables[table].high}
    assert first >= {1 << bit for bit in range(8)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", long_but([shape for shape in SHAPES if shape["entries"] not in {5, 6, 33, 64}], SHAPES), ids=IDS
)
def test_hardware_agrees_on_random_tables(shape: dict[str, Any]) -> None:
    """Hardware and golden agree in lockstep over random tables and loads, and every rule occurs.

    The traffic includes credit stalls, live swaps, resets and forbidden inputs.
    """
    plan = qualification(data_vls=shape["data_vls"], entries=shape["entries"], cycles=400_000, seed=7)

    traffic = lockstep(shape, plan.tables, plan.phases, seed=7)

    counts = traffic.rule_counts()
    applicable = {
        name
        for table in plan.tables
        for name in applicable_rules(table, data_vls=shape["data_vls"], has_vl15=shape["vl15"])
    }
    assert [name for name in sorted(applicable) if not counts[name]] == []
    if shape["data_vls"] >= 3 and shape["vl15"]:
        assert set(counts) == applicable, "every rule applies to some table of the qualification"


@pytest.mark.slow
def test_write_in_the_cycle_of_a_swap_is_ignored() -> None:
    """A write in the cycle of a swap is ignored, so the loaded counter matches its limit (VLA-12)."""
    state, counted = golden.make_state(data_vls=2, entries=2, vl15=True), rules()
    golden.load(state, VLArbTable(((0, 255),), ((1, 255),), 0))
    golden.program(state, (1, golden.SELECT_LIMIT, 0, 0, 254))
    golden.program(state, (1, golden.SELECT_HIGH, 0, 0, 255))
    golden.program(state, (1, golden.SELECT_LOW, 0, 1, 255))

    write = (1, golden.SELECT_LIMIT, 0, 0, 0)
    golden.step(state, no_heads(2), True, False, write, True, counted)

    assert state.limit[state.regs[golden.BANK]] == 254
    assert state.regs[golden.COUNTER] == 254 * 64


@pytest.mark.slow
@pytest.mark.parametrize("limit", long_but({0, 255}, [0, 1, 254, 255]))
def test_corner_limits_are_exercised(limit: int) -> None:
    """At limits 0, 1, 254 and 255, hardware and golden agree on exact expiry and on overshoot."""
    table = VLArbTable(((0, 64), (1, 33)), ((2, 64), (0, 10)), limit)
    phases = (
        Phase(40_000, 0, most_blocks=1, name="exact"),
        Phase(80_000, least_blocks=33, name="beyond"),
        Phase(40_000, idle_bits=4, extremes=64, hold=8, stall=16, vl15=4),
    )

    counts = lockstep(DIRECTED, (table,), phases, seed=limit).rule_counts()

    if limit == 255:
        assert counts["limit_unbounded"] > 1000
        assert counts["limit_expired_exactly"] == counts["limit_overshot"] == counts["low_after_expiry"] == 0
    else:
        assert counts["low_after_expiry"] > 0
        assert counts["limit_expired_exactly"] > 0
    assert counts["entry_expired_exactly"] > 0
    assert counts["entry_overshot"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "must", "must_not"),
    [
        (VLArbTable(((0, 9), (1, 9)), (), 3), ["expired_but_low_empty"], ["low_alone", "low_after_expiry"]),
        (
            VLArbTable(((0, 0),), ((1, 0),), 3),
            ["unserved_stalled"],
            ["high_before_low", "low_alone", "swap_with_grant"],
        ),
        (VLArbTable((), ((4, 7),), 3), ["wrapped_to_itself", "low_alone"], ["remainder_forfeited", "high_before_low"]),
        (VLArbTable(((2, 5),), ((2, 5), (3, 5)), 1), ["high_before_low", "low_after_expiry"], ["limit_unbounded"]),
    ],
    ids=["empty low", "all zero", "single entry", "same VL in both lists"],
)
def test_corner_tables_are_exercised(table: VLArbTable, must: list[str], must_not: list[str]) -> None:
    """Given degenerate tables, exactly the rules that can apply occur."""
    phases = (Phase(20_000, 0), Phase(40_000, idle_bits=4, extremes=64, stall=16, hold=8), Phase(20_000, idle_bits=7))

    counts = lockstep(DIRECTED, (table,), phases, seed=2).rule_counts()

    assert all(counts[name] > 0 for name in must), counts
    assert all(counts[name] == 0 for name in must_not), counts
    applicable = applicable_rules(table, data_vls=DATA_VLS, has_vl15=True)
    assert not applicable & set(must_not)
    assert set(must) <= applicable


@pytest.mark.slow
def test_saturated_shares_are_the_weights_within_a_packet_a_round() -> None:
    """With 64-byte packets, a lane's share of a list equals its share of the weights.

    The difference is at most one packet per round.
    """
    table = VLArbTable((), tuple((vl, weight) for vl, weight in enumerate((1, 2, 4, 8, 16, 32, 64, 128))), 0)
    rounds = 40
    phases = (Phase(2 * ENTRIES + 2, 0, idle_bits=20), Phase(255 * rounds, most_blocks=1))

    traffic = lockstep(DIRECTED, (table,), phases, seed=1)

    granted = traffic.statistics[1].blocks[:8, 2]
    assert all(abs(int(got) - weight * rounds) <= rounds for got, (_, weight) in zip(granted, table.low, strict=True))


@pytest.mark.slow
def test_low_waits_no_longer_than_the_stated_bound() -> None:
    """A Low packet waits at most (sum of Low weights + 1) times (blocks of the limit + 1) decisions."""
    table = VLArbTable(((0, 255),), ((1, 3), (2, 2), (3, 1)), 1)
    phases = (Phase(2 * ENTRIES + 2, 0, idle_bits=20), Phase(60_000, most_blocks=1))

    traffic = lockstep(DIRECTED, (table,), phases, seed=1)

    bound = (3 + 2 + 1 + 1) * (64 + 1)
    longest = traffic.statistics[1].longest_wait[1:4].max()
    assert 64 * 5 < longest <= bound, "the bound holds, and is not idle"


def test_equal_seeds_give_equal_rows() -> None:
    """Equal seeds give equal stimulus rows on any machine."""
    shape = {"data_vls": 4, "entries": 4, "vl15": True}
    ports = component_ports(VLArb(VLArbParameters(**shape)))
    inputs, outputs = row_layout(ports, inputs=True), row_layout(ports, inputs=False)
    made = []
    for _ in range(2):
        traffic = VLArbTraffic(
            **shape,
            tables=random_tables(3, data_vls=4, entries=4, seed=9),
            seed=11,
            inputs=inputs,
            outputs=outputs,
            phases=(Phase(500, 0, idle_bits=2, stall=8, vl15=4, rewrite=8, reset=50), Phase(200, wild=True)),
        )
        rows, expected = np.zeros((700, row_words(inputs)), np.uint64), np.zeros((700, row_words(outputs)), np.uint64)
        done = traffic.fill(rows, expected)
        traffic.fill(rows[done:], expected[done:])
        made.append((rows, expected))

    assert np.array_equal(made[0][0], made[1][0])
    assert np.array_equal(made[0][1], made[1][1])
    assert int(inputs["heads__request"].get(made[0][0]).sum()) == 9528, "and the same on every machine"


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"data_vls": 0}, ValueError),
        ({"data_vls": 16}, ValueError),
        ({"entries": 65}, ValueError),
        ({"entries": 2.5}, TypeError),
        ({"vl15": 1}, TypeError),
        ({"data_vls": True}, TypeError),
    ],
)
def test_component_refuses_parameters_out_of_range(parameters: dict[str, Any], error: type[Exception]) -> None:
    """Given parameters out of range or of the wrong type, construction fails."""
    with pytest.raises(error, match="must be"):
        VLArb(VLArbParameters(**parameters))


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_cocotb_bench_agrees(simulator: str) -> None:
    """All scenarios and a random-traffic test of the cocotb bench pass in each simulator."""
    if not simulator_installed(simulator):
        pytest.skip(f"{simulator} is not installed")
    plan = qualification(data_vls=DATA_VLS, entries=ENTRIES, cycles=2000, seed=4)
    phases = (
        Phase(600, 30, extremes=64),
        Phase(1500, ready=160, idle_bits=2, hold=24, stall=48, vl15=6, reset=48, rewrite=16),
        Phase(900, wild=True),
    )
    outcome = run_cocotb(
        VLArb(VLArbParameters(**DIRECTED)),
        top="vlarb",
        bench="vlane.tb.schedulers.vlarb.bench",
        settings=encode_plan(**DIRECTED, tables=plan.tables, phases=phases, seed=4),
        simulator=simulator,
    )

    assert (outcome.tests, outcome.failures) == (len(SCENARIOS) + 1, 0), outcome.messages


@pytest.mark.slow
def test_a_wait_is_counted_under_the_list_that_ended_it() -> None:
    """Given a lane in both lists, each wait counts for the list that served the packet."""
    table = VLArbTable(((0, 1), (1, 60)), ((0, 1),), 0)
    phases = (Phase(2 * ENTRIES + 2, 0, idle_bits=20), Phase(30_000, most_blocks=1))

    traffic = lockstep(DIRECTED, (table,), phases, seed=1)

    waits, packets = traffic.statistics[1].longest_wait[0], traffic.statistics[1].packets[0]
    assert packets[1] > 100
    assert packets[2] > 50
    assert waits[1] < waits[2]
    assert waits[3] == 0
