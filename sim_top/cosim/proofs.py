"""Proofs of a catalogue block, and reachability covers of their premises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.sim_top.systemverilog.netlist_source import netlist_source
from vlane.tb.machinery.proofs.properties import Instance
from vlane.tb.machinery.proofs.prove import Cover, Proof, cover, prove
from vlane.tb.machinery.synthesis.netlist import prove_netlist


@dataclass(frozen=True, slots=True)
class ProvenInstance:
    """Instance with its verdict.

    Parameters
    ----------
    instance : Instance
        Instance and properties to prove.
    proof : Proof
        Verdict.
    covers : tuple of Cover
        Covers of the properties that no earlier instance has.
    """

    instance: Instance
    proof: Proof
    covers: tuple[Cover, ...]

    @property
    def holds(self) -> bool:
        """Whether all properties are proven and all premises are reachable."""
        return self.proof.verdict == "PASS" and all(each.reached == each.assertions for each in self.covers)


def prove_block(
    block: Block,
    instances: tuple[Instance, ...],
    *,
    covers: bool,
    timeout_seconds: int,
    fresh: bool = False,
    solver: str = "boolector",
) -> Iterator[ProvenInstance]:
    """Prove the properties of a block's instances, one instance after the other.

    Parameters
    ----------
    covers : bool
        Whether to prove the premises of each property reachable, in the first instance that has the property.
    timeout_seconds : int
        Time limit of a proof.
    fresh : bool
        Whether to run the solver even if the verdict is cached.
    solver : str
        Solver of the proofs. Covers use the usual solver.
    """
    seen: set[str] = set()
    for instance in instances:
        name = f"{block.name}-{instance.name}"
        made = instance.make(block.make)
        proof = prove(made, name, timeout_seconds=timeout_seconds, ignore_cache=fresh, solver=solver)
        new = [each for each in proof.properties if each not in seen] if covers else []
        seen.update(new)
        found: tuple[Cover, ...] = ()
        if new:
            found = cover(instance.make(block.make), name, new, timeout_seconds=timeout_seconds, ignore_cache=fresh)
        yield ProvenInstance(instance, proof, found)


def prove_block_netlist(
    block: Block, parameters: Mapping[str, Any], netlist: str, *, timeout_seconds: int, fresh: bool = False
) -> Proof:
    """Prove that the synthesised netlist of an instance is equivalent to its exported text."""
    text = netlist_source(block, parameters)
    return prove_netlist(text, block.name, netlist, timeout_seconds=timeout_seconds, ignore_cache=fresh)
