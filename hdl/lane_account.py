"""What a lane may send after its head packet: charged when a packet becomes the head, so that its sign says enough."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from vlane.hdl.egress import BLOCKS_SHAPE

__all__ = ["LaneAccount"]

_ACCOUNT = signed(9)


class LaneAccount(wiring.Component):
    """The account of one lane (``docs/dtable_line_rate.md``, T2, T7, T8). Reset empties it, uncharged.

    Members
    -------
    next_head : In(7)
        Size of the packet that becomes the head if this one is sent.
    head_before : In(7)
        Size of the head a cycle ago.
    weight : In(8)
        A turn's weight.
    empties : In(1)
        The account becomes 0, the lane uncharged; goes before the others.
    pays : In(1)
        The head is sent: the next one is taken off.
    from_weight : In(1)
        With ``pays``: off the weight, of which a block was sent already, instead.
    adds : In(1)
        The weight comes, if the lane is charged; not together with ``pays``.
    comes : In(1)
        A head came to the empty lane a cycle ago: it is charged.
    charged : Out(1)
        The head is taken off.
    covers_next : Out(1)
        The account would not be negative after ``pays``.
    account : Out(signed(9))
        What may be sent after the head.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "next_head": In(BLOCKS_SHAPE),
                "head_before": In(BLOCKS_SHAPE),
                "weight": In(8),
                "empties": In(1),
                "pays": In(1),
                "from_weight": In(1),
                "adds": In(1),
                "comes": In(1),
                "charged": Out(1),
                "covers_next": Out(1),
                "account": Out(_ACCOUNT),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        width = _ACCOUNT.width
        paid, added = (self.account - self.next_head)[:width], (self.account + self.weight)[:width]
        renewed = (self.weight + ~Cat(self.next_head, Const(0, width - len(self.next_head))))[:width]
        m.d.comb += self.covers_next.eq(~paid[-1])
        with m.If(self.empties):
            m.d.sync += [self.account.eq(0), self.charged.eq(0)]
        with m.Elif(self.pays):
            m.d.sync += self.account.eq(Mux(self.from_weight, renewed, paid))
        with m.Elif(self.adds & self.charged):
            m.d.sync += self.account.eq(added)
        with m.Elif(self.comes):
            m.d.sync += [self.account.eq(-self.head_before), self.charged.eq(1)]
        return m
