"""Flow-control packets: decide when a VL's limit is due to be sent, and select the next VL."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.list_search import ListSearch
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.common.stored import Stored
from vlane.packets.fcp import COUNTER_BITS, CREDIT_CAP


class FCPOffer(wiring.Component):
    """Offer the due limits of a port, round robin (``docs/credit_ib.md``, CIB-6 and CIB-7).

    A limit is due once it has advanced by ``step`` blocks since it was last sent, and after the end of each period,
    until it is sent. Latency 0: the offer follows from the limits of the same cycle.

    Parameters
    ----------
    vls : int
        Number of data VLs.
    step : int
        Blocks by which a limit must advance to be due.
    period : int
        Length of a period in cycles, counted from reset. At its end every limit is due.
    sent : int
        Limit that counts as last sent after reset.
    most_ahead : int
        Most blocks by which a limit can be ahead of the limit last sent. Above 2048, a difference of more than 2048
        counts as behind; up to 2048 no comparison is needed.
    due_at_reset : bool
        Whether every limit is due after reset.
    parity : bool
        Whether registers have parity bits; ``stored.upset`` reports a mismatch.

    Members
    -------
    limits : In(ArrayLayout(12, vls))
        Limits at the start of the cycle.
    returned : In(vls)
        VLs whose limits become due in the next cycle, whatever their values.
    found : Out(1)
        At least one limit is due.
    chosen : Out(vls)
        Selected VL, one-hot; 0 if no limit is due.
    vl : Out(4)
        Number of the selected VL.
    limit : Out(12)
        Limit of the selected VL.
    sends : In(1)
        The offered limit is sent in this cycle. A limit must be on offer.
    timer : Out(range(period))
        Cycles since the end of the last period.
    """

    latency = 0

    def __init__(
        self, *, vls: int, step: int, period: int, sent: int, most_ahead: int, due_at_reset: bool, parity: bool = False
    ) -> None:
        self.vls, self.step, self.period, self.sent = vls, step, period, sent
        self.most_ahead, self.due_at_reset, self.stored = most_ahead, due_at_reset, Stored(parity=parity)
        super().__init__(
            {
                "limits": In(data.ArrayLayout(COUNTER_BITS, vls)),
                "returned": In(vls),
                "found": Out(1),
                "chosen": Out(vls),
                "vl": Out(4),
                "limit": Out(COUNTER_BITS),
                "sends": In(1),
                "timer": Out(range(period)),
            }
        )
        self.search = ListSearch(vls)
        self.pending = Signal(vls, init=-1 if due_at_reset else 0)
        self.last = Signal(range(max(2, vls)), init=vls - 1)
        self.said = [Signal(COUNTER_BITS, name=f"said_{vl}", init=sent) for vl in range(vls)]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.search = search = self.search
        pending, last = self.pending, self.last
        sent = Signal(self.vls)
        wraps = Signal()
        for vl in range(self.vls):
            said = self.said[vl]
            ahead = Signal(COUNTER_BITS, name=f"ahead_{vl}")
            m.d.comb += [
                ahead.eq(self.limits[vl] - said),
                search.eligible[vl].eq(pending[vl] | self._has_advanced(ahead)),
            ]
            with m.If(sent[vl]):
                self.stored.write(m, said, self.limits[vl])
        m.d.comb += [
            search.pointer.eq(last),
            search.weight_left.eq(0),
            self.found.eq(search.found),
            self.chosen.eq(search.chosen),
            self.vl.eq(search.entry),
            self.limit.eq(one_of(search.chosen, (self.limits[vl] for vl in range(self.vls)))),
            sent.eq(Mux(self.sends, search.chosen, 0)),
            wraps.eq(equals(self.timer, self.period - 1)),
        ]
        self.stored.write(m, self.timer, Mux(wraps, 0, self.timer + 1))
        self.stored.write(m, pending, Mux(wraps, ~0, (pending & ~sent) | self.returned))
        with m.If(self.sends):
            self.stored.write(m, last, search.entry)
        self.stored.check(m)
        return m

    def _has_advanced(self, ahead: Signal) -> Value:
        far_enough = ahead >= self.step
        return far_enough if self.most_ahead <= CREDIT_CAP else far_enough & (ahead <= CREDIT_CAP)
