"""Proofs of Omni-Path credits: while limits change, the sender never exceeds the far buffer.

Only packets that fit are sent, only units that are outstanding come back, and every division that is asked for is
one of the far buffer. Then the units outstanding, and those dedicated but unused, are never more than the buffer.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal, Value
from vlane.tb.proofs.properties import Instance, Properties, free_inputs

from vlane.opa_credit import ResizeStep

__all__ = ["INSTANCES", "CreditOPAProperties"]

_BUFFER = 2176
_SUM_BITS = 16


class CreditOPAProperties(Properties):
    """A port with the properties to prove.

    Parameters
    ----------
    port : CreditOPA
        The component.
    """

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
        sharing = self._sum(m, "sharing", s.excess)
        steady = self._sum(m, "steady", [Mux(s.changing[vl], 0, s.excess[vl]) for vl in lanes])
        step = Value.cast(p.step)
        idle = step == int(ResizeStep.IDLE)
        m.d.comb += [
            Assert(step <= int(ResizeStep.RAISE_OVERALL)),
            Assert(in_force <= _BUFFER),
            Assert(idle | (to_come <= _BUFFER)),
            Assert(out <= _BUFFER),
        ]
        with m.If(idle | (step == int(ResizeStep.DRAIN_SHARED))):
            m.d.comb += Assert(sharing <= s.overall)
        with m.Else():
            m.d.comb += Assert(steady <= s.overall)
        self._while_changing(m, step)
        self._returns(m)
        return m

    def _head_is_granted(self) -> Value:
        """Return whether the size that is granted is that of the lane's head."""
        p = self.port
        return Cat((p.grant_vl == vl) & (p.grant_blocks == p.blocks[vl]) for vl in range(p.vls)).any()

    def _while_changing(self, m: Module, step: Value) -> None:
        """Assert the invariant of each step of a change."""
        s = self.port.sender
        drained = [ResizeStep.LOWER_DEDICATED, ResizeStep.RAISE_DEDICATED, ResizeStep.RAISE_SHARED]
        lowered = [ResizeStep.DRAIN_DEDICATED, ResizeStep.RAISE_DEDICATED]
        for vl in range(self.port.vls):
            with m.If(s.changing[vl]):
                for here in drained:
                    m.d.comb += Assert((step != int(here)) | (s.excess[vl] == 0))
                for here in lowered:
                    m.d.comb += Assert((step != int(here)) | (s.dedicated[vl] <= s.new_dedicated[vl]))
                for here in (ResizeStep.RAISE_SHARED, ResizeStep.RAISE_OVERALL):
                    m.d.comb += Assert((step != int(here)) | (s.dedicated[vl] == s.new_dedicated[vl]))
                for here in (ResizeStep.DRAIN_SHARED, *drained, ResizeStep.DRAIN_DEDICATED):
                    m.d.comb += Assert((step != int(here)) | (s.shared[vl] == 0))
            with m.Elif(step != int(ResizeStep.IDLE)):
                m.d.comb += Assert((s.dedicated[vl] == s.new_dedicated[vl]) & (s.new_overall >= s.overall))
        shrunk = step >= int(ResizeStep.DRAIN_DEDICATED)
        m.d.comb += Assert(~shrunk | (s.overall <= s.new_overall))

    def _returns(self, m: Module) -> None:
        """Assert that each return reduces the units owed by the units that it returns."""
        r = self.port.receiver
        for vl in range(self.port.vls):
            m.d.comb += Assume(~r.freed[vl] | (r.owed[vl] < 4000))
        before, freed = Signal.like(Value.cast(r.owed)), Signal(12 * self.port.vls)
        for vl in range(self.port.vls):
            m.d.comb += freed[12 * vl : 12 * vl + 12].eq(Mux(r.freed[vl], r.freed_blocks, 0))
        freed_before, started = Signal.like(freed), Signal()
        m.d.sync += [before.eq(r.owed), freed_before.eq(freed), started.eq(1)]
        for vl in range(self.port.vls):
            field = slice(12 * vl, 12 * vl + 12)
            gained = Signal(13, name=f"gained_{vl}")
            m.d.comb += gained.eq(before[field] + freed_before[field])
            with m.If(started):
                m.d.comb += Assert(r.owed[vl] <= gained)

    def _larger(self, first: Value, second: Value) -> Value:
        return Mux(first > second, first, second)

    def _sum(self, m: Module, name: str, values: list[Value]) -> Signal:
        total = Signal(_SUM_BITS, name=name)
        m.d.comb += total.eq(sum(values[1:], Value.cast(values[0])))
        return total


INSTANCES = (Instance("one-lane", CreditOPAProperties, {"vls": 1, "vcu": 0}),)
"""What is proven."""
