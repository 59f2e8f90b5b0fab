"""cocotb bench of SL to VL mapping: random look-ups against golden, and look-ups written by hand."""

from __future__ import annotations

from typing import Any

import cocotb

from vlane.tb.machinery.cocotb_benches.cocotb_drive import follow, qualified_agree
from vlane.tb.tables.directed_tables import STEPS
from vlane.tb.tables.sl2vl.stimulus import qualified


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification and compare every output in every cycle."""
    await qualified_agree(dut, qualified)


@cocotb.test()
async def follows_the_directed_lookups(dut: Any) -> None:
    """Look-ups, writes and causes written out by hand; cocotb's additional cycle of reset changes nothing."""
    assert await follow(dut, STEPS["sl2vl"]) == len(STEPS["sl2vl"])
