"""Receiving end of Omni-Path credits: count the owed units and return them by credit codes."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.credits.credit_opa import COUNTER_BITS
from vlane.hdl.common.list_search import ListSearch
from vlane.hdl.common.select import one_of
from vlane.hdl.common.stored import Stored

_VL_BITS = 5
_CODE_BITS = 3
_MOST_CODE = 7


class CreditOPAReceiver(wiring.Component):
    """Count the units to be returned per lane, and encode returns, four LTPs each.

    Parameters
    ----------
    vls : int
        Lanes.
    vcu : int
        Exponent of the credit unit.
    parity : bool
        Whether registers have parity bits; ``stored.upset`` reports a mismatch.

    Members
    -------
    freed : In(vls)
        Lane whose buffer units leave, one-hot.
    freed_blocks : In(2)
        Number of those units.
    ltp_sent : In(1)
        An LTP leaves and carries ``credit_out``.
    credit_out : Out(2)
        Credit bits of the LTP: two of the eight bits of a return.
    owed : Out(ArrayLayout(12, vls))
        Owed units that no return has encoded yet.
    """

    def __init__(self, vls: int, vcu: int, *, parity: bool = False) -> None:
        self.vls, self.vcu, self.stored = vls, vcu, Stored(parity=parity)
        super().__init__(
            {
                "freed": In(vls),
                "freed_blocks": In(2),
                "ltp_sent": In(1),
                "credit_out": Out(2),
                "owed": Out(data.ArrayLayout(COUNTER_BITS, vls)),
            }
        )
        self.last = Signal(range(max(2, vls)), init=vls - 1)
        self.saying = Signal(_VL_BITS + _CODE_BITS)
        self.said = Signal(2)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.search = search = ListSearch(self.vls)
        last, saying, said = self.last, self.saying, self.said
        owed = Signal(COUNTER_BITS)
        code = Signal(_CODE_BITS)
        units = Signal(COUNTER_BITS)
        m.d.comb += [
            self.credit_out.eq(saying[:2]),
            search.eligible.eq(Cat(self.owed[vl].any() for vl in range(self.vls))),
            search.pointer.eq(last),
            search.weight_left.eq(0),
            owed.eq(one_of(search.chosen, (self.owed[vl] for vl in range(self.vls)))),
        ]
        with m.If(search.found):
            m.d.comb += [code.eq(1), units.eq(1)]
            for larger in range(2, _MOST_CODE + 1):
                amount = 1 << (larger - 1 + self.vcu)
                with m.If(owed >= amount):
                    m.d.comb += [code.eq(larger), units.eq(amount)]
        turns = Signal()
        m.d.comb += turns.eq(self.ltp_sent & said.all())
        with m.If(self.ltp_sent):
            self.stored.write(m, said, said + 1)
            self.stored.write(m, saying, saying >> 2)
        with m.If(turns):
            self.stored.write(m, saying, Mux(search.found, Cat(code, search.entry), 0))
            with m.If(search.found):
                self.stored.write(m, last, search.entry)
        for vl in range(self.vls):
            taken = Mux(turns & search.chosen[vl], units, 0)
            self.stored.write(m, self.owed[vl], self.owed[vl] - taken + Mux(self.freed[vl], self.freed_blocks, 0))
        self.stored.check(m)
        return m
