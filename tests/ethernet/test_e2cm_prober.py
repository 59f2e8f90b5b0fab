"""E2CM prober: hand-written cases, lockstep with flows in all states, proofs, feedback, parameters."""

from __future__ import annotations

from typing import Any

import pytest

import vlane
from tests.conftest import long_but
from tests.schedulers.scheduling import assert_bench_agrees, qualified_lockstep, run_rows
from vlane.errors import InputError
from vlane.ethernet.e2cm_prober import E2CMProberParameters
from vlane.hdl.ethernet.e2cm_prober import E2CMProber
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.ethernet.e2cm_prober.directed import PARAMETERS, STEPS
from vlane.tb.machinery.proofs.prove import prove

SHAPES: list[dict[str, Any]] = [
    {"flows": 4, "probe_bytes": 4096, "probed": "limited", "base": "given"},
    {"flows": 16, "weight": 8, "norm_bytes": 15_000},
    {"flows": 1024, "weight": 0, "set_point_bytes": 64, "norm_bytes": 250_000, "probe_bytes": 1 << 20},
    {"flows": 64, "weight": 1, "set_point_bytes": 250_000, "norm_bytes": 64, "probed": "limited"},
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", long_but(SHAPES[:2], SHAPES), ids=str)
def test_hardware_agrees_for_flows_in_all_states(shape: dict[str, Any]) -> None:
    """Hardware and golden agree in lockstep on all answers to frames, probes and replies."""
    counts = qualified_lockstep("e2cm_prober", shape, cycles=400_000).rule_counts()

    assert counts["due"] > 30
    assert counts["negative"] > 500


@pytest.mark.slow
def test_hardware_does_what_is_written_by_hand() -> None:
    """From power-on, the hardware's outputs match values written by hand from the contract."""
    for cycle, (got, expected) in enumerate(run_rows("e2cm_prober", PARAMETERS, STEPS)):
        assert got == expected, f"cycle {cycle}"


@pytest.mark.long
def test_cocotb_bench_agrees() -> None:
    """The two tests of the block's cocotb bench pass."""
    tests = ("follows_the_directed_cycles", "agrees_with_golden_in_every_cycle")
    assert_bench_agrees("e2cm_prober", PARAMETERS, tests=2, apart=tests)


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but({"divider"}, [each.name for each in BLOCKS["e2cm_prober"].proofs]))
def test_the_prober_is_proven(name: str) -> None:
    """Probe times and feedback values are proven for any sequence of orders."""
    block = BLOCKS["e2cm_prober"]

    proof = prove(block.instance(name).make(block.make), f"test-e2cm_prober-{name}")

    assert proof.verdict == "PASS", proof.detail


class Talkative(E2CMProber):
    """Prober that always shows valid feedback."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.sync += self.valid.eq(1)
        return m


@pytest.mark.slow
def test_a_prober_that_answers_unasked_is_not_proven() -> None:
    """Given a prober that answers without a request, the proof fails on property ``time``."""
    block = BLOCKS["e2cm_prober"]
    small = block.instance("small")

    proof = prove(small.properties(Talkative(block.shape(**small.parameters))), "test-e2cm_prober-talkative")

    assert proof.verdict == "FAIL", proof.detail
    assert proof.failed == "time"


@pytest.mark.slow
def test_feedback_reflects_the_queued_bytes() -> None:
    """Given 32 bytes per cycle and a wait of 1000 cycles, the feedback reflects 32,000 queued bytes."""
    prober, shown = vlane.oracle("e2cm_prober", flows=4), []
    for _ in range(4):
        prober.step()
    for number, wait in enumerate((0, 0, 1000, 1000)):
        stamp = 10_000 * number
        times = {"stamp": stamp, "arrival": stamp + 100 + wait, "reported": 32 * (stamp + wait)}
        prober.step(order=1, reply=1, flow=2, **times)
        answer = [prober.step() for _ in range(40)][-1]
        shown.append(answer.feedback if answer.feedback < 1 << 12 else answer.feedback - (1 << 13))

    assert shown == [0, 3750 // 64, -((2 * 32_000 + 32_000 - 3750) // 64), -((32_000 - 3750) // 64)]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"flows": 48}, "flows"),
        ({"flows": 2}, "flows"),
        ({"weight": 8, "norm_bytes": 20_000}, "norm_bytes"),
        ({"probed": "none"}, "probed"),
        ({"base": "guessed"}, "base"),
        ({"probe_bytes": 1000}, "probe_bytes"),
    ],
)
def test_component_refuses_parameters_out_of_range(given: dict[str, Any], field: str) -> None:
    """Given parameters out of range, construction is refused and the field is named."""
    with pytest.raises(InputError) as refused:
        E2CMProber(E2CMProberParameters(**given))

    assert refused.value.field == field
