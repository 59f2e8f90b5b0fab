"""Round robin among those that can: the first after the one served last."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from vlane.hdl.list_search import ListSearch

__all__ = ["Turns"]


class Turns(wiring.Component):
    """Whose turn it is, within the cycle; after reset number 0 is first.

    Parameters
    ----------
    count : int
        Who takes turns, 1 to 64.

    Members
    -------
    eligible : In(count)
        Those that can be served.
    served : In(1)
        The one chosen is served: the turn is past it from the next cycle on.
    found : Out(1)
        Somebody can be served.
    chosen : Out(count)
        Whose turn it is, one bit; 0 if nobody can be served.
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
