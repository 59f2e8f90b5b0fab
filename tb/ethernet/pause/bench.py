"""cocotb bench of PAUSE: an input at every level against golden, and hand-written cycles."""

from __future__ import annotations

from typing import Any

import cocotb

from vlane.tb.ethernet.pause.directed import STEPS
from vlane.tb.ethernet.pause.stimulus import qualified
from vlane.tb.machinery.cocotb_benches.cocotb_drive import follow, qualified_agree


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification and compare every output in every cycle."""
    await qualified_agree(dut, qualified)


@cocotb.test()
async def follows_the_directed_cycles(dut: Any) -> None:
    """Check watermarks, drops, PAUSE frames and their repetition, and settings."""
    assert await follow(dut, STEPS) == len(STEPS)
