"""Proofs of deficits and turns for the Deficit Table and deficit round robin, with models written from the pages."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from vlane.tb.schedulers.proofs_scheduler import LANE_TURNS, STATEMENTS, SchedulerProperties, model_sizes
from vlane.tb.tables.proofs_tables import at, constant
from vlane.units import MAX_PACKET_BLOCKS

MOST_WEIGHT = 255
_FEW_ENTRIES = 8
"""Most entries for which waiting times are proven."""

_MOST_OF_A_TURN = MOST_WEIGHT + MAX_PACKET_BLOCKS - 1
"""Most blocks with which a turn begins: the largest weight plus the largest deficit."""


class DeficitProperties(SchedulerProperties):
    """Check a scheduler with deficits against a reference model of its turns and of one arbitrary requester.

    Assumption: packets that can be sent have 1 to 66 blocks.

    Parameters
    ----------
    scheduler : Scheduler
        The component.

    Attributes
    ----------
    entry : Signal
        Arbitrary entry, the same in all cycles.
    turns_up_to : int
        Largest number of entries for which turns and deficits are proven; the time grows with entries and lanes.
    """

    turns_up_to: ClassVar = 16
    statements: ClassVar = {
        **STATEMENTS,
        **LANE_TURNS,
        "account": "The blocks that a requester may send (deficit or remainder of the turn) equal the weights added "
        "minus the blocks sent, both counted since the requester last lost its deficit.",
        "inactive-loses": "A decision in which a requester is inactive clears its deficit and ends its turn. With "
        "`keep_on_stall`, a requester that only lacks credit keeps its deficit, and at most `mtu_blocks` - 1 blocks "
        "of its turn.",
        "turn": "The turn continues while it covers its requester's packet. Otherwise a turn of the next entry "
        "begins, in cyclic order, that has a weight and an active requester. Without such an entry the turn ends.",
        "left": "The remainder of a turn is its initial amount minus the blocks sent in it.",
        "served": "A packet is granted exactly when the current or the new turn covers it, and to that turn's "
        "requester.",
        "covered": "While every weight covers its requester's packet, a decision grants a packet whenever a "
        "requester named by an entry is active.",
        "deficit-bound": "A deficit is smaller than the largest packet.",
        "turn-bound": "The remainder of a turn is at most the largest weight plus the largest deficit minus the "
        "packet sent first.",
        "one-turn": "At most one requester has the turn, and its deficit is 0.",
        "wait": "A requester named by an entry whose weight covers its packets is served after at most (entries - 1) "
        "x (largest weight + largest packet - 1) decisions.",
        "wait-small-weight": "A packet whose requester is named by an entry with any weight is sent after at most "
        "(largest packet + 1) x entries x (largest weight + largest packet - 1) decisions.",
        "unreachable": "A requester is reported unreachable exactly when no entry with a weight names it.",
    }

    def __init__(self, scheduler: Any) -> None:
        super().__init__(scheduler)
        s = scheduler
        self.entry = constant(self.m, "watched_entry", 7, 0, s.turns.entries - 1)
        self.exchange, self.decides, self.decision = (Signal(name=each) for each in ("exchanges", "rules", "decision"))
        self.active, self.waiting = (Signal(s.requesters, name=f"{each}_now") for each in ("active", "waiting"))
        self.last = Signal(range(max(2, s.turns.entries)), name="last_entry", init=s.turns.entries - 1)
        self.holder, self.holding = Signal(5, name="holder"), Signal(name="holding")
        self.left, self.account = Signal(10, name="left"), Signal(10, name="account")
        self.entries: list[tuple[Value, Value]] = []

    def ports(self) -> list[Value]:
        return [*super().ports(), self.entry]

    def state(self) -> Value:
        """Return the registers that only a decision may change."""
        t = self.scheduler.turns
        return Cat(t.pointer, t.turn, t.accumulated, t.deficit)

    def disturbed(self) -> Value:
        """Return whether the banks are exchanged in this cycle, which also changes these registers."""
        return self.exchange

    def table(self, m: Module) -> list[tuple[Value, Value]]:
        """Return (requester, weight) of each entry, claimed to be the written values, and drive ``exchange``."""
        raise NotImplementedError

    def most_accumulated(self) -> int:
        """Return the value at which the counter of the accumulated weight saturates."""
        return _MOST_OF_A_TURN

    def _claim_own_properties(self, m: Module) -> None:
        s = self.scheduler
        m.d.comb += Assume(model_sizes(s))
        self.lane_turns(m)
        self._activity(m)
        self.entries = self.table(m)
        named = [(owner == self.watched) & weight.any() for owner, weight in self.entries]
        self.claim(m, "unreachable", at(list(s.unreachable), self.watched) == ~Cat(named).any())
        sizes = [s.sizes[r] if s.mapped else s.heads.blocks[r] for r in range(s.requesters)]
        turn = s.turns.turn
        self.claim(m, "one-turn", (turn & (turn - 1)[: s.requesters]) == 0)
        if len(self.entries) > self.turns_up_to:
            return
        self._turns(m, sizes)
        self._claim_bounds(m)
        if len(self.entries) <= _FEW_ENTRIES:
            self._wait(m, sizes)

    def _activity(self, m: Module) -> None:
        """Derive the active and the waiting requesters from the lanes, and whether this is a decision."""
        s = self.scheduler
        able = s.heads.request & s.heads.fits
        vl15_able = able[s.data_vls] if s.vl15 else Value.cast(0)
        m.d.comb += [self.decides.eq(~s.hold_data & ~vl15_able), self.decision.eq(s.ready & self.decides)]
        for requester in range(s.requesters):
            owned = Cat(s.owners[lane] == requester for lane in range(s.data_vls)) if s.mapped else 1 << requester
            m.d.comb += [
                self.active[requester].eq((owned & able).any()),
                self.waiting[requester].eq((owned & s.heads.request).any() & ~(owned & able).any()),
            ]

    def _turns(self, m: Module, sizes: list[Value]) -> None:
        """Model the turns: holder, remainder, and the blocks that the watched requester may send."""
        s, watched, last, left, holder = self.scheduler, self.watched, self.last, self.left, self.holder
        keep, most_kept = s.parameters.keep_on_stall, s.parameters.mtu_blocks - 1
        able, stalled, goes_on = Signal(), Signal(), Signal()
        m.d.comb += [
            able.eq(self.holding & at(list(self.active), holder)),
            stalled.eq(self.holding & at(list(self.waiting), holder) & keep),
            goes_on.eq(able & (left >= at(sizes, holder))),
        ]
        found, next_entry, served, weight = Signal(), Signal.like(last), Signal(5), Signal(8)
        eligible = [at(list(self.active), owner) & (weight != 0) for owner, weight in self.entries]
        m.d.comb += [
            served.eq(at([owner for owner, _ in self.entries], next_entry)),
            weight.eq(at([weight for _, weight in self.entries], next_entry)),
        ]
        if len(self.entries) <= _FEW_ENTRIES:
            self._search(m, eligible, found, next_entry)
        else:
            self._watch_search(m, eligible, found, next_entry)
        remainder, carried, total, sends = Signal(10), Signal(10), Signal(10), Signal()
        others = Mux(served == watched, self.account, at(list(s.deficit), served))
        most = self.most_accumulated()
        m.d.comb += [
            remainder.eq(Mux(able, left, Mux(stalled, Mux(left < most_kept, left, most_kept), 0))),
            carried.eq(Mux(self.holding & (served == holder), remainder, others)),
            total.eq(Mux(weight + carried < most, weight + carried, most)),
            sends.eq(goes_on | (found & (total >= at(sizes, served)))),
        ]
        sender = Mux(goes_on, holder, served)
        with m.If(self.decision):
            with m.If(goes_on):
                m.d.sync += left.eq(left - at(sizes, holder))
            with m.Else():
                m.d.sync += [self.holding.eq(found), left.eq(Mux(found, total - Mux(sends, at(sizes, served), 0), 0))]
                with m.If(found):
                    m.d.sync += [last.eq(next_entry), holder.eq(served)]
        begins = found & ~goes_on & (served == watched)
        self._account(m, Mux(begins, weight, 0), at(sizes, watched))
        with m.If(self.exchange):
            m.d.sync += [self.holding.eq(0), left.eq(0), self.account.eq(0), last.eq(len(self.entries) - 1)]
        self.claim(m, "served", s.grant == sends, when=self.decides)
        self.claim(m, "served", s.winner == (1 << sender)[: s.requesters], when=self.decides & sends)
        t = s.turns
        self.claim(m, "turn", (t.pointer == last) & (last < t.entries))
        self.claim(m, "turn", t.turn == Mux(self.holding, (1 << holder)[: s.requesters], 0))
        self.claim(
            m,
            "turn",
            (holder < s.requesters) & (at([owner for owner, _ in self.entries], last) == holder),
            when=self.holding,
        )
        self.claim(m, "left", s.accumulated == left)
        self.claim(m, "left", left == 0, when=~self.holding)

    def _search(self, m: Module, eligible: list[Value], found: Signal, next_entry: Signal) -> None:
        """Find the first eligible entry after the last one, in cyclic order."""
        for behind in (0, 1):  # the first of all entries, overridden by the first one after the last entry
            for index in reversed(range(len(eligible))):
                with m.If(eligible[index] & ((index > self.last) if behind else 1)):
                    m.d.comb += [found.eq(1), next_entry.eq(index)]

    def _watch_search(self, m: Module, eligible: list[Value], found: Signal, next_entry: Signal) -> None:
        """Use the entry that the component found, and claim that it is eligible and not after the watched place."""
        search, mine = self.scheduler.turns.search, at(eligible, self.entry)
        m.d.comb += [found.eq(search.found), next_entry.eq(search.entry)]
        self.claim(m, "turn", search.chosen == Mux(found, 1 << next_entry, 0)[: len(eligible)])
        self.claim(m, "turn", at(eligible, next_entry), when=found)
        self.claim(
            m, "turn", found & (self._distance_from_last(next_entry) <= self._distance_from_last(self.entry)), when=mine
        )

    def _distance_from_last(self, entry: Value) -> Value:
        """Return the cyclic distance from the last entry to another, 1 to the number of entries."""
        return Mux(entry > self.last, entry - self.last, len(self.entries) + entry - self.last)

    def _account(self, m: Module, added: Value, size: Value) -> None:
        """Model the watched requester's blocks: blocks added by turns minus blocks sent, cleared on a loss."""
        s, account, watched = self.scheduler, self.account, self.watched
        keep, most_kept = s.parameters.keep_on_stall, s.parameters.mtu_blocks - 1
        has_turn, active, waits, kept = (Signal(name=f"{each}_watched") for each in ("turn", "able", "waits", "kept"))
        stays, total, most = Signal(10), Signal(10), self.most_accumulated()
        m.d.comb += [
            has_turn.eq(self.holding & (self.holder == watched)),
            active.eq(at(list(self.active), watched)),
            waits.eq(at(list(self.waiting), watched) & keep),
            stays.eq(Mux(has_turn & ~active & (account > most_kept), most_kept, account)),
            kept.eq(active | waits),
            total.eq(Mux(kept, stays, 0) + added),
        ]
        sent = Mux(s.grant & at(list(s.winner), watched), size, 0)
        with m.If(self.decision):
            m.d.sync += account.eq(Mux(total < most, total, most) - sent)
        deficit = at(list(s.deficit), watched)
        self.claim(m, "account", deficit == account, when=~has_turn)
        self.claim(m, "account", s.accumulated == account, when=has_turn)
        lost, capped, before = Signal(), Signal(), Signal(10)
        m.d.sync += [lost.eq(self.decision & ~kept), capped.eq(self.decision & kept & ~active), before.eq(stays)]
        self.claim(m, "inactive-loses", (deficit == 0) & ~has_turn, when=lost)
        if keep:
            self.claim(m, "inactive-loses", ~has_turn, when=capped)
            with m.If(~self._exchanged(m)):
                self.claim(m, "inactive-loses", deficit == before, when=capped)

    def _exchanged(self, m: Module) -> Value:
        exchanged = Signal(name="exchanged_before")
        m.d.sync += exchanged.eq(self.exchange)
        return exchanged

    def _claim_bounds(self, m: Module) -> None:
        """Claim that deficits are less than the largest packet, and that the turn's holder has deficit 0."""
        s, t = self.scheduler, self.scheduler.turns
        for requester in range(s.requesters):
            self.claim(m, "deficit-bound", s.deficit[requester] < MAX_PACKET_BLOCKS)
            self.claim(m, "one-turn", s.deficit[requester] == 0, when=t.turn[requester])
        self.claim(m, "turn-bound", self.left < _MOST_OF_A_TURN)

    def _wait(self, m: Module, sizes: list[Value]) -> None:
        """Claim an upper bound on the decisions that a requester waits.

        The bound counts the decisions still to come: a whole turn for each entry before the watched one, and the
        remainder of the current turn, at one block per packet; if the weight is small, also a round for each missing
        block.
        """
        s, size = self.scheduler, at(sizes, self.watched)
        round_ = len(self.entries) * _MOST_OF_A_TURN
        owner, weight = at([each for each, _ in self.entries], self.entry), at([w for _, w in self.entries], self.entry)
        active, serves = at(list(self.active), self.watched), s.grant & at(list(s.winner), self.watched)
        can, covers, to_go = Signal(), Signal(), Signal(8)
        m.d.comb += [
            can.eq(active & (owner == self.watched) & (weight != 0)),
            covers.eq(can & (weight >= size)),
            to_go.eq(self._distance_from_last(self.entry)),
        ]
        self.claim(m, "covered", s.grant, when=can & self.decision & self._weights_cover_heads(sizes))
        ahead, passed, waited = Signal(16), Signal(16), Signal(24)
        m.d.comb += ahead.eq(to_go * _MOST_OF_A_TURN + self.left)
        before = Signal.like(size)
        m.d.sync += before.eq(size)
        for counter, goes in ((passed, covers), (waited, can & (~waited.any() | (size == before)))):
            with m.If(~goes | (self.decision & serves) | self.exchange):
                m.d.sync += counter.eq(0)
            with m.Elif(self.decision):
                m.d.sync += counter.eq(counter + 1)
        self.claim(m, "wait", passed + ahead <= round_, when=passed != 0)
        missing = Signal(8)
        m.d.comb += missing.eq(Mux(before > self.account, before - self.account, 0))
        self.claim(
            m,
            "wait-small-weight",
            waited + missing * round_ + ahead <= (MAX_PACKET_BLOCKS + 1) * round_,
            when=waited != 0,
        )

    def _weights_cover_heads(self, sizes: list[Value]) -> Value:
        """Return whether every non-zero weight covers the packet of the entry's requester, if any."""
        return Cat(
            (weight == 0) | ~at(list(self.active), owner) | (weight >= at(sizes, owner))
            for owner, weight in self.entries
        ).all()
