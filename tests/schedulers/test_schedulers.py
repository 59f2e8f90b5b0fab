"""Tests common to all single-list schedulers: scenarios, lockstep, proofs, fairness bounds."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest

from tests.conftest import long_but
from tests.schedulers.scheduling import assert_bench_agrees, run_rows
from vlane.golden.schedulers import drr, rr, scfq
from vlane.golden.schedulers.bank import REST_CYCLES, RULE_COUNT
from vlane.golden.schedulers.by_name import MODULES
from vlane.golden.schedulers.heads import NO_WRITE, Heads
from vlane.hdl.common.round_robin import RoundRobin
from vlane.hdl.schedulers.drr import DRR
from vlane.hdl.schedulers.dtable import DTable
from vlane.hdl.schedulers.rr import RR
from vlane.hdl.schedulers.scfq import SCFQ
from vlane.schedulers.rr import RRParameters
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.by_name import directed_schedulers, stimulus
from vlane.tb.machinery.proofs.prove import prove
from vlane.tb.schedulers.directed_schedulers import Scenario, golden_grants, scenarios_of

PARAMETERS = {name: stimulus(name).SCENARIO_PARAMETERS for name in directed_schedulers()}
SCENARIOS = [scenario for name in PARAMETERS for scenario in scenarios_of(name)]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[f"{s.block}-{s.name}" for s in SCENARIOS])
def test_golden_grants_what_the_scenario_says(scenario: Scenario) -> None:
    """Golden's grants equal the grants written by hand in the scenario."""
    assert golden_grants(scenario, PARAMETERS[scenario.block]) == [step.grant for step in scenario.steps]


@pytest.mark.slow
@pytest.mark.parametrize("name", PARAMETERS)
def test_hardware_grants_what_the_scenarios_say(name: str) -> None:
    """From power-on, the hardware's outputs equal those written by hand in each scenario."""
    for scenario in scenarios_of(name):
        for cycle, (got, expected) in enumerate(run_rows(name, PARAMETERS[name], scenario.rows())):
            assert got == expected, f"{scenario.name}, cycle {cycle}"


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but({"dtable"}, PARAMETERS))
def test_cocotb_bench_agrees(name: str) -> None:
    """All tests of the cocotb bench pass: every scenario and random traffic."""
    assert_bench_agrees(name, PARAMETERS[name], tests=len(scenarios_of(name)) + 1)


class Unmoved(RoundRobin):
    """Selection whose turn never moves."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.sync += self.behind.eq(0)
        return m


class PassingOver(RR):
    """Round robin that always starts the search at requester 0."""

    def __init__(self, parameters: RRParameters) -> None:
        super().__init__(parameters)
        self.turns = Unmoved(self.requesters, len(self.turns.value))


class Hoarding(DRR):
    """Deficit round robin that charges each packet 127 blocks."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += [self.turns.sizes[r].eq(127) for r in range(self.requesters)]
        return m


class Overspending(DTable):
    """Deficit Table that sends packets larger than the deficit."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.sends.eq(self.turns.search.found)
        return m


class Hasty(SCFQ):
    """Fair queueing whose tag 0 increases in every cycle."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.sync += self.tags[0].eq(self.tags[0] + 1)
        return m


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "broken", "depth"),
    [("rr", PassingOver, 10), ("drr", Hoarding, 10), ("dtable", Overspending, 10), ("scfq", Hasty, 4)],
)
def test_a_broken_scheduler_is_not_proven(name: str, broken: type[Any], depth: int) -> None:
    """Given a broken scheduler, the proof fails."""
    block = BLOCKS[name]
    shape = {key: value for key, value in block.proofs[0].parameters.items() if key != "form"}

    proof = prove(block.proofs[0].properties(broken(block.shape(**shape))), f"test-{name}-broken", depth=depth)

    assert proof.verdict == "FAIL", proof.detail
    assert "Assert failed" in proof.detail


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but({*PARAMETERS} - {"scfq", "dtable"}, PARAMETERS))
def test_smallest_instance_is_proven(name: str) -> None:
    """The properties of the smallest instance are proven for every table, map and input."""
    block = BLOCKS[name]

    proof = prove(block.proofs[0].make(block.make), f"test-{name}")

    assert proof.verdict == "PASS", proof.detail


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"data_vls": 1}, ValueError),
        ({"data_vls": 32}, ValueError),
        ({"requesters": 1}, ValueError),
        ({"requesters": 33}, ValueError),
        ({"vl15": 1}, TypeError),
        ({"data_vls": 2.0}, TypeError),
    ],
)
def test_components_refuse_lanes_they_cannot_have(name: str, given: dict[str, Any], error: type[Exception]) -> None:
    """Given numbers of lanes or requesters out of range or of the wrong type, construction fails."""
    with pytest.raises(error, match="must be"):
        BLOCKS[name].shape(**given)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("dtable", {"entries": 129}),
        ("dtable", {"entries": 1}),
        ("dtable", {"form": "oops"}),
        ("dtable", {"form": "ib", "entries": 65}),
        ("dtable", {"form": "ib", "data_vls": 17}),
        ("dtable", {"mtu_blocks": 67}),
        ("drr", {"mtu_blocks": 0}),
        ("scfq", {"tag_bits": 15}),
        ("scfq", {"tag_bits": 33}),
        ("scfq", {"reciprocal_bits": 17}),
        ("scfq", {"units": "none"}),
    ],
)
def test_components_refuse_parameters_out_of_range(name: str, given: dict[str, Any]) -> None:
    """Given entries, forms or counter widths that the scheduler does not support, construction fails."""
    with pytest.raises(ValueError, match="must be"):
        BLOCKS[name].shape(**given)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_golden_schedulers_share_one_interface(module: Any) -> None:
    """All golden schedulers share function names, argument lists and constants."""
    step = getattr(module.step, "py_func", module.step)

    assert list(signature(step).parameters) == ["state", "heads", "ready", "hold_data", "write", "swap", "rule_counts"]
    assert list(signature(module.program).parameters) == ["state", "write"]
    assert {"data_vls", "vl15"} <= set(signature(module.make_state).parameters)
    assert len(module.RULES) == module.RULE_COUNT <= RULE_COUNT
    assert 0 <= module.REST_CYCLES <= REST_CYCLES
    assert module.LOOKS_BEHIND in (False, True)
    assert issubclass(module.State, tuple)


def saturate(golden: Any, state: Any, sizes: np.ndarray[Any, Any], grants: int) -> list[list[int]]:
    """Return the blocks sent by each requester after every grant, with all queues full."""
    requesters = len(sizes)
    rules = np.zeros(golden.RULE_COUNT, np.int64)
    every = (1 << requesters) - 1
    sent, history = [0] * requesters, []
    blocks = np.array([*sizes, 0], np.int64)
    heads = Heads(every, every, blocks, 0, blocks)
    while len(history) < grants:
        lane, _, _ = golden.step(state, heads, True, False, NO_WRITE, False, rules)
        if lane >= 0:
            sent[lane] += int(sizes[lane])
            history.append(list(sent))
    return history


@pytest.mark.parametrize("seed", range(6))
def test_drr_shares_differ_by_less_than_its_bound(seed: int) -> None:
    """Over any interval, deficit round robin keeps Shreedhar and Varghese's fairness bound.

    The bound is |S_i/Q_i - S_j/Q_j| <= 1 + m/Q_i + m/Q_j for services S, quanta Q and largest packet m.
    """
    source = np.random.default_rng(seed)
    quanta, sizes = source.integers(1, 80, 6), source.integers(1, 67, 6)
    state = drr.make_state(data_vls=6, requesters=0, vl15=True, keep_on_stall=False, mtu_blocks=66)
    state.quantum[:] = quanta

    history = np.array(saturate(drr, state, sizes, 4000))

    for start in range(0, 3000, 250):
        gained = (history[start:] - history[start]) / quanta
        for i in range(6):
            for j in range(i):
                most = 1 + 66 / quanta[i] + 66 / quanta[j]
                assert np.abs(gained[:, i] - gained[:, j]).max() <= most


@pytest.mark.parametrize("units", ["shared", "per_requester"])
@pytest.mark.parametrize("seed", range(4))
def test_scfq_shares_differ_by_less_than_its_bound(units: str, seed: int) -> None:
    """Over any interval, self-clocked fair queueing keeps Golestani's fairness bound.

    The bound is |W_i r_i - W_j r_j| <= L_i r_i + L_j r_j for services W, reciprocal weights r and packet sizes L.
    """
    source = np.random.default_rng(seed)
    reciprocal, sizes = source.integers(1, 256, 6), source.integers(1, 67, 6)
    state = scfq.make_state(data_vls=6, requesters=0, vl15=True, tag_bits=16, reciprocal_bits=8, units=units)
    state.reciprocal[:] = reciprocal

    history = np.array(saturate(scfq, state, sizes, 4000))

    for start in range(0, 3000, 250):
        gained = (history[start:] - history[start]) * reciprocal
        for i in range(6):
            for j in range(i):
                most = sizes[i] * reciprocal[i] + sizes[j] * reciprocal[j]
                assert np.abs(gained[:, i] - gained[:, j]).max() <= most


def test_scfq_forms_send_in_the_same_order() -> None:
    """Shared and per-requester tag units send packets in the same order."""
    source = np.random.default_rng(3)
    reciprocal, sizes = source.integers(1, 256, 6), source.integers(1, 67, 6)
    histories = []
    for units in ("shared", "per_requester"):
        state = scfq.make_state(data_vls=6, requesters=0, vl15=True, tag_bits=16, reciprocal_bits=8, units=units)
        state.reciprocal[:] = reciprocal
        histories.append(saturate(scfq, state, sizes, 2000))

    assert histories[0] == histories[1]


def test_rr_packets_differ_by_one_at_most() -> None:
    """With all queues full, round robin never lets one requester get two packets ahead of another."""
    state = rr.make_state(data_vls=7, requesters=0, vl15=True)

    history = np.array(saturate(rr, state, np.ones(7, np.int64), 500))

    assert (history.max(axis=1) - history.min(axis=1)).max() == 1


def test_lanes_of_a_requester_take_turns() -> None:
    """Lanes of one requester are served round robin within the turns of the requester."""
    state = rr.make_state(data_vls=4, requesters=2, vl15=False)
    state.lanes.requester_of[:] = (0, 0, 0, 1)
    rules, sizes = np.zeros(rr.RULE_COUNT, np.int64), np.ones(5, np.int64)

    lanes = [rr.step(state, Heads(15, 15, sizes, 0, sizes), True, False, NO_WRITE, False, rules)[0] for _ in range(8)]

    assert lanes == [0, 3, 1, 3, 2, 3, 0, 3]
