"""Congestion-control source: hand-written cases, lockstep, proofs, sets and gaps, parameters."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.conftest import long_but
from tests.schedulers.scheduling import assert_bench_agrees, qualified_lockstep, run_rows
from vlane.congestion.cc_source import CCSourceParameters
from vlane.errors import InputError
from vlane.golden.congestion import cc_source as golden
from vlane.hdl.congestion.cc_source import CCSource
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.congestion.cc_source.directed import PARAMETERS, STEPS
from vlane.tb.congestion.cc_source.stimulus import CERTAIN, CCSourceNIC, SourcePhase
from vlane.tb.machinery.native.model import CompiledModel
from vlane.tb.machinery.proofs.prove import prove
from vlane.tb.machinery.synthesis.mutate import SELECT, list_mutants, mutant_model

SHAPES: list[dict[str, Any]] = [
    {"flows": 8, "cct_entries": 1024, "tick_cycles": 64},
    {"flows": 32, "shift_first": True},
    {"flows": 256, "cct_entries": 512, "tick_cycles": 300},
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", long_but(SHAPES[:2], SHAPES), ids=str)
def test_hardware_agrees_while_flows_come_and_go(shape: dict[str, Any]) -> None:
    """Hardware and golden agree in lockstep with changing flows on every answer and counter.

    Settings and CCT are written under traffic.
    """
    stimulus = qualified_lockstep("cc_source", shape, cycles=400_000)

    counts = stimulus.rule_counts()
    assert counts["freed"] > 1000
    assert counts["held"] > 1000


def _late() -> tuple[SourcePhase, ...]:
    """Return busy phases around 2^21, 2^22 and 2^23 cycles with quiet phases between them.

    The last quiet phase is longer than 2^23 cycles.
    """
    half = 8192

    def busy(cycles: int) -> SourcePhase:
        return SourcePhase(cycles, becn=CERTAIN - CERTAIN // 64)

    def quiet(cycles: int) -> SourcePhase:
        return SourcePhase(cycles, ask=0, write=-1)

    phases = [busy(50_000)]
    for mark in (2**21, 2**22, 2**23):
        phases += [quiet(mark - half - sum(phase.cycles for phase in phases)), busy(2 * half)]
    return (*phases, quiet(2**23 + 2 * half), busy(2 * half))


@pytest.mark.long
def test_hardware_agrees_while_times_wrap_and_after_a_long_rest() -> None:
    """Over 2^24 cycles, the stimulus detects four faults in high time bits and entry reuse.

    The qualification's two million cycles detect none of these faults.
    """
    block, faults = BLOCKS["cc_source"], (13, 29, 60, 101)
    parameters = block.parameters([], block.mutated)
    mutants = list_mutants(block.make(parameters), "cc_source", count=400, seed=1)
    chosen = tuple(mutant for mutant in mutants if mutant.number in faults)
    with mutant_model(block.make(parameters), "cc_source", chosen) as model:
        source = CCSourceNIC(parameters, phases=_late(), seed=1, inputs=model.inputs, outputs=model.outputs)
        models = {number: CompiledModel(model.library, model.ports) for number in (0, *faults)}
        for each in models.values():
            each.restart()
        rows, expected = (np.zeros((65_536, words), np.uint64) for words in (model.input_words, model.output_words))
        while count := source.fill(rows, expected):
            for number, each in list(models.items()):
                model.inputs[SELECT].put(rows[:count], number)
                if not np.array_equal(each.run(rows[:count]), expected[:count]):
                    del models[number]

    assert source.cycles > 2 * 2**23
    assert list(models) == [0]


@pytest.mark.slow
def test_hardware_does_what_is_written_by_hand() -> None:
    """From power-on, the hardware's outputs match values written by hand from the contract."""
    for cycle, (got, expected) in enumerate(run_rows("cc_source", PARAMETERS, STEPS)):
        assert got == expected, f"cycle {cycle}"


@pytest.mark.slow
def test_cocotb_bench_agrees() -> None:
    """The two tests of the block's cocotb bench pass."""
    tests = ("follows_the_directed_cycles", "agrees_with_golden_in_every_cycle")
    assert_bench_agrees("cc_source", PARAMETERS, tests=2, apart=tests)


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but({"entries", "gap"}, [each.name for each in BLOCKS["cc_source"].proofs]))
def test_the_source_is_proven(name: str) -> None:
    """Each instance is proven for one arbitrary flow, from reset."""
    block = BLOCKS["cc_source"]

    proof = prove(block.instance(name).make(block.make), f"test-cc_source-{name}")

    assert proof.verdict == "PASS", proof.detail


class Impatient(CCSource):
    """Source that never delays a flow."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.sync += self.may.eq(1)
        return m


@pytest.mark.slow
def test_a_source_that_holds_nobody_is_not_proven() -> None:
    """Given a source that never delays a flow, the proof fails."""
    block = BLOCKS["cc_source"]
    small = block.instance("small")

    proof = prove(small.properties(Impatient(block.shape(**small.parameters))), "test-cc_source-impatient")

    assert proof.verdict == "FAIL", proof.detail


@pytest.mark.parametrize(
    ("flows", "dlid", "sl", "number"),
    [(8, 7, 3, 0), (8, 6, 3, 1), (64, 0x12, 3, 1), (256, 0x2A, 0, 42), (256, 0x2A, 9, 14)],
)
def test_flows_are_in_the_set_that_the_contract_says(flows: int, dlid: int, sl: int, number: int) -> None:
    """A flow's set is the low DLID bits, exclusive-or the SL shifted to the top of six bits."""
    made = golden.new_sources(flows=flows, cct_entries=128, tick_cycles=200, shift_first=False)

    assert golden.set_of_flow(made, dlid, sl) == number


@pytest.mark.parametrize(("shift_first", "gap"), [(False, 10), (True, 9)])
def test_shift_is_applied_where_the_parameter_says(shift_first: bool, gap: int) -> None:  # noqa: FBT001
    """For 7 blocks, multiplier 3 and shift 1, InfiniBand's gap is 10 and Omni-Path's is 9.

    InfiniBand shifts the product (21 >> 1), while Omni-Path shifts the blocks first (3 x 3).
    """
    made = golden.new_sources(flows=8, cct_entries=128, tick_cycles=200, shift_first=shift_first)
    made.table[0, 5] = 1, 3

    assert golden.injection_gap(made, 0, 5, 7) == gap


def test_flow_injects_at_its_rate() -> None:
    """With multiplier m and shift s, a flow gets 1 / (1 + m / 2**s) of the link."""
    made = golden.new_sources(flows=8, cct_entries=128, tick_cycles=200, shift_first=False)
    made.port[0, golden.LIMIT] = 127
    made.level[0, 0, golden.INCREASE] = 1
    made.table[0, 1] = 2, 12
    place, _ = golden.receive_becn(made, 0, 5, 0, 0)

    starts = [cycle for cycle in range(4000) if golden.may_inject(made, 0, place, 10, cycle)]

    assert {after - before for before, after in pairwise(starts)} == {10 + 30}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"flows": 4}, "flows"),
        ({"flows": 48}, "flows"),
        ({"cct_entries": 64}, "cct_entries"),
        ({"cct_entries": 200}, "cct_entries"),
        ({"tick_cycles": 63}, "tick_cycles"),
    ],
)
def test_component_refuses_parameters_out_of_range(given: dict[str, int], field: str) -> None:
    """Given parameters out of range, construction is refused and the field is named."""
    with pytest.raises(InputError) as refused:
        CCSource(CCSourceParameters(**given))

    assert refused.value.field == field
