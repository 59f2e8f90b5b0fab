"""Proofs of all schedulers of one list, for every input, by induction."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from vlane.tb.proofs.properties import Properties, free_inputs
from vlane.tb.proofs.prove_tables import constant

from vlane.egress import ListCode
from vlane.vlarb import VL15

__all__ = ["STATEMENTS", "SchedulerProperties", "at", "sized"]

STATEMENTS = {
    "vl15-first": "VL15 is granted whenever its head can be sent, before every data lane, and only then.",
    "list": "The list that is named is VL15 exactly when VL15 is granted, and none otherwise.",
    "no-grant-no-packet": "Without a grant the lane and the size that are named are 0.",
    "hold": "While data lanes are held, no data lane is granted.",
    "able": "A granted data lane has a packet that fits.",
    "size": "The size that is named is that of the head packet of the granted lane.",
    "winner": "The granted lane belongs to the requester that the scheduler selected.",
    "frozen": "In a cycle without a decision (not ready, held, or VL15's) the scheduler's state does not change.",
}
"""What holds for every scheduler of one list."""


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


class SchedulerProperties(Properties):
    """A scheduler with the properties that all of them have; a subclass adds its own.

    Parameters
    ----------
    scheduler : Scheduler
        The component. Its internal signals are observed; nothing in it is changed.

    Attributes
    ----------
    watched : Signal
        Any one requester, the same in all cycles.
    """

    statements: ClassVar = STATEMENTS

    def __init__(self, scheduler: Any) -> None:
        super().__init__()
        self.scheduler, self.m = scheduler, Module()
        self.watched = constant(self.m, "watched", 5, 0, scheduler.requesters - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.scheduler), self.watched]

    def elaborate(self, _platform: object) -> Module:
        m, claim = self.m, self.claim
        m.submodules.scheduler = s = self.scheduler
        able = Signal(s.lanes)
        vl15_able = able[s.data_vls] if s.vl15 else Value.cast(0)
        m.d.comb += able.eq(s.heads.request & s.heads.fits)
        from_vl15 = Value.cast(s.list) == int(ListCode.VL15)
        from_data = s.grant & ~from_vl15
        claim(m, "list", from_vl15 | (Value.cast(s.list) == int(ListCode.NONE)))
        claim(m, "vl15-first", from_vl15 == vl15_able)
        claim(m, "no-grant-no-packet", Cat(s.vl, s.blocks) == 0, when=~s.grant)
        if s.vl15:
            size = s.heads.blocks[s.lanes - 1]
            claim(m, "vl15-first", s.grant & (s.vl == VL15) & (s.blocks == size), when=from_vl15)
        claim(m, "hold", ~from_data, when=s.hold_data)
        granted = Signal(s.data_vls)
        m.d.comb += granted.eq(
            Cat((s.vl == lane + (s.vl15 and lane >= VL15)) & from_data for lane in range(s.data_vls))
        )
        claim(m, "able", (granted & able[: s.data_vls]).any(), when=from_data)
        for lane in range(s.data_vls):
            owner = s.owners[lane] if s.mapped else lane
            claim(m, "size", s.blocks == s.heads.blocks[lane], when=granted[lane])
            claim(m, "winner", s.winner == (1 << owner), when=granted[lane])
        self._frozen(m)
        self._own(m)
        return m

    def _frozen(self, m: Module) -> None:
        """Claim that the state does not change where no decision is taken."""
        s = self.scheduler
        state = self.state()
        before, still = Signal.like(state), Signal()
        m.d.sync += [before.eq(state), still.eq(~(s.ready & s.decides) & ~self.disturbed())]
        self.claim(m, "frozen", state == before, when=still)

    def state(self) -> Value:
        """Return the state that changes in decisions only."""
        raise NotImplementedError

    def disturbed(self) -> Value:
        """Return whether something other than a decision changes that state in this cycle."""
        return Value.cast(0)

    def _own(self, m: Module) -> None:
        """Claim the properties of this scheduler alone."""
        raise NotImplementedError
