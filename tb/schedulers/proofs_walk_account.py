"""Reference model of a walk along a list: positions of entries, by their index in the written tables.

The walk keeps copies of entries, row masks and flags; the model keeps indices and looks the entries up.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value

ROW = 8
"""Entries per row."""


class WalkModel:
    """Reference model of a walk, driven by the walk's inputs (rules VLALR-1 to VLALR-5).

    Parameters
    ----------
    walk : ListWalk
        The walk; only its inputs are used.
    name : str
        Name of the walk.
    """

    def __init__(self, walk: Any, name: str) -> None:
        self.walk, self.name = walk, name
        self.rows, self.count = walk.rows, ROW * walk.rows
        self.ends_at, self.lane_bits = self.count + 5, len(walk.vl)
        index, row, one = range(self.count), range(max(2, self.rows)), 1
        size = self.lane_bits + 8
        self.tables = [[self.signal(size, f"written_{bank}_{i}") for i in range(walk.entries)] for bank in range(2)]
        self.marks = [self.signal(self.rows, f"marks_{bank}") for bank in range(2)]
        self.active, self.reading, self.can = (self.signal(one, each) for each in ("active", "reading", "can"))
        self.since = self.signal(range(self.ends_at + 2), "since", init=self.ends_at + 1)
        self.start = self.signal(range(self.rows + 1), "start", init=self.rows)
        self.awake, self.left = self.signal(self.rows, "awake"), self.signal(ROW, "left")
        self.chosen, self.fetched, self.current = (self.signal(row, each) for each in ("chosen", "fetched", "current"))
        self.is_chosen, self.is_fetched = self.signal(one, "is_chosen"), self.signal(one, "is_fetched")
        self.picked, self.waiting, self.offered = (
            self.signal(index, each) for each in ("picked", "waiting", "offered")
        )
        self.is_picked, self.is_waiting, self.is_offered = (
            self.signal(one, each) for each in ("is_picked", "is_waiting", "is_offered")
        )
        self.rest, self.moves, self.next_can = (
            self.signal(ROW, "rest"),
            self.signal(one, "moves"),
            self.signal(one, "n"),
        )
        self.entries = [self.signal(size, f"entry_{i}") for i in index]
        self.serves = [self.signal(walk.data_vls, f"serves_{i}") for i in index]

    def signal(self, shape: Any, purpose: str, *, init: int = 0) -> Signal:
        """Create a signal whose name is the walk's name and ``purpose``."""
        return Signal(shape, name=f"{purpose}_{self.name}", init=init)

    def entry(self, index: Value) -> Value:
        """Return (lane, weight) of an entry of the active list, as written."""
        return Array(self.entries)[index]

    def vl(self, index: Value) -> Value:
        """Return the lane that an entry was written with."""
        return self.entry(index)[: self.lane_bits]

    def weight(self, index: Value) -> Value:
        """Return the weight that an entry was written with."""
        return self.entry(index)[self.lane_bits :]

    def able(self, index: Value) -> Value:
        """Return whether an entry has a weight and its lane was able in the previous cycle."""
        return (Array(self.serves)[index] & self.walk.able_before).any()

    def named(self, row: int) -> Value:
        """Return the bit mask of the lanes that a row's entries with a weight name."""
        lanes: Value = Value.cast(0)
        for place in range(ROW):
            lanes = lanes | self.serves[ROW * row + place]
        return lanes

    def follow(self, m: Module) -> None:
        """Add the model of the walk to a module, to run in step with the walk."""
        walk = self.walk
        for i, (entry, serves) in enumerate(zip(self.entries, self.serves, strict=True)):
            if i < walk.entries:
                m.d.comb += entry.eq(Mux(self.active, self.tables[1][i], self.tables[0][i]))
            lane = (1 << entry[: self.lane_bits])[: walk.data_vls]
            m.d.comb += serves.eq(Mux(entry[self.lane_bits :].any(), lane, 0))
        for bank in range(2):
            for i in range(walk.entries):
                with m.If(walk.write & ~walk.exchange & (self.active != bank) & (walk.index == i)):
                    m.d.sync += self.tables[bank][i].eq(Cat(walk.vl, walk.weight))
                    m.d.sync += self.marks[bank][i // ROW].eq(1)
        self._pick(m)
        self._offer(m)
        with m.If(walk.exchange):
            gone = (self.is_chosen, self.is_fetched, self.is_picked, self.is_waiting, self.is_offered, self.left)
            m.d.sync += [each.eq(0) for each in (*gone, self.can)]
            m.d.sync += [self.since.eq(1), self.start.eq(0), self.awake.eq(~0), self.active.eq(~self.active)]

    def _pick(self, m: Module) -> None:
        """While no entry waits, move the rows and pick an entry (VLALR-3)."""
        left, read = self.left, self.reading
        m.d.comb += [
            read.eq((self.since > 0) & (self.since <= self.ends_at)),
            self.rest.eq(left & (left - 1)[:ROW]),
            self.moves.eq(read | ~self.is_waiting),
        ]
        with m.If(read):
            m.d.sync += self.since.eq(self.since + 1)
        m.d.sync += self.awake.eq(
            Cat(read | (self.named(row) & self.walk.able_before).any() for row in range(self.rows))
        )
        with m.If(self.moves):
            m.d.sync += [self.is_picked.eq(left.any()), left.eq(self.rest)]
            for place in reversed(range(ROW)):
                with m.If(left[place]):
                    m.d.sync += self.picked.eq(ROW * self.current + place)
            with m.If(self.rest == 0):
                brought = (read | self.able(ROW * self.fetched + place) for place in range(ROW))
                m.d.sync += [
                    self.current.eq(self.fetched),
                    self.fetched.eq(self.chosen),
                    self.is_fetched.eq(self.is_chosen),
                    left.eq(Mux(self.is_fetched, Cat(brought), 0)),
                ]
                self._choose(m)

    def _choose(self, m: Module) -> None:
        """Choose the next awake row from ``start`` on. Wrap around only if the list is not being read."""
        m.d.sync += [self.is_chosen.eq(0), self.start.eq(self.rows)]
        for is_around in (True, False):
            for row in reversed(range(self.rows)):
                with m.If(self.awake[row] & (~self.reading if is_around else self.start <= row)):
                    m.d.sync += [self.is_chosen.eq(1), self.chosen.eq(row), self.start.eq(row + 1)]

    def _offer(self, m: Module) -> None:
        """Offer the waiting or picked entry if none is offered or the offered one leaves (VLALR-4, VLALR-5)."""
        comes = self.is_picked & ~self.reading
        with m.If(~self.is_offered | self.walk.leaves):
            m.d.sync += self.is_waiting.eq(0)
            with m.If(self.is_waiting):
                m.d.sync += [self.offered.eq(self.waiting), self.is_offered.eq(1)]
                m.d.comb += self.next_can.eq(self.able(self.waiting))
            with m.Else():
                m.d.sync += [self.offered.eq(self.picked), self.is_offered.eq(comes)]
                m.d.comb += self.next_can.eq(comes)
        with m.Else():
            m.d.comb += self.next_can.eq(self.able(self.offered))
            with m.If(~self.is_waiting):
                m.d.sync += [self.waiting.eq(self.picked), self.is_waiting.eq(comes)]
        m.d.sync += self.can.eq(self.next_can)
