"""Order of requests by age."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class RequestAges(wiring.Component):
    """Queue requests by arrival, as a matrix of relative ages. Ties are broken by number (IBS-PQ1).

    A request joins in the first cycle in which it is present. Latency 0. Reset empties the queues.

    Parameters
    ----------
    count : int
        Most requests at a time, at least 2.

    Members
    -------
    there : In(count)
        Requests that are present. A request stays until it is served.
    served : In(count)
        Requests served in this cycle. If the bit is set in ``there`` again in the next cycle, that is a new request.
    before : Out(count).array(count)
        By request, one bit per present request: the other request comes first. Only meaningful if both are present.
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
