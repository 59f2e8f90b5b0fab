"""How many decisions a scheduler takes a cycle, counted in lockstep: one-block packets, back to back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.schedulers.registry import SCHEDULERS
from vlane.sim_top.blocks import Block
from vlane.tb.by_name import stimulus
from vlane.tb.machinery.native.lockstep import run_lockstep
from vlane.tb.machinery.native.model import compile_model
from vlane.tb.schedulers.traffic import Phase

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
    saturating = getattr(stimulus(block.name), "saturating", None) if block.name in SCHEDULERS else None
    if saturating is None:
        return None
    phases = (Phase(_SETTLE, 0, most_blocks=1), Phase(_COUNTED, most_blocks=1))
    with compile_model(block.make(parameters), block.name) as model:
        traffic = saturating(parameters, phases, seed=1, inputs=model.inputs, outputs=model.outputs)
        outcome = run_lockstep(model, traffic)
    if outcome.mismatch is not None:
        raise RuntimeError(str(outcome.mismatch))
    return int(traffic.statistics[1].decisions[0]) / _COUNTED
