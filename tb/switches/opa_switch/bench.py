"""cocotb bench of the Omni-Path switch: golden, hand-written cycles, and independent senders and receivers."""

from __future__ import annotations

import random
from typing import Any

import cocotb

from vlane.packets.lrh import LocalRouteHeader, channel_bits
from vlane.switches.switch_programs import sc_write
from vlane.tables.sc import SCTable
from vlane.tb.machinery.cocotb_benches.cocotb_drive import follow, qualified_agree
from vlane.tb.switches.link_ends import delivers
from vlane.tb.switches.opa_switch.directed import STEPS
from vlane.tb.switches.opa_switch.stimulus import qualified

_SENT, _SHIFT = 8, 16


def _channel(header: LocalRouteHeader) -> int:
    return header.reserved >> 1 << 4 | header.vl


class OmniPath:
    """Omni-Path switch under the delivery test: channels 0 to 7, SC2SC adds 16, lane = channel modulo lanes."""

    blocks = 3
    vls_apart = False

    def header(self, destination_header: LocalRouteHeader, lane: int, source: random.Random) -> LocalRouteHeader:  # noqa: ARG002 - the header does not contain the lane
        """Return the header with a random service level (of 32) and a random channel (of 8)."""
        sl = source.randrange(32)
        vl, reserved = channel_bits(source.randrange(_SENT), sl)
        return destination_header._replace(vl=vl, reserved=reserved, sl=sl & 15)

    def leaves(self, header: LocalRouteHeader, lanes: int) -> tuple[LocalRouteHeader, int]:
        """Return the header with the channel that the switch must write, and the lane."""
        channel = _channel(header) + _SHIFT
        vl, reserved = channel_bits(channel, (header.reserved & 1) << 4)
        return header._replace(vl=vl, reserved=reserved), channel % lanes

    def map_writes(self, ports: int, lanes: int) -> list[dict[str, int]]:
        """Return the writes of all SC2SC and SC2VL_t entries that differ from the power-on state."""
        return [
            sc_write(SCTable.SC2SC, given, to, channel, channel + _SHIFT)
            for given in range(ports)
            for to in range(ports)
            for channel in range(_SENT)
        ] + [
            sc_write(SCTable.SC2VL_T, 0, to, channel, channel % lanes)
            for to in range(ports)
            for channel in range(_SHIFT, _SHIFT + _SENT)
        ]


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification traffic and compare every output with golden in every cycle."""
    await qualified_agree(dut, qualified)


@cocotb.test()
async def follows_the_directed_cycles(dut: Any) -> None:
    """Drive hand-written packets through both paths and both write ports, and drops, and compare the outputs."""
    assert await follow(dut, STEPS) == len(STEPS)


@cocotb.test()
async def delivers_every_packet_once_unchanged_and_in_order(dut: Any) -> None:
    """Check delivery between senders that obey credits and receivers that return credits late."""
    await delivers(dut, OmniPath())
