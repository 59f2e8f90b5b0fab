"""Proofs of round robin: the order of service, and that no requester is passed over twice."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from vlane.tb.machinery.proofs.properties import Instance
from vlane.tb.schedulers.proofs_scheduler import LANE_TURNS, STATEMENTS, SchedulerProperties
from vlane.tb.tables.proofs_tables import at


class RRProperties(SchedulerProperties):
    """Check the properties of round robin."""

    statements: ClassVar = {
        **STATEMENTS,
        **LANE_TURNS,
        "work-conserving": "In a decision a packet is granted exactly when a requester can send.",
        "last-served": "The requester served last is that of the last data packet that started.",
        "next-in-turn": "No requester that can send lies, in cyclic order, between the one served last and the one "
        "that is served.",
        "wait": "A requester that can send is served after at most as many packets as there are other requesters.",
    }

    def state(self) -> Signal:
        behind: Signal = self.scheduler.turns.behind
        return behind

    def _claim_own_properties(self, m: Module) -> None:
        s, claim = self.scheduler, self.claim
        self.lane_turns(m)
        last, served = Signal(range(s.requesters), init=s.requesters - 1), Signal()
        m.d.comb += served.eq(s.ready & s.decides & s.grant)
        for requester in range(s.requesters):
            with m.If(served & s.winner[requester]):
                m.d.sync += last.eq(requester)
        behind = Cat(last < requester for requester in range(s.requesters))
        claim(m, "last-served", (s.turns.behind == behind) & (last < s.requesters))
        claim(m, "work-conserving", s.grant == s.active.any(), when=s.decides)
        can, wins = at(list(s.active), self.watched), at(list(s.winner), self.watched)
        place, winning = (Signal(range(s.requesters + 1), name=name) for name in ("place", "winning"))
        m.d.comb += place.eq(self._place(last, self.watched))
        for requester in range(s.requesters):
            with m.If(s.winner[requester]):
                m.d.comb += winning.eq(self._place(last, requester))
        claim(m, "next-in-turn", can, when=s.grant & s.decides & wins)
        claim(m, "next-in-turn", winning <= place, when=s.grant & s.decides & can)

        passed = Signal(range(s.requesters + 1))
        with m.If(~can | (served & wins)):
            m.d.sync += passed.eq(0)
        with m.Elif(served):
            m.d.sync += passed.eq(passed + 1)
        claim(m, "wait", passed + place <= s.requesters, when=passed != 0)

    def _place(self, last: Value, requester: Value | int) -> Value:
        """Return the cyclic distance from the requester served last to another, 1 to the number of requesters."""
        count = self.scheduler.requesters
        return Mux(last < requester, requester - last, count + requester - last)


INSTANCES = (
    Instance("small", RRProperties, {"data_vls": 3, "requesters": 0, "vl15": True}),
    Instance("mapped", RRProperties, {"data_vls": 6, "requesters": 4, "vl15": False}),
    Instance("full", RRProperties, {"data_vls": 15, "requesters": 0, "vl15": True}),
    Instance("past-vl15", RRProperties, {"data_vls": 17, "requesters": 0, "vl15": True}),
    Instance("no-vl15", RRProperties, {"data_vls": 17, "requesters": 0, "vl15": False}),
    Instance("mapped-full", RRProperties, {"data_vls": 15, "requesters": 16, "vl15": True}),
)
"""Proven instances: small, with a map, full size, lanes past VL15 with and without VL15, and a map at full size."""
