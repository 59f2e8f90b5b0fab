"""Credit starvation: an input of a switch delays the return of freed credit to its sender."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.congestion.cc_marker import LARGEST_THRESHOLD, THRESHOLD_BITS
from vlane.congestion.cc_source import MULTIPLIER_BITS
from vlane.credits.credit_starvation import starvation_limit
from vlane.hdl.common.round_robin import RoundRobin
from vlane.hdl.common.select import equals, number_of, one_of
from vlane.hdl.links.link import ReturnSignature, lane_shape


class CreditStarvation(wiring.Component):
    """Delay credit returns of one input (``docs/ib_switch.md``, IBS-K1 to IBS-K5).

    Parameters
    ----------
    vls, maximum : int
        Number of lanes, and the most blocks of the input's buffer that one lane may use.
    flits : int
        Most blocks of one lane that may be freed in a cycle.
    vl_bits : int
        Width of a lane number on links.

    Members
    -------
    freed, vl : In(range(flits + 1)), In(lane_shape(vls))
        Blocks freed in this cycle, and their lane.
    masked, threshold, gap : In(1), In(4), In(14)
        Settings in force (see ``StarvationSettings``).
    waiting : In(ArrayLayout(range(maximum + 1), vls))
        By lane: blocks of the packets that waited in the previous cycle.
    returned : Out(ReturnSignature(flits, vl_bits))
        Blocks that were returned in the previous cycle.
    """

    def __init__(self, *, vls: int, maximum: int, flits: int, vl_bits: int) -> None:
        self.vls, self.maximum, self.flits = vls, maximum, flits
        super().__init__(
            {
                "freed": In(range(flits + 1)),
                "vl": In(lane_shape(vls)),
                "masked": In(1),
                "threshold": In(THRESHOLD_BITS),
                "gap": In(MULTIPLIER_BITS),
                "waiting": In(data.ArrayLayout(range(maximum + 1), vls)),
                "returned": Out(ReturnSignature(flits, vl_bits)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.turns = turns = RoundRobin(self.vls)
        over = self._compare(m)
        returns = [self._lane(m, lane, over[lane], turns) for lane in range(self.vls)]
        m.d.comb += turns.served.eq(turns.found)
        m.d.sync += [
            self.returned.blocks.eq(one_of(turns.chosen, returns)),
            self.returned.vl.eq(Mux(turns.found, number_of(turns.chosen), 0)),
        ]
        return m

    def _compare(self, m: Module) -> Signal:
        """Return the lanes over the threshold in force, as bits (IBS-K1)."""
        thresholds = range(1, LARGEST_THRESHOLD + 1)
        bounds = range(self.maximum + 1)
        limit = Signal(bounds)
        over = Signal(self.vls)
        limits = (Const(starvation_limit(each, self.maximum), bounds) for each in thresholds)
        asks = self.masked & self.threshold.any()
        m.d.comb += [
            limit.eq(one_of((self.threshold == each for each in thresholds), limits)),
            over.eq(Cat(asks & (self.waiting[lane] >= limit) for lane in range(self.vls))),
        ]
        return over

    def _lane(self, m: Module, lane: int, is_over: Signal, turns: RoundRobin) -> Signal:
        """Track a lane's withheld blocks and the cycles to its next return. Return the blocks to return if selected."""
        held = Signal(range(self.maximum + 1), name=f"held_{lane}")
        left = Signal(MULTIPLIER_BITS, name=f"left_{lane}")
        comes = Signal(range(self.flits + 1), name=f"comes_{lane}")
        sums = held + self.freed
        total = Signal.like(held, name=f"total_{lane}")
        blocks = Signal(range(self.flits + 1), name=f"blocks_{lane}")
        is_turn = turns.chosen[lane]
        m.d.comb += [
            comes.eq(Mux(equals(self.vl, lane), self.freed, 0)),
            total.eq(Mux(comes.any(), Mux(sums > self.maximum, self.maximum, sums), held)),
            turns.eligible[lane].eq((held.any() | comes.any()) & ~(is_over & left.any())),
            blocks.eq(Mux(is_over, 1, Mux(total > self.flits, self.flits, total))),
        ]
        m.d.sync += held.eq(total - Mux(is_turn, blocks, 0))
        with m.If(is_turn & is_over):
            m.d.sync += left.eq(self.gap)
        with m.Elif(left.any()):
            m.d.sync += left.eq(left - 1)
        return blocks
