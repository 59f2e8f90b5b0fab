"""Sizes of a lane's packets, in order. The first two are visible."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Shape
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out


class SizeQueue(wiring.Component):
    """Queue of packet sizes that shows its first two entries.

    A size that enters in cycle t is visible from t + 1 on. Reset empties the queue.

    Parameters
    ----------
    depth : int
        Capacity in packets, at least 1.
    largest : int
        Largest packet size.

    Members
    -------
    comes, size : In(1), In(range(largest + 1))
        Push, and the size to push. The queue must not be full.
    leaves : In(1)
        Pop the head. The queue must not be empty.
    there, head : Out(1), Out(range(largest + 1))
        A head is present, and its size.
    follows, behind : Out(1), Out(range(largest + 1))
        A second packet is present, and its size.
    """

    def __init__(self, *, depth: int, largest: int) -> None:
        shape = Shape.cast(range(largest + 1))
        super().__init__(
            {
                "comes": In(1),
                "size": In(shape),
                "leaves": In(1),
                "there": Out(1),
                "head": Out(shape),
                "follows": Out(1),
                "behind": Out(shape),
            }
        )
        self.others = SyncFIFO(width=shape.width, depth=depth - 1)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.others = others = self.others
        moves_up = ~self.there | self.leaves
        m.d.comb += [
            self.follows.eq(others.r_rdy),
            self.behind.eq(others.r_data),
            others.r_en.eq(moves_up),
            others.w_data.eq(self.size),
            others.w_en.eq(self.comes & ~(moves_up & ~others.r_rdy)),
        ]
        with m.If(moves_up):
            m.d.sync += [
                self.there.eq(others.r_rdy | self.comes),
                self.head.eq(Mux(others.r_rdy, others.r_data, self.size)),
            ]
        return m
