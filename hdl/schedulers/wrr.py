"""Weighted round robin: a weight per requester, and a counter of the current turn's packets."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.list_search import ListSearch
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.schedulers.base import Scheduler, ScheduleSignature
from vlane.schedulers.wrr import MAX_WRR_WEIGHT, WRRParameters

__all__ = ["COMPONENT", "WRR"]

_WEIGHT_BITS = MAX_WRR_WEIGHT.bit_length()


class WRR(Scheduler):
    """Weighted round robin, in packets (Katevenis, Sidiropoulos and Courcoubetis 1991, ``docs/wrr.md``).

    Latency 0. Reset sets every weight to 0: no requester is served. Requester 0 is next.

    Parameters
    ----------
    parameters : WRRParameters
        Shape of the component.

    Members
    -------
    heads : In(HeadsSignature(lanes))
        Head packets of the lanes.
    ready : In(1)
        A new packet may start.
    hold_data : In(1)
        A flow-control packet is due: only VL15 may be granted.
    grant : Out(1)
        A packet may start. It starts if ``ready`` is asserted in the same cycle.
    vl : Out(vl_bits)
        Lane of the granted packet; 0 without a grant.
    from_list : Out(ListCode)
        ``VL15`` or ``NONE``.
    blocks : Out(7)
        Size of the granted packet in blocks; 0 without a grant.
    program : In(ScheduleSignature(8))
        Write port of the weights and of the map; a new value is in force from the next cycle on.
    unreachable : Out(requesters)
        Requesters with weight 0. They are never served.
    packets_left : Out(8)
        Packets that the requester whose turn it is may still send in this turn.
    """

    def __init__(self, parameters: WRRParameters) -> None:
        self.parameters = parameters
        count = parameters.count
        members: dict[str, object] = {
            "program": In(ScheduleSignature(_WEIGHT_BITS)),
            "unreachable": Out(count),
            "packets_left": Out(_WEIGHT_BITS),
        }
        super().__init__(parameters, members)
        self.weights = [Signal(_WEIGHT_BITS, name=f"weight_{requester}") for requester in range(count)]
        self.search = ListSearch(count)
        self.turn = Signal(range(count), init=count - 1)
        self.count = Signal(_WEIGHT_BITS, init=MAX_WRR_WEIGHT)  # above every weight: after reset the turn is over

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.search = search = self.search
        self.frame(m)
        self.note_winner(m)
        for requester, each in enumerate(self.weights):
            with m.If(self.table_write(requester)):
                m.d.sync += each.eq(self.program.weight)
        weight = Signal(_WEIGHT_BITS)
        has_weight = Signal(self.requesters)
        in_turn = [equals(self.turn, requester) for requester in range(self.requesters)]
        m.d.comb += [
            weight.eq(one_of(in_turn, self.weights)),
            has_weight.eq(Cat(each.any() for each in self.weights)),
            search.eligible.eq(self.active & has_weight),
            search.pointer.eq(self.turn),
            search.weight_left.eq(self.count < weight),
            self.winner.eq(search.chosen),
            self.sends.eq(search.found),
            self.unreachable.eq(~has_weight),
            self.packets_left.eq(Mux(search.weight_left, weight - self.count, 0)),
        ]
        with m.If(self.ready & self.decides & search.found):
            m.d.sync += [self.turn.eq(search.entry), self.count.eq(Mux(search.arrives, 1, self.count + 1))]
        return m


COMPONENT = WRR
"""Component that ``by_name`` returns."""
