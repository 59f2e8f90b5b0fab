"""Named properties of a block: statements, proof instances, and premises of each claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from amaranth import tracer
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Signal, Value
from amaranth.lib import wiring

REACHED = "reach."
"""Prefix of the label of the cover of a claim's premise."""


PAST = "past."
"""Prefix of the label of the assumption that a claim of a later stage held in the cycles before."""


class Claims:
    """Collector of the assertions of a proof, each under the name of a property.

    Parameters
    ----------
    statements : mapping of str to str
        Statement of each property, by name. Claims of other names are rejected.

    Attributes
    ----------
    count : dict of str to int
        Assertions made so far, by name.

    Raises
    ------
    KeyError
        If a claim's name is not one of ``statements``.
    """

    def __init__(self, statements: Mapping[str, str], stages: Sequence[Sequence[str]] = ()) -> None:
        self.statements, self.stages = statements, stages
        self.count: dict[str, int] = {}

    def __call__(self, m: Module, name: str, holds: Value, *, when: Value | None = None) -> None:
        """Assert ``holds`` wherever ``when`` is true, and cover ``when`` to detect vacuous claims.

        Put preconditions in ``when`` (or in an ``m.If`` around the call), not in ``holds``.
        """
        if name not in self.statements:
            raise KeyError(f"no statement for the property {name!r}")
        self.count[name] = self.count.get(name, 0) + 1
        label = f"{name}.{self.count[name]}"
        assertion = Assert(holds, label, src_loc_at=1)
        if when is None:
            m.d.comb += [assertion, Cover(1, REACHED + label, src_loc_at=1)]
        else:
            with m.If(when):
                m.d.comb += [assertion, Cover(1, REACHED + label, src_loc_at=1)]
        if self.stage(name):
            self._suppose(m, label, holds if when is None else ~when.bool() | holds.bool())

    def stage(self, name: str) -> int:
        """Return the stage in which a property is proven, counted from 0."""
        return next((number for number, names in enumerate(self.stages, 1) if name in names), 0)

    def _suppose(self, m: Module, label: str, holds: Value) -> None:
        """Assume that a claim held in all cycles before, by more than a register, which sby would bypass."""
        broken = Signal(name=f"broken_{label}")
        with m.If(~Value.cast(holds).bool()):
            m.d.sync += broken.eq(1)
        m.d.comb += Assume(~broken, PAST + label)


class MergedClaims:
    """Collector that merges the claims of equal parts: one claim per source line, with the union of premises.

    Otherwise a proof would look for hundreds of premises, one for each place of each buffer.

    Parameters
    ----------
    claim : Claims
        Collector of the combined claims.
    longer : bool
        Whether packets have several flits.
    """

    def __init__(self, claim: Claims, *, longer: bool) -> None:
        self._claim, self._longer = claim, longer
        self._made: dict[tuple[str, Any], list[tuple[Value, Value]]] = {}

    def __call__(self, name: str, holds: Value, *, when: Value | None = None, longer: bool = False) -> None:
        """Claim ``holds`` wherever ``when`` is true. ``longer`` marks premises that need packets of several flits."""
        line = tracer.get_src_loc(0)
        premise = Value.cast(1 if when is None else when).bool()
        sought = premise if self._longer or not longer else Value.cast(1)
        self._made.setdefault((name, line), []).append((sought, ~premise | Value.cast(holds).bool()))

    def tell(self, m: Module) -> None:
        """Make the claims."""
        for (name, _), pairs in self._made.items():
            premises, holds = (Cat(each) for each in zip(*pairs, strict=True))
            self._claim(m, name, holds.all(), when=premises.any())


class Properties(Elaboratable):
    """Properties proven around a component, which itself stays unchanged.

    Attributes
    ----------
    statements : mapping of str to str
        Statement of each property as a sentence for the block's users, by name (lower case, words joined by hyphens).
    stages : sequence of sequence of str
        Groups of properties that are proven after all other properties, in order. A group assumes the earlier groups
        in every cycle and the later groups in earlier cycles, so the cycle of the first violation is never excluded.
    bounded : int
        Number of cycles from reset that the proof covers, or 0 for all cycles by induction.
    depth : int
        Steps of the induction.
    within : int
        Cycles from reset within which every premise must be reached.
    unfolds_memories : bool
        Whether memories become registers, because solvers cannot read one address by two ports in a cycle.
    any_memory : bool
        Whether memories have arbitrary initial contents.
    """

    statements: ClassVar[Mapping[str, str]] = {}
    stages: ClassVar[Sequence[Sequence[str]]] = ()
    bounded = 0
    depth = 2
    within = 20
    unfolds_memories = False
    any_memory = False

    def __init__(self) -> None:
        self.claim = Claims(self.statements, self.stages)

    @property
    def method(self) -> str:
        """Proof method, in words."""
        return f"bounded, {self.bounded} cycles from reset" if self.bounded else f"induction, {self.depth} steps"

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Instance:
    """Instance of a block, or of a part of a block, with its properties.

    Parameters
    ----------
    name : str
        One word, unique for the block.
    properties : callable
        Constructor of the properties around the component.
    parameters : mapping
        Parameters of the component that differ from the block's defaults.
    part : callable, optional
        Constructor of the component from ``parameters``, for a part of the block.
    """

    name: str
    properties: Callable[[Any], Properties]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    part: Callable[..., wiring.Component] | None = None

    def make(self, block: Callable[[Mapping[str, Any]], Any]) -> Properties:
        """Return the properties around a new component. ``block`` is the block's constructor."""
        return self.properties(self.part(**self.parameters) if self.part else block(self.parameters))

    def __str__(self) -> str:
        return ", ".join(f"{key}={value}" for key, value in self.parameters.items())


def free_inputs(component: Any) -> list[Value]:
    """Return the input ports of a component, to be left free in a proof."""
    return [
        Value.cast(value) for _, member, value in component.signature.flatten(component) if member.flow.name == "In"
    ]
