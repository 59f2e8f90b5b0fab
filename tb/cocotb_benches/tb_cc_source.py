"""cocotb bench of the source: flows that come and go against golden, and cycles written by hand."""

from __future__ import annotations

from typing import Any

import cocotb
from vlane.tb.cocotb_benches.cocotb_drive import follow, qualified_agree
from vlane.tb.congestion.stimulus_cc_source import qualified
from vlane.tb.directed.directed_cc_source import STEPS


@cocotb.test()
async def follows_the_directed_cycles(dut: Any) -> None:
    """Gaps, limits, full sets, SLs as flows, timers, and reset."""
    assert await follow(dut, STEPS) == len(STEPS)


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification and compare every output in every cycle."""
    await qualified_agree(dut, qualified)
