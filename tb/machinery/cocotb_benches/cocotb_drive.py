"""Common part of the cocotb benches: clock, reset, one row per cycle, comparison before the rising edge."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotb.utils import get_sim_time

from vlane.tb.machinery.cocotb_benches.cocotb_bench import SETTING
from vlane.tb.machinery.native.rows import Port, Words, row_layout, row_words
from vlane.tb.machinery.native.stimulus import Layout, Qualify, Stimulus

_BATCH = 1024
_CLOCK_NS = 2


def setting() -> dict[str, Any]:
    """Return the settings of the bench, which the parent process passes as JSON."""
    settings: dict[str, Any] = json.loads(os.environ[SETTING])
    return settings


def layouts(settings: Mapping[str, Any]) -> tuple[Layout, Layout]:
    """Return the positions of the input ports and of the output ports in their rows."""
    ports = [Port(name, bits, is_input=is_input) for name, bits, is_input in settings["ports"]]
    return row_layout(ports, inputs=True), row_layout(ports, inputs=False)


async def start(dut: Any, inputs: Iterable[str]) -> None:
    """Start the clock with all inputs 0 and apply one cycle of reset. A planted mutant is active from the start."""
    for name in inputs:
        getattr(dut, name).value = 0
    for name, value in setting().get("constant", {}).items():
        getattr(dut, name).value = value
    Clock(dut.clk, _CLOCK_NS, unit="ns").start()
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0


async def cycle(dut: Any, last: dict[str, int], row: dict[str, int], expected: dict[str, int], number: int) -> None:
    """Drive a row of inputs after the falling edge, and compare the outputs with golden before the rising edge."""
    for name, value in row.items():
        if last.get(name) != value:
            getattr(dut, name).value = value
            last[name] = value
    await RisingEdge(dut.clk)
    for name, value in expected.items():
        got = int(getattr(dut, name).value)
        if got != value:
            found = {"cycle": number, "time": int(get_sim_time("step")), "expected": expected}
            dut._log.info("VLANE_DIFFERS %s", json.dumps(found))
        assert got == value, f"cycle {number}: {name} is {got}, golden {value}; inputs {row}"
    await FallingEdge(dut.clk)


async def agree(dut: Any, source: Stimulus, inputs: Layout, outputs: Layout) -> None:
    """Drive a whole stimulus and compare every output with golden in every cycle."""
    await start(dut, inputs)
    rows: Words = np.zeros((_BATCH, row_words(dict(inputs))), np.uint64)
    expected: Words = np.zeros((_BATCH, row_words(dict(outputs))), np.uint64)
    last: dict[str, int] = {}
    done = 0
    while count := source.fill(rows, expected):
        for row, out in zip(rows[:count], expected[:count], strict=True):
            given = {name: field.value(row) for name, field in inputs.items()}
            wanted = {name: field.value(out) for name, field in outputs.items()}
            await cycle(dut, last, given, wanted, done)
            done += 1
    said = {
        "cycles": done,
        "decisions": source.decisions,
        "rules": source.rule_counts(),
        "crosses": source.cross_counts(),
        "phases": [getattr(phase, "name", "") for phase in source.phases],
    }
    dut._log.info("VLANE %s", json.dumps(said))
    assert done == source.cycles


async def qualified_agree(dut: Any, qualify: Qualify) -> None:
    """Drive the qualification stimulus named in the settings, and compare every output with golden."""
    settings = setting()
    inputs, outputs = layouts(settings)
    optional = {"writes": settings["writes"]} if settings.get("writes") else {}
    source = qualify(
        settings["parameters"],
        cycles=settings["cycles"],
        seed=settings["seed"],
        inputs=inputs,
        outputs=outputs,
        **optional,
    )
    await agree(dut, source, inputs, outputs)


async def follow(dut: Any, steps: Iterable[tuple[dict[str, int], dict[str, int]]]) -> int:
    """Drive hand-written cycles from reset, compare the listed outputs, and return the number of cycles.

    Inputs that a cycle omits are 0.
    """
    inputs, _ = layouts(setting())
    await start(dut, inputs)
    last: dict[str, int] = {}
    number = 0
    for given, expected in steps:
        await cycle(dut, last, {**dict.fromkeys(inputs, 0), **given}, expected, number)
        number += 1
    return number
