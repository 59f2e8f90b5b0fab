"""Round-robin order of requests for many places, with one pointer per place."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


class PairTurns(wiring.Component):
    """Order requests round robin at each place. Every request is for one place (IBS-P2).

    Latency 0. After reset, request 0 is first at every place.

    Parameters
    ----------
    count : int
        Number of requests, at least 2.
    places : int
        Number of places.

    Members
    -------
    place : In(ArrayLayout(range(places), count))
        By request: the place it is for.
    serves : In(places)
        Places that serve a request in this cycle.
    served : In(ArrayLayout(range(count), places))
        By place, the served request.
    before : Out(count).array(count)
        By request, one bit per other request: at a common place, the other one comes first.
    """

    def __init__(self, count: int, places: int) -> None:
        self.count, self.places = count, places
        super().__init__(
            {
                "place": In(data.ArrayLayout(range(places), count)),
                "serves": In(places),
                "served": In(data.ArrayLayout(range(count), places)),
                "before": Out(count).array(count),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        numbers = range(self.count)
        last = [Signal(numbers, name=f"last_{place}", init=self.count - 1) for place in range(self.places)]
        for place, pointer in enumerate(last):
            with m.If(self.serves[place]):
                m.d.sync += pointer.eq(self.served[place])
        behind = Signal(self.count)
        m.d.comb += behind.eq(Cat(number > Array(last)[self.place[number]] for number in numbers))
        for number, before in enumerate(self.before):
            lower: list[Value] = [behind[other] | ~behind[number] for other in range(number)]
            higher: list[Value] = [behind[other] & ~behind[number] for other in range(number + 1, self.count)]
            m.d.comb += before.eq(Cat(*lower, Const(0, 1), *higher))
        return m
