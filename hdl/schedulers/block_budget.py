"""Down-counter of blocks whose non-zero flag is computed one cycle ahead.

::

    renew, amount --> given ----+
                                +--> value = renewed ? given : counted --> counted = value - charged
    charge ---------> charged --+              |
                                               +--> is_one, is_two: whether value, less charged, will be 1 or 2
    renew, charge, single, double, last -----------> left

``left`` and ``last`` are exact in every cycle. ``value`` lags by one charge: a charge in cycle t is subtracted in t +
1. A worked trace is in ``docs/vlarb_line_rate.md``.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.select import equals


class BlockBudget(wiring.Component):
    """Budget of blocks that is renewed and charged, at most one block per cycle (``docs/vlarb_line_rate.md``, VLALR-6).

    Parameters
    ----------
    bits : int
        Width of an amount.
    starts_with : int
        Blocks after reset, 0 or 1.

    Members
    -------
    renew : In(1)
        The budget becomes ``amount``; a charge in the same cycle is taken from the new budget.
    amount : In(bits)
        The new budget, at least 1. Sampled with ``renew``.
    single : In(1)
        ``amount`` is 1; the parent computes this bit one cycle ahead.
    double : In(1)
        ``amount`` is 2; the parent computes this bit one cycle ahead.
    charge : In(1)
        One block is deducted. If none is left, the budget does not change.
    end : In(1)
        The budget becomes empty; takes precedence over the other inputs.
    left : Out(1)
        At least one block is left.
    last : Out(1)
        Exactly one block is left. Meaningless unless ``left`` is asserted.
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
        self.value = Signal(bits)
        self.charged = Signal()
        self.is_one = Signal(init=starts_with)
        self.is_two = Signal()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        value, charged, is_one, is_two = self.value, self.charged, self.is_one, self.is_two
        renewed = Signal()
        given = Signal(self.bits)
        counted = Signal(self.bits, init=self.starts_with)
        with m.If(self.renew):
            m.d.sync += given.eq(self.amount)  # multiplexed a cycle later: the amount arrives late
        m.d.comb += [value.eq(Mux(renewed, given, counted)), self.last.eq(Mux(charged, is_two, is_one))]
        m.d.sync += [
            renewed.eq(self.renew),
            charged.eq(self.charge),
            counted.eq(value - charged),
            # both comparisons run in parallel; `charged`, which arrives late, selects one
            is_one.eq(Mux(self.renew, self.single, Mux(charged, equals(value, 2), equals(value, 1)))),
            is_two.eq(Mux(self.renew, self.double, Mux(charged, equals(value, 3), equals(value, 2)))),
            # a charge empties the budget only if it takes the last block, of the new amount or of the old one
            self.left.eq(
                ~self.end & Mux(self.renew, ~(self.charge & self.single), self.left & ~(self.charge & self.last))
            ),
        ]
        return m
