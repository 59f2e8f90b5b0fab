"""VL buffer: hand-written expectations, lockstep in every shape the switches use, and proofs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from tests.conftest import long_but
from tests.schedulers.scheduling import assert_bench_agrees, qualified_lockstep, run_rows
from vlane.buffers.vlbuffer import VLBufferParameters
from vlane.hdl.buffers.vlbuffer import VLBuffer
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.buffers.vlbuffer.directed import PARAMETERS, STEPS
from vlane.tb.machinery.proofs.prove import prove

SHAPES: list[dict[str, Any]] = [
    {},
    {"vls": 1, "flits": 5, "minimum": 0, "maximum": 5, "mtu_flits": 5},
    {"vls": 3, "flits": 20, "minimum": 3, "maximum": 11, "mtu_flits": 4, "writers": 2, "write_flits": 3},
    {
        "vls": 8,
        "flits": 256,
        "minimum": 16,
        "maximum": 100,
        "mtu_flits": 16,
        "writers": 2,
        "readers": 2,
        "write_flits": 3,
        "read_flits": 3,
    },
    {
        "vls": 3,
        "flits": 21,
        "minimum": 7,
        "maximum": 7,
        "mtu_flits": 4,
        "writers": 2,
        "readers": 2,
        "write_flits": 2,
        "read_flits": 3,
        "form": "static",
    },
    {"vls": 5, "flits": 33, "minimum": 6, "maximum": 6, "mtu_flits": 6, "form": "static"},
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", long_but([SHAPES[0], SHAPES[2], SHAPES[5]], SHAPES), ids=str)
def test_hardware_agrees_with_golden(shape: dict[str, Any]) -> None:
    """Hardware and golden agree in lockstep in every cycle of the block's qualification traffic.

    The traffic fills and drains the buffer, resets it and drives forbidden inputs.
    """
    assert qualified_lockstep("vlbuffer", shape).decisions > 10_000


@pytest.mark.slow
def test_hardware_does_what_is_written_by_hand() -> None:
    """From power-on, the hardware's outputs match values written by hand from the contract."""
    for cycle, (got, expected) in enumerate(run_rows("vlbuffer", PARAMETERS, STEPS)):
        assert got == expected, f"cycle {cycle}"


@pytest.mark.slow
def test_cocotb_bench_agrees() -> None:
    """The two tests of the buffer's cocotb bench pass."""
    assert_bench_agrees("vlbuffer", PARAMETERS, tests=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", long_but(["small", "queues-shared", "queues-static"], [e.name for e in BLOCKS["vlbuffer"].proofs])
)
def test_instances_are_proven(name: str) -> None:
    """Each instance is proven to respect VL limits and to deliver every flit once and in order."""
    block = BLOCKS["vlbuffer"]

    proof = prove(block.instance(name).make(block.make), f"test-vlbuffer-{name}")

    assert proof.verdict == "PASS", proof.detail


def test_every_buffer_that_a_proof_replaces_is_proven_to_be_queues() -> None:
    """Each buffer that switch proofs replace by queues has the shape of a buffer proven to be queues.

    Data width is ignored because a buffer never interprets the bits of a flit.
    """

    def shape(buffer: Any) -> tuple[Any, ...]:
        kept = asdict(buffer.parameters)
        del kept["data_bits"]
        return tuple(sorted(kept.items()))

    block = BLOCKS["vlbuffer"]
    proven = {shape(each.make(block.make).buffer) for each in block.proofs if each.name.startswith("queues")}
    for switch in (BLOCKS["ib_switch"], BLOCKS["opa_switch"]):
        for instance in switch.proofs:
            if instance.name.startswith("delivery"):
                replaced = instance.make(switch.make).accounts
                assert {shape(each.buffer) for each in replaced} <= proven, instance.name


class Swapping(VLBuffer):
    """Buffer that corrupts the shown flit while VL 0 holds two flits."""

    def _show(self, m: Any, port: int, index: int, flit: Any) -> None:
        super()._show(m, port, index, flit ^ (self.held_now[0] == 2))


@pytest.mark.slow
def test_a_broken_buffer_is_not_proven() -> None:
    """Given a buffer that corrupts a flit, the proof fails on property ``order``."""
    block = BLOCKS["vlbuffer"]
    queues = block.instance("queues-shared")

    proof = prove(queues.properties(Swapping(block.shape(**queues.parameters))), "test-vlbuffer-broken")

    assert (proof.verdict, proof.failed) == ("UNKNOWN", "order"), proof.detail


@pytest.mark.parametrize(
    "given",
    [
        {"vls": 0},
        {"flits": 1},
        {"minimum": 17},
        {"maximum": 41},
        {"mtu_flits": 41},
        {"writers": 3},
        {"readers": 0},
        {"write_flits": 4},
        {"read_flits": 0},
        {"form": "ring"},
        {"form": "static"},
    ],
)
def test_component_refuses_parameters_out_of_range(given: dict[str, Any]) -> None:
    """Given parameters out of range, such as a minimum larger than the buffer, construction fails."""
    with pytest.raises(ValueError, match="must be"):
        VLBuffer(VLBufferParameters(**given))
