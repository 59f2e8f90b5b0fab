"""InfiniBand's absolute credits: hand-written cases, lockstep over a lossy link, proofs, FCP format."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from tests.conftest import long_but
from tests.schedulers.scheduling import assert_bench_agrees, qualified_lockstep, run_rows
from vlane.credits.credit_ib import CreditIBParameters
from vlane.errors import InputError
from vlane.golden.credits import credit_ib as golden
from vlane.hdl.credits.credit_ib import CreditIB
from vlane.hdl.credits.fcp_format import check_sum
from vlane.packets.fcp import FlowControlPacket, lpcrc
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.credits.credit_ib.directed import PARAMETERS, STEPS
from vlane.tb.machinery.proofs.prove import prove

SHAPES: list[dict[str, int]] = [
    {"data_vls": 1, "buffer_blocks": 66, "fcp_period": 100, "watchdog_cycles": 150},
    {"data_vls": 3, "buffer_blocks": 100, "fcp_period": 300, "watchdog_cycles": 400},
    {"data_vls": 15, "buffer_blocks": 128, "fcp_period": 500, "watchdog_cycles": 300},
    {"data_vls": 2, "buffer_blocks": 4000, "fcp_period": 2000, "watchdog_cycles": 2500, "parity": True},
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", long_but([SHAPES[0], SHAPES[1], SHAPES[3]], SHAPES), ids=str)
def test_hardware_agrees_and_nothing_leaks(shape: dict[str, int]) -> None:
    """Given losses of up to 10 % of packets and FCPs, no buffer overflows and all credit is recovered.

    Every audit, one FCP period after the last loss, finds no leaked block.
    """
    stimulus = qualified_lockstep("credit_ib", shape, cycles=400_000)

    assert stimulus.audit["overflows"] == stimulus.audit["leaked_blocks"] == 0
    assert stimulus.audit["audits"] >= 5
    assert stimulus.audit["lost"] > 1000
    assert stimulus.rule_counts()["discarded"] == 0


@pytest.mark.slow
def test_hardware_does_what_is_written_by_hand() -> None:
    """From power-on, the hardware's outputs match values written by hand from the contract."""
    for cycle, (got, expected) in enumerate(run_rows("credit_ib", PARAMETERS, STEPS)):
        assert got == expected, f"cycle {cycle}"


@pytest.mark.slow
def test_cocotb_bench_agrees() -> None:
    """The two tests of the block's cocotb bench pass."""
    assert_bench_agrees("credit_ib", PARAMETERS, tests=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["sender", "offer", *(pytest.param(each, marks=pytest.mark.long) for each in ("small", "pair", "recovery"))]
)
def test_credits_are_proven(name: str) -> None:
    """The port, its parts and a pair of ports over a lossy link are proven free of overflow.

    Instance ``recovery`` also proves that lost credit is restored.
    """
    block = BLOCKS["credit_ib"]

    proof = prove(block.instance(name).make(block.make), f"test-credit_ib-{name}")

    assert proof.verdict == "PASS", proof.detail


class Overstating(CreditIB):
    """A port whose ``room`` output is one block below the free space."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        for vl in range(self.data_vls):
            m.d.comb += self.room[vl].eq(self.receiver.room[vl] - 1)
        return m


@pytest.mark.slow
def test_a_broken_port_is_not_proven() -> None:
    """Given a port that shows too little free space, the proof fails on property ``room``."""
    block = BLOCKS["credit_ib"]
    small = block.instance("small")

    proof = prove(small.properties(Overstating(block.shape(**small.parameters))), "test-credit_ib-broken")

    assert (proof.verdict, proof.failed) == ("FAIL", "room"), proof.detail


class Forgetting(CreditIB):
    """Port that never corrects its ABR from a received FCP."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.receiver.update.eq(0)
        return m


@pytest.mark.slow
def test_a_port_that_never_learns_of_losses_does_not_recover() -> None:
    """Given a port that ignores the FCTBS of received FCPs, property ``recovery-time`` is refuted."""
    block = BLOCKS["credit_ib"]
    recovery = block.instance("recovery")

    proof = prove(recovery.properties(Forgetting(block.shape(**recovery.parameters))), "test-credit_ib-forgetting")

    assert (proof.verdict, proof.failed) == ("FAIL", "recovery-time"), proof.detail


def test_packet_is_packed_and_checked() -> None:
    """A packed FCP unpacks to the same fields, and each single-bit error fails the LPCRC check."""
    packet = FlowControlPacket(0, 0xABC, 5, 0x123)

    assert packet.packed() >> 16 == 0x0ABC5123
    assert FlowControlPacket.unpacked(packet.packed()) == packet
    for bit in range(48):
        with pytest.raises(InputError, match="lpcrc"):
            FlowControlPacket.unpacked(packet.packed() ^ 1 << bit)
    for bits in (-1, 1 << 48):
        with pytest.raises(InputError, match="fcp"):
            FlowControlPacket.unpacked(bits)


@pytest.mark.parametrize("field", ["op", "fctbs", "vl", "fccl"])
def test_fields_that_do_not_fit_are_refused(field: str) -> None:
    """Given a value too wide for its FCP field, or VL15, which has no flow control, packing is refused."""
    with pytest.raises(InputError, match=f"fcp.{field}"):
        FlowControlPacket(0, 1, 1, 1)._replace(**{field: {"op": 16, "vl": 15}.get(field, 4096)}).packed()


def test_golden_and_format_agree_on_the_check_sum() -> None:
    """Golden and the FCP format compute the same LPCRC for 200 random bodies."""
    source = np.random.default_rng(1)

    for body in map(int, source.integers(0, 1 << 32, 200)):
        assert golden.body_crc(body) == lpcrc(body)


def test_the_hardware_has_the_known_answers_of_the_check_sum() -> None:
    """The two LPCRCs in the comment of the exported function are those of the packet format and of the hardware."""
    known = re.findall(r"(0x\w+) for the bits (0x\w+)", check_sum.__doc__ or "")
    given, crc = Signal(32), Signal(16)
    m = Module()
    m.d.comb += crc.eq(check_sum(given))
    found = []

    async def bench(context: Any) -> None:
        for _, body in known:
            context.set(given, int(body, 16))
            found.append(context.get(crc))

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()

    assert len(known) == 2
    assert found == [int(answer, 16) for answer, _ in known] == [lpcrc(int(body, 16)) for _, body in known]


@pytest.mark.parametrize(("ahead", "fits"), [(0, True), (1, True), (2048, True), (2049, False), (4095, False)])
def test_credit_is_compared_modulo_4096(ahead: int, fits: bool) -> None:  # noqa: FBT001
    """A credit limit up to 2048 blocks ahead permits sending. A larger distance means it lies behind.

    IBA 7.9.4.3 compares the counters modulo 4096.
    """
    state = golden.new_state(data_vls=1, buffer_blocks=2048, fcp_blocks=0, fcp_period=100, watchdog_cycles=100)
    state.fctbs[0] = 4000
    state.fccl[0] = (4000 + 10 + ahead) % 4096

    assert golden.fits(state, 0, 10, False) is fits


@pytest.mark.parametrize(
    "given",
    [
        {"data_vls": 16},
        {"buffer_blocks": 0},
        {"buffer_blocks": 4096},
        {"fcp_blocks": 129},
        {"fcp_period": 1},
        {"watchdog_cycles": 1},
    ],
)
def test_component_refuses_parameters_out_of_range(given: dict[str, int]) -> None:
    """Given parameters out of range, construction fails."""
    with pytest.raises(ValueError, match="must be"):
        CreditIB(CreditIBParameters(**given))


@pytest.mark.slow
def test_lane_stays_due_until_its_limit_is_2048_ahead() -> None:
    """While no FCP is sent, a lane stays due until its limit is 2048 blocks ahead of the last FCP."""
    shape = {"data_vls": 1, "buffer_blocks": 200, "fcp_blocks": 21, "fcp_period": 5000}
    passing = {"arrived": 1, "arrived_blocks": 1, "freed": 1}
    due = [1] * 1849 + [0] * 50
    steps = [(passing, {"fcp_valid": each}) for each in due]

    outs = run_rows("credit_ib", shape, steps)

    assert [got["fcp_valid"] for got, _ in outs] == due
