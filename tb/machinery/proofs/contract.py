"""Contract of a block at its ports: assumptions on inputs and guarantees on outputs, for assertions in simulation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Value
from amaranth.lib.wiring import Component, In, Out, Signature


class Contract(Component):
    """Observer of a block's ports. It drives one output ``NAME_holds`` for each assumption and each guarantee.

    Parameters
    ----------
    block : wiring.Component
        Block whose ports are observed; its internal signals are not visible.

    Attributes
    ----------
    parameters : object
        Parameters of the block.
    assumptions : mapping of str to str
        Statements about inputs, by name: lower case, words joined by hyphens.
    guarantees : mapping of str to str
        Statements about outputs, by name.
    """

    assumptions: ClassVar[Mapping[str, str]] = {}
    guarantees: ClassVar[Mapping[str, str]] = {}

    def __init__(self, block: Any) -> None:
        self.block, self.parameters = block, block.parameters
        self._held: dict[str, list[Value]] = defaultdict(list)
        names = (*self.assumptions, *self.guarantees)
        super().__init__({**_observed(block.signature), **{output_of(name): Out(1) for name in names}})

    def claim(self, _m: Module, name: str, holds: Value, *, when: Value | None = None) -> None:
        """State that ``holds`` is true wherever ``when`` is, as a part of an assumption or a guarantee."""
        held = Value.cast(holds).bool()
        self._held[name].append(held if when is None else held | ~Value.cast(when).bool())

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self.observe(m)
        for name, held in self._held.items():
            m.d.comb += getattr(self, output_of(name)).eq(Cat(held).all())
        return m

    def observe(self, m: Module) -> None:
        """Add the reference model and all claims."""
        raise NotImplementedError


def output_of(name: str) -> str:
    """Return the output that is asserted while an assumption or a guarantee holds."""
    return f"{name.replace('-', '_')}_holds"


def _observed(signature: Any) -> dict[str, Any]:
    """Return the members of a signature, all as inputs."""
    found = {}
    for name, member in signature.members.items():
        inputs = Out(Signature(_observed(member.signature))) if member.is_signature else In(member.shape)
        found[name] = inputs.array(*member.dimensions)
    return found
