"""Parts of which a design has many equal ones."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Value
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO


class Part(Elaboratable):
    """A component as a submodule that a tool may convert once for all equal ones.

    Two parts are equal if their components have the same type and were made of values that print alike. Outside, only
    the members of the component's signature may be used. It elaborates to the component, unless the platform has a
    method ``share``: then to what that returns for the part.

    Parameters
    ----------
    component : wiring.Component
        The submodule. Its clock domain is ``sync``.
    made_of : objects
        All that its hardware depends on, beside its type.
    """

    def __init__(self, component: Any, *made_of: object) -> None:
        self.component = component
        self.key = (type(component), *map(repr, made_of))

    def inputs_and_outputs(self) -> tuple[dict[str, Value], dict[str, Value]]:
        """Return the ports of the component's module by name."""
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
    """A FIFO as a part; levels are not to be used outside.

    Parameters
    ----------
    fifo : SyncFIFO
        The submodule.
    """

    def __init__(self, fifo: SyncFIFO) -> None:
        super().__init__(fifo, fifo.width, fifo.depth)

    def inputs_and_outputs(self) -> tuple[dict[str, Value], dict[str, Value]]:
        """Return the ports of the FIFO's module by name."""
        ways = ("w_en", "w_data", "r_en"), ("w_rdy", "r_rdy", "r_data")
        inputs, outputs = ({name: getattr(self.component, name) for name in names} for names in ways)
        return inputs, outputs
