"""Quotient of two numbers, one bit a cycle, held at the largest one of its width."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class SerialDivider(wiring.Component):
    """Divides, and rounds down.

    The quotient is there ``cycles`` cycles after the load, for one cycle. Quotients that do not fit, and those of a
    divisor 0, are the largest number of that width.

    Parameters
    ----------
    quotient_bits, divisor_bits, dividend_bits : int
        Widths; the dividend has more bits than the quotient.

    Members
    -------
    load : In(1)
        Begin with these numbers; what was under way is forgotten.
    dividend : In(dividend_bits)
        What is divided.
    divisor : In(divisor_bits)
        By what.
    quotient : Out(quotient_bits)
        The result.
    """

    def __init__(self, *, quotient_bits: int, divisor_bits: int, dividend_bits: int) -> None:
        super().__init__(
            {"load": In(1), "dividend": In(dividend_bits), "divisor": In(divisor_bits), "quotient": Out(quotient_bits)}
        )
        self.cycles = quotient_bits + 1
        width = max(divisor_bits, dividend_bits - quotient_bits)
        self.rest, self.remainder = Signal(quotient_bits), Signal(width)
        self.by, self.is_first, self.full = Signal(divisor_bits), Signal(), Signal()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        bits, width = len(self.rest), len(self.remainder)
        shifted, less = Signal(width + 1), Signal(width + 1)
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
