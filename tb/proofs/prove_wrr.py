"""Proofs of weighted round robin: who is served, the count of the turn, and the wait."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal, Value
from vlane.tb.proofs.properties import Instance
from vlane.tb.proofs.prove_scheduler import SchedulerProperties, at

__all__ = ["INSTANCES", "WRRProperties"]
SUMMED = 4
"""Most requesters whose weights are summed in a proof."""


class WRRProperties(SchedulerProperties):
    """Weighted round robin with the properties to prove."""

    def state(self) -> Value:
        return Cat(self.scheduler.turn, self.scheduler.count)

    def _own(self, m: Module) -> None:
        s = self.scheduler
        served = s.active & ~s.unreachable
        m.d.comb += [
            Assume(self.watched < s.requesters),
            Assert(s.turn < s.requesters),
            Assert(~s.decides | (s.grant == served.any())),
            Assert(~(s.grant & s.decides) | (((s.winner & ~served) == 0) & s.winner.any())),
            Assert((s.winner & (s.winner - 1)[: s.requesters]) == 0),
        ]
        self._count(m)
        self._wait(m)

    def _count(self, m: Module) -> None:
        """Assert that after a start the count is 1 to the weight that was in force, and the turn the winner's."""
        s = self.scheduler
        started, weight, winner = Signal(), Signal(8), Signal(s.requesters)
        m.d.sync += [started.eq(s.ready & s.decides & s.grant), winner.eq(s.winner)]
        for requester in range(s.requesters):
            with m.If(s.winner[requester]):
                m.d.sync += weight.eq(s.weights[requester])
        with m.If(started):
            m.d.comb += [
                Assert((s.count > 0) & (s.count <= weight)),
                Assert(winner == (1 << s.turn)[: s.requesters]),
            ]
        left = at(list(s.weights), s.turn)
        m.d.comb += Assert(s.packets_left == Mux(s.count < left, left - s.count, 0))

    def _wait(self, m: Module) -> None:
        """Assert that a rank falls at every packet that is sent before one of the watched requester's.

        The rank is (requesters to go to the watched one, packets left of the turn). A turn has at most the weight in
        packets, and the rank never goes back, so that at most the sum of the other weights is sent before. In small
        instances this sum is proven by itself, too; solvers do not cope with sums of many weights.
        """
        s = self.scheduler
        distance, before_sum = Signal(range(s.requesters + 1)), Signal((255 * s.requesters).bit_length())
        m.d.comb += distance.eq(Mux(self.watched > s.turn, self.watched - s.turn, s.requesters + self.watched - s.turn))
        ranks = [Cat(s.packets_left, distance)]
        if s.requesters <= SUMMED:
            m.d.comb += before_sum.eq(self._packets_ahead(m))
            ranks.append(before_sum)
        passed, watched_before = Signal(), Signal.like(self.watched)
        waits = at(list(s.active & ~s.unreachable), self.watched)
        m.d.sync += [
            watched_before.eq(self.watched),
            passed.eq(s.ready & s.decides & waits & ~at(list(s.winner), self.watched) & ~s.program.enable),
        ]
        for rank in ranks:
            before = Signal.like(rank)
            m.d.sync += before.eq(rank)
            with m.If(passed & (watched_before == self.watched)):
                m.d.comb += Assert(rank < before)

    def _packets_ahead(self, m: Module) -> Value:
        """Return how many packets may be sent before the watched requester's; assert their bound.

        They are what is left of the turn and the weights of the requesters between, at most the weights of all others.
        """
        s = self.scheduler
        wraps = self.watched <= s.turn
        between = [
            Mux(wraps, (s.turn < r) | (self.watched > r), (s.turn < r) & (self.watched > r))
            for r in range(s.requesters)
        ]
        ahead = sum((Mux(bit, each, 0) for bit, each in zip(between, s.weights, strict=True)), Value.cast(0))
        others = sum((Mux(self.watched == r, 0, each) for r, each in enumerate(s.weights)), Value.cast(0))
        total = ahead + Mux(self.watched == s.turn, 0, s.packets_left)
        m.d.comb += Assert(total <= others)
        return total


INSTANCES = (
    Instance("small", WRRProperties, {"data_vls": 3, "requesters": 0, "vl15": True}),
    Instance("mapped", WRRProperties, {"data_vls": 6, "requesters": 4, "vl15": False}),
    Instance("full", WRRProperties, {"data_vls": 15, "requesters": 0, "vl15": True}),
    Instance("mapped-full", WRRProperties, {"data_vls": 15, "requesters": 16, "vl15": True}),
)
"""What is proven."""
