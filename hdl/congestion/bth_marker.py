"""FECN in a packet's first flit: detect a markable header and set the bit."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from vlane.packets.bth import BTH_AT, BTH_BEHIND_GRH_AT, CNP_OPCODE, FECN_BYTE, LNH_GRH, bits_to_fecn
from vlane.packets.lrh import LNH_BTH

_LNH_LOW = 2 * 8
"""Offset of the LNH field: the two lowest bits of the packet's second byte."""


class BTHMarker(wiring.Component):
    """Detect markable flits and set FECN, combinationally (CCM-8, CCM-9, CCM-11).

    Parameters
    ----------
    data_bits : int
        Data bits of a flit, at least 128.

    Members
    -------
    flit_in : In(data_bits)
        Flit, first byte in the most significant bits.
    markable : Out(1)
        Treated as a first flit, the flit carries a transport header with FECN and is no CNP.
    mark : In(1)
        Set FECN. Only a markable flit may be marked.
    flit_out : Out(data_bits)
        The flit, with FECN set if ``mark``.
    """

    def __init__(self, data_bits: int) -> None:
        self.data_bits = data_bits
        super().__init__({"flit_in": In(data_bits), "markable": Out(1), "mark": In(1), "flit_out": Out(data_bits)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        lnh = self.flit_in[self.data_bits - _LNH_LOW :][:2]
        markable, fecn = Const(0), [Const(0)] * self.data_bits
        for number, (value, at) in enumerate(((LNH_BTH, BTH_AT), (LNH_GRH, BTH_BEHIND_GRH_AT))):
            if self.data_bits < bits_to_fecn(at):
                continue
            here = Signal(name=f"header_{number}")
            m.d.comb += here.eq((lnh == value) & (self._byte(at) != CNP_OPCODE))
            markable = markable | here
            fecn[self.data_bits - 8 * (at + FECN_BYTE) - 1] = here
        m.d.comb += [
            self.markable.eq(markable),
            self.flit_out.eq(self.flit_in | Cat(self.mark & place for place in fecn)),
        ]
        return m

    def _byte(self, number: int) -> Value:
        high = self.data_bits - 8 * number
        return self.flit_in[high - 8 : high]
