"""PAUSE: hand-written cases, lockstep at every fill level, proofs, use in the network, parameters."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import long_but
from tests.schedulers.scheduling import assert_bench_agrees, qualified_lockstep, run_rows
from vlane.errors import InputError
from vlane.ethernet.pause import PauseParameters
from vlane.golden.engine.random_bits import draw_below, seeded_rng
from vlane.golden.ethernet import watermarks
from vlane.hdl.ethernet.pause import Pause
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.ethernet.pause.directed import PARAMETERS, STEPS
from vlane.tb.machinery.proofs.prove import prove

SHAPES: list[dict[str, int]] = [
    {"memory_bytes": 4000, "high_bytes": 3000, "low_bytes": 2500, "refresh_cycles": 20},
    {"refresh_cycles": 0},
    {"memory_bytes": 500, "high_bytes": 500, "low_bytes": 500, "refresh_cycles": 1},
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", long_but(SHAPES[:1], SHAPES), ids=str)
def test_hardware_agrees_at_every_level(shape: dict[str, int]) -> None:
    """Hardware and golden agree in lockstep on drops and requests, with settings written under traffic."""
    counts = qualified_lockstep("pause", shape, cycles=400_000).rule_counts()

    assert counts["paused"] > 1000
    assert counts["dropped"] > 1000


@pytest.mark.slow
def test_hardware_does_what_is_written_by_hand() -> None:
    """From power-on, the hardware's outputs match values written by hand from the contract."""
    for cycle, (got, expected) in enumerate(run_rows("pause", PARAMETERS, STEPS)):
        assert got == expected, f"cycle {cycle}"


@pytest.mark.slow
def test_cocotb_bench_agrees() -> None:
    """The two tests of the block's cocotb bench pass."""
    assert_bench_agrees("pause", PARAMETERS, tests=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but({"small"}, [each.name for each in BLOCKS["pause"].proofs]))
def test_pause_is_proven(name: str) -> None:
    """Memory, hysteresis and requests are proven for any frames and settings."""
    block = BLOCKS["pause"]

    proof = prove(block.instance(name).make(block.make), f"test-pause-{name}")

    assert proof.verdict == "PASS", proof.detail


class Shy(Pause):
    """PAUSE that never lets the neighbour resume."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.paused.eq(1)
        return m


@pytest.mark.slow
def test_pause_of_an_empty_memory_is_not_proven() -> None:
    """Given a PAUSE that stays on with empty memory, the proof fails."""
    block = BLOCKS["pause"]
    small = block.instance("small")

    proof = prove(small.properties(Shy(block.shape(**small.parameters))), "test-pause-shy")

    assert proof.verdict == "FAIL", proof.detail


def test_skipping_idle_cycles_gives_the_same_state() -> None:
    """Calling the model only in cycles with events gives the state of calling it in every cycle."""
    bits, cycles = seeded_rng(1), 3000
    given = {"memory_bytes": 4000, "high_bytes": 3000, "low_bytes": 2000, "refresh_cycles": 50}
    each, some = (watermarks.new_watermarks(**given) for _ in range(2))
    for cycle in range(cycles):
        watermarks.is_pause_frame_due(each, 0, cycle)
        if draw_below(bits, 5) == 0:
            length = 1 + draw_below(bits, 1500)
            if draw_below(bits, 2):
                assert watermarks.store_frame(each, 0, length, cycle) == watermarks.store_frame(some, 0, length, cycle)
            else:
                for marks in (each, some):
                    watermarks.remove_frame(marks, 0, length, cycle)
        if draw_below(bits, 10) == 0:
            assert watermarks.is_pause_frame_due(each, 0, cycle) == watermarks.is_pause_frame_due(some, 0, cycle)
            for marks in (each, some):
                watermarks.note_frame_sent(marks, 0, cycle)

    assert watermarks.is_paused(each, 0, cycles) == watermarks.is_paused(some, 0, cycles)
    assert (each.input[0].level, each.input[0].drops) == (some.input[0].level, some.input[0].drops)
    assert each.input[0].drops > 0


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"memory_bytes": 63}, "memory_bytes"),
        ({"low_bytes": 141_501}, "low_bytes"),
        ({"high_bytes": 150_001}, "high_bytes"),
        ({"refresh_cycles": 65_536}, "refresh_cycles"),
    ],
)
def test_component_refuses_parameters_out_of_range(given: dict[str, int], field: str) -> None:
    """Given watermarks out of order or above the memory size, construction is refused."""
    with pytest.raises(InputError) as refused:
        Pause(PauseParameters(**given))

    assert refused.value.field == field
