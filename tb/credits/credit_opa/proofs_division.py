"""Proofs of Omni-Path credits: while limits change, the sender never exceeds the far buffer.

Assumptions: only fitting packets are sent, only outstanding units return, and every requested division fits the far
buffer.
"""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from vlane.credits.credit_opa import ResizeStep
from vlane.tb.credits.credit_opa.proofs_port import total
from vlane.tb.machinery.proofs.properties import Properties, free_inputs

_BUFFER = 2176
_SUM_BITS = 16


class CreditOPADivisionProperties(Properties):
    """Check that a port never exceeds the far buffer while its limits change under traffic.

    Parameters
    ----------
    port : CreditOPA
        The component.
    """

    statements: ClassVar = {
        "no-overflow": "The outstanding units, plus those dedicated but unused, never exceed the far buffer, in any "
        "step of any change.",
        "valid-division": "The limits in force never promise more than the far buffer, in any step of any change.",
        "sharing": "The outstanding shared units of lanes that need not return them never exceed the overall limit.",
        "drained": "Dedicated limits shrink only after all shared units have come back, grow only once no lane "
        "exceeds them, and lanes share again only when all dedicated limits are in force.",
    }

    def __init__(self, port: Any) -> None:
        super().__init__()
        self.port = port

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.port)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.port = p = self.port
        s = p.sender
        lanes = range(p.vls)
        granted = Cat(s.grant[vl] & ~s.fits[vl] for vl in lanes).any()
        m.d.comb += [Assume(~granted), Assume(~s.too_large), Assume(~p.grant | self._head_is_granted())]
        in_force = self._sum(m, "in_force", [*(s.dedicated[vl] for vl in lanes), s.overall])
        to_come = self._sum(m, "to_come", [*(s.new_dedicated[vl] for vl in lanes), s.new_overall])
        m.d.comb += Assume(~p.apply | (to_come <= _BUFFER))
        out = self._sum(m, "out", [self._larger(s.used[vl], s.dedicated[vl]) for vl in lanes])
        sharing = self._sum(m, "sharing", [*s.excess])
        steady = self._sum(m, "steady", [Mux(s.changing[vl], 0, s.excess[vl]) for vl in lanes])
        step = Value.cast(p.step)
        idle = step == int(ResizeStep.IDLE)
        all_share = idle | (step == int(ResizeStep.DRAIN_SHARED))
        self.claim(m, "no-overflow", out <= _BUFFER)
        self.claim(m, "valid-division", in_force <= _BUFFER)
        self.claim(m, "valid-division", (to_come <= _BUFFER) & (step <= int(ResizeStep.RAISE_OVERALL)), when=~idle)
        self.claim(m, "sharing", sharing <= s.overall, when=all_share)
        self.claim(m, "sharing", steady <= s.overall, when=~all_share)
        self._while_changing(m, step)
        return m

    def _head_is_granted(self) -> Value:
        """Return whether the granted size is that of the lane's head."""
        p = self.port
        return Cat((p.grant_vl == vl) & (p.grant_blocks == p.blocks[vl]) for vl in range(p.vls)).any()

    def _while_changing(self, m: Module, step: Value) -> None:
        """Claim the invariants of each step of a change."""
        s = self.port.sender
        drained = (ResizeStep.LOWER_DEDICATED, ResizeStep.RAISE_DEDICATED, ResizeStep.RAISE_SHARED)
        lowered = (ResizeStep.DRAIN_DEDICATED, ResizeStep.RAISE_DEDICATED)
        raised = (ResizeStep.RAISE_SHARED, ResizeStep.RAISE_OVERALL)
        not_sharing = (ResizeStep.DRAIN_SHARED, *drained, ResizeStep.DRAIN_DEDICATED)
        for vl in range(self.port.vls):
            changes = s.changing[vl]
            self.claim(m, "drained", s.excess[vl] == 0, when=changes & _is_one_of(step, drained))
            self.claim(m, "drained", s.dedicated[vl] <= s.new_dedicated[vl], when=changes & _is_one_of(step, lowered))
            self.claim(m, "drained", s.dedicated[vl] == s.new_dedicated[vl], when=changes & _is_one_of(step, raised))
            self.claim(m, "drained", s.shared_limit[vl] == 0, when=changes & _is_one_of(step, not_sharing))
            kept = (s.dedicated[vl] == s.new_dedicated[vl]) & (s.new_overall >= s.overall)
            self.claim(m, "drained", kept, when=~changes & (step != int(ResizeStep.IDLE)))
        self.claim(m, "drained", s.overall <= s.new_overall, when=step >= int(ResizeStep.DRAIN_DEDICATED))

    def _larger(self, first: Value, second: Value) -> Value:
        return Mux(first > second, first, second)

    def _sum(self, m: Module, name: str, values: list[Value]) -> Signal:
        made = Signal(_SUM_BITS, name=name)
        m.d.comb += made.eq(total(values))
        return made


def _is_one_of(step: Value, steps: tuple[ResizeStep, ...]) -> Value:
    return Cat(step == int(each) for each in steps).any()
