"""Proofs of deficits and turns, in the Deficit Table and in deficit round robin."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal, Value
from vlane.tb.proofs.prove_scheduler import SchedulerProperties, at, sized

from vlane.units import MAX_PACKET_BLOCKS

__all__ = ["DeficitProperties"]


class DeficitProperties(SchedulerProperties):
    """A scheduler with deficits, with the properties to prove for packets of 1 to 66 blocks.

    Parameters
    ----------
    scheduler : Scheduler
        The component.
    """

    def __init__(self, scheduler: Any) -> None:
        super().__init__(scheduler)
        self.entry = Signal(range(scheduler.turns.entries))

    def ports(self) -> list[Value]:
        return [*super().ports(), self.entry]

    def state(self) -> Value:
        t = self.scheduler.turns
        return Cat(t.pointer, t.turn, t.accumulated, t.deficit)

    def disturbed(self) -> Value:
        return self.scheduler.turns.clear

    def _own(self, m: Module) -> None:
        s = self.scheduler
        m.d.comb += [Assume(sized(s)), Assume(self.entry < s.turns.entries), Assume(self.watched < s.requesters)]
        self._state(m)
        self._bounds(m)
        self._covered(m)
        self._service(m)

    def _state(self, m: Module) -> None:
        """Assert that at most one requester has the turn, and that its deficit is 0."""
        t = self.scheduler.turns
        m.d.comb += [
            Assert(t.pointer < t.entries),
            Assert((t.turn & (t.turn - 1)[: t.requesters]) == 0),
            Assert(t.turn.any() | (t.accumulated == 0)),
        ]
        for requester in range(t.requesters):
            with m.If(t.turn[requester]):
                m.d.comb += Assert(t.deficit[requester] == 0)

    def _bounds(self, m: Module) -> None:
        """Assert that deficits stay below the largest packet and nothing saturates."""
        t = self.scheduler.turns
        most = self.most_weight(m)
        for requester in range(t.requesters):
            m.d.comb += Assert(t.deficit[requester] < MAX_PACKET_BLOCKS)
        m.d.comb += [
            Assert(t.accumulated <= most + MAX_PACKET_BLOCKS - 2),
            Assert(most + MAX_PACKET_BLOCKS - 1 <= (1 << t.accumulated_bits) - 1),
        ]

    def _covered(self, m: Module) -> None:
        """Assert that a packet that is sent is covered by its requester's accumulated weight."""
        s, t = self.scheduler, self.scheduler.turns
        sizes = [Value.cast(t.sizes[r]) for r in range(t.requesters)]
        size, weight, carried = Signal(8), Signal(8), Signal(10)
        for requester in range(t.requesters):
            with m.If(s.winner[requester]):
                m.d.comb += size.eq(sizes[requester])
                m.d.comb += carried.eq(Mux(t.turn[requester], t.accumulated, t.deficit[requester]))
        for entry in range(t.entries):
            with m.If(t.search.chosen[entry]):
                m.d.comb += weight.eq(t.weights[entry])
        goes_on = (t.turn & s.winner).any() & (t.accumulated >= size)
        with m.If(s.grant & s.decides):
            m.d.comb += Assert(goes_on | (weight + carried >= size))

    def most_weight(self, m: Module) -> int:
        """Return the largest weight that can be programmed."""
        del m
        return 255

    def _service(self, m: Module) -> None:
        """Assert work conservation, and a rank that falls at every decision that serves another requester.

        Both where every weight covers the head of its requester. The rank is (entries to go to the watched one,
        accumulated weight), so the watched requester waits at most entries x (largest sum + 1) decisions.
        """
        s, t = self.scheduler, self.scheduler.turns
        weights = [Value.cast(t.weights[i]) for i in range(t.entries)]
        owners = [Value.cast(t.owners[i]) for i in range(t.entries)]
        sizes = [Value.cast(t.sizes[r]) for r in range(t.requesters)]
        covered, waits = Signal(), Signal()
        owner = Signal(5)
        chosen_covers = Cat(
            (weights[i] == 0) | ~at(list(t.active), owners[i]) | (weights[i] >= at(sizes, owners[i]))
            for i in range(t.entries)
        )
        m.d.comb += [
            covered.eq(chosen_covers.all()),
            owner.eq(at(owners, self.entry)),
            waits.eq(at(list(t.active), owner) & (at(weights, self.entry) != 0) & s.decides & covered),
        ]
        with m.If(waits):
            m.d.comb += Assert(s.grant)
        distance = Signal(range(t.entries + 1))
        m.d.comb += distance.eq(Mux(self.entry > t.pointer, self.entry - t.pointer, t.entries + self.entry - t.pointer))
        rank = Cat(t.accumulated, distance)
        before, passed, entry_before = Signal.like(rank), Signal(), Signal.like(self.entry)
        m.d.sync += [
            before.eq(rank),
            entry_before.eq(self.entry),
            passed.eq(waits & s.ready & ~at(list(s.winner), owner) & ~t.clear),
        ]
        with m.If(passed & (entry_before == self.entry)):
            m.d.comb += Assert(rank < before)
