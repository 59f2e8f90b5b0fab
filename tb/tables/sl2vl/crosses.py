"""Crosses of SL2VL: results of look-ups, writes of rows being read, and resets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.tb.machinery.native.crosses import Cross, Cycles, Event, Truths, after, together

JUDGED_FROM_CYCLES = 200_000
"""Length of a run, in cycles, from which on every cross must have occurred."""


def _written(cycles: Cycles) -> Truths:
    return cycles.on("program__enable")


def _written_to(port: int, to: str) -> Event:
    """Return the event that an input looks up a row written in this cycle or in the previous cycle."""

    def near(cycles: Cycles) -> Truths:
        writes = _written(cycles) & (cycles.on("program__every_input") | (cycles.bits("program__input") == port))
        output = cycles.bits("program__output")
        found: Truths = (after(writes) if to == "next" else writes) & (
            cycles.bits("out_port", port, 6) == (after(output) if to == "next" else output)
        )
        return found

    return near


EVENTS: Mapping[str, Event] = {
    "write": _written,
    "write of every input": lambda cycles: _written(cycles) & cycles.on("program__every_input"),
    "write of one input": lambda cycles: _written(cycles) & ~cycles.on("program__every_input"),
    "write of input 0's row": _written_to(0, "this"),
    "input 0's row just written": _written_to(0, "next"),
    "drop at input 0": lambda cycles: cycles.bits("drop", 0, 1) != 0,
    "no lane at input 0": lambda cycles: cycles.bits("invalid", 0, 1) != 0,
    "reset": lambda cycles: cycles.on("rst"),
}


def crosses(parameters: Mapping[str, Any]) -> tuple[Cross, ...]:
    """Return the crosses that an instance can reach."""
    found = together(
        "mapped x write of every input",
        "mapped x write of one input",
        "dropped x write of every input",
        "dropped x write of one input",
        "invalid x write",
        "no_such_output x write",
        "all_inputs_written x dropped",
        "all_inputs_written x invalid",
        "read_while_written x write of every input",
        "read_while_written x write of one input",
        "read_while_written x drop at input 0",
        "write of input 0's row x drop at input 0",
        "input 0's row just written x drop at input 0",
        "input 0's row just written x write of input 0's row",
        "mapped x reset",
        "dropped x reset",
        "write x reset",
        "all_inputs_written x reset",
        "read_while_written x reset",
    )
    if parameters["data_vls"] < 15:
        found += together(
            "write of input 0's row x no lane at input 0", "input 0's row just written x no lane at input 0"
        )
    return found
