"""Proofs of a list in memory: a picked entry was written since reset, whatever the memory contained before."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value

from vlane.tb.machinery.proofs.properties import Claims
from vlane.tb.tables.proofs_tables import constant

_ROW = 8
MEMORY_STATEMENTS = {
    "bank": "The active bank changes at each exchange, and only then.",
    "stored": "Any one entry is stored as last written since reset; it has no weight if it was not written, whatever "
    "the memory contained at power-on.",
    "row-as-written": "A fetched or current row contains its entries as written.",
    "pick-as-written": "A picked entry is the one that was written.",
}
"""Properties of any one entry of a list in memory."""


class WatchedEntry(Elaboratable):
    """Follow an arbitrary entry of either bank from its write until the walk picks it.

    Parameters
    ----------
    walk : ListWalk
        The walk along the list, a sibling of this module.
    name : str
        Name of the walk.
    claim : Claims
        Collector of the claims.
    """

    def __init__(self, walk: Any, name: str, claim: Claims) -> None:
        self.walk, self.name, self.claim, self.m = walk, name, claim, Module()
        self.bank = constant(self.m, f"kept_bank_{name}", 1, 0, 1)
        self.row = constant(self.m, f"kept_row_{name}", len(walk.number), 0, walk.rows - 1)
        self.place = constant(self.m, f"kept_place_{name}", 3, 0, _ROW - 1)
        self.stored = walk.memory.memory.read_port(domain="comb")

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof, which choose the entry."""
        return [self.bank, self.row, self.place]

    def elaborate(self, _platform: object) -> Module:
        m, walk, memory, row, place = self.m, self.walk, self.walk.memory, self.row, self.place
        self._write(m)
        is_active, size = memory.active == self.bank, memory.entry.size
        marked = Mux(is_active, memory.rows_written, memory.shadow_written).bit_select(row, 1)
        writer = memory.writer
        coming = writer.en.bit_select(place, 1) & (writer.addr == self.stored.addr)
        kept = Mux(coming, writer.data, self.stored.data).word_select(place, size)
        m.d.comb += [self.stored.addr.eq(row | self.bank << len(walk.number))]
        self.claim(m, "stored", marked, when=self.written)
        self.claim(m, "stored", self._is_written(kept), when=marked)
        next_number, current_number, picked_number = (Signal.like(walk.number) for _ in range(3))
        picked_place = Signal(range(_ROW))
        with m.If(walk.pulls):
            m.d.sync += [next_number.eq(walk.number), current_number.eq(next_number)]
        with m.If(walk.advances):
            m.d.sync += picked_number.eq(current_number)
            for lowest in reversed(range(_ROW)):
                with m.If(walk.lanes[lowest]):
                    m.d.sync += picked_place.eq(lowest)
        for there, number, written, entries in (
            (walk.fetched, next_number, walk.next_written, walk.next_row),
            (walk.lanes.any(), current_number, walk.current_written, walk.current_row),
        ):
            with m.If(is_active & there & (number == row)):
                entry = Value.cast(entries).word_select(place, size)
                self.claim(m, "row-as-written", written == marked)
                self.claim(m, "row-as-written", self._is_written(entry), when=written)
        with m.If(is_active & walk.picked & (picked_number == row) & (picked_place == place)):
            self.claim(m, "pick-as-written", self._is_written(Value.cast(walk.picked_entry)))
        return m

    def _write(self, m: Module) -> None:
        """Model the entry written since reset, initially lane 0 with weight 0."""
        walk, active = self.walk, Signal()
        self.written, self.vl, self.weight = Signal(), Signal.like(walk.vl), Signal.like(walk.weight)
        m.d.sync += active.eq(active ^ walk.exchange)
        self.claim(m, "bank", active == walk.memory.active)
        here = (walk.index == (self.row << 3 | self.place)) & (walk.index < walk.entries)
        with m.If(walk.write & ~walk.exchange & here & (active != self.bank)):
            m.d.sync += [self.written.eq(1), self.vl.eq(walk.vl), self.weight.eq(walk.weight)]
        self.claim(m, "stored", ~(self.vl.any() | self.weight.any()), when=~self.written)

    def _is_written(self, kept: Value) -> Value:
        """Return whether a stored entry represents the written one: lane and weight, bad, or without a weight."""
        walk, bits = self.walk, len(self.walk.vl)
        vl, weight = kept[:bits], kept[bits:]
        is_there = self.vl < walk.data_vls
        has_lane = vl < walk.data_vls
        return Mux(
            is_there & self.weight.any(),
            (vl == self.vl) & (weight == self.weight),
            ~has_lane & (weight[0] == ~is_there),
        )
