"""Proof for components with parity: without a flipped bit, no upset is reported."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Module, Value

from vlane.tb.machinery.proofs.properties import Properties, free_inputs

NO_UPSET = {"no-upset": "As long as no stored bit flips, every stored value matches its parity, and `upset` is 0."}


class ParityProperties(Properties):
    """Component with parity and free inputs.

    Parameters
    ----------
    component : wiring.Component
        Component with an output ``upset`` and observed registers ``stored``.
    """

    statements: ClassVar = NO_UPSET

    def __init__(self, component: Any) -> None:
        super().__init__()
        self.component = component

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.component)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.component = self.component
        claim_no_upset(self, m, self.component)
        return m


def claim_no_upset(properties: Properties, m: Module, component: Any) -> None:
    """Claim that all registers match their parity and that ``upset`` stays 0."""
    properties.claim(m, "no-upset", ~component.stored.upset)
    properties.claim(m, "no-upset", ~component.upset)
