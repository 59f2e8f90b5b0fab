"""cocotb bench of the source: flows that come and go against golden, and hand-written cycles."""

from __future__ import annotations

from typing import Any

import cocotb

from vlane.tb.congestion.cc_source.directed import STEPS
from vlane.tb.congestion.cc_source.stimulus import qualified
from vlane.tb.machinery.cocotb_benches.cocotb_drive import follow, qualified_agree


@cocotb.test()
async def follows_the_directed_cycles(dut: Any) -> None:
    """Check gaps, limits, full sets, SLs as flows, timers, and reset."""
    assert await follow(dut, STEPS) == len(STEPS)


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification and compare every output in every cycle."""
    await qualified_agree(dut, qualified)
