"""Proofs of self-clocked fair queueing, with a reference model of the tags in integers that do not wrap."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from vlane.hdl.common.select import one_of
from vlane.schedulers.writes import ScheduleSelect
from vlane.tb.machinery.proofs.properties import Instance
from vlane.tb.schedulers.proofs_scheduler import STATEMENTS, SchedulerProperties
from vlane.tb.tables.proofs_tables import at

_MOST_BLOCKS = 127
"""Largest size that a head can have, in blocks."""


class SCFQProperties(SchedulerProperties):
    """Check self-clocked fair queueing.

    The model stores the distance of every tag from virtual time. The distance is exact: it is never negative, because
    the packet served has the least tag, and it is at most the cost of a packet, size x reciprocal.
    """

    statements: ClassVar = {
        **STATEMENTS,
        "frozen": "In a cycle without a decision (not ready, held, or taken by VL15) virtual time and the round "
        "robin of the lanes do not change.",
        "reciprocals": "A requester has the reciprocal written last, 0 after reset; a write to an absent requester "
        "is ignored.",
        "unserved": "A requester with reciprocal 0 is reported as unreachable and is not served.",
        "tags": "A tag is virtual time + size x reciprocal of the head that was offered when the tag was computed. The "
        "tag does not change until it is served or dropped. It is dropped if its lane cannot send while another lane "
        "of the requester can, and in a decision in which the requester cannot send or has reciprocal 0.",
        "window": "A tag is 0 to 127 x (2^reciprocal_bits - 1) above virtual time, in integers that do not wrap.",
        "virtual-time": "Virtual time is the tag of the packet served last, 0 after a decision in which no requester "
        "with a reciprocal could send.",
        "least-tag": "The requester with the least tag (in integers that do not wrap) is served. Among equal tags, the "
        "requester with the lowest number is served.",
        "work-conserving": "In a decision a packet is granted exactly when a requester with a reciprocal can send and "
        "no tag is missing.",
        "tag-unit": "A shared unit computes one missing tag in every cycle, decision or not, round robin.",
        "tag-wait": "With a shared unit, a requester that can send has a tag after at most requesters - 1 cycles. "
        "Packets wait for missing tags for at most requesters - 1 cycles, unless a further tag goes missing.",
        "offered-lane": "With a map, a tag is computed for the requester's first able lane after the lane it sent "
        "from last.",
        "served-lane": "The served lane is the lane for which the least tag was computed.",
        "wait": "While a requester keeps a tag of cost c (size x reciprocal), and no head has size 0, every other "
        "requester sends at most 1 + c packets before it, and all of them together at most (requesters - 1) "
        "x (1 + c).",
        "share": "While a packet P keeps its tag, another requester sends packets with newer tags of at most the cost "
        "of P in all (cost: size x reciprocal).",
    }

    stages = (("winner", "least-tag", "served-lane", "work-conserving"), ("wait", "share"))
    depth = 1

    def state(self) -> Value:
        return Cat(self.scheduler.virtual_time, self._turns())

    def _turns(self) -> list[Value]:
        """Return the component's pointers to the lane that each requester sent from last."""
        s = self.scheduler
        return [self.module.submodules[f"turns_{r}"].pointer for r in range(s.requesters)] if s.mapped else []

    def _claim_own_properties(self, m: Module) -> None:
        s, count, shared = self.scheduler, self.scheduler.requesters, self.scheduler.units == "shared"
        bits, lane_bits = s.reciprocal_bits + len(s.heads.blocks[0]), range(s.data_vls)
        self.reciprocals, self.has, self.ahead, self.lanes, self.turns, self.offers, self.costs, self.now = (
            [Signal(shape, name=f"account_{name}_{r}", init=init) for r in range(count)]
            for name, shape, init in (
                ("reciprocal", s.reciprocal_bits, 0),
                ("has", 1, 0),
                ("ahead", bits, 0),
                ("lane", lane_bits, 0),
                ("turn", lane_bits, s.data_vls - 1),
                ("offers", lane_bits, 0),
                ("cost", bits, 0),
                ("now", bits, 0),
            )
        )
        self.can, self.needs, self.picked = (Signal(count, name=f"account_{n}") for n in ("can", "needs", "picked"))
        self.decided, self.started, self.missing = Signal(), Signal(), Signal(count)
        self.served = Signal(bits)
        self._reciprocals(m)
        self._offers(m)
        self._unit(m, shared=shared)
        wins = self._winner(m)
        self._tags(m, wins, shared=shared)
        if s.mapped:  # for two requesters: with a lane for each requester the solver takes many minutes
            self._waits(m, wins, shared=shared)

    def _reciprocals(self, m: Module) -> None:
        """Model the reciprocals."""
        s, program = self.scheduler, self.scheduler.program
        for requester, reciprocal in enumerate(self.reciprocals):
            table = Value.cast(program.select) == ScheduleSelect.TABLE
            with m.If(program.enable & table & (program.index == requester)):
                m.d.sync += reciprocal.eq(program.weight)
            self.claim(m, "reciprocals", s.reciprocals[requester] == reciprocal)
            self.claim(m, "unserved", s.unreachable[requester] == (reciprocal == 0))
            self.claim(m, "unserved", reciprocal != 0, when=s.grant & s.decides & s.winner[requester])

    def _offers(self, m: Module) -> None:
        """Model the lane that each requester offers, and the cost of its head."""
        s = self.scheduler
        able = (s.heads.request & s.heads.fits)[: s.data_vls]
        for r in range(s.requesters):
            mine, kept = Signal(s.data_vls, name=f"account_mine_{r}"), Signal(name=f"account_kept_{r}")
            m.d.comb += mine.eq(able & Cat(owner == r for owner in self.owners))
            if s.mapped:
                self._first_after(m, self.offers[r], mine, self.turns[r])
                m.d.comb += kept.eq(self.has[r] & at(list(mine), self.lanes[r]))
                with m.If(kept):
                    m.d.comb += self.offers[r].eq(self.lanes[r])
            else:
                m.d.comb += [self.offers[r].eq(r), kept.eq(self.has[r])]
            size = at([s.heads.blocks[lane] for lane in range(s.data_vls)], self.offers[r])
            self.claim(m, "offered-lane", s.sizes[r] == size, when=mine.any())
            m.d.comb += [
                self.can[r].eq(mine.any() & (self.reciprocals[r] != 0)),
                self.needs[r].eq(self.can[r] & ~kept),
                self.now[r].eq(Mux(self.picked[r], self.costs[r], self.ahead[r])),
            ]
            lost = self.has[r] & mine.any() & ~kept
            with m.If(lost):
                m.d.sync += self.has[r].eq(0)

    def _first_after(self, m: Module, found: Signal, among: Value, last: Value) -> None:
        """Drive the index of the first set bit after ``last`` in cyclic order."""
        count = len(among)
        for distance in range(count, 0, -1):
            index = Mux(last + distance >= count, last + distance - count, last + distance)
            with m.If(at(list(among), index)):
                m.d.comb += found.eq(index)

    def _unit(self, m: Module, *, shared: bool) -> None:
        """Model which tags are computed in this cycle."""
        s, claim, count = self.scheduler, self.claim, self.scheduler.requesters
        m.d.comb += self.missing.eq(self.needs & ~self.picked)
        sizes = [Value.cast(s.sizes[r]) for r in range(count)]
        if not shared:
            m.d.comb += self.picked.eq(self.needs)
            m.d.comb += [self.costs[r].eq(sizes[r] * s.reciprocals[r]) for r in range(count)]
            return
        last, unit = Signal(range(count), init=count - 1, name="account_unit_last"), Signal(range(count))
        self._first_after(m, unit, self.needs, last)
        m.d.comb += self.picked.eq(Cat(self.needs.any() & (unit == r) for r in range(count)))
        with m.If(self.needs.any()):
            m.d.sync += last.eq(unit)
        claim(m, "tag-unit", (s.unit_last == last) & (last < count))
        # Use the component's operands, claimed equal to the model's: equal products of unequal terms are hard to prove.
        chosen = self.module.submodules["unit"].chosen
        claim(m, "tag-unit", chosen == self.picked)
        cost = one_of(chosen, sizes) * one_of(chosen, s.reciprocals)
        m.d.comb += [each.eq(cost) for each in self.costs]

        waited, needs = Signal(range(count + 1)), at(list(self.needs), self.watched)
        place = Mux(last < self.watched, self.watched - last, count + self.watched - last)
        m.d.sync += waited.eq(Mux(needs & ~at(list(self.picked), self.watched), waited + 1, 0))
        claim(m, "tag-wait", waited + place <= count, when=needs & (waited != 0))
        stalled, before = Signal(range(count + 1)), Signal(count)
        further = (self.needs & ~before).any()
        m.d.sync += [before.eq(self.missing), stalled.eq(Mux(self.missing.any(), Mux(further, 1, stalled + 1), 0))]
        claim(m, "tag-wait", stalled + reduce(add, self.needs) <= count, when=~further & (stalled != 0))

    def _winner(self, m: Module) -> Signal:
        """Claim which packet is granted and return the requester with the least tag."""
        s, claim, count = self.scheduler, self.claim, self.scheduler.requesters
        wins, packet = Signal(count, name="account_wins"), Signal(name="account_packet")
        vl15_able = (s.heads.request & s.heads.fits)[s.data_vls] if s.vl15 else Value.cast(0)
        decides = ~vl15_able & ~s.hold_data
        m.d.comb += [
            packet.eq(decides & self.can.any() & ~self.missing.any()),
            self.decided.eq(s.ready & decides),
            self.started.eq(s.ready & packet),
        ]
        for r in range(count):
            others = [q for q in range(count) if q != r]
            beats = Cat(
                ~self.can[q] | ((self.now[r] <= self.now[q]) if r < q else (self.now[r] < self.now[q])) for q in others
            )
            m.d.comb += wins[r].eq(self.can[r] & beats.all())
            with m.If(wins[r]):
                m.d.comb += self.served.eq(self.now[r])
            with m.If(packet & wins[r]):
                claim(m, "least-tag", s.winner == 1 << r)
                claim(m, "served-lane", at(list(self.granted), self.offers[r]))
        claim(m, "work-conserving", self.granted.any() == packet)
        return wins

    def _tags(self, m: Module, wins: Signal, *, shared: bool) -> None:
        """Model tags, virtual time and the round robin of the lanes, and claim that the component equals the model."""
        s, claim = self.scheduler, self.claim
        time = Signal(s.tag_bits)
        for r in range(s.requesters):
            with m.If(self.picked[r]):
                m.d.sync += self.lanes[r].eq(self.offers[r])
                if shared:
                    m.d.sync += self.has[r].eq(1)
            m.d.sync += self.ahead[r].eq(self.now[r] - Mux(self.started, self.served, 0))
            with m.If(self.decided):
                m.d.sync += self.has[r].eq(self.can[r] & ~self.missing[r] & ~(self.started & wins[r]))
            claim(m, "tags", s.has_tag[r] == self.has[r])
            with m.If(self.has[r]):
                claim(m, "tags", s.tags[r] == (time + self.ahead[r])[: s.tag_bits])
                claim(m, "window", self.ahead[r] <= _MOST_BLOCKS * ((1 << s.reciprocal_bits) - 1))
            if s.mapped:
                with m.If(self.started & wins[r]):
                    m.d.sync += self.turns[r].eq(self.offers[r])
                claim(m, "offered-lane", (self._turns()[r] == self.turns[r]) & (self.turns[r] < s.data_vls))
                claim(m, "offered-lane", s.taken_lanes[r] == self.lanes[r], when=self.has[r])
        with m.If(self.started):
            m.d.sync += time.eq(time + self.served)
        with m.Elif(self.decided & ~self.can.any()):
            m.d.sync += time.eq(0)
        claim(m, "virtual-time", s.virtual_time == time)

    def _waits(self, m: Module, wins: Signal, *, shared: bool) -> None:
        """Count the packets served before the watched requester's, and their costs."""
        s, claim, count = self.scheduler, self.claim, self.scheduler.requesters
        able = s.heads.request & s.heads.fits
        sized = Cat(~able[lane] | s.heads.blocks[lane].any() for lane in range(s.data_vls)).all()
        keeps, above = at(self.has, self.watched), at(self.ahead, self.watched)
        gets = at(list(self.picked), self.watched) & (1 if shared else self.decided)
        cost, all_sized, spent = Signal.like(self.served), Signal(), Signal.like(self.served)
        with m.If(gets):
            m.d.sync += cost.eq(at(self.costs, self.watched))
        m.d.sync += all_sized.eq((gets | all_sized) & sized)
        m.d.comb += spent.eq(cost - above)
        claim(m, "wait", above <= cost, when=keeps)
        total = []
        for r in range(count):
            widths = {"passed": len(cost) + 1, "paid": len(cost) + 1, "own": len(cost), "since": 1}
            passed, paid, own, since = (Signal(width, name=f"{name}_{r}") for name, width in widths.items())
            sent = self.started & wins[r]
            m.d.sync += passed.eq(Mux(gets, 0, passed) + sent)
            total.append(Mux(self.watched == r, 0, passed))
            with m.If(keeps & all_sized & (self.watched != r)):
                claim(m, "wait", passed <= spent + 1)
                claim(m, "wait", passed <= spent + self.ahead[r], when=self.has[r])
            new = self.picked[r] & ~gets
            charged = Mux(new, self.costs[r], Mux(since & ~gets, own, 0))
            m.d.sync += [own.eq(charged), since.eq(new | (since & ~gets))]
            m.d.sync += paid.eq(Mux(gets, 0, paid) + Mux(sent, charged, 0))
            with m.If(keeps & (self.watched != r)):
                claim(m, "share", paid <= spent)
                claim(m, "share", paid + own <= spent + self.ahead[r], when=self.has[r] & since)
        claim(m, "wait", reduce(add, total) <= (count - 1) * (1 + cost), when=keeps & all_sized)


INSTANCES = (
    Instance(
        "small",
        SCFQProperties,
        {"data_vls": 2, "requesters": 0, "vl15": True, "tag_bits": 12, "reciprocal_bits": 4, "units": "shared"},
    ),
    Instance(
        "own-units",
        SCFQProperties,
        {"data_vls": 2, "requesters": 0, "vl15": True, "tag_bits": 12, "reciprocal_bits": 4, "units": "per_requester"},
    ),
    Instance(
        "mapped",
        SCFQProperties,
        {"data_vls": 3, "requesters": 2, "vl15": False, "tag_bits": 12, "reciprocal_bits": 4, "units": "shared"},
    ),
    Instance(
        "mapped-own-units",
        SCFQProperties,
        {"data_vls": 3, "requesters": 2, "vl15": False, "tag_bits": 12, "reciprocal_bits": 4, "units": "per_requester"},
    ),
)
"""Proven instances: a shared unit or one per requester, without and with a map."""
