"""Serial division, one quotient bit per cycle, saturating."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class SerialDivider(wiring.Component):
    """Divide two numbers and round down.

    The quotient is valid for one cycle, ``cycles`` cycles after the load. A quotient that does not fit, or a division
    by 0, yields the largest number of ``quotient_bits`` bits.

    Parameters
    ----------
    quotient_bits, divisor_bits, dividend_bits : int
        Widths; the dividend has more bits than the quotient.

    Members
    -------
    load : In(1)
        Load both numbers and restart. A division in progress is abandoned.
    dividend : In(dividend_bits)
        Dividend.
    divisor : In(divisor_bits)
        Divisor.
    quotient : Out(quotient_bits)
        Quotient.
    """

    def __init__(self, *, quotient_bits: int, divisor_bits: int, dividend_bits: int) -> None:
        super().__init__(
            {"load": In(1), "dividend": In(dividend_bits), "divisor": In(divisor_bits), "quotient": Out(quotient_bits)}
        )
        self.cycles = quotient_bits + 1
        width = max(divisor_bits, dividend_bits - quotient_bits)
        self.rest = Signal(quotient_bits)
        self.remainder = Signal(width)
        self.by = Signal(divisor_bits)
        self.is_first = Signal()
        self.full = Signal()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        bits, width = len(self.rest), len(self.remainder)
        shifted = Signal(width + 1)
        less = Signal(width + 1)
        m.d.comb += [
            shifted.eq(Cat(self.rest[-1], self.remainder)),
            less.eq(shifted - self.by),
            self.quotient.eq(self.rest | self.full.replicate(bits)),
        ]
        m.d.sync += self.is_first.eq(self.load)
        with m.If(self.load):
            m.d.sync += [self.rest.eq(self.dividend), self.remainder.eq(self.dividend >> bits)]
            m.d.sync += self.by.eq(self.divisor)
        with m.Else():
            fits = ~less[-1]
            m.d.sync += [self.rest.eq(Cat(fits, self.rest)), self.remainder.eq(Mux(fits, less, shifted))]
        with m.If(self.is_first):
            m.d.sync += self.full.eq(self.remainder >= self.by)
        return m
