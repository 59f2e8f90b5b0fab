"""How many decisions a scheduler takes a cycle, counted in lockstep: one-block packets, back to back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.tb import stimulus_dtable, stimulus_vlarb
from vlane.tb.lockstep import run_lockstep
from vlane.tb.model import compile_model
from vlane.tb.stimulus import Layout
from vlane.tb.stimulus_egress import EgressStimulus
from vlane.tb.traffic import Phase

from vlane.dtable import DTable, DTableEntry
from vlane.vlarb import VLArbEntry, VLArbTable

__all__ = ["decisions_per_cycle"]

_SETTLE, _COUNTED = 1000, 20_000


def decisions_per_cycle(block: Block, parameters: Mapping[str, Any]) -> float | None:
    """Count the grants of a lockstep run in which every lane always has a packet of one block.

    Every entry of the tables has weight 1, so that each decision moves on to another entry. ``None`` for a block that
    is no scheduler with a table.

    Raises
    ------
    RuntimeError
        If hardware and golden differ.
    """
    if block.name not in {"vlarb", "dtable"}:
        return None
    with compile_model(block.make(parameters), block.name) as model:
        traffic = _saturating(block.name, parameters, model.inputs, model.outputs)
        outcome = run_lockstep(model, traffic)
    if outcome.mismatch is not None:
        raise RuntimeError(str(outcome.mismatch))
    return int(traffic.statistics[1].decisions[0]) / _COUNTED


def _saturating(name: str, parameters: Mapping[str, Any], inputs: Layout, outputs: Layout) -> EgressStimulus:
    phases = (Phase(_SETTLE, 0, most_blocks=1), Phase(_COUNTED, most_blocks=1))
    lanes, entries = parameters["data_vls"], parameters["entries"]
    if name == "vlarb":
        listed = tuple(VLArbEntry(index % lanes, 1) for index in range(entries))
        return stimulus_vlarb.planned(
            parameters, [VLArbTable(listed, listed, 1)], phases, seed=1, inputs=inputs, outputs=outputs
        )
    requesters = parameters["requesters"] or lanes
    table = DTable(tuple(DTableEntry(index % requesters, 1) for index in range(entries)))
    return stimulus_dtable.qualified(
        parameters, cycles=_SETTLE + _COUNTED, seed=1, inputs=inputs, outputs=outputs,
        writes=stimulus_dtable.writes_of(table, entries), phases=phases,
    )  # fmt: skip
