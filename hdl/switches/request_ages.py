"""Order of requests by age: who joined before whom."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class RequestAges(wiring.Component):
    """Queues of requests as a matrix of who is older; those of a cycle are ordered by number (IBS-PQ1).

    A request joins in the first cycle in which it is there. Latency 0. Reset empties the queues.

    Parameters
    ----------
    count : int
        Requests that may be there, 2 or more.

    Members
    -------
    there : In(count)
        Requests that are there; one stays until it is served.
    served : In(count)
        Those that are served in this cycle: what is there in the next one is another request.
    before : Out(count).array(count)
        By request, a bit per request that is there: it is before this one, which is there too.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__({"there": In(count), "served": In(count), "before": Out(count).array(count)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        joined = Signal(self.count)
        m.d.sync += joined.eq(self.there & ~self.served)
        lower = [Signal(number, name=f"lower_{number}") for number in range(self.count)]
        for number, now in enumerate(lower[1:], 1):
            older = Signal(number, name=f"older_{number}", reset_less=True)
            m.d.comb += now.eq(Mux(joined[number], joined[:number] & older, ~Const(0, number)))
            m.d.sync += older.eq(now)
        for number, before in enumerate(self.before):
            higher: list[Value] = [~each[number] for each in lower[number + 1 :]]
            m.d.comb += before.eq(Cat(lower[number], Const(0, 1), *higher))
        return m
