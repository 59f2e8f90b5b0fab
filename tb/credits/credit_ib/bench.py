"""cocotb bench of InfiniBand credits: a lossy link against golden, and hand-written cycles."""

from __future__ import annotations

from typing import Any

import cocotb

from vlane.tb.credits.credit_ib.directed import STEPS
from vlane.tb.credits.credit_ib.stimulus import qualified
from vlane.tb.machinery.cocotb_benches.cocotb_drive import follow, qualified_agree


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification and compare every output in every cycle."""
    await qualified_agree(dut, qualified)


@cocotb.test()
async def follows_the_directed_cycles(dut: Any) -> None:
    """Check limits, wraps, a packet without space, a lost packet, and FCPs that must be ignored."""
    assert await follow(dut, STEPS) == len(STEPS)
