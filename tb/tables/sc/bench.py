"""cocotb bench of Omni-Path's maps: random look-ups against golden, and hand-written look-ups."""

from __future__ import annotations

from typing import Any

import cocotb

from vlane.tb.machinery.cocotb_benches.cocotb_drive import follow, qualified_agree
from vlane.tb.tables.directed_tables import STEPS
from vlane.tb.tables.sc.stimulus import qualified


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification and compare every output in every cycle."""
    await qualified_agree(dut, qualified)


@cocotb.test()
async def follows_the_directed_lookups(dut: Any) -> None:
    """Drive hand-written look-ups, writes and causes; cocotb's additional reset cycle has no effect."""
    assert await follow(dut, STEPS["sc"]) == len(STEPS["sc"])
