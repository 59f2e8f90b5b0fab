"""Proofs of the Deficit Table's line-rate form, for every table and input, by induction over its state."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from vlane.egress import ListCode
from vlane.schedulers.vlarb import VL15
from vlane.schedulers.writes import ScheduleSelect
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.schedulers.proofs_list_memory import MEMORY_STATEMENTS, WatchedEntry
from vlane.tb.schedulers.proofs_list_walk import ENTRY_STATEMENTS, FollowedEntry, claim_entries, lane_bit
from vlane.tb.tables.proofs_tables import at, constant

_NOBODY = 31


class _LineRate(Properties):
    """Common part of both proofs of the line-rate form: component, watched lane, and properties of every grant.

    Parameters
    ----------
    scheduler : LineRateDTable
        The component. Its internal signals are observed; nothing in it is changed.
    """

    within = 48
    unfolds_memories = True
    any_memory = True
    statements: ClassVar = {each: ENTRY_STATEMENTS[each] for each in ("lane-offered", "lane-waiting", "idle-reading")}

    def __init__(self, scheduler: Any) -> None:
        super().__init__()
        self.scheduler, self.m = scheduler, Module()
        self.watched = constant(self.m, "watched", 5, 0, scheduler.data_vls - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.scheduler), self.watched]

    def able(self) -> Value:
        """Return the data lanes that can send."""
        s = self.scheduler
        return (s.heads.request & s.heads.fits)[: s.data_vls]

    def vl15_able(self) -> Value:
        """Return whether VL15 can send."""
        s = self.scheduler
        return (s.heads.request & s.heads.fits)[s.data_vls] if s.vl15 else Value.cast(0)

    def _offered(self, m: Module) -> None:
        """Claim the properties of the offered entry, and assume that the entry has a lane and a weight."""
        walk = self.scheduler.walk
        claim_entries(m, walk, self.claim)
        m.d.comb += Assume(~walk.offered | (walk.lane.any() & (walk.offered_weight != 0)))


class LineRateProperties(_LineRate):
    """Check the scheduler against a reference model of the blocks that one arbitrary lane may send, head included.

    The proof assumes that packets stay until they are sent, that ``behind`` and ``behind_blocks`` announce the next
    head correctly, that sizes are 1 to ``mtu_blocks``, and that an offered entry has a weight and a lane of the port.

    Parameters
    ----------
    scheduler : LineRateDTable
        The component. Its internal signals are observed; nothing in it is changed.
    """

    statements: ClassVar = {
        **_LineRate.statements,
        **MEMORY_STATEMENTS,
        "wait-in-walk": ENTRY_STATEMENTS["wait-in-walk"],
        "line-rate-covered": "A packet is granted only if its lane may send its blocks: the weights of the lane's"
        " turns minus the blocks that the lane sent, both since it last lost its deficit.",
        "line-rate-account": "An account is the weights of the lane's turns minus the blocks that the lane sent, minus"
        " its head packet.",
        "unable-loses": "After a decision, a lane that could not send, or whose only packet was granted, has account"
        " 0.",
        "account-bound": "The sum of a charged lane's account and head packet is never negative, and an account is at"
        " most 254.",
        "charged": "A lane's account is 0 unless its head packet has been present for a cycle.",
        "line-rate-one-turn": "At most one lane is current and at most one other lane is next, and the predictions"
        " about these lanes agree with their accounts.",
    }

    def __init__(self, scheduler: Any) -> None:
        super().__init__(scheduler)
        self.followed = FollowedEntry(scheduler.walk, "walk", self.claim)
        self.kept = WatchedEntry(scheduler.walk, "walk", self.claim)

    def ports(self) -> list[Value]:
        return [*super().ports(), *self.followed.ports(), *self.kept.ports()]

    def elaborate(self, _platform: object) -> Module:
        m = self.m
        m.submodules.scheduler = self.scheduler
        self._offered(m)
        self._turns(m)
        self.followed.add_turns(m)
        m.submodules.kept = self.kept
        for lane in range(self.scheduler.data_vls):
            self._lane(m, lane)
        self._credit(m)
        return m

    def _turns(self, m: Module) -> None:
        """Claim that at most one lane is current and another lane is next, and that the lanes' flags are right."""
        s, walk, lanes, claim = self.scheduler, self.scheduler.walk, self.scheduler.data_vls, self.claim
        claim(m, "line-rate-one-turn", s.current == lane_bit(s.current_vl, lanes))
        claim(m, "line-rate-one-turn", s.next_lane == lane_bit(s.next_vl, lanes))
        claim(m, "line-rate-one-turn", s.has_next == s.next_lane.any())
        claim(m, "line-rate-one-turn", ~(s.current & s.next_lane).any())
        claim(m, "line-rate-one-turn", walk.offered, when=s.can)
        claim(m, "line-rate-one-turn", ~(s.stays & s.settles))
        claim(m, "line-rate-one-turn", s.has_next, when=s.covers)
        claim(m, "line-rate-one-turn", s.current.any(), when=s.stays | s.settles | s.known_one)
        claim(m, "line-rate-one-turn", s.is_own == (walk.lane & s.current).any(), when=walk.offered)
        claim(m, "line-rate-one-turn", s.is_next == (walk.lane & s.next_lane).any(), when=walk.offered)
        for lane, account in enumerate(s.accounts):
            with m.If(s.named[lane] & s.may):
                returns = s.returns & s.known_one
                claim(m, "line-rate-one-turn", account.charged & ((account.account >= 0) | returns))
                claim(m, "line-rate-one-turn", account.account == -1, when=returns)

    def _lane(self, m: Module, lane: int) -> None:
        """Claim bounds of a lane's account and the meaning of its sign. Packets have the announced sizes."""
        s, claim = self.scheduler, self.claim
        account, head, behind = s.accounts[lane], s.heads.blocks[lane], s.behind_blocks[lane]
        request, balance, charged = s.heads.request[lane], account.account, account.charged
        ran, stood, came = (Signal(name=f"{what}_{lane}") for what in ("ran", "stood", "came"))
        size = Signal(7, name=f"size_{lane}")
        paid = s.go & s.named[lane] & s.sends[lane]
        follows = paid & s.behind[lane]
        m.d.sync += [ran.eq(1), stood.eq(request & ~paid), came.eq(follows), size.eq(head)]
        with m.If(follows):
            m.d.sync += size.eq(behind)
        m.d.comb += [
            Assume((head >= 1) & (head <= s.mtu_blocks) & (behind >= 1) & (behind <= s.mtu_blocks)),
            Assume(~(ran & (stood | came)) | (request & (head == size))),
        ]
        owned, is_next = s.current[lane], s.next_lane[lane]
        claim(m, "charged", ran & (stood | came), when=charged)
        claim(m, "charged", balance == 0, when=~charged)
        claim(m, "account-bound", balance + head >= 0, when=charged)
        claim(m, "account-bound", balance <= 254)
        claim(m, "line-rate-one-turn", charged & (balance >= 0), when=(s.stays & owned) | (s.covers & is_next))
        claim(m, "line-rate-one-turn", charged & (head == 1), when=s.known_one & owned)
        claim(m, "line-rate-one-turn", is_next | (owned & (s.stays | s.settles)), when=charged & (balance >= 0))

    def _credit(self, m: Module) -> None:
        """Track the watched lane's credit in a reference model and compare the component's account with the credit.

        Turns add to the credit and sent packets are subtracted. A decision without the lane, the end of the lane's
        queue and a swap clear the credit.
        """
        s, walk, watched = self.scheduler, self.scheduler.walk, self.watched
        head, account = at(list(s.heads.blocks), watched), at([each.account for each in s.accounts], watched)
        charged = at([each.charged for each in s.accounts], watched)
        can, behind, decision = at(list(self.able()), watched), at(list(s.behind), watched), Signal()
        number = watched + (s.vl15 & (watched >= VL15))
        granted, sent, added, loses = Signal(), Signal(), Signal(), Signal()
        credit = Signal(10)
        m.d.comb += [
            decision.eq(s.ready & ~s.hold_data & ~self.vl15_able()),
            granted.eq(s.grant & (Value.cast(s.from_list) == int(ListCode.NONE)) & (s.vl == number)),
            sent.eq(granted & s.ready),
            added.eq(walk.offered & walk.leaves & s.can & (walk.offered_vl == watched) & charged),
            loses.eq((decision & ~can) | (sent & ~behind) | ((s.swap | s.swap_pending) & s.ready)),
        ]
        m.d.sync += credit.eq(Mux(loses, 0, credit + Mux(added, walk.offered_weight, 0) - Mux(sent, head, 0)))
        self.claim(m, "line-rate-account", account == credit - head, when=charged)
        self.claim(m, "line-rate-account", credit == 0, when=~charged)
        returned = Mux(added, walk.offered_weight, 0)
        self.claim(m, "line-rate-covered", credit + returned >= head, when=sent)
        lost = Signal()
        m.d.sync += lost.eq(loses)
        self.claim(m, "unable-loses", ~charged & (account == 0), when=lost)


class LineRateTurns(_LineRate):
    """Check the scheduler against a model of its turns, written from ``docs/dtable_line_rate.md``, for every input.

    The proof assumes that an offered entry has a weight and a lane of the port. The model computes the account of one
    arbitrary lane, and takes the accounts of all other lanes from the component.

    Parameters
    ----------
    scheduler : LineRateDTable
        The component. Its internal signals are observed; nothing in it is changed.
    """

    statements: ClassVar = {
        **_LineRate.statements,
        "vl15-first": "VL15 is granted exactly when its head can be sent, so no data lane is granted then.",
        "hold": "While data lanes are held, no data lane is granted.",
        "line-rate-lane": "A decision names the current lane if it stays; otherwise the lane of a next turn that"
        " covers its packet; otherwise the current lane if its entry returns. The named lane is granted exactly if it"
        " can send.",
        "line-rate-size": "The output `blocks` is the size of the packet granted in the previous cycle, or 0 without a"
        " grant.",
        "line-rate-turn": "Turns begin, stay, settle and cover exactly as the table of predictions states.",
        "leaves": "The offered entry leaves exactly when it cannot send, becomes the next turn, or is taken by its own"
        " lane.",
        "rule-account": "An account changes only by the rules: when a head is charged, a weight is added, a packet is"
        " sent, a lane cannot send, or the banks are exchanged.",
        "line-rate-table": "Writes of the table and the able lanes reach the walk; a lane is unreachable exactly when"
        " no entry read so far names it with a weight.",
        "swap": "A swap waits from the cycle in which it is requested until the first ready cycle.",
    }

    def elaborate(self, _platform: object) -> Module:
        m, s = self.m, self.scheduler
        m.submodules.scheduler = s
        self.go, self.exchange, pending, able = Signal(), Signal(), Signal(), Signal(s.data_vls)
        m.d.comb += [
            able.eq(self.able()),
            self.go.eq(s.ready & ~s.hold_data & ~self.vl15_able()),
            self.exchange.eq((s.swap | pending) & s.ready),
        ]
        m.d.sync += pending.eq((s.swap | pending) & ~s.ready)
        self.claim(m, "swap", s.swap_pending == pending)
        self._offered(m)
        self._walk(m, able)
        self._rules(m, able)
        return m

    def _walk(self, m: Module, able: Signal) -> None:
        """Claim that the walk gets the writes, the swaps, and the able and charged lanes of the previous cycle."""
        s, walk, program = self.scheduler, self.scheduler.walk, self.scheduler.program
        was_able, charged = Signal(), at([each.charged for each in s.accounts], self.watched)
        m.d.sync += was_able.eq(at(list(able), self.watched) & charged)
        writes = program.enable & (Value.cast(program.select) == int(ScheduleSelect.TABLE))
        self.claim(m, "line-rate-table", walk.write == writes)
        given = Cat(walk.index, walk.vl, walk.weight)
        self.claim(m, "line-rate-table", given == Cat(program.index, program.requester, program.weight), when=writes)
        self.claim(m, "line-rate-table", at(list(walk.able_before), self.watched) == was_able)
        self.claim(m, "line-rate-table", at(list(s.unreachable), self.watched) == ~at(list(walk.served), self.watched))
        self.claim(m, "swap", walk.exchange == self.exchange)

    def _rules(self, m: Module, able: Signal) -> None:
        """Keep the turns of DTLR-3 to DTLR-10, as numbers of lanes."""
        s, walk, go = self.scheduler, self.scheduler.walk, self.go
        current, following = (Signal(5, name=each, init=_NOBODY) for each in ("is_current", "is_next"))
        stays, settles, covers, known, can = (
            Signal(name=f"r_{each}") for each in ("stay", "settle", "cover", "one", "can")
        )
        idle, begins, returns, takes, considered = (
            Signal(name=f"r_{e}") for e in ("idle", "begin", "ret", "take", "open")
        )
        named, then, vl, weight = Signal(5), Signal(5), walk.offered_vl, walk.offered_weight
        there, alone = following != _NOBODY, following == _NOBODY
        m.d.sync += can.eq(walk.next_able & ~self.exchange)
        m.d.comb += [
            idle.eq(~stays & ~settles),
            begins.eq(there & idle),
            then.eq(Mux(begins, following, current)),
            returns.eq(alone & idle & can & (vl == current)),
            considered.eq(walk.offered & (alone | begins)),
            takes.eq(considered & can & (vl != then)),
            named.eq(
                Mux(stays, current, Mux(~settles & there & covers, following, Mux(returns & known, current, _NOBODY)))
            ),
        ]
        ample, renews, returned = Signal(), Signal(), Signal()
        m.d.comb += [ample.eq(weight >= s.mtu_blocks), renews.eq(returns & ~known), returned.eq(returns & known)]
        sent = Signal()
        m.d.comb += sent.eq(go & at(list(able), named))
        self._grants(m, able, named)
        self._claim_turns(m, (current, following, stays, settles, covers, known, can))
        leaves = considered & (~can | takes | renews | (returned & go))
        self.claim(m, "leaves", walk.leaves == leaves, when=walk.offered)

        charged = [each.charged for each in s.accounts]
        self.claim(m, "line-rate-turn", at(charged, current), when=stays | known)
        self.claim(m, "line-rate-turn", at(charged, following), when=covers)
        negative = [each.account[-1] for each in s.accounts]
        kept = list(Cat(charged) & (able | Mux(go, 0, (1 << s.data_vls) - 1)))
        after = at([(a.account - size)[:9] for a, size in zip(s.accounts, s.behind_blocks, strict=True)], then)
        behind = at(list(s.behind), then) & sent
        behind_one = behind & (at(list(s.behind_blocks), then) == 1)
        holds = at(kept, then)
        m.d.sync += [
            current.eq(then),
            stays.eq(
                Mux(
                    sent,
                    Mux(returned, behind_one & (weight > 1), behind & ~after[8]),
                    holds & Mux(renews, ample, Mux(begins | settles, ~at(negative, then), stays)),
                )
            ),
            settles.eq(Mux(sent & returned, behind & ~behind_one, renews & ~ample)),
            known.eq(Mux(sent, behind_one, ~begins & holds & (at(list(s.heads.blocks), then) == 1))),
            following.eq(Mux(takes, vl, Mux(begins, _NOBODY, following))),
            covers.eq(
                Mux(
                    takes,
                    at(kept, vl) & ((at(list(s.heads.blocks), vl) == 1) | ample),
                    ~begins & at(kept, following) & ~at(negative, following),
                )
            ),
        ]
        with m.If(self.exchange):
            m.d.sync += [
                current.eq(_NOBODY),
                following.eq(_NOBODY),
                *(each.eq(0) for each in (stays, settles, covers, known)),
            ]
        adds = (takes & (vl == self.watched)) | (renews & (current == self.watched))
        self._account(m, at(list(able), self.watched), adds, sent & (named == self.watched), returned)

    def _grants(self, m: Module, able: Value, named: Value) -> None:
        """Claim that the named lane is granted if it can send, after VL15 and unless data lanes are held."""
        s, vl15 = self.scheduler, Signal()
        m.d.comb += vl15.eq(self.vl15_able())
        data, can = ~vl15 & ~s.hold_data, at(list(able), named)
        number = Mux(named == _NOBODY, 0, named + (s.vl15 & (named >= VL15)))
        self.claim(m, "vl15-first", (Value.cast(s.from_list) == int(ListCode.VL15)) == vl15)
        self.claim(m, "vl15-first", (Value.cast(s.from_list) == int(ListCode.NONE)) == ~vl15)
        if s.vl15:
            self.claim(m, "vl15-first", s.grant & (s.vl == VL15), when=vl15)
        self.claim(m, "hold", ~s.grant & (s.vl == 0), when=s.hold_data & ~vl15)
        self.claim(m, "line-rate-lane", (s.vl == number) & (s.grant == can), when=data)
        size = Signal(7)
        vl15_size = s.heads.blocks[s.lanes - 1]
        m.d.sync += size.eq(Mux(vl15, vl15_size, Mux(data & can, at(list(s.heads.blocks)[: s.data_vls], named), 0)))
        self.claim(m, "line-rate-size", s.blocks == size)

    def _claim_turns(self, m: Module, turns: tuple[Signal, ...]) -> None:
        s, lanes, walk = self.scheduler, self.scheduler.data_vls, self.scheduler.walk
        current, following, stays, settles, covers, known, can = turns
        for kept, number in ((s.current_vl, current), (s.next_vl, following)):
            self.claim(m, "line-rate-turn", (kept == number) & ((number < lanes) | (number == _NOBODY)))
        self.claim(m, "line-rate-turn", s.current == lane_bit(current, lanes))
        self.claim(m, "line-rate-turn", s.next_lane == lane_bit(following, lanes))
        self.claim(m, "line-rate-turn", s.has_next == (following != _NOBODY))
        self.claim(m, "line-rate-turn", (current != following) | (current == _NOBODY))
        self.claim(m, "line-rate-turn", Cat(s.stays, s.settles, s.known_one) == Cat(stays, settles, known))
        self.claim(m, "line-rate-turn", (s.covers == covers) & (s.can == can))
        self.claim(m, "line-rate-turn", ~(stays & settles))
        self.claim(m, "line-rate-turn", walk.offered, when=can)
        self.claim(m, "line-rate-turn", following != _NOBODY, when=covers)
        self.claim(m, "line-rate-turn", current != _NOBODY, when=stays | settles | known)
        self.claim(m, "line-rate-turn", s.is_own == (walk.offered_vl == current), when=walk.offered)
        self.claim(m, "line-rate-turn", s.is_next == (walk.offered_vl == following), when=walk.offered)

    def _account(self, m: Module, may_send: Value, added_blocks: Value, sent: Value, returned: Value) -> None:
        """Model the account of the watched lane by DTLR-2, DTLR-7 and DTLR-8."""
        s, watched, weight = self.scheduler, self.watched, self.scheduler.walk.offered_weight
        balance, charged, charged_before = Signal(9), Signal(), Signal()
        sent_before, head_before = Signal(), Signal(7)
        behind, size = at(list(s.behind), watched), at(list(s.behind_blocks), watched)
        m.d.sync += [
            charged_before.eq(charged),
            sent_before.eq(may_send),
            head_before.eq(at(list(s.heads.blocks), watched)),
        ]
        with m.If(self.exchange | (self.go & ~may_send) | (sent & ~behind)):
            m.d.sync += [balance.eq(0), charged.eq(0)]
        with m.Elif(sent):
            m.d.sync += balance.eq(Mux(returned, weight - 1, balance) - size)
        with m.Elif(charged):
            m.d.sync += balance.eq(balance + Mux(added_blocks, weight, 0))
        with m.Elif(sent_before & ~charged_before):
            m.d.sync += [balance.eq(-head_before), charged.eq(1)]
        accounts = s.accounts
        self.claim(m, "rule-account", at([each.charged for each in accounts], watched) == charged)
        self.claim(m, "rule-account", at([each.account[:9] for each in accounts], watched) == balance)
