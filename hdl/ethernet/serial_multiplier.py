"""Serial multiplication, four bits of one factor per cycle."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

FACTOR_BITS, SHORT_BITS = 22, 24
"""Widths of the two factors."""
_DIGIT = 4
PRODUCT_CYCLES = SHORT_BITS // _DIGIT + 2
"""Cycles from a load to the product."""


class SerialMultiplier(wiring.Component):
    """Multiply two numbers. The product is valid for one cycle, eight cycles after the load.

    Members
    -------
    load : In(1)
        Load both factors and restart. A multiplication in progress is abandoned.
    factor : In(22)
        First factor.
    digits : In(24)
        Second factor, consumed four bits per cycle.
    product : Out(46)
        Product, eight cycles after the load.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "load": In(1),
                "factor": In(FACTOR_BITS),
                "digits": In(SHORT_BITS),
                "product": Out(FACTOR_BITS + SHORT_BITS),
            }
        )
        self.held = Signal(FACTOR_BITS)
        self.rest = Signal(SHORT_BITS)
        self.part = Signal(FACTOR_BITS + _DIGIT)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        digit = self.rest[-_DIGIT:]
        with m.If(self.load):
            m.d.sync += [self.held.eq(self.factor), self.rest.eq(self.digits), self.part.eq(0), self.product.eq(0)]
        with m.Else():
            m.d.sync += [
                self.rest.eq(self.rest << _DIGIT),
                self.part.eq(sum((self.held & digit[bit].replicate(FACTOR_BITS)) << bit for bit in range(_DIGIT))),
                self.product.eq((self.product << _DIGIT) + self.part),
            ]
        return m
