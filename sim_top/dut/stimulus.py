"""Stimulus of a block, restricted to the ports that a foreign design has."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vlane.errors import misplaced, missing_value
from vlane.schedulers.programs import program_writes, read_program
from vlane.schedulers.registry import IB_ARBITER, LINE_RATE, SCHEDULERS
from vlane.sim_top.blocks import Block
from vlane.sim_top.dut.wiring import Wiring
from vlane.tb.by_name import stimulus as scheduler_module
from vlane.tb.machinery.native.packing import put_writes
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Stimulus, cut
from vlane.tb.machinery.recordings.power_on import power_on_writes
from vlane.tb.schedulers.stimulus_egress import EgressStimulus
from vlane.tb.schedulers.traffic import CERTAIN, Phase, new_statistics, varied_phases

_EMPTY = 62
"""Exponent of the packet probability, 2**-62 per cycle, of a lane that stays empty."""


@dataclasses.dataclass(frozen=True)
class Traffic:
    """Traffic for a foreign design.

    Parameters
    ----------
    stimulus : Stimulus
        Golden with its traffic.
    unseen : int
        Number of initial cycles that only golden runs, to write the table that the design has built in.
    before : array of uint64
        Rows of the block's inputs that only the design runs first, to give its memories golden's contents.
    """

    stimulus: Stimulus
    unseen: int
    before: Words


def foreign_traffic(
    block: Block, parameters: Mapping[str, Any], wiring: Wiring, *, cycles: int, seed: int, table: Path | None
) -> Traffic:
    """Return the block's qualification, restricted to the design's ports.

    Without ``wild``, no input violates the contract. Without a reset, no reset is applied. An input that the design
    lacks keeps its constant value if the traffic allows it. All results of equal calls are equal and independent.

    Raises
    ------
    InputError
        If a required table is missing, a table is not usable, or the table does not fit.
    """
    built_in = (
        block.name in SCHEDULERS and bool(SCHEDULERS[block.name].section) and _absent(wiring, "program__enable", 0)
    )
    if built_in and table is None:
        raise missing_value("--table", "the design has a built-in table (absent.program__enable); golden needs it too")
    if built_in and parameters.get("form") == LINE_RATE:
        raise wiring.map.misplaced(("absent", "program__enable"), f"with form {LINE_RATE}")
    made = _stimulus(block, parameters, wiring, cycles, seed, table)
    edits = _edits(wiring, built_in=built_in)
    made.phases = tuple(_edited(phase, edits) for phase in made.phases)
    if edits.keys() - {"wild"}:
        made.applicable, made.crosses = frozenset(), None
    unseen = 0
    if built_in and isinstance(made, EgressStimulus):  # every scheduler's is
        unseen = made.programming_cycles
        made.phases = (Phase(unseen, 0, idle_bits=_EMPTY), *made.phases)
        made.statistics.append(new_statistics())
    return Traffic(made, unseen, _contents(block, parameters, wiring))


def _absent(wiring: Wiring, name: str, value: int) -> bool:
    """Return whether the design lacks an input and the map holds it at this value."""
    return wiring.absent.get(name) == value


def _stimulus(
    block: Block, parameters: Mapping[str, Any], wiring: Wiring, cycles: int, seed: int, table: Path | None
) -> Stimulus:
    places = {"inputs": wiring.inputs.layout, "outputs": wiring.outputs.layout}
    if table is None:
        return block.qualify(parameters, cycles=cycles, seed=seed, **places)
    with_table = [each.name for each in SCHEDULERS.values() if each.section]
    if block.name not in with_table:
        raise misplaced("--table", f"with {block.name}: only {', '.join(with_table)} have tables")
    tables = read_program(table, SCHEDULERS[block.name])
    writes = program_writes(tables, block.name, parameters, str(table))
    if block.name != IB_ARBITER:
        return block.qualify(parameters, cycles=cycles, seed=seed, writes=writes, **places)
    each = max(64, 2 * len(writes), cycles // 8)
    phases = cut(varied_phases([0], each), cycles)
    planned: Stimulus = scheduler_module(block.name).planned(
        parameters, [tables.sections[block.name]], phases, seed=seed, **places
    )
    return planned


def _edits(wiring: Wiring, *, built_in: bool) -> dict[str, Any]:
    """Return the fields of every phase that the map overrides, by name."""
    edits: dict[str, Any] = {}
    if wiring.map.reset is None or built_in:
        edits["reset"] = 0
    if _absent(wiring, "program__enable", 0):
        edits |= {"rewrite": 0, "write": 0, "table": -1}
    if _absent(wiring, "ready", 1):
        edits |= {"ready": CERTAIN, "paced": False}
    if _absent(wiring, "hold_data", 0):
        edits["hold"] = 0
    if "heads__fits" in wiring.absent:
        lanes = wiring.inputs.ports["heads__fits"].bits
        edits |= {"stall": 0} if _absent(wiring, "heads__fits", (1 << lanes) - 1) else {}
    sizes = wiring.map.absent.get("heads__blocks")
    if sizes is not None and sizes.each:
        edits |= {"least_blocks": sizes.each, "most_blocks": sizes.each, "extremes": 0}
    if edits or not wiring.map.stimulus.wild:
        edits["wild"] = False
    return edits


def _edited(phase: Any, edits: Mapping[str, Any]) -> Any:
    known = {field.name for field in dataclasses.fields(phase)}
    return dataclasses.replace(phase, **{name: value for name, value in edits.items() if name in known})


def _contents(block: Block, parameters: Mapping[str, Any], wiring: Wiring) -> Words:
    """Return the writes that give a design's memories golden's power-on contents."""
    writes = [] if "program__enable" in wiring.absent else power_on_writes(block.name, parameters)
    rows = np.zeros((len(writes), wiring.inputs.words), np.uint64)
    put_writes(wiring.inputs.layout, writes, rows)
    for name, value in wiring.absent.items():
        wiring.inputs.layout[name].put(rows, value)
    for row, write in zip(rows, writes, strict=True):  # a write to a missing input is rejected by check_rows
        for name in write.keys() & wiring.absent.keys():
            wiring.inputs.layout[name].put(row, write[name])
    return rows
