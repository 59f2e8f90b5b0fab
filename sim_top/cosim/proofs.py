"""Proofs of a block of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.tb.proofs.prove import Proof, prove
from vlane.tb.synthesis.netlist import prove_netlist

__all__ = ["prove_block", "prove_block_netlist"]


def prove_block(block: Block, parameters: Mapping[str, Any], *, timeout_seconds: int) -> Proof:
    """Prove every property of one instance of a block."""
    name = "-".join([block.name, *map(str, parameters.values())])
    return prove(block.properties(block.make(parameters)), name, timeout_seconds=timeout_seconds)


def prove_block_netlist(block: Block, parameters: Mapping[str, Any], netlist: str, *, timeout_seconds: int) -> Proof:
    """Prove that what synthesis makes of an instance of a block is that instance."""
    return prove_netlist(block.make(parameters), block.name, netlist, timeout_seconds=timeout_seconds)
