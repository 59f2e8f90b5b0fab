"""cocotb bench of weighted round robin: random traffic against golden, and grants written by hand."""

from __future__ import annotations

from typing import Any

import cocotb

from vlane.tb.machinery.cocotb_benches.cocotb_drive import follow, qualified_agree
from vlane.tb.schedulers.wrr.stimulus import SCENARIOS, qualified


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification and compare every output in every cycle."""
    await qualified_agree(dut, qualified)


@cocotb.test()
@cocotb.parametrize(name=[scenario.name for scenario in SCENARIOS])
async def follows_the_directed_scenario(dut: Any, name: str) -> None:
    """Drive one scenario with hand-written grants."""
    scenario = next(s for s in SCENARIOS if s.name == name)
    assert await follow(dut, scenario.rows()) >= len(scenario.steps)
