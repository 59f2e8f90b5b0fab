"""Look-up tables: hand-written look-ups, lockstep, cocotb benches, proofs, parameter checks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import long_but
from tests.schedulers.scheduling import assert_bench_agrees, qualified_lockstep, run_rows
from vlane.hdl.tables.lft import LFT
from vlane.hdl.tables.sc import SC
from vlane.hdl.tables.sl2vl import SL2VL
from vlane.sim_top.blocks import BLOCKS
from vlane.tables.lft import LFTParameters
from vlane.tables.sc import SCParameters
from vlane.tables.sl2vl import SL2VLParameters
from vlane.tb.machinery.proofs.prove import prove
from vlane.tb.tables.lft import directed as directed_lft
from vlane.tb.tables.sc import directed as directed_sc
from vlane.tb.tables.sl2vl import directed as directed_sl2vl

DIRECTED: dict[str, Any] = {"sl2vl": directed_sl2vl, "lft": directed_lft, "sc": directed_sc}

SHAPES = [
    pytest.param("sl2vl", {"inputs": 1, "outputs": 1, "data_vls": 1}, marks=pytest.mark.long),
    ("sl2vl", {"inputs": 5, "outputs": 7, "data_vls": 15}),
    pytest.param("sl2vl", {"inputs": 36, "outputs": 36, "data_vls": 8}, marks=pytest.mark.long),
    pytest.param("lft", {"lookups": 1, "ports": 1, "entries": 2}, marks=pytest.mark.long),
    pytest.param("lft", {"lookups": 3, "ports": 254, "entries": 49152}, marks=pytest.mark.long),
    ("lft", {"lookups": 8, "ports": 36, "entries": 1000}),
    pytest.param("sc", {"ports": 1, "data_vls": 1}, marks=pytest.mark.long),
    ("sc", {"ports": 5, "data_vls": 31}),
    pytest.param("sc", {"ports": 8, "data_vls": 20}, marks=pytest.mark.long),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shape"), SHAPES, ids=str)
def test_hardware_agrees_with_golden(name: str, shape: dict[str, int]) -> None:
    """Hardware and golden agree in lockstep in each of 100,000 cycles.

    The traffic writes entries while they are looked up, resets the table, and uses ports and LIDs that do not exist.
    """
    assert qualified_lockstep(name, shape, cycles=100_000).decisions >= 100_000


@pytest.mark.slow
@pytest.mark.parametrize("name", DIRECTED)
def test_hardware_answers_what_is_written_by_hand(name: str) -> None:
    """From power-on, each look-up returns the value written by hand from the contract."""
    for cycle, (got, expected) in enumerate(run_rows(name, DIRECTED[name].PARAMETERS, DIRECTED[name].STEPS)):
        assert got == expected, f"cycle {cycle}"


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but({"sc"}, DIRECTED))
def test_cocotb_bench_agrees(name: str) -> None:
    """The two tests of each table's cocotb bench pass."""
    benches = ("agrees_with_golden_in_every_cycle", "follows_the_directed_cycles")
    assert_bench_agrees(name, DIRECTED[name].PARAMETERS, tests=2, apart=benches)


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but({"lft"}, DIRECTED))
def test_small_instances_are_proven(name: str) -> None:
    """The small instances are proven to return the value written last, in any history."""
    block = BLOCKS[name]
    for instance in block.proofs[:2]:
        proof = prove(instance.make(block.make), f"test-{name}-{instance.name}")
        assert proof.verdict == "PASS", proof.detail


class Leaking(SL2VL):
    """SL-to-VL table that never drops."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.drop[0].eq(0)
        return m


class Generous(LFT):
    """Forwarding table that never drops."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.drop[0].eq(0)
        return m


class Mixing(SC):
    """SC table that maps data to VL15."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.vl[0].eq(15)
        return m


@pytest.mark.slow
@pytest.mark.parametrize(("name", "broken"), [("sl2vl", Leaking), ("lft", Generous), ("sc", Mixing)])
def test_a_broken_table_is_not_proven(name: str, broken: type[Any]) -> None:
    """Given a table with a wrong output, the proof fails."""
    block = BLOCKS[name]

    proof = prove(
        block.proofs[0].properties(broken(block.shape(**block.proofs[0].parameters))), f"test-{name}-broken", depth=6
    )

    assert proof.verdict == "FAIL", proof.detail
    assert "Assert failed" in proof.detail


@pytest.mark.parametrize(
    ("shape", "given"),
    [
        (SL2VLParameters, {"inputs": 0}),
        (SL2VLParameters, {"outputs": 65}),
        (SL2VLParameters, {"data_vls": 16}),
        (LFTParameters, {"entries": 49153}),
        (LFTParameters, {"ports": 255}),
        (LFTParameters, {"lookups": 0}),
        (SCParameters, {"ports": 49}),
        (SCParameters, {"data_vls": 32}),
    ],
)
def test_components_refuse_parameters_out_of_range(shape: Any, given: dict[str, int]) -> None:
    """Given parameters out of range, construction fails."""
    with pytest.raises(ValueError, match="must be"):
        shape(**given)
