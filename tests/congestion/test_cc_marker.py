"""Congestion marker: hand-written cases, lockstep under every load, proofs, limits, parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import long_but
from tests.schedulers.scheduling import assert_bench_agrees, qualified_lockstep, qualified_outputs, run_rows
from vlane.congestion.cc_marker import CCMarkerParameters, marking_limit
from vlane.errors import InputError
from vlane.golden.congestion import bth, markers
from vlane.hdl.congestion.cc_marker import CCMarker
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.congestion.cc_marker.directed import PARAMETERS, STEPS
from vlane.tb.machinery.proofs.prove import prove

SHAPES: list[dict[str, int]] = [
    {"data_vls": 1, "busy_blocks": 0, "idle_blocks": 0},
    {"data_vls": 3, "maximum": 21, "largest": 5, "measure_blocks": 300, "busy_blocks": 40, "level_blocks": 50},
    {"data_vls": 15, "maximum": 1024, "largest": 66, "measure_blocks": 36864, "data_bits": 512},
    {"busy_blocks": 200, "level_blocks": 255, "data_bits": 448, "idle_blocks": 1},
]


def test_the_qualification_has_every_power_of_two_as_a_rate() -> None:
    """The qualification uses every power of two as Marking_Rate, so each counter bit matters."""
    assert {*qualified_outputs("cc_marker")["marking_rate"].tolist()} >= {1 << bit for bit in range(16)}


@pytest.mark.slow
@pytest.mark.parametrize("shape", long_but([SHAPES[0], SHAPES[3]], SHAPES), ids=str)
def test_hardware_agrees_under_every_load(shape: dict[str, int]) -> None:
    """Hardware and golden agree in lockstep on every decision, flit and counter.

    Settings are written under traffic.
    """
    stimulus = qualified_lockstep("cc_marker", shape, cycles=400_000)

    counts = stimulus.rule_counts()
    assert counts["marked"] > 1000
    assert counts["passed"] > 1000
    assert stimulus.decisions > 10_000


@pytest.mark.slow
def test_hardware_does_what_is_written_by_hand() -> None:
    """From power-on, the hardware's outputs match values written by hand from the contract."""
    for cycle, (got, expected) in enumerate(run_rows("cc_marker", PARAMETERS, STEPS)):
        assert got == expected, f"cycle {cycle}"


@pytest.mark.long
def test_cocotb_bench_agrees() -> None:
    """The two tests of the block's cocotb bench pass."""
    assert_bench_agrees("cc_marker", PARAMETERS, tests=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small", "default", pytest.param("wide", marks=pytest.mark.long)])
def test_the_marker_is_proven(name: str) -> None:
    """Every marking decision is proven for any history of loads and settings."""
    block = BLOCKS["cc_marker"]

    proof = prove(block.instance(name).make(block.make), f"test-cc_marker-{name}")

    assert proof.verdict == "PASS", proof.detail


class Eager(CCMarker):
    """Marker that marks every packet of a root lane."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.mark.eq(self.root)
        return m


@pytest.mark.slow
def test_a_marker_that_marks_too_much_is_not_proven() -> None:
    """Given a marker that marks too many packets, the proof fails."""
    block = BLOCKS["cc_marker"]
    small = block.instance("small")

    proof = prove(small.properties(Eager(block.shape(**small.parameters))), "test-cc_marker-eager")

    assert proof.verdict == "FAIL", proof.detail


def test_limits_fall_with_the_threshold_to_two_largest_packets() -> None:
    """The limit falls with the Threshold from 15/16 of the buffer to the size of two largest packets."""
    limits = [marking_limit(threshold, maximum=100, largest=12) for threshold in range(1, 16)]

    assert limits[:3] == [93, 87, 81]
    assert limits[-5:] == [31, 25, 25, 25, 25]
    assert sorted(limits, reverse=True) == limits


def test_idle_cycles_may_pass_together() -> None:
    """Nine idle cycles in one call lower the level as much as nine calls of one idle cycle."""
    made = markers.new_markers(ports=2, maximum=(64,), largest=4, busy_blocks=10, level_blocks=1000, idle_blocks=7)
    for port in range(2):
        for _ in range(20):
            markers.start_packet(made, port, 0, 0, 4, True)

    markers.note_idle_cycles(made, 0, 9)
    for _ in range(9):
        markers.note_idle_cycles(made, 1, 1)

    assert made.port[0].level == made.port[1].level == 80 - 63


def test_lanes_of_a_network_may_have_different_limits() -> None:
    """Given lanes with different buffer sizes, each lane has its own limit."""
    made = markers.new_markers(ports=1, maximum=(64, 256), largest=4, busy_blocks=0, level_blocks=1, idle_blocks=0)
    markers.set_threshold(made, 0, 8, 0)

    assert [markers.is_over(made, 0, lane, 100) for lane in range(2)] == [True, False]


@pytest.mark.parametrize(("lnh", "count", "at"), [(0, 64, -1), (1, 64, -1), (2, 16, 8), (3, 52, -2), (3, 53, 48)])
def test_header_is_found_where_the_flit_carries_its_fecn(lnh: int, count: int, at: int) -> None:
    """The BTH is located by LNH, provided the flit is long enough to contain its FECN byte."""
    flit = np.zeros(count, np.int64)
    flit[1] = 0xFC | lnh

    assert bth.header_at(flit) == at


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"data_vls": 16}, "data_vls"),
        ({"largest": 33}, "largest"),
        ({"measure_blocks": 127}, "measure_blocks"),
        ({"level_blocks": 1023}, "level_blocks"),
        ({"data_bits": 64}, "data_bits"),
        ({"data_bits": 200}, "data_bits"),
    ],
)
def test_component_refuses_parameters_out_of_range(given: dict[str, int], field: str) -> None:
    """Given parameters out of range or too small a buffer, construction is refused."""
    with pytest.raises(InputError) as refused:
        CCMarker(CCMarkerParameters(**given))

    assert refused.value.field == field
