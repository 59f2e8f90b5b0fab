"""Round robin: the first eligible requester after the one served last."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.list_search import ListSearch


class RoundRobin(wiring.Component):
    """Round-robin selection within the cycle. After reset, requester 0 is first.

    Parameters
    ----------
    count : int
        Number of requesters, 1 to 64.

    Members
    -------
    eligible : In(count)
        Requesters that can be served.
    served : In(1)
        The chosen requester is served; from the next cycle on the search starts behind it.
    found : Out(1)
        At least one requester is eligible.
    chosen : Out(count)
        The chosen requester, one-hot; 0 if none is eligible.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__({"eligible": In(count), "served": In(1), "found": Out(1), "chosen": Out(count)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.search = search = ListSearch(self.count)
        last = Signal(range(max(2, self.count)), init=self.count - 1)
        m.d.comb += [
            search.eligible.eq(self.eligible),
            search.pointer.eq(last),
            search.weight_left.eq(0),
            self.found.eq(search.found),
            self.chosen.eq(search.chosen),
        ]
        with m.If(self.served):
            m.d.sync += last.eq(search.entry)
        return m
