"""ECM reaction point: hand-written cases, lockstep, proofs, rates, parameters."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import long_but
from tests.schedulers.scheduling import assert_bench_agrees, qualified_lockstep, run_rows
from vlane.errors import InputError
from vlane.ethernet.ecm_rp import ECMRPParameters, Notice
from vlane.golden.ethernet import limiters
from vlane.hdl.ethernet.ecm_rp import ECMRP
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.ethernet.ecm_rp.directed import PARAMETERS, STEPS
from vlane.tb.machinery.proofs.prove import prove

SHAPES: list[dict[str, Any]] = [
    {"flows": 4, "stop_bits": 8, "gain_of": "current"},
    {"flows": 16, "strict": True, "link_mbps": 1000, "bucket_bytes": 9000, "stop_bits": 12},
    {"flows": 1024, "weight": 0, "set_point_bytes": 250_000, "gain": 4095, "probe_gain": 100},
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", long_but(SHAPES[:2], SHAPES), ids=str)
def test_hardware_agrees_for_flows_in_all_states(shape: dict[str, Any]) -> None:
    """Hardware and golden agree in lockstep with flows in all states on answers, rates and limiters."""
    counts = qualified_lockstep("ecm_rp", shape, cycles=400_000).rule_counts()

    assert counts["lowered"] > 500
    assert counts["started"] > 100


@pytest.mark.slow
def test_hardware_does_what_is_written_by_hand() -> None:
    """From power-on, the hardware's outputs match values written by hand from the contract."""
    for cycle, (got, expected) in enumerate(run_rows("ecm_rp", PARAMETERS, STEPS)):
        assert got == expected, f"cycle {cycle}"


@pytest.mark.long
def test_cocotb_bench_agrees() -> None:
    """The two tests of the block's cocotb bench pass."""
    tests = ("follows_the_directed_cycles", "agrees_with_golden_in_every_cycle")
    assert_bench_agrees("ecm_rp", PARAMETERS, tests=2, apart=tests)


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but({"small"}, [each.name for each in BLOCKS["ecm_rp"].proofs]))
def test_the_reaction_point_is_proven(name: str) -> None:
    """Rates, tokens and limiters are proven for any sequence of orders."""
    block = BLOCKS["ecm_rp"]

    proof = prove(block.instance(name).make(block.make), f"test-ecm_rp-{name}")

    assert proof.verdict == "PASS", proof.detail


class Hasty(ECMRP):
    """Reaction point that always permits frames."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.sync += self.may.eq(1)
        return m


@pytest.mark.slow
def test_a_point_that_answers_unasked_is_not_proven() -> None:
    """Given a reaction point that permits frames without a request, the proof fails."""
    block = BLOCKS["ecm_rp"]
    small = block.instance("small")

    proof = prove(small.properties(Hasty(block.shape(**small.parameters))), "test-ecm_rp-hasty")

    assert proof.verdict == "FAIL", proof.detail


def test_flow_sends_at_its_rate() -> None:
    """At 2.5 Gb/s, a frame of 1500 bytes starts every 93.75 cycles on average."""
    made = limiters.new_limiters(**ECMRPParameters())
    limiters.receive_notification(made, 0, 3, Notice.POINT, 1, -1, 0)
    made.flow[0, 3].rate = 2500 << 8
    starts, cycle = [], 0
    while len(starts) < 401:
        cycle = limiters.earliest_start(made, 0, 3, 1500, cycle)
        assert limiters.may_start(made, 0, 3, 1500, cycle)
        starts.append(cycle)

    assert starts[0] == 94
    assert (starts[-1] - starts[0]) / 400 == pytest.approx(93.75, abs=0.5)


def test_asking_in_vain_changes_nothing() -> None:
    """Requests that are denied do not change the state, so polling never delays a frame."""
    made = limiters.new_limiters(**ECMRPParameters(), sources=2)
    for source in range(2):
        limiters.receive_notification(made, source, 0, Notice.POINT, 1, -2929, 0)

    ready = limiters.earliest_start(made, 1, 0, 1500, 0)
    eager = next(cycle for cycle in range(1000) if limiters.may_start(made, 0, 0, 1500, cycle))

    assert eager == ready
    assert not limiters.may_start(made, 1, 0, 1500, eager - 1)
    assert limiters.may_start(made, 1, 0, 1500, eager)


@pytest.mark.parametrize(("feedback", "share"), [(-2929, 0.5), (-1465, 0.75), (-1, 0.9998)])
def test_largest_feedback_halves_the_rate(feedback: int, share: float) -> None:
    """The largest negative feedback halves the rate, and smaller feedback lowers it in proportion."""
    made = limiters.new_limiters(**ECMRPParameters())

    limiters.receive_notification(made, 0, 0, Notice.POINT, 1, feedback, 0)

    assert made.flow[0, 0].rate / 2_560_000 == pytest.approx(share, abs=2e-4)


def test_links_of_sources_may_differ() -> None:
    """With links of different rates, a limiter starts at the rate of its own link."""
    made = limiters.new_limiters(**{**ECMRPParameters(), "link_mbps": (1000, 10_000)}, sources=2)
    for source in range(2):
        limiters.receive_notification(made, source, 0, Notice.POINT, 1, -2929, 0)

    assert [made.flow[source, 0].rate // 256 for source in range(2)] == [500, 5001]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"flows": 48}, "flows"),
        ({"link_mbps": 500, "least_mbps": 500}, "least_mbps"),
        ({"seed": 0}, "seed"),
        ({"gain_of": "mine"}, "gain_of"),
        ({"bucket_bytes": 63}, "bucket_bytes"),
    ],
)
def test_component_refuses_parameters_out_of_range(given: dict[str, Any], field: str) -> None:
    """Given parameters out of range, construction is refused and the field is named."""
    with pytest.raises(InputError) as refused:
        ECMRP(ECMRPParameters(**given))

    assert refused.value.field == field
