"""Prepaid balance of a lane: the head's size is deducted in advance, so the sign bit shows whether it may be sent."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.schedulers.ports import BLOCKS_SHAPE

_ACCOUNT = signed(9)


class LaneAccount(wiring.Component):
    """Balance of one lane (``docs/dtable_line_rate.md``, DTLR-2, DTLR-7, DTLR-8).

    Reset clears the balance, uncharged.

    Members
    -------
    next_head : In(7)
        Size of the packet that becomes the head when the current head is sent.
    head_before : In(7)
        Size of the head in the previous cycle.
    weight : In(8)
        Weight of the turn. Sampled with ``adds`` and ``from_weight``.
    empties : In(1)
        Clear the balance; the lane becomes uncharged. Takes precedence over the other inputs.
    pays : In(1)
        The head is sent: ``next_head`` is deducted.
    from_weight : In(1)
        With ``pays``: the new balance is ``weight`` - 1 - ``next_head`` instead; the sent head had one block.
    adds : In(1)
        Add ``weight`` if the lane is charged. Must not be asserted together with ``pays``.
    comes : In(1)
        The uncharged lane got a head in the previous cycle: deduct ``head_before``.
    charged : Out(1)
        The size of the head has been deducted.
    covers_next : Out(1)
        The balance would not be negative after ``pays`` without ``from_weight``.
    account : Out(signed(9))
        Balance: blocks that the lane may send after its head. If negative, the head may not be sent.
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
        with m.Elif(self.pays):  # the head is sent; an entry that returned replaces the balance
            m.d.sync += self.account.eq(Mux(self.from_weight, renewed, paid))
        with m.Elif(self.adds & self.charged):  # an uncharged lane gets no weight: its turn would be lost anyway
            m.d.sync += self.account.eq(added)
        with m.Elif(self.comes):  # the first head of an idle lane
            m.d.sync += [self.account.eq(-self.head_before), self.charged.eq(1)]
        return m
