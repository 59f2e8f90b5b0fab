"""Submodules that occur many times in a design and that a tool may convert once."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Value
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO


class Part(Elaboratable):
    """Wrap a component as a submodule that a tool may convert once for all equal instances.

    Two parts are equal if their components have the same type and the values in ``made_of`` have equal ``repr``. Users
    of a part access only the members of the component's signature. A part elaborates to its component, unless the
    platform has a method ``share``; then it elaborates to the result of ``platform.share(part)``.

    Parameters
    ----------
    component : wiring.Component
        The submodule. Its clock domain is ``sync``.
    made_of : objects
        Values that, with the type, determine the component's hardware.
    """

    def __init__(self, component: Any, *made_of: object) -> None:
        self.component = component
        self.key = (type(component), *map(repr, made_of))

    def inputs_and_outputs(self) -> tuple[dict[str, Value], dict[str, Value]]:
        """Return the input and output ports of the component's module, by name."""
        inputs: dict[str, Value] = {}
        outputs: dict[str, Value] = {}
        for path, member, value in self.component.signature.flatten(self.component):
            ports = inputs if member.flow == wiring.In else outputs
            if len(Value.cast(value)):
                ports["__".join(map(str, path))] = Value.cast(value)
        return inputs, outputs

    def elaborate(self, platform: Any) -> Any:
        share = getattr(platform, "share", None)
        return self.component if share is None else share(self)


class FIFOPart(Part):
    """Wrap a FIFO as a part. Users of the part must not access its fill level.

    Parameters
    ----------
    fifo : SyncFIFO
        The submodule.
    """

    def __init__(self, fifo: SyncFIFO) -> None:
        super().__init__(fifo, fifo.width, fifo.depth)

    def inputs_and_outputs(self) -> tuple[dict[str, Value], dict[str, Value]]:
        """Return the input and output ports of the FIFO's module, by name."""
        ways = ("w_en", "w_data", "r_en"), ("w_rdy", "r_rdy", "r_data")
        inputs, outputs = ({name: getattr(self.component, name) for name in names} for names in ways)
        return inputs, outputs
