"""Proofs of a block of the catalogue, and the covers of their premises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.tb.machinery.proofs.properties import Instance
from vlane.tb.machinery.proofs.prove import Cover, Proof, cover, prove
from vlane.tb.machinery.synthesis.netlist import prove_netlist


@dataclass(frozen=True, slots=True)
class ProvenInstance:
    """An instance with the verdict on it.

    Parameters
    ----------
    instance : Instance
        What was to be proven.
    proof : Proof
        The verdict.
    covers : tuple of Cover
        Of the properties that no instance before it has.
    """

    instance: Instance
    proof: Proof
    covers: tuple[Cover, ...]

    @property
    def holds(self) -> bool:
        """Whether all is proven, and every premise was met."""
        return self.proof.verdict == "PASS" and all(each.reached == each.assertions for each in self.covers)


def prove_block(
    block: Block, instances: tuple[Instance, ...], *, covers: bool, timeout_seconds: int, fresh: bool = False
) -> Iterator[ProvenInstance]:
    """Prove every property of instances of a block, one after the other.

    Parameters
    ----------
    covers : bool
        Whether the premises of each property are looked for too, in the first of the instances that has it.
    timeout_seconds : int
        Time after which a proof is given up.
    fresh : bool
        Run the solver even if a verdict is in the cache.
    """
    seen: set[str] = set()
    for instance in instances:
        name = f"{block.name}-{instance.name}"
        proof = prove(instance.make(block.make), name, timeout_seconds=timeout_seconds, fresh=fresh)
        new = [each for each in proof.properties if each not in seen] if covers else []
        seen.update(new)
        found: tuple[Cover, ...] = ()
        if new:
            found = cover(instance.make(block.make), name, new, timeout_seconds=timeout_seconds, fresh=fresh)
        yield ProvenInstance(instance, proof, found)


def prove_block_netlist(
    block: Block, parameters: Mapping[str, Any], netlist: str, *, timeout_seconds: int, fresh: bool = False
) -> Proof:
    """Prove that what synthesis makes of an instance of a block is that instance."""
    component = block.make(parameters)
    return prove_netlist(component, block.name, netlist, timeout_seconds=timeout_seconds, fresh=fresh)
