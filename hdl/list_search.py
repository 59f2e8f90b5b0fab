"""Round search of a list: the current entry while it may stay, else the next one, itself last."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ListSearch"]


class ListSearch(wiring.Component):
    """Which entry of a list serves next, within the cycle.

    Parameters
    ----------
    entries : int
        Length of the list, 1 to 64.

    Members
    -------
    eligible : In(entries)
        Entries whose lane can send now and whose weight is not 0.
    pointer : In(range(entries))
        The current entry.
    weight_left : In(1)
        The current entry has weight left: it is the first candidate.
    found : Out(1)
        Some entry is eligible.
    entry : Out(range(entries))
        The entry that serves. 0 if none is found.
    arrives : Out(1)
        The entry is reached by moving on, so its weight is loaded anew; a move may end where it began.
    """

    def __init__(self, entries: int) -> None:
        self.entries = entries
        super().__init__(
            {
                "eligible": In(entries),
                "pointer": In(range(entries)),
                "weight_left": In(1),
                "found": Out(1),
                "entry": Out(range(entries)),
                "arrives": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        beyond = Signal(self.entries)
        m.d.comb += beyond.eq(self.eligible & Cat(self.pointer < index for index in range(self.entries)))
        stays = self.weight_left & self.eligible.bit_select(self.pointer, 1)
        following, first = Signal.like(self.entry), Signal.like(self.entry)
        m.d.comb += [
            following.eq(_lowest(beyond)),
            first.eq(_lowest(self.eligible)),
            self.found.eq(self.eligible.any()),
            self.arrives.eq(self.found & ~stays),
            self.entry.eq(Mux(stays, self.pointer, Mux(beyond.any(), following, first))),
        ]
        return m


def _lowest(bits: Signal) -> Value:
    """Index of the lowest set bit, 0 if there is none."""
    alone = bits & -bits
    count = len(bits)
    index_bits = []
    for weight in range((count - 1).bit_length()):
        chosen = sum(1 << i for i in range(count) if i >> weight & 1)
        index_bits.append((alone & chosen).any())
    result: Value = index_bits[0] if index_bits else bits[0] & 0
    for weight, bit in enumerate(index_bits[1:], start=1):
        result = result | bit << weight
    return result
