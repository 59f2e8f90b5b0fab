"""ECM congestion point: hand-written cases, lockstep, proofs, sampling and feedback, parameters."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import long_but
from tests.schedulers.scheduling import assert_bench_agrees, qualified_lockstep, run_rows
from vlane.errors import InputError
from vlane.ethernet.ecm_cp import ECMCPParameters
from vlane.ethernet.shared import SEED
from vlane.golden.ethernet import points
from vlane.golden.ethernet.prbs import next_state
from vlane.hdl.ethernet.ecm_cp import ECMCP
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.ethernet.ecm_cp.directed import PARAMETERS, STEPS
from vlane.tb.machinery.proofs.prove import prove

SHAPES: list[dict[str, Any]] = [
    {"sampling": "fixed", "sample_bytes": 16_384, "set_point_bytes": 30_000, "weight": 3, "bcn_max": False},
    {
        "set_point_bytes": 4000,
        "sample_bytes": 16_384,
        "queue_bytes": 32_767,
        "max_bytes": 16_000,
        "bcn_stop": True,
        "stop_bytes": 24_000,
    },
    {"weight": 0, "bcn_stop": True},
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", long_but(SHAPES[:2], SHAPES), ids=str)
def test_hardware_agrees_with_queues_of_all_lengths(shape: dict[str, Any]) -> None:
    """Hardware and golden agree in lockstep over queues of all lengths on samples and feedback."""
    counts = qualified_lockstep("ecm_cp", shape, cycles=400_000).rule_counts()

    assert counts["negative"] > 1000
    assert counts["positive"] > 300


@pytest.mark.slow
def test_hardware_does_what_is_written_by_hand() -> None:
    """From power-on, the hardware's outputs match values written by hand from the contract."""
    for cycle, (got, expected) in enumerate(run_rows("ecm_cp", PARAMETERS, STEPS)):
        assert got == expected, f"cycle {cycle}"


@pytest.mark.long
def test_cocotb_bench_agrees() -> None:
    """The two tests of the block's cocotb bench pass."""
    assert_bench_agrees("ecm_cp", PARAMETERS, tests=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but({"fixed"}, [each.name for each in BLOCKS["ecm_cp"].proofs]))
def test_the_point_is_proven(name: str) -> None:
    """Queue, samples and feedback are proven for any sequence of frames."""
    block = BLOCKS["ecm_cp"]

    proof = prove(block.instance(name).make(block.make), f"test-ecm_cp-{name}")

    assert proof.verdict == "PASS", proof.detail


class Loud(ECMCP):
    """Congestion point that notifies in every cycle."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.sync += self.notify.eq(1)
        return m


@pytest.mark.slow
def test_a_point_that_always_notifies_is_not_proven() -> None:
    """Given a congestion point that always notifies, the proof fails."""
    block = BLOCKS["ecm_cp"]
    fixed = block.instance("fixed")

    proof = prove(fixed.properties(Loud(block.shape(**fixed.parameters))), "test-ecm_cp-loud")

    assert proof.verdict == "FAIL", proof.detail


def test_sequence_is_prbs31_taken_24_bits_further() -> None:
    """Each draw advances the PRBS31 sequence by 24 bits from the default seed.

    A bit is the exclusive or of the bits 31 and 28 positions before it.
    """
    bits = [SEED >> place & 1 for place in reversed(range(31))]
    while len(bits) < 31 + 24 * 5:
        bits.append(bits[-31] ^ bits[-28])
    word = SEED

    for draw in range(1, 6):
        word = next_state(word)
        assert word == int("".join(map(str, bits[24 * draw : 24 * draw + 31])), 2)


@pytest.mark.parametrize(("length", "share"), [(1500, 0.02), (9000, 0.12), (64, 64 / 75_000)])
def test_frames_are_sampled_as_often_as_their_bytes_say(length: int, share: float) -> None:
    """With random sampling, one sample is taken per 75 kB, for any frame size.

    The count lies within four standard deviations of the expected value.
    """
    made, frames = points.new_points(**ECMCPParameters()), 40_000

    count = sum(points.takes_sample(made, 0, length) for _ in range(frames))

    assert abs(count - frames * share) < 4 * (frames * share * (1 - share)) ** 0.5


def test_fixed_sampling_takes_one_frame_in_75_kilobytes() -> None:
    """With fixed sampling, every fiftieth frame of 1500 bytes is sampled."""
    made = points.new_points(**ECMCPParameters(sampling="fixed"))

    assert [frame for frame in range(1, 201) if points.takes_sample(made, 0, 1500)] == [50, 100, 150, 200]


def test_points_of_a_network_have_sequences_of_their_own() -> None:
    """Two congestion points with equal traffic sample different frames."""
    made = points.new_points(**ECMCPParameters(), points=2)
    taken = [[points.takes_sample(made, place, 1500) for _ in range(5000)] for place in range(2)]

    assert taken[0] != taken[1]
    assert sum(map(all, zip(*taken, strict=True))) < 10


@pytest.mark.parametrize(
    ("queue", "last", "feedback"),
    [
        (37_500, 37_500, 0),
        (45_000, 30_000, -37_500),
        (0, 0, 37_500),
        (150_000, 0, -187_500),
        (0, 150_000, 187_500),
        (150_001, 400_000, -187_500),
        (150_000, 400_000, 187_500),
    ],
)
def test_feedback_has_the_published_sign_and_saturation(queue: int, last: int, feedback: int) -> None:
    """Feedback is Qeq - Q - W (Q - Qold), saturates at 187.5 kB and is most negative above 150 kB."""
    made = points.new_points(**ECMCPParameters())

    assert points.feedback_bytes(made, queue, last) == feedback


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"set_point_bytes": 60_000}, "set_point_bytes"),
        ({"queue_bytes": 20_000}, "queue_bytes"),
        ({"sampling": "often"}, "sampling"),
        ({"seed": 0}, "seed"),
        ({"weight": 9}, "weight"),
    ],
)
def test_component_refuses_parameters_out_of_range(given: dict[str, Any], field: str) -> None:
    """Given parameters out of range, construction is refused and the field is named.

    Feedback must fit into a sign and 12 bits, the set point into the queue, and the seed must not be 0.
    """
    with pytest.raises(InputError) as refused:
        ECMCP(ECMCPParameters(**given))

    assert refused.value.field == field
