"""Random sequence of the blocks: PRBS31, 24 bits at a time."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from vlane.ethernet.shared import DRAW_BITS, PRBS_BITS, PRBS_TAP


class PRBS(wiring.Component):
    """PRBS31 sequence that advances by 24 bits when a number is taken (ECP-5 of ``docs/ecm_cp.md``).

    Parameters
    ----------
    seed : int
        State after reset, not 0.

    Members
    -------
    draw : In(1)
        Take the number; the next number appears in the next cycle.
    number : Out(24)
        Random number, newest bit lowest.
    """

    def __init__(self, seed: int) -> None:
        super().__init__({"draw": In(1), "number": Out(DRAW_BITS)})
        self.state = Signal(PRBS_BITS, init=seed)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        state = self.state
        # bit 0 is the newest; all state bits used here were generated before this number
        fresh = Cat(state[bit + PRBS_BITS - DRAW_BITS] ^ state[bit + PRBS_TAP - DRAW_BITS] for bit in range(DRAW_BITS))
        m.d.comb += self.number.eq(fresh)
        with m.If(self.draw):
            m.d.sync += state.eq(Cat(fresh, state))
        return m
