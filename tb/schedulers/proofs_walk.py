"""Proofs of a walk along a list in memory, against a reference model of the written entries."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value

from vlane.tb.machinery.proofs.properties import Claims, Properties, free_inputs
from vlane.tb.schedulers.proofs_walk_account import ROW, WalkModel
from vlane.tb.tables.proofs_tables import constant

WALK_STATEMENTS = {
    "tables": "In each bank the memory holds the entries written since reset, and no weight elsewhere, whatever it "
    "contained at power-on; writes go to the inactive bank.",
    "reading": "After an exchange the list is read one entry per cycle, and nothing is offered until the whole list "
    "is read.",
    "named": "The lanes of each row, the served lanes and the number of bad entries are those of the entries read so "
    "far.",
    "awake": "A row is awake if a lane named by one of its entries with a weight was able two cycles ago, or while "
    "the list is read.",
    "chosen": "The chosen row is the next awake one after the last chosen row, round robin; if none is awake, the "
    "next choice starts at row 0.",
    "fetched": "The fetched row is the one chosen before, as written since reset.",
    "current": "The entries left in the current row are those with a weight and an able lane that have not been "
    "picked.",
    "picked": "The picked entry is the first one left in the current row.",
    "waiting": "An entry waits exactly when it was picked while another entry stayed offered; meanwhile the walk "
    "does not move.",
    "offered": "The offered entry is the waiting one, or else the picked one, taken when no entry was offered or the "
    "last one left; its lane and weight are as written.",
    "can-send": "An offered entry is predicted to be able to send if it was just picked, or else if its lane was "
    "able two cycles ago.",
}
"""Properties of every walk."""


class WalkClaims:
    """Compare the registers of a walk with those of its reference model.

    Parameters
    ----------
    walk : ListWalk
        The walk; nothing in it is changed.
    name : str
        Name of the walk.
    claim : Claims
        Collector of the claims.
    """

    def __init__(self, walk: Any, name: str, claim: Claims) -> None:
        self.walk, self.claim, self.account = walk, claim, WalkModel(walk, name)
        self.stored = [[walk.memory.memory.read_port(domain="comb") for _ in range(walk.rows)] for _ in range(2)]

    def add(self, m: Module) -> None:
        """Add the model and the claims."""
        self.account.follow(m)
        self._tables(m)
        self._reading(m)
        self._rows(m)
        self._entries(m)

    def _is_kept(self, kept: Value, written: Value) -> Value:
        """Return whether a stored entry represents a written one: lane and weight, bad, or without a weight."""
        walk, bits = self.walk, self.account.lane_bits
        vl, weight = kept[:bits], kept[bits:]
        is_there = written[:bits] < walk.data_vls
        return Mux(is_there & written[bits:].any(), kept == written, (vl >= walk.data_vls) & (weight[0] == ~is_there))

    def _tables(self, m: Module) -> None:
        walk, account, claim, memory = self.walk, self.account, self.claim, self.walk.memory
        size = memory.entry.size
        claim(m, "tables", memory.active == account.active)
        marks = Mux(account.active, Cat(account.marks[1], account.marks[0]), Cat(*account.marks))
        claim(m, "tables", Cat(memory.rows_written, memory.shadow_written) == marks)
        for bank in range(2):
            for row in range(walk.rows):
                port = self.stored[bank][row]
                m.d.comb += port.addr.eq(row | bank << len(walk.number))
                for place in range(ROW):
                    index = ROW * row + place
                    written = account.tables[bank][index] if index < walk.entries else Value.cast(0)
                    coming = memory.writer.en[place] & (memory.writer.addr == port.addr)
                    kept = Mux(coming, memory.writer.data, port.data).word_select(place, size)
                    full = Cat(written, Value.cast(0))[:size] if len(written) < size else written
                    claim(m, "tables", self._is_kept(kept, full), when=account.marks[bank][row])
                    if index < walk.entries:
                        claim(m, "tables", written == 0, when=~account.marks[bank][row])

    def _reading(self, m: Module) -> None:
        """Claim the positions of the rows while the list is read, and the collected values."""
        walk, account, claim = self.walk, self.account, self.claim
        since, read, rows = account.since, account.reading, walk.rows
        claim(m, "reading", walk.reading == read)
        at = Signal.like(since, name=f"at_{account.name}")  # number of entries counted so far
        m.d.comb += at.eq(Mux(since < 5, 0, since - 5))
        is_row = (since >= 4) & (since < 4 + account.count)
        row, step = (since - 4)[3:], (since - 4)[:3]
        with m.If(read):
            claim(m, "reading", ~account.is_offered & ~account.is_waiting & ~account.can)
            claim(m, "reading", walk.place == at[: len(walk.place)])
            claim(m, "reading", account.awake.all())
            claim(m, "reading", account.left == Mux(is_row, ((0xFF << step) & 0xFF), 0))
            claim(m, "reading", account.is_picked == ((since >= 5) & (since < 5 + account.count)))
            claim(m, "reading", account.picked == at, when=account.is_picked)
            claim(m, "reading", account.current == row, when=is_row)
            behind = Mux(since < 4, since - 3, 1 + row)
            claim(m, "reading", account.is_fetched == ((since >= 3) & (behind < rows)))
            claim(m, "reading", account.fetched == behind, when=account.is_fetched)
            ahead = Mux(since < 4, since - 2, 2 + row)
            claim(m, "reading", account.is_chosen == ((since >= 2) & (ahead < rows)))
            claim(m, "reading", account.chosen == ahead, when=account.is_chosen)
            started = Mux(since < 2, 0, Mux(ahead < rows, ahead + 1, rows))
            claim(m, "reading", account.start == started)
        claim(m, "reading", walk.ends == (since == account.ends_at))
        claim(m, "reading", (since >= 1) & (since <= account.ends_at + 1))
        is_read = [at > index for index in range(account.count)]
        lanes = [Mux(seen, serves, 0) for seen, serves in zip(is_read, account.serves, strict=True)]
        served: Value = Value.cast(0)
        for each in lanes:
            served = served | each
        claim(m, "named", walk.served == served)
        bits = account.lane_bits
        bad = sum(seen & (each[:bits] >= walk.data_vls) for seen, each in zip(is_read, account.entries, strict=True))
        claim(m, "named", walk.bad == bad)
        whole = [Mux(at >= ROW * (number + 1), account.named(number), 0) for number in range(rows)]
        part: Value = Value.cast(0)
        for index, each in enumerate(lanes):
            part = part | Mux(at[3:] == index // ROW, each, 0)
        claim(m, "named", walk.in_row == part)
        shifted = at[3:]
        for number in range(rows):
            found: Value = whole[number]
            for done in range(rows):
                moved = whole[number - rows + done] if number - rows + done >= 0 else Value.cast(0)
                found = Mux(shifted == done, moved, found)
            claim(m, "named", walk.named[number] == found)

    def _rows(self, m: Module) -> None:
        walk, account, claim = self.walk, self.account, self.claim
        claim(m, "awake", walk.wakes == account.awake)
        claim(m, "chosen", walk.chosen == account.is_chosen)
        claim(m, "chosen", walk.number == account.chosen, when=account.is_chosen)
        claim(m, "chosen", walk.beyond == Cat(account.start <= row for row in range(walk.rows)))
        claim(m, "chosen", account.start <= walk.rows)
        for each in (account.chosen, account.fetched, account.current):
            claim(m, "chosen", each < walk.rows)
        marks = Mux(account.active, account.marks[1], account.marks[0])
        marked, current_marked = marks.bit_select(account.fetched, 1), marks.bit_select(account.current, 1)
        claim(m, "fetched", walk.fetched == (account.is_fetched & (account.reading | marked)))
        claim(m, "fetched", walk.next_written == marked, when=walk.fetched)
        claim(m, "current", walk.lanes == account.left)
        claim(m, "current", walk.current_written == current_marked, when=account.left.any())
        for place in range(ROW):
            written = account.entry(ROW * account.fetched + place)
            claim(m, "fetched", self._is_kept(Value.cast(walk.next_row[place]), written), when=walk.fetched & marked)
            written = account.entry(ROW * account.current + place)
            kept = Value.cast(walk.current_row[place])
            claim(m, "current", self._is_kept(kept, written), when=account.left[place] & current_marked)
        serves = Cat(Array(account.serves)[ROW * account.current + place].any() for place in range(ROW))
        claim(m, "current", ~(account.left & ~serves).any(), when=account.left.any() & ~account.reading)

    def _entries(self, m: Module) -> None:
        walk, account, claim, bits = self.walk, self.account, self.claim, self.account.lane_bits
        claim(m, "picked", walk.picked == account.is_picked)
        written = account.entry(account.picked)
        claim(m, "picked", self._is_kept(Value.cast(walk.picked_entry), written), when=account.is_picked)
        claim(m, "picked", account.picked < account.count)
        waiting = Cat(walk.waiting.vl, walk.waiting.weight, walk.waiting_lane)
        waiting_flags = Cat(walk.waiting_single, walk.waiting_double, walk.waiting_ample)
        offered = Cat(walk.offered_vl, walk.offered_weight, walk.lane)
        for name, there, is_there, index, kept, flags in (
            ("waiting", walk.waits, account.is_waiting, account.waiting, waiting, waiting_flags),
            (
                "offered",
                walk.offered,
                account.is_offered,
                account.offered,
                offered,
                Cat(walk.single, walk.double, walk.ample),
            ),
        ):
            entry, serves = account.entry(index), Array(account.serves)[index]
            weight = entry[bits:]
            claim(m, name, there == is_there)
            claim(m, name, kept == Cat(entry, serves), when=is_there)
            claim(m, name, serves.any() & (index < account.count), when=is_there)
            claim(m, name, flags == Cat(weight == 1, weight == 2, weight >= walk.ample_from), when=is_there)
        picked = account.is_picked & ~account.reading
        claim(m, "picked", Array(account.serves)[account.picked].any(), when=picked)
        claim(m, "waiting", account.is_offered, when=account.is_waiting)
        claim(m, "offered", walk.loads == (walk.leaves | ~account.is_offered))
        claim(m, "can-send", walk.next_able == account.next_can, when=~walk.exchange)
        claim(m, "waiting", (walk.waiting_vl == walk.waiting.vl) & (walk.picked_vl == walk.picked_entry.vl))


class ListWalkProperties(Properties):
    """Check a walk against its reference model, and follow an arbitrary entry until its turn.

    Parameters
    ----------
    walk : ListWalk
        The component. Its internal signals are observed; nothing in it is changed.
    """

    statements: ClassVar = {
        **WALK_STATEMENTS,
        "wait-in-walk": "Before an entry whose lane stays able, at most 8 R + 23 other entries are picked (R is the "
        "number of rows), within at most 9 R + 25 moves of the walk.",
    }
    unfolds_memories = True
    any_memory = True
    within = 60

    def __init__(self, walk: Any) -> None:
        super().__init__()
        self.walk, self.m = walk, Module()
        self.claims = WalkClaims(walk, "walk", self.claim)
        self.watched = constant(self.m, "watched_entry", 7, 0, walk.entries - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.walk), self.watched]

    def elaborate(self, _platform: object) -> Module:
        m = self.m
        m.submodules.walk = self.walk
        self.claims.add(m)
        self._waits(m)
        return m

    def _waits(self, m: Module) -> None:
        """Count the picks, and the moves of the walk, before the watched entry whose lane stays able."""
        account, rows = self.claims.account, self.walk.rows
        row, place = self.watched[3:], self.watched[:3]
        followed, waits, is_picked = Signal(), Signal(), Signal()
        is_current = (account.current == row) & account.left.bit_select(place, 1)
        before = (account.left & ((1 << place) - 1))[:ROW]
        able = account.able(self.watched) & account.awake.bit_select(row, 1)
        m.d.comb += [
            is_picked.eq(is_current & ~before.any() & account.moves),
            waits.eq(able & ~account.reading & ~self.walk.exchange),
        ]
        m.d.sync += followed.eq(waits & ~is_picked)
        most_ahead = ROW * (rows + 3) - 1
        most_moves = most_ahead + rows + 2
        ahead, pulls, between = Signal(8), Signal(8), Signal(8)
        is_fetched = account.is_fetched & (account.fetched == row)
        is_chosen = account.is_chosen & (account.chosen == row)
        rest = sum(account.left[each] for each in range(ROW))
        m.d.comb += between.eq(Mux(account.start <= row, row - account.start, rows - account.start + row))
        with m.If(is_current):
            m.d.comb += [ahead.eq(sum(before[each] for each in range(ROW))), pulls.eq(0)]
        with m.Elif(is_fetched):
            m.d.comb += [ahead.eq(rest + place), pulls.eq(1)]
        with m.Elif(is_chosen):
            m.d.comb += [ahead.eq(rest + ROW * account.is_fetched + place), pulls.eq(2)]
        with m.Else():
            m.d.comb += [
                ahead.eq(rest + ROW * (account.is_fetched + account.is_chosen + between) + place),
                pulls.eq(3 + between),
            ]
        picks, moves = Signal(10), Signal(10)
        m.d.sync += [
            picks.eq(Mux(followed, picks, 0) + (account.moves & account.left.any())),
            moves.eq(Mux(followed, moves, 0) + account.moves),
        ]
        self.claim(m, "wait-in-walk", picks + ahead <= most_ahead, when=followed)
        self.claim(m, "wait-in-walk", moves + ahead + pulls <= most_moves, when=followed)
