"""The cocotb bench of every block that has no bench of its own: lockstep with golden, and the directed cases.

The block is the top of the simulation. Its modules are found by its name (``tb/by_name.py``).
"""

from __future__ import annotations

from typing import Any

import cocotb

from vlane.tb.by_name import directed_steps, stimulus
from vlane.tb.machinery.cocotb_benches.cocotb_drive import follow, qualified_agree, setting

NAME: str = setting()["top"]
SCENARIOS = {scenario.name: scenario for scenario in getattr(stimulus(NAME), "SCENARIOS", ())}
STEPS = directed_steps(NAME)


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification stimulus and compare every output with golden in every cycle."""
    await qualified_agree(dut, stimulus(NAME).qualified)


if SCENARIOS:

    @cocotb.test()
    @cocotb.parametrize(name=list(SCENARIOS))
    async def follows_the_directed_scenario(dut: Any, name: str) -> None:
        """Drive one scheduler scenario and compare its grants, which are written by hand."""
        scenario = SCENARIOS[name]
        assert await follow(dut, scenario.rows()) >= len(scenario.steps)


if STEPS:

    @cocotb.test()
    async def follows_the_directed_cycles(dut: Any) -> None:
        """Drive the directed cycles and compare the outputs, which are written by hand."""
        assert await follow(dut, STEPS) == len(STEPS)
