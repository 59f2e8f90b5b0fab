"""The Deficit Table's line-rate form: the table walked ahead, turns begun ahead, heads charged ahead."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from vlane.hdl.egress import BLOCKS_SHAPE, egress_members
from vlane.hdl.lane_account import LaneAccount
from vlane.hdl.list_walk import ListWalk, any_able
from vlane.hdl.scheduler import ScheduleSelect, ScheduleSignature
from vlane.hdl.select import equals, one_of

from vlane.egress import ListCode
from vlane.vlarb import VL15

__all__ = ["LINE_RATE_LANES", "LineRateDTable", "line_rate_members"]

_LANE_BITS = 5
LINE_RATE_LANES = (1 << _LANE_BITS) - 1
"""Most data lanes: the last number stands for nobody."""


def line_rate_members(*, data_vls: int) -> dict[str, Any]:
    """Return the members of the form beside those that every egress scheduler has; ``DTable`` says what each is."""
    return {
        "program": In(ScheduleSignature(8)),
        "swap": In(1),
        "swap_pending": Out(1),
        "unreachable": Out(data_vls),
        "behind": In(data_vls),
        "behind_blocks": In(data.ArrayLayout(BLOCKS_SHAPE, data_vls)),
    }


class LineRateDTable(wiring.Component):
    """What ``DTable`` is made of in its line-rate form; the members are the same (``docs/dtable_line_rate.md``).

    Parameters
    ----------
    data_vls : int
        Data lanes, 2 to 31.
    entries : int
        Entries of the table, 2 to 128.
    vl15 : bool
        Whether there is one more lane, the last, for VL15.
    vl_bits : int
        Width of ``vl``.
    mtu_blocks : int
        Largest packet: a weight that is no less covers every one.
    """

    def __init__(self, *, data_vls: int, entries: int, vl15: bool, vl_bits: int, mtu_blocks: int) -> None:
        self.data_vls, self.vl15, self.lanes = data_vls, vl15, data_vls + vl15
        super().__init__({**egress_members(self.lanes, vl_bits=vl_bits), **line_rate_members(data_vls=data_vls)})
        self.walk = ListWalk(data_vls=data_vls, entries=entries, lane_bits=_LANE_BITS, ample_from=mtu_blocks)
        self.accounts = [LaneAccount() for _ in range(data_vls)]
        self.sends, self.sends_before, self.able_before = Signal(data_vls), Signal(data_vls), Signal(data_vls)
        self.charged, self.charged_before = Signal(data_vls), Signal(data_vls)
        self.may, self.go, self.exchange, self.vl15_wins = Signal(), Signal(), Signal(), Signal()
        self.current, self.stays, self.known_one = Signal(data_vls), Signal(), Signal()
        self.next_lane, self.has_next, self.covers = Signal(data_vls), Signal(), Signal()
        self.begins, self.room, self.can = Signal(), Signal(), Signal()
        self.returns, self.renews, self.takes = Signal(), Signal(), Signal()
        self.is_own, self.is_next, self.settles = Signal(), Signal(), Signal()
        self.names_own, self.names_next = Signal(), Signal()
        self.current_vl = Signal(_LANE_BITS, init=LINE_RATE_LANES)
        self.next_vl = Signal(_LANE_BITS, init=LINE_RATE_LANES)
        self.after, self.named, self.behind_one = Signal(data_vls), Signal(data_vls), Signal(data_vls)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        able = self.heads.request & self.heads.fits
        wanted = self.swap | self.swap_pending
        m.d.comb += [
            self.sends.eq(able),
            self.vl15_wins.eq(able[self.data_vls] if self.vl15 else 0),
            self.may.eq(~self.vl15_wins & ~self.hold_data),
            self.go.eq(self.ready & self.may),
            self.exchange.eq(wanted & self.ready),
            self.charged.eq(Cat(account.charged for account in self.accounts)),
            self.behind_one.eq(Cat(equals(size, 1) for size in self.behind_blocks) & self.behind),
            self.unreachable.eq(~self.walk.served),
        ]
        m.d.sync += [
            self.sends_before.eq(self.sends),
            self.able_before.eq(self.sends & self.charged),
            self.charged_before.eq(self.charged),
            self.swap_pending.eq(wanted & ~self.ready),
        ]
        self._walk(m)
        self._turns(m)
        self._keep_accounts(m, self._grant(m))
        self._foresee(m)
        with m.If(self.exchange):
            m.d.sync += [self.current.eq(0), self.stays.eq(0), self.settles.eq(0), self.known_one.eq(0)]
            m.d.sync += [self.next_lane.eq(0), self.has_next.eq(0), self.covers.eq(0), self.can.eq(0)]
        return m

    def _walk(self, m: Module) -> None:
        """Walk the table (T1)."""
        m.submodules.walk = walk = self.walk
        m.d.comb += [
            walk.able_before.eq(self.able_before),
            walk.write.eq(self.program.enable & equals(Value.cast(self.program.select), int(ScheduleSelect.TABLE))),
            walk.index.eq(self.program.index),
            walk.vl.eq(self.program.requester),
            walk.weight.eq(self.program.weight),
            walk.exchange.eq(self.exchange),
            walk.leaves.eq(self.room & (~self.can | self.takes | (self.returns & (self.go | ~self.known_one)))),
        ]
        m.d.sync += self.can.eq(walk.next_able)

    def _turns(self, m: Module) -> None:
        """Begin the next turn when the current lane is done; look at the offered entry for another (T3 to T6)."""
        offered = self.walk.lane
        m.d.comb += [
            self.begins.eq(self.has_next & ~self.stays & ~self.settles),
            self.room.eq(~self.has_next | self.begins),
            self.after.eq(Mux(self.begins, self.next_lane, self.current)),
            self.takes.eq(self.room & self.can & ~Mux(self.begins, self.is_next, self.is_own)),
            self.returns.eq(~self.has_next & ~self.stays & ~self.settles & self.can & self.is_own),
            self.renews.eq(self.returns & ~self.known_one),
            self.names_own.eq(self.stays | (self.returns & self.known_one)),
            self.names_next.eq(self.covers & ~self.stays & ~self.settles),
            self.named.eq(Mux(self.names_own, self.current, 0) | Mux(self.names_next, self.next_lane, 0)),
        ]
        with m.If(self.begins):
            m.d.sync += [self.current.eq(self.next_lane), self.next_lane.eq(0), self.has_next.eq(0)]
        with m.If(self.takes):
            m.d.sync += [self.next_lane.eq(offered), self.has_next.eq(1)]
        self._recognise(m)

    def _recognise(self, m: Module) -> None:
        """Know a cycle ahead whether the offered entry names the current lane, or the next turn's."""
        walk, current_vl, next_vl = self.walk, self.current_vl, self.next_vl
        with m.If(self.begins):
            m.d.sync += [current_vl.eq(next_vl), next_vl.eq(LINE_RATE_LANES)]
        with m.If(self.takes):
            m.d.sync += next_vl.eq(walk.offered_vl)
        with m.If(self.exchange):
            m.d.sync += [current_vl.eq(LINE_RATE_LANES), next_vl.eq(LINE_RATE_LANES)]

        def offered_next(lane: Value) -> Value:
            coming = Mux(walk.waits, walk.waiting_vl == lane, walk.picked_vl == lane)
            return Mux(walk.loads, coming, walk.offered_vl == lane)

        own, following = offered_next(current_vl), offered_next(next_vl)
        m.d.sync += [
            self.is_own.eq(Mux(self.begins, following, own)),
            self.is_next.eq(Mux(self.takes, offered_next(walk.offered_vl), ~self.begins & following)),
        ]

    def _grant(self, m: Module) -> Value:
        """Grant whom the decision names if it can send; return the heads of the cycle before."""
        own, following = (self.current & self.sends).any(), (self.next_lane & self.sends).any()
        lane = Mux(self.names_own, self.current_vl, self.next_vl)
        skipped = (lane >= VL15) if self.vl15 and self.data_vls > VL15 else 0
        m.d.comb += [
            self.grant.eq(self.vl15_wins | (self.may & ((self.names_own & own) | (self.names_next & following)))),
            self.vl.eq(
                Mux(self.vl15_wins, VL15, Mux(self.may & (self.names_own | self.names_next), lane + skipped, 0))
            ),
            self.list.eq(Mux(self.vl15_wins, ListCode.VL15, ListCode.NONE)),
        ]
        heads, lanes, granted = Signal.like(Value.cast(self.heads.blocks)), Signal(self.lanes), Signal()
        named = Mux(self.may, self.named, 0)
        m.d.sync += [
            heads.eq(Value.cast(self.heads.blocks)),
            lanes.eq(Cat(named, self.vl15_wins) if self.vl15 else named),
            granted.eq(self.grant),
        ]
        m.d.comb += self.blocks.eq(Mux(granted, one_of(lanes, _sizes(heads)), 0))
        return heads

    def _keep_accounts(self, m: Module, heads: Value) -> None:
        """Pay, add, charge and empty every lane's account (T2, T6 to T8)."""
        comes = ~self.charged & ~self.charged_before & self.sends_before
        offered = Mux(self.can & self.room, self.walk.lane, 0)
        for lane, (account, head) in enumerate(zip(self.accounts, _sizes(heads)[: self.data_vls], strict=True)):
            m.submodules[f"account_{lane}"] = account
            pays = Signal(name=f"pays_{lane}")
            m.d.comb += [
                pays.eq(self.go & self.named[lane] & self.sends[lane]),
                account.next_head.eq(self.behind_blocks[lane]),
                account.head_before.eq(head),
                account.weight.eq(self.walk.offered_weight),
                account.pays.eq(pays),
                account.from_weight.eq(~self.stays & ~self.has_next),
                account.adds.eq(offered[lane] & (~self.after[lane] | self.renews)),
                account.comes.eq(comes[lane]),
                account.empties.eq((self.go & ~self.sends[lane]) | (pays & ~self.behind[lane]) | self.exchange),
            ]

    def _foresee(self, m: Module) -> None:
        """Foresee what stays, covers, and is one block, with a decision in this cycle and without (T10).

        Lanes are looked up for every case first: which case it is, is known last.
        """
        current, next_lane, offered = self.current, self.next_lane, self.walk.lane
        sends, charged, behind, ample = self.sends, self.charged, self.behind, self.walk.ample
        covers_next = Cat(account.covers_next for account in self.accounts)
        covered = Cat(account.charged & ~account.account[-1] for account in self.accounts)
        one_block = Cat(equals(size, 1) for size in list(self.heads.blocks)[: self.data_vls]) & charged
        idle = ~self.stays & ~self.settles
        begins_unsure = idle & self.has_next & ~self.covers
        returned, renewed = self.returns & self.known_one, self.renews & ample
        own_follower_is_one = (current & sends & self.behind_one).any()
        paying = Mux(self.stays, current, next_lane) & sends & behind
        m.d.sync += [
            self.stays.eq(
                any_able(paying, covers_next, self.go & (self.stays | self.names_next))
                | Mux(
                    self.go,
                    (self.settles & (current & sends & covered).any())
                    | (begins_unsure & (next_lane & sends & covered).any())
                    | (returned & ~self.walk.single & own_follower_is_one)
                    | (renewed & (current & sends & charged).any()),
                    self.stays
                    | (self.settles & (current & covered).any())
                    | (self.begins & (next_lane & covered).any())
                    | (renewed & (current & charged).any()),
                )
            ),
            self.settles.eq(
                (self.renews & ~ample) | (self.go & returned & (current & sends & behind).any() & ~own_follower_is_one)
            ),
            self.known_one.eq(
                Mux(
                    self.go,
                    (self.names_own & own_follower_is_one)
                    | (self.names_next & (next_lane & sends & self.behind_one).any())
                    | (~self.stays & ~self.begins & ~returned & (current & sends & one_block).any()),
                    ~self.begins & (current & one_block).any(),
                )
            ),
        ]
        sure = offered & Mux(ample, charged, one_block)
        with m.If(self.takes):
            m.d.sync += self.covers.eq(Mux(self.go, (sure & sends).any(), sure.any()))
        with m.Elif(self.begins):
            m.d.sync += self.covers.eq(0)
        with m.Else():
            m.d.sync += self.covers.eq(Mux(self.go, (next_lane & covered & sends).any(), (next_lane & covered).any()))


def _sizes(heads: Value) -> list[Value]:
    bits = BLOCKS_SHAPE.width
    return [heads[at : at + bits] for at in range(0, len(heads), bits)]
