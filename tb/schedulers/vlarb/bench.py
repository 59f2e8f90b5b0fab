"""cocotb bench of the VL arbiter: every cycle driven, every output compared with golden.

The driver runs in every cycle, like a third-party bench.
"""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from vlane.golden.schedulers import vlarb as golden
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable
from vlane.tb.machinery.cocotb_benches.cocotb_drive import agree, follow, layouts, qualified_agree, setting
from vlane.tb.machinery.native.stimulus import Layout
from vlane.tb.schedulers.traffic import Phase
from vlane.tb.schedulers.vlarb.directed import SCENARIOS, play
from vlane.tb.schedulers.vlarb.stimulus import VLArbTraffic, qualified


def _source(settings: dict[str, Any], inputs: Layout, outputs: Layout) -> VLArbTraffic:
    tables = tuple(
        VLArbTable(tuple(VLArbEntry(*e) for e in high), tuple(VLArbEntry(*e) for e in low), limit)
        for high, low, limit in settings["tables"]
    )
    phases = tuple(Phase(**phase) for phase in settings["phases"])
    return VLArbTraffic(
        **settings["parameters"], tables=tables, phases=phases, seed=settings["seed"], inputs=inputs, outputs=outputs
    )


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the planned traffic, or the qualification, and compare every output in every cycle."""
    settings = setting()
    inputs, outputs = layouts(settings)
    if "tables" in settings:
        await agree(dut, _source(settings, inputs, outputs), inputs, outputs)
    else:
        await qualified_agree(dut, qualified)


@cocotb.test()
@cocotb.parametrize(name=[scenario.name for scenario in SCENARIOS])
async def follows_the_directed_scenario(dut: Any, name: str) -> None:
    """Drive one scenario with hand-written grants."""
    scenario = next(s for s in SCENARIOS if s.name == name)
    state, rules = golden.make_state(**setting()["parameters"]), np.zeros(golden.RULE_COUNT, np.int64)
    cycles = await follow(dut, play(scenario, state, rules))
    assert cycles >= len(scenario.steps)
