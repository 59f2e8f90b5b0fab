"""Omni-Path switch: lockstep with golden, cocotb benches, proofs."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Module

from tests.schedulers.scheduling import assert_bench_agrees, assert_every_phase_agrees, qualified_lockstep, run_rows
from vlane.hdl.switches.opa_allocator import OPAAllocator
from vlane.hdl.switches.opa_switch import OPASwitch
from vlane.sim_top.blocks import BLOCKS
from vlane.switches.opa_switch import OPASwitchParameters
from vlane.tb.machinery.proofs.prove import prove
from vlane.tb.switches.opa_switch.directed import PARAMETERS, STEPS
from vlane.tb.switches.opa_switch.proofs_allocator import OPAAllocatorProperties
from vlane.tb.switches.opa_switch.stimulus import map_writes_of

LONG = pytest.mark.long
SHAPES = [
    PARAMETERS,
    pytest.param({"ports": 5, "data_vls": 3, "scheduler": "vlarb"}, marks=LONG),
    pytest.param(
        {
            "ports": 2,
            "data_vls": 17,
            "blocks": 60,
            "minimum": 3,
            "maximum": 6,
            "largest": 3,
            "central_blocks": 54,
            "central_minimum": 3,
            "central_maximum": 3,
            "scheduler": "dtable",
            "line_rate": True,
            "entries": 34,
        },
        marks=LONG,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hardware_is_golden_in_every_cycle(shape: dict[str, Any]) -> None:
    """Hardware and golden agree in lockstep on every output and flit in every cycle.

    Shapes include two MPorts and more than 15 lanes.
    """
    assert qualified_lockstep("opa_switch", shape, cycles=60_000).decisions > 15_000


@pytest.mark.slow
def test_hardware_does_what_is_written_by_hand() -> None:
    """From power-on, the hardware's outputs match values written by hand from the contract."""
    for cycle, (got, expected) in enumerate(run_rows("opa_switch", PARAMETERS, STEPS)):
        assert got == expected, f"cycle {cycle}"


@pytest.mark.long
def test_cocotb_benches_agree() -> None:
    """All three cocotb tests pass: against golden, against hand-written cycles, and a scoreboard."""
    tests = (
        "agrees_with_golden_in_every_cycle",
        "follows_the_directed_cycles",
        "delivers_every_packet_once_unchanged_and_in_order",
    )
    assert_bench_agrees("opa_switch", PARAMETERS, tests=3, apart=tests)


LONG_PROOFS = ("allocation", "input", "output", "connections", "centre", "delivery")


@pytest.mark.long
def test_every_phase_agrees_under_cocotb() -> None:
    """Every phase of the qualification agrees under cocotb for a small switch.

    ``make cocotb`` runs 20,000 cycles of each phase with two MPorts.
    """
    given = {"ports": 2, "data_vls": 2, "blocks": 10, "minimum": 2, "maximum": 8, "largest": 2, "lids": 4}
    assert_every_phase_agrees("opa_switch", given, map_writes=map_writes_of(2))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each.name, marks=pytest.mark.long if each.name in LONG_PROOFS else ())
        for each in BLOCKS["opa_switch"].proofs
    ],
)
def test_instances_are_proven(name: str) -> None:
    """Each instance is proven: parts against their reference models, connections, packet delivery."""
    block = BLOCKS["opa_switch"]

    proof = prove(block.instance(name).make(block.make), f"test-opa-switch-{name}")

    assert proof.verdict == "PASS", proof.detail


class Careless(OPAAllocator):
    """Allocator whose second read port ignores the packet the first one reads."""

    def _readers_choose(self, m: Module, mport: int, takes: Any) -> None:
        reading, self.reading = self.reading, [0] * len(self.reading)
        super()._readers_choose(m, mport, takes)
        self.reading = reading


@pytest.mark.slow
def test_a_broken_allocator_is_not_proven() -> None:
    """Given an allocator whose read ports may collide, the proof fails on a property of turns."""
    proof = prove(OPAAllocatorProperties(Careless(ports=5, vls=2)), "test-opa-switch-broken")

    assert proof.verdict == "FAIL"
    assert proof.failed in {"reader-turn", "output-turn"}  # both properties fail in the same cycle


@pytest.mark.parametrize(
    "given",
    [
        {"ports": 1},
        {"ports": 49},
        {"data_vls": 32},
        {"blocks": 1},
        {"minimum": 9},
        {"maximum": 37},
        {"largest": 5},
        {"central_blocks": 31},
        {"central_minimum": 3},
        {"central_maximum": 37},
        {"lids": 1},
        {"scheduler": "oops"},
        {"data_bits": 100},
        {"scheduler": "vlarb", "data_vls": 16, "blocks": 128, "central_blocks": 128},
    ],
)
def test_component_refuses_parameters_out_of_range(given: dict[str, Any]) -> None:
    """Given parameters out of range, construction fails."""
    with pytest.raises(ValueError, match="must be"):
        OPASwitch(OPASwitchParameters(**given))
