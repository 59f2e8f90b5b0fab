"""Proofs of round robin: it is work conserving, and no requester is passed over twice."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Module, Mux, Signal, Value
from vlane.tb.proofs.prove_scheduler import SchedulerProperties

__all__ = ["INSTANCES", "RRProperties", "properties_of"]

INSTANCES = (
    {"data_vls": 3, "requesters": 0, "vl15": True},
    {"data_vls": 6, "requesters": 4, "vl15": False},
    {"data_vls": 15, "requesters": 0, "vl15": True},
    {"data_vls": 15, "requesters": 16, "vl15": True},
)
"""Parameters of the instances that are proven."""


class RRProperties(SchedulerProperties):
    """Round robin with the properties to prove."""

    def state(self) -> Value:
        return self.scheduler.last

    def _own(self, m: Module) -> None:
        s = self.scheduler
        m.d.comb += [
            Assume(self.watched < s.requesters),
            Assert(s.last < s.requesters),
            Assert(~s.decides | (s.grant == s.active.any())),
        ]
        distance = Signal(range(s.requesters + 1))
        m.d.comb += distance.eq(Mux(self.watched > s.last, self.watched - s.last, s.requesters + self.watched - s.last))
        before, passed, watched_before = Signal.like(distance), Signal(), Signal.like(self.watched)
        watched_bit = (1 << self.watched)[: s.requesters]
        m.d.sync += [
            before.eq(distance),
            watched_before.eq(self.watched),
            passed.eq(s.ready & s.decides & (s.active & watched_bit).any() & ~(s.winner & watched_bit).any()),
        ]
        with m.If(passed & (watched_before == self.watched)):
            m.d.comb += Assert(distance < before)


properties_of = RRProperties
"""What is proven around a component."""
