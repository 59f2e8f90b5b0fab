"""cocotb bench of the prober: flows in all states against golden, and cycles written by hand."""

from __future__ import annotations

from typing import Any

import cocotb
from vlane.tb.cocotb_benches.cocotb_drive import follow, qualified_agree
from vlane.tb.directed.directed_e2cm_prober import STEPS
from vlane.tb.ethernet.stimulus_e2cm_prober import qualified


@cocotb.test()
async def follows_the_directed_cycles(dut: Any) -> None:
    """Give orders whose answers are worked out by hand."""
    assert await follow(dut, STEPS) == len(STEPS)


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification and compare every output in every cycle."""
    await qualified_agree(dut, qualified)
