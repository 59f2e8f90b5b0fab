"""Cyclic search of a list: keep the current entry while it may continue, otherwise take the next eligible entry."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.select import equals


class ListSearch(wiring.Component):
    """Select, within the cycle, the entry of a list to serve.

    The search starts behind the current entry and ends with it.

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
        The current entry has weight left, so it is the first candidate.
    found : Out(1)
        At least one entry is eligible.
    chosen : Out(entries)
        The selected entry, one-hot; 0 if no entry is eligible.
    entry : Out(range(entries))
        Index of the selected entry.
    arrives : Out(1)
        The pointer moves to the selected entry, whose weight must be loaded. A move may end at the same entry.
    """

    def __init__(self, entries: int) -> None:
        self.entries = entries
        super().__init__(
            {
                "eligible": In(entries),
                "pointer": In(range(max(2, entries))),
                "weight_left": In(1),
                "found": Out(1),
                "chosen": Out(entries),
                "entry": Out(range(max(2, entries))),
                "arrives": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        current = Signal(self.entries)
        beyond = Signal(self.entries)
        stays = Signal()
        m.d.comb += [
            current.eq(Cat(equals(self.pointer, index) for index in range(self.entries))),
            beyond.eq(self.eligible & Cat(Const(0, 1), *(self.pointer < index for index in range(1, self.entries)))),
            stays.eq(self.weight_left & (self.eligible & current).any()),
            self.found.eq(self.eligible.any()),
            self.arrives.eq(self.found & ~stays),
            self.chosen.eq(Mux(stays, current, Mux(beyond.any(), _lowest(beyond), _lowest(self.eligible)))),
            self.entry.eq(_index(self.chosen)),
        ]
        return m


def _lowest(bits: Signal) -> Value:
    """Return the lowest set bit as a one-hot value."""
    return bits & -bits


def _index(alone: Signal) -> Value:
    """Return the index of the set bit of a one-hot value."""
    count = len(alone)
    return Cat(
        (alone & sum(1 << i for i in range(count) if i >> weight & 1)).any()
        for weight in range((count - 1).bit_length())
    )
