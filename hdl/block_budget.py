"""Blocks that may still be sent, charged one a cycle: whether any are left is known a cycle ahead of how many."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from vlane.hdl.select import equals

__all__ = ["BlockBudget"]


class BlockBudget(wiring.Component):
    """An amount of blocks that is renewed and charged (``docs/vlarb_line_rate.md``, L6).

    Reset leaves nothing, or one block.

    Parameters
    ----------
    bits : int
        Width of an amount.
    starts_with : int
        Blocks after reset, 0 or 1.

    Members
    -------
    renew : In(1)
        From now on ``amount`` may be sent; a charge in the same cycle is taken from it.
    amount : In(bits)
        At least 1.
    single, double : In(1), In(1)
        It is 1; it is 2.
    charge : In(1)
        A block is sent. With nothing left it changes nothing.
    end : In(1)
        Nothing is left; goes before the others.
    left : Out(1)
        Blocks are left.
    last : Out(1)
        One block is left, if any is.
    """

    def __init__(self, bits: int, *, starts_with: int) -> None:
        self.bits, self.starts_with = bits, starts_with
        super().__init__(
            {
                "renew": In(1),
                "amount": In(bits),
                "single": In(1),
                "double": In(1),
                "charge": In(1),
                "end": In(1),
                "left": Out(1, init=starts_with),
                "last": Out(1),
            }
        )
        self.value, self.charged = Signal(bits), Signal()
        self.is_one, self.is_two = Signal(init=starts_with), Signal()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        value, charged, is_one, is_two = self.value, self.charged, self.is_one, self.is_two
        renewed, given, counted = Signal(), Signal(self.bits), Signal(self.bits, init=self.starts_with)
        with m.If(self.renew):
            m.d.sync += given.eq(self.amount)
        m.d.comb += [
            value.eq(Mux(renewed, given, counted)),
            self.last.eq(Mux(charged, is_two, is_one)),
        ]
        m.d.sync += [
            renewed.eq(self.renew),
            charged.eq(self.charge),
            counted.eq(value - charged),
            is_one.eq(Mux(self.renew, self.single, Mux(charged, equals(value, 2), equals(value, 1)))),
            is_two.eq(Mux(self.renew, self.double, Mux(charged, equals(value, 3), equals(value, 2)))),
            self.left.eq(
                ~self.end & Mux(self.renew, ~(self.charge & self.single), self.left & ~(self.charge & self.last))
            ),
        ]
        return m
