"""Selection of the eligible requester served least recently."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.select import any_of


class LeastRecent(wiring.Component):
    """Select the eligible requester served least recently, within the cycle.

    A bit for each pair of requesters orders the two by their last service. A requester is chosen unless an eligible
    requester was served earlier. After reset the order follows the numbers.

    Parameters
    ----------
    count : int
        Number of requesters, at least 1.

    Members
    -------
    eligible : In(count)
        Requesters that can be chosen.
    chosen : Out(count)
        The chosen requester, one-hot; 0 if none is eligible.
    served : In(count)
        Requester served in this cycle, one-hot or 0; from the next cycle on it is last.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__({"eligible": In(count), "chosen": Out(count), "served": In(count)})
        self.earlier = {
            (one, other): Signal(init=1, name=f"earlier_{one}_{other}")
            for other in range(count)
            for one in range(other)
        }
        """By pair of requesters, the smaller number first: the first one was served earlier than the second one."""

    def before(self, one: int, other: int) -> Value:
        """Return whether requester ``one`` was served earlier than ``other``."""
        return self.earlier[one, other] if one < other else ~self.earlier[other, one]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        for number in range(self.count):
            others = [other for other in range(self.count) if other != number]
            m.d.comb += self.chosen[number].eq(
                self.eligible[number] & ~any_of(self.eligible[other] & self.before(other, number) for other in others)
            )
        for (one, other), earlier in self.earlier.items():
            with m.If(Cat(self.served[one], self.served[other]).any()):
                m.d.sync += earlier.eq(self.served[other])
        return m
