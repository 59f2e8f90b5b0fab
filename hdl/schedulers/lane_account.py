"""The account of a lane: the head's size is deducted in advance, so the sign bit alone tells whether it may be sent.

::

    cycle t      a packet becomes the head of an idle lane
    cycle t + 1  comes: account = -size, charged
    later        adds:  account = account + weight            a turn of the lane is prepared
                 pays:  account = account - size of the next  the head is sent, the next packet becomes the head
                 empties: account = 0, uncharged              the lane has no further packet, or cannot send

A worked trace is in ``docs/dtable_line_rate.md``.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.schedulers.ports import BLOCKS_SHAPE

_ACCOUNT = signed(9)


class LaneAccount(wiring.Component):
    """The account of one lane (``docs/dtable_line_rate.md``, DTLR-2, DTLR-7, DTLR-8). Reset empties it, uncharged.

    Members
    -------
    next_head : In(7)
        Size of the packet that becomes the head when the present one is sent.
    head_before : In(7)
        Size that the head had in the cycle before.
    weight : In(8)
        Weight of the turn. Sampled with ``adds`` and ``from_weight``.
    empties : In(1)
        The account becomes 0 and the lane uncharged; takes precedence over the other inputs.
    pays : In(1)
        The head is sent: ``next_head`` is deducted.
    from_weight : In(1)
        With ``pays``: the account becomes ``weight`` - 1 - ``next_head`` instead; the sent head had one block.
    adds : In(1)
        ``weight`` is added, if the lane is charged. Must not be asserted together with ``pays``.
    comes : In(1)
        A head came to the uncharged lane in the cycle before: ``head_before`` is deducted.
    charged : Out(1)
        The size of the head has been deducted.
    covers_next : Out(1)
        The account would not be negative after ``pays`` without ``from_weight``.
    account : Out(signed(9))
        Blocks that the lane may send after its head. Negative: the head may not be sent.
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
        # weight - 1 - next_head is weight + ~next_head: one adder, no carry input
        renewed = (self.weight + ~Cat(self.next_head, Const(0, width - len(self.next_head))))[:width]
        m.d.comb += self.covers_next.eq(~paid[-1])
        with m.If(self.empties):  # the lane has no further packet, cannot send, or the banks are exchanged
            m.d.sync += [self.account.eq(0), self.charged.eq(0)]
        with m.Elif(self.pays):  # the head is sent; an entry that returned replaces the account
            m.d.sync += self.account.eq(Mux(self.from_weight, renewed, paid))
        with m.Elif(self.adds & self.charged):  # an uncharged lane gets no weight: its turn would be lost anyway
            m.d.sync += self.account.eq(added)
        with m.Elif(self.comes):  # the first head of an idle lane
            m.d.sync += [self.account.eq(-self.head_before), self.charged.eq(1)]
        return m
