"""cocotb bench of the InfiniBand switch: golden, hand-written cycles, and independent senders and receivers."""

from __future__ import annotations

import random
from typing import Any

import cocotb

from vlane.packets.lrh import LocalRouteHeader
from vlane.switches.ib_switch import IBSwitchParameters
from vlane.tb.machinery.cocotb_benches.cocotb_drive import follow, qualified_agree, setting
from vlane.tb.switches.ib_switch.directed import STEPS
from vlane.tb.switches.ib_switch.directed_faster import STEPS as FASTER_STEPS
from vlane.tb.switches.ib_switch.directed_per_vl import STEPS as PER_VL_STEPS
from vlane.tb.switches.ib_switch.stimulus import qualified
from vlane.tb.switches.link_ends import delivers


class InfiniBand:
    """InfiniBand switch under the delivery test: packets carry a VL, and the VL of an SL is SL modulo lanes."""

    def __init__(self) -> None:
        parameters = IBSwitchParameters(**setting()["parameters"])
        self.vls_apart, self.blocks = parameters.switch_form.vls_apart, parameters.inner_flits

    def header(self, destination_header: LocalRouteHeader, lane: int, source: random.Random) -> LocalRouteHeader:
        """Return the header with a random SL and with the VL on which the sender transmits."""
        return destination_header._replace(vl=lane, sl=source.randrange(16))

    def leaves(self, header: LocalRouteHeader, lanes: int) -> tuple[LocalRouteHeader, int]:
        """Return the header with the VL that the switch must write, and this VL."""
        return header._replace(vl=header.sl % lanes), header.sl % lanes

    def map_writes(self, ports: int, lanes: int) -> list[dict[str, int]]:
        """Return the writes that program SL2VL = SL modulo lanes, one per output."""
        row = sum((sl % lanes) << 4 * sl for sl in range(16))
        return [
            {"sl2vl__enable": 1, "sl2vl__every_input": 1, "sl2vl__output": port, "sl2vl__row": row}
            for port in range(ports)
        ]


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification traffic and compare every output with golden in every cycle."""
    await qualified_agree(dut, qualified)


@cocotb.test()
async def follows_the_directed_cycles(dut: Any) -> None:
    """Drive hand-written packets, drops, credits and contention, and compare with hand-written outputs."""
    kind = InfiniBand()
    steps = PER_VL_STEPS if kind.vls_apart else FASTER_STEPS if kind.blocks > 1 else STEPS
    assert await follow(dut, steps) == len(steps)


@cocotb.test()
async def delivers_every_packet_once_unchanged_and_in_order(dut: Any) -> None:
    """Check delivery between senders that obey credits and receivers that return credits late."""
    await delivers(dut, InfiniBand())
