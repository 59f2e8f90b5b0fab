"""The network's and switch's credit counting agrees with the proven credit blocks, step by step."""

from __future__ import annotations

import random

import numpy as np
import pytest

from vlane.credits.credit_ib import CreditIBParameters
from vlane.golden.buffers import vlbuffer
from vlane.golden.credits import credit_ib, credit_opa
from vlane.golden.links import fcp_limits, room
from vlane.hdl.credits.credit_ib import CreditIB
from vlane.hdl.links.fcp_limits import FCPLimits
from vlane.hdl.links.fcp_round_robin import FCPRoundRobin
from vlane.packets.fcp import FlowControlPacket

VLS, PACKETS, CYCLES = 3, 66, 3000


def _pair(blocks: int, step: int, period: int) -> tuple[credit_ib.CreditIBState, fcp_limits.FCPLimits]:
    """Return a ``credit_ib`` port and the ends of a network cable in equal states.

    All free space is advertised and every lane is due for its next FCP.
    """
    port = credit_ib.new_state(
        data_vls=VLS, buffer_blocks=blocks, fcp_blocks=step, fcp_period=period, watchdog_cycles=1 << 20
    )
    port.fccl[:] = port.limit_sent[:] = blocks
    port.regs[credit_ib.PENDING] = (1 << VLS) - 1
    ends = fcp_limits.new_limits(
        end_count=2, whole=(blocks,) * VLS, fcp_blocks=step or None, period=period, sideband=True, flight=1
    )
    return port, ends


@pytest.mark.parametrize(
    ("blocks", "step", "period", "link"),
    [(80, 0, 40, 0.9), (80, 4, 300, 0.3), (2048, 0, 500, 0.5), (66, 66, 1000, 1.0), (200, 1, 7, 0.05)],
)
def test_the_network_counts_as_the_port(blocks: int, step: int, period: int, link: float) -> None:
    """Port and network allow the same packets and send the same FCPs in every cycle.

    No packet and no FCP is lost. FCP periods and the availability of the link vary.
    """
    source = random.Random(f"{blocks} {step} {period}")  # noqa: S311 - a repeatable choice
    port, ends = _pair(blocks, step, period)
    inputs, rules = credit_ib.new_inputs(VLS), np.zeros(len(credit_ib.RULES), np.int64)
    held, told = [0] * VLS, 0
    for cycle in range(CYCLES):
        inputs.flags[:], inputs.values[:] = 0, 0
        fcp_limits.receive_fcps(ends, 0, cycle)
        for vl in range(VLS):
            size = source.randint(1, PACKETS)
            fits = credit_ib.fits(port, vl, size, False)
            assert fits == fcp_limits.has_credit(ends, 0, vl, size), f"cycle {cycle}, VL {vl}"
            if fits and inputs.flags[credit_ib.GRANT] == 0 and source.random() < 0.2:
                inputs.flags[[credit_ib.GRANT, credit_ib.TAIL]] = 1
                inputs.values[[credit_ib.GRANT_VL, credit_ib.GRANT_BLOCKS]] = vl, size
                started = (vl, size)

        is_due = fcp_limits.is_fcp_due(ends, 0, cycle)
        assert ends.end[0].due_lanes == credit_ib.due_lanes(port), f"cycle {cycle}"
        sent_vl, packet = credit_ib.offered_fcp(port, False)
        if is_due and source.random() < link:
            inputs.flags[credit_ib.TAKEN] = 1
            fcp_limits.send_fcp(ends, 0, 1, cycle, 1)
            fcp_limits.receive_fcps(ends, 1, cycle + 2)
            fcp = FlowControlPacket.unpacked(int(packet))
            assert (fcp.vl, fcp.fccl) == (ends.end[0].last_lane, ends.limit_sent[0, sent_vl] % 4096)
            told += 1

        vl = source.randrange(VLS)
        if source.random() < 0.3:
            limit = max(int(ends.limit[0, vl]), int(ends.sent[0, vl]) + source.randint(0, blocks))
            inputs.flags[credit_ib.FCP_ARRIVED] = 1
            inputs.values[credit_ib.FCP_IN] = FlowControlPacket(0, int(port.abr[vl]), vl, limit % 4096).packed()
            fcp_limits.send_fcp_with_limit(ends, 1, 0, vl, limit, cycle, 0)
        vl, size = source.randrange(VLS), source.randint(1, min(blocks, PACKETS))
        if port.room[vl] >= size and source.random() < 0.1:
            inputs.flags[credit_ib.ARRIVED] = 1
            inputs.values[[credit_ib.ARRIVED_VL, credit_ib.ARRIVED_BLOCKS]] = vl, size
            held[vl] += size
        freed = source.randrange(VLS)
        if held[freed] > inputs.flags[credit_ib.ARRIVED] * inputs.values[credit_ib.ARRIVED_BLOCKS]:
            inputs.flags[credit_ib.FREE], inputs.values[credit_ib.FREED_VL] = 1, freed
            held[freed] -= 1
            fcp_limits.count_freed(ends, 0, freed, 1)
        if inputs.flags[credit_ib.GRANT]:
            fcp_limits.count_sent(ends, 0, *started)
        credit_ib.step(port, inputs, rules)

    assert told > 10
    assert rules[credit_ib.GRANTED] > 10
    assert rules[credit_ib.RETURNED] == rules[credit_ib.DISCARDED] == 0


def test_the_switch_contains_the_parts_of_the_block() -> None:
    """The switch instantiates the proven sender and offer components of ``credit_ib``."""
    block = CreditIB(CreditIBParameters(data_vls=VLS))

    assert type(FCPLimits(vls=VLS, blocks=8, largest=2).sender) is type(block.sender)
    assert type(FCPRoundRobin(vls=VLS, blocks=8, step=2, period=9).offer) is type(block.offer)


@pytest.mark.parametrize(("blocks", "minimum", "maximum"), [(40, 8, 24), (24, 8, 8), (30, 0, 30)])
def test_rooms_buffers_and_sender_managed_credits_keep_one_rule(blocks: int, minimum: int, maximum: int) -> None:
    """A packet fits the free-space counter exactly when it fits a VL buffer and Omni-Path's credits.

    All three have the same size, minimum and maximum per lane.
    """
    source = random.Random(blocks)  # noqa: S311 - a repeatable choice
    rooms = room.new_occupancy(buffers=1, blocks=blocks, minimum=(minimum,) * VLS, maximum=(maximum,) * VLS)
    buffer = vlbuffer.new_state(
        vls=VLS, flits=blocks, minimum=minimum, maximum=maximum, mtu_flits=1, write_flits=1, read_flits=1
    )
    port = credit_opa.new_state(vls=VLS, vcu=0)
    port.dedicated[:], port.shared[:] = minimum, maximum - minimum
    port.regs[credit_opa.OVERALL] = blocks - VLS * minimum
    refused = 0
    for _ in range(3000):
        vl, size = source.randrange(VLS), source.randint(1, 12)
        fits = room.fits(rooms, 0, vl, size)
        assert fits == vlbuffer.fits(buffer, vl, size) == credit_opa.fits(port, vl, size)
        refused += not fits
        if fits:
            room.occupy(rooms, 0, vl, size)
            buffer.used[vl] += size
        vl = source.randrange(VLS)
        back = source.randint(0, int(buffer.used[vl]))
        room.release(rooms, 0, vl, back)
        buffer.used[vl] -= back
        port.used[:] = buffer.used
        assert rooms.above_minima[0].blocks == vlbuffer.shared_in_use(buffer) == credit_opa.shared_in_use(port)

    assert refused > 100
