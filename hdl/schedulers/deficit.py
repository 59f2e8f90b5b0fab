"""Round robin with deficits: the common part of the Deficit Table and of deficit round robin."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.list_search import ListSearch
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.common.stored import Stored
from vlane.hdl.schedulers.ports import BLOCKS_SHAPE

OWNER_BITS = 5
DEFICIT_BITS = 7
"""Width of a deficit, which is less than the size of the packet that did not fit (7 bits)."""


class DeficitTurns(wiring.Component):
    """Select, within the cycle, the next turn and the requester that sends. At most one turn begins per cycle.

    Parameters
    ----------
    entries : int
        Number of list entries, which are served round robin, 1 to 128.
    requesters : int
        Number of requesters, 2 to 32.
    keep_on_stall : bool
        Whether a requester keeps its deficit while it has packets but no credit for any of them.
    most_kept : int
        Most blocks that such a requester keeps of its turn's remainder.
    saturate_at : int
        Saturation value of the accumulated weight; 0 if the counter is wide enough for every sum.
    parity : bool
        Whether registers have parity bits; ``stored.upset`` reports a mismatch.

    Members
    -------
    active : In(requesters)
        Requesters that can send.
    waiting : In(requesters)
        Requesters that have packets, none of which fits.
    sizes : In(ArrayLayout(BLOCKS_SHAPE, requesters))
        Size of each requester's next packet, in blocks.
    owners : In(ArrayLayout(OWNER_BITS, entries))
        Requester of each entry.
    weights : In(ArrayLayout(8, entries))
        Weight of each entry; an entry of weight 0 is skipped.
    commit : In(1)
        Decision cycle: update the state.
    clear : In(1)
        End the turn and clear all deficits; entry 0 is next. Takes precedence over ``commit``.
    winner : Out(requesters)
        The requester that sends, one-hot.
    sends : Out(1)
        A requester sends in a decision cycle.
    deficit : Out(ArrayLayout(7, requesters))
        Deficit of each requester, always less than the size of a packet.
    accumulated : Out(accumulated_bits)
        Blocks that the current turn may still send.
    """

    def __init__(
        self,
        *,
        entries: int,
        requesters: int,
        keep_on_stall: bool,
        most_kept: int,
        saturate_at: int = 0,
        parity: bool = False,
    ) -> None:
        self.entries, self.requesters = entries, requesters
        self.keep_on_stall, self.most_kept, self.saturate_at = keep_on_stall, most_kept, saturate_at
        self.accumulated_bits = saturate_at.bit_length() or 9
        super().__init__(
            {
                "active": In(requesters),
                "waiting": In(requesters),
                "sizes": In(data.ArrayLayout(BLOCKS_SHAPE, requesters)),
                "owners": In(data.ArrayLayout(OWNER_BITS, entries)),
                "weights": In(data.ArrayLayout(8, entries)),
                "commit": In(1),
                "clear": In(1),
                "winner": Out(requesters),
                "sends": Out(1),
                "deficit": Out(data.ArrayLayout(DEFICIT_BITS, requesters)),
                "accumulated": Out(self.accumulated_bits),
            }
        )
        self.search = ListSearch(entries)
        self.pointer = Signal(range(max(2, entries)), init=entries - 1)
        self.turn = Signal(requesters)
        self.served = Signal(requesters)
        self.stored = Stored(parity=parity)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.search = search = self.search
        names_active = [
            (self.active & Cat(equals(self.owners[i], r) for r in range(self.requesters))).any()
            for i in range(self.entries)
        ]
        size_in_turn = Signal(BLOCKS_SHAPE)
        size = Signal(BLOCKS_SHAPE)
        turn_able = Signal()
        continues = Signal()
        m.d.comb += [
            search.eligible.eq(Cat(self.weights[i].any() & names_active[i] for i in range(self.entries))),
            search.pointer.eq(self.pointer),
            search.weight_left.eq(0),
            size_in_turn.eq(one_of(self.turn, self._each(self.sizes))),
            turn_able.eq((self.turn & self.active).any()),
            continues.eq(turn_able & (self.accumulated >= size_in_turn)),
        ]
        for requester in range(self.requesters):
            owned = Cat(equals(self.owners[i], requester) for i in range(self.entries))
            m.d.comb += self.served[requester].eq((search.chosen & owned).any())

        left = Signal(DEFICIT_BITS)
        summed = Signal(self.accumulated_bits + 1)
        total = Signal(self.accumulated_bits)
        carried = [Mux(self.turn[r], left, self.deficit[r]) for r in range(self.requesters)]
        m.d.comb += [
            left.eq(self._left(turn_able)),
            summed.eq(one_of(search.chosen, self._each(self.weights)) + one_of(self.served, carried)),
            total.eq(Mux(summed > self.saturate_at, self.saturate_at, summed) if self.saturate_at else summed),
            size.eq(one_of(self.served, self._each(self.sizes))),
            self.winner.eq(Mux(continues, self.turn, self.served)),
            self.sends.eq(continues | (search.found & (total >= size))),
        ]
        with m.If(self.commit):
            self._lose(m)
            with m.If(continues):
                self.stored.write(m, self.accumulated, self.accumulated - size_in_turn)
            with m.Else():
                self._begin(m, left, Mux(self.sends, total - size, total))
        with m.If(self.clear):
            self.stored.write(m, self.pointer, self.entries - 1)
            self.stored.write(m, self.turn, 0)
            self.stored.write(m, self.accumulated, 0)
            self.stored.write_each(m, self.deficit, [0] * self.requesters)
        self.stored.check(m)
        return m

    def _each(self, array: data.View) -> list[Value]:
        return [Value.cast(array[index]) for index in range(len(array))]

    def _left(self, turn_able: Signal) -> Value:
        """Return the deficit with which the current turn ends."""
        if not self.keep_on_stall:
            return Mux(turn_able, self.accumulated, 0)
        only_waits = (self.turn & self.waiting).any()
        kept = Mux(self.accumulated > self.most_kept, self.most_kept, self.accumulated)
        return Mux(turn_able, self.accumulated, Mux(only_waits, kept, 0))

    def _lose(self, m: Module) -> None:
        """Clear the deficits of requesters that cannot send."""
        for requester in range(self.requesters):
            kept = self.active[requester]
            if self.keep_on_stall:
                kept = kept | self.waiting[requester]
            with m.If(~kept):
                self.stored.write(m, self.deficit[requester], 0)

    def _begin(self, m: Module, left: Value, accumulated: Value) -> None:
        """End the turn, store its remainder as the deficit, and begin the turn of the chosen entry."""
        for requester in range(self.requesters):
            with m.If(self.served[requester]):
                self.stored.write(m, self.deficit[requester], 0)
            with m.Elif(self.turn[requester]):
                self.stored.write(m, self.deficit[requester], left)
        self.stored.write(m, self.turn, self.served)
        with m.If(self.search.found):
            self.stored.write(m, self.pointer, self.search.entry)
            self.stored.write(m, self.accumulated, accumulated)
        with m.Else():
            self.stored.write(m, self.accumulated, 0)
