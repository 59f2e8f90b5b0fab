"""Decisions per cycle of a scheduler, measured in lockstep with back-to-back one-block packets."""

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
    """Return grants per cycle of a lockstep run in which every lane always has a packet of one block.

    All table entries have weight 1, so each decision advances to another entry. Returns ``None`` for a block that is
    not a scheduler with a table.

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
