"""cocotb bench of Omni-Path credits: a link against golden, and hand-written cycles."""

from __future__ import annotations

from typing import Any

import cocotb

from vlane.tb.credits.credit_opa.directed import STEPS
from vlane.tb.credits.credit_opa.stimulus import qualified
from vlane.tb.machinery.cocotb_benches.cocotb_drive import follow, qualified_agree


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification and compare every output in every cycle."""
    await qualified_agree(dut, qualified)


@cocotb.test()
async def follows_the_directed_cycles(dut: Any) -> None:
    """Check limits, sharing, a change under traffic, return codes, and an excessive return."""
    assert await follow(dut, STEPS) == len(STEPS)
