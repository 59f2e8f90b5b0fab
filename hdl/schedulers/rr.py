"""Round robin: the next requester that can send is served."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In

from vlane.hdl.common.list_search import ListSearch
from vlane.hdl.schedulers.base import Scheduler, ScheduleSignature
from vlane.schedulers.rr import RRParameters

__all__ = ["COMPONENT", "RR"]


class RR(Scheduler):
    """Serve the requesters round robin, packet by packet, whatever the packet sizes (``docs/rr.md``).

    Latency 0. After reset, requester 0 is next.

    Parameters
    ----------
    parameters : RRParameters
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
    program : In(ScheduleSignature(1))
        With a map only: write port of the map.
    """

    def __init__(self, parameters: RRParameters) -> None:
        self.parameters = p = parameters
        members: dict[str, object] = {"program": In(ScheduleSignature(1))} if p.requesters else {}
        super().__init__(parameters, members)
        self.search = ListSearch(self.requesters)
        self.last = Signal(range(self.requesters), init=self.requesters - 1)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.search = search = self.search
        self.frame(m)
        self.note_winner(m)
        m.d.comb += [
            search.eligible.eq(self.active),
            search.pointer.eq(self.last),
            search.weight_left.eq(0),
            self.winner.eq(search.chosen),
            self.sends.eq(search.found),
        ]
        with m.If(self.ready & self.decides & search.found):
            m.d.sync += self.last.eq(search.entry)
        return m


COMPONENT = RR
"""Component that ``by_name`` returns."""
