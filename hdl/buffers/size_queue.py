"""Sizes of a lane's packets, in order. The first two are visible."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Shape, Signal
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
    comes : In(1)
        A size is pushed. The queue must not be full.
    size : In(range(largest + 1))
        Size to push.
    leaves : In(1)
        Pop the head. The queue must not be empty.
    there : Out(1)
        A head is present.
    head : Out(range(largest + 1))
        Size of the head.
    follows : Out(1)
        A second packet is present behind the head.
    behind : Out(range(largest + 1))
        Size of the second packet.
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
        # One place more than the depth asks for: a full FIFO refuses a size, even if one leaves in the same cycle.
        self.others = SyncFIFO(width=shape.width, depth=max(1, depth - 2))

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.others = others = self.others
        third, third_size = Signal(), Signal.like(self.head)
        # The FIFO refills the third place in the cycle after the head left, so its pointers do not wait for ``leaves``.
        comes = Signal()
        size = Signal.like(self.head)
        m.d.comb += [
            others.r_en.eq(~third),
            others.w_data.eq(self.size),
            others.w_en.eq(self.comes & (others.r_rdy | third)),
            comes.eq(~third & (others.r_rdy | self.comes)),
            size.eq(Mux(others.r_rdy, others.r_data, self.size)),
        ]
        places = [(self.there, self.head), (self.follows, self.behind), (third, third_size)]
        for number, (there, held) in enumerate(places):
            next_there, next_held = places[number + 1] if number + 1 < len(places) else (Const(0, 1), size)
            with m.If(self.leaves):
                # The new size follows the last one that stays.
                m.d.sync += [there.eq(next_there | (there & comes)), held.eq(Mux(next_there, next_held, size))]
            with m.Elif(~there):
                before = places[number - 1][0] if number else Const(1, 1)
                m.d.sync += [there.eq(before & comes), held.eq(size)]
        return m
