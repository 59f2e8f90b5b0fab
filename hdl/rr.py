"""Round robin: the next requester that can send."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In
from vlane.hdl.list_search import ListSearch
from vlane.hdl.scheduler import Scheduler, ScheduleSignature

__all__ = ["RR"]


class RR(Scheduler):
    """Round robin over the requesters, packet by packet, whatever their size (``docs/rr.md``).

    Latency 0. After reset requester 0 is next.

    Parameters
    ----------
    data_vls : int
        Data lanes, 2 to 31; to 32 without VL15.
    requesters : int
        Requesters behind a programmable map from lanes, 2 to 32; 0: each data lane is one.
    vl15 : bool
        Whether there is one more lane, the last, for VL15.

    Members
    -------
    heads : In(HeadsSignature(lanes))
        Head packets of the lanes.
    ready : In(1)
        A new packet may start.
    hold_data : In(1)
        A flow-control packet is due: only VL15 may win.
    grant : Out(1)
        A packet may start; it starts if ``ready`` is asserted too.
    vl : Out(vl_bits)
        Its lane. 0 without a grant.
    list : Out(ListCode)
        ``VL15`` or ``NONE``.
    blocks : Out(7)
        Its size. 0 without a grant.
    program : In(ScheduleSignature(1))
        With a map only: writes it.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If it is out of range.
    """

    def __init__(self, *, data_vls: int = 8, requesters: int = 0, vl15: bool = True) -> None:
        self.check_parameters(data_vls=data_vls, requesters=requesters, vl15=vl15)
        members: dict[str, object] = {"program": In(ScheduleSignature(1))} if requesters else {}
        super().__init__(data_vls=data_vls, requesters=requesters, vl15=vl15, members=members)
        self.search = ListSearch(self.requesters)
        self.last = Signal(range(self.requesters), init=self.requesters - 1)

    @classmethod
    def check_parameters(cls, *, data_vls: int, requesters: int, vl15: bool) -> None:
        """Raise what the constructor would raise, without making anything."""
        cls.check_lanes(data_vls=data_vls, requesters=requesters, vl15=vl15)

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
