"""cocotb bench of the VL arbiter: every cycle driven, every output compared with golden.

What runs is told by the environment: ``VLANE_VLARB`` holds the arbiter's parameters, the tables and the plan
of the traffic as JSON. The driver wakes in every cycle, as a third party's bench would.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from vlane.golden import vlarb as golden
from vlane.golden.vlarb_rules import RULES
from vlane.tb.directed_vlarb import SCENARIOS, play
from vlane.tb.model import Field, Port, Words, row_layout, row_words
from vlane.tb.stimulus_vlarb import INPUTS, OUTPUTS, VLArbTraffic
from vlane.tb.traffic import Phase

from vlane.vlarb import VLArbEntry, VLArbTable

__all__ = ["SETTING", "encode_plan"]

SETTING = "VLANE_VLARB"
_BATCH = 1024
_CLOCK_NS = 2


def encode_plan(
    *,
    data_vls: int,
    entries: int,
    vl15: bool,
    tables: tuple[VLArbTable, ...],
    phases: tuple[Phase, ...],
    seed: int,
) -> dict[str, str]:
    """Return the environment that makes the bench run this plan."""
    plan = {
        "data_vls": data_vls,
        "entries": entries,
        "vl15": vl15,
        "tables": [[t.high, t.low, t.limit_of_high_priority] for t in tables],
        "phases": [asdict(phase) for phase in phases],
        "seed": seed,
    }
    return {SETTING: json.dumps(plan)}


def _plan() -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(os.environ[SETTING])
    plan["tables"] = tuple(
        VLArbTable(tuple(VLArbEntry(*e) for e in high), tuple(VLArbEntry(*e) for e in low), limit)
        for high, low, limit in plan["tables"]
    )
    plan["phases"] = tuple(Phase(**phase) for phase in plan["phases"])
    return plan


def _layout(dut: Any, names: tuple[str, ...], *, inputs: bool) -> dict[str, Field]:
    return row_layout([Port(name, len(getattr(dut, name)), is_input=inputs) for name in names], inputs=inputs)


async def _start(dut: Any) -> None:
    for name in INPUTS:
        getattr(dut, name).value = 0
    Clock(dut.clk, _CLOCK_NS, unit="ns").start()
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0


async def _cycle(dut: Any, last: dict[str, int], row: dict[str, int], expected: dict[str, int], cycle: int) -> None:
    """Drive a row after the falling edge, compare what has settled before the rising one."""
    for name, value in row.items():
        if last.get(name) != value:
            getattr(dut, name).value = value
            last[name] = value
    await RisingEdge(dut.clk)
    for name, value in expected.items():
        got = int(getattr(dut, name).value)
        assert got == value, f"cycle {cycle}: {name} is {got}, golden says {value}; inputs {row}"
    await FallingEdge(dut.clk)


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the planned traffic and compare every output in every cycle."""
    plan = _plan()
    inputs, outputs = _layout(dut, INPUTS, inputs=True), _layout(dut, OUTPUTS, inputs=False)
    source = VLArbTraffic(**plan, inputs=inputs, outputs=outputs)
    await _start(dut)
    rows: Words = np.zeros((_BATCH, row_words(inputs)), np.uint64)
    expected: Words = np.zeros((_BATCH, row_words(outputs)), np.uint64)
    last: dict[str, int] = {}
    cycle = 0
    while count := source.fill(rows, expected):
        for row, out in zip(rows[:count], expected[:count], strict=True):
            given = {name: field.value(row) for name, field in inputs.items()}
            wanted = {name: field.value(out) for name, field in outputs.items()}
            await _cycle(dut, last, given, wanted, cycle)
            cycle += 1
    dut._log.info(
        "VLANE %s",
        json.dumps({"cycles": cycle, "decisions": source.decisions, "rules": source.rule_counts()}),
    )
    assert cycle == source.cycles


@cocotb.test()
@cocotb.parametrize(name=[scenario.name for scenario in SCENARIOS])
async def follows_the_directed_scenario(dut: Any, name: str) -> None:
    """Drive one scenario whose grants are written out by hand."""
    scenario = next(s for s in SCENARIOS if s.name == name)
    plan = _plan()
    await _start(dut)
    state = golden.new_state(plan["entries"])
    rules = np.zeros(len(RULES), np.int64)
    last: dict[str, int] = {}
    cycle = 0
    for given, expected in play(scenario, state, rules, data_vls=plan["data_vls"], vl15=plan["vl15"]):
        await _cycle(dut, last, given, expected, cycle)
        cycle += 1
    assert cycle >= len(scenario.steps)
