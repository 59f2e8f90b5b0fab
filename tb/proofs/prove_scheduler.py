"""Proofs of all schedulers of one list, for every input, by induction."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Cat, Elaboratable, Module, Mux, Signal, Value
from vlane.tb.proofs.prove import free_inputs

from vlane.egress import ListCode
from vlane.vlarb import VL15

__all__ = ["SchedulerProperties", "at", "sized"]


def at(values: list[Value], index: Value) -> Value:
    """Return the value at an index; 0 past the end."""
    found: Value = Value.cast(0)
    for place, value in enumerate(values):
        found = Mux(index == place, value, found)
    return found


def sized(scheduler: Any) -> Value:
    """Return whether every head that can be sent has 1 to 66 blocks."""
    able = scheduler.heads.request & scheduler.heads.fits
    blocks = scheduler.heads.blocks
    return Cat(~able[i] | ((blocks[i] > 0) & (blocks[i] <= 66)) for i in range(scheduler.data_vls)).all()


class SchedulerProperties(Elaboratable):
    """A scheduler with the properties that all of them have; a subclass adds its own.

    Parameters
    ----------
    scheduler : Scheduler
        The component. Its internal signals are observed; nothing in it is changed.
    """

    def __init__(self, scheduler: Any) -> None:
        self.scheduler = scheduler
        self.watched = Signal(range(scheduler.requesters))

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.scheduler), self.watched]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.scheduler = s = self.scheduler
        able = Signal(s.lanes)
        vl15_wins = able[s.data_vls] if s.vl15 else Value.cast(0)
        m.d.comb += able.eq(s.heads.request & s.heads.fits)
        from_vl15 = Value.cast(s.list) == int(ListCode.VL15)
        m.d.comb += [
            Assert((Value.cast(s.list) == int(ListCode.NONE)) | from_vl15),
            Assert(from_vl15 == vl15_wins),
            Assert(s.grant | (Cat(s.vl, s.blocks) == 0)),
            Assert(~s.hold_data | vl15_wins | ~s.grant),
        ]
        with m.If(from_vl15):
            m.d.comb += Assert(s.grant & (s.vl == VL15) & (s.blocks == s.heads.blocks[s.lanes - 1]))
        granted = Signal(s.data_vls)
        m.d.comb += granted.eq(
            Cat((s.vl == lane + (s.vl15 and lane >= VL15)) & s.grant & ~from_vl15 for lane in range(s.data_vls))
        )
        with m.If(s.grant & ~from_vl15):
            m.d.comb += Assert((granted & able[: s.data_vls]).any())
            for lane in range(s.data_vls):
                with m.If(granted[lane]):
                    m.d.comb += Assert(s.blocks == s.heads.blocks[lane])
                    owner = s.owners[lane] if s.mapped else lane
                    m.d.comb += Assert(s.winner == (1 << owner))
        self._frozen(m)
        self._own(m)
        return m

    def _frozen(self, m: Module) -> None:
        """Assert that the state does not change where no decision is taken."""
        s = self.scheduler
        state = self.state()
        before, still = Signal.like(state), Signal()
        m.d.sync += [before.eq(state), still.eq(~(s.ready & s.decides) & ~self.disturbed())]
        with m.If(still):
            m.d.comb += Assert(state == before)

    def state(self) -> Value:
        """Return the state that changes in decisions only."""
        raise NotImplementedError

    def disturbed(self) -> Value:
        """Return whether something other than a decision changes that state in this cycle."""
        return Value.cast(0)

    def _own(self, m: Module) -> None:
        """Assert the properties of this scheduler alone."""
        raise NotImplementedError
