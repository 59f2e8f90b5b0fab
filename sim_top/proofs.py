"""Proofs of a block of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.tb.prove import Proof, prove

__all__ = ["prove_block"]


def prove_block(block: Block, parameters: Mapping[str, Any], *, timeout_seconds: int) -> Proof:
    """Prove every property of one instance of a block."""
    name = "-".join([block.name, *map(str, parameters.values())])
    return prove(block.properties(block.make(parameters)), name, timeout_seconds=timeout_seconds)
