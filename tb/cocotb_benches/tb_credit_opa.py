"""cocotb bench of Omni-Path credits: a link against golden, and cycles written by hand."""

from __future__ import annotations

from typing import Any

import cocotb
from vlane.tb.cocotb_benches.cocotb_drive import follow, qualified_agree
from vlane.tb.credits.stimulus_credit_opa import qualified
from vlane.tb.directed.directed_credit_opa import STEPS


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification and compare every output in every cycle."""
    await qualified_agree(dut, qualified)


@cocotb.test()
async def follows_the_directed_cycles(dut: Any) -> None:
    """Limits, sharing, a change while traffic runs, return codes, a return that is too large."""
    assert await follow(dut, STEPS) == len(STEPS)
