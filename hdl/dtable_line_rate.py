"""The Deficit Table's line-rate form: the table walked ahead, turns begun ahead, heads charged ahead."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from vlane.hdl.egress import BLOCKS_SHAPE, egress_members
from vlane.hdl.lane_account import LaneAccount
from vlane.hdl.list_walk import ListWalk, any_able
from vlane.hdl.scheduler import ScheduleSelect, ScheduleSignature, vl_numbers
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
    """

    def __init__(self, *, data_vls: int, entries: int, vl15: bool, vl_bits: int) -> None:
        self.data_vls, self.vl15, self.lanes = data_vls, vl15, data_vls + vl15
        super().__init__({**egress_members(self.lanes, vl_bits=vl_bits), **line_rate_members(data_vls=data_vls)})
        self.walk = ListWalk(data_vls=data_vls, entries=entries, lane_bits=_LANE_BITS)
        self.accounts = [LaneAccount() for _ in range(data_vls)]
        self.sends, self.sends_before, self.able_before = Signal(data_vls), Signal(data_vls), Signal(data_vls)
        self.charged, self.charged_before = Signal(data_vls), Signal(data_vls)
        self.may, self.go, self.exchange, self.vl15_wins = Signal(), Signal(), Signal(), Signal()
        self.current, self.stays, self.known_one = Signal(data_vls), Signal(), Signal()
        self.next_lane, self.has_next, self.covers = Signal(data_vls), Signal(), Signal()
        self.begins, self.room, self.can = Signal(), Signal(), Signal()
        self.returns, self.renews, self.takes = Signal(), Signal(), Signal()
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
            m.d.sync += [self.current.eq(0), self.stays.eq(0), self.known_one.eq(0)]
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
        own = Signal()
        m.d.comb += [
            self.begins.eq(self.has_next & ~self.stays),
            self.room.eq(~self.has_next | ~self.stays),
            self.after.eq(Mux(self.begins, self.next_lane, self.current)),
            own.eq((offered & self.current).any()),
            self.takes.eq(self.room & self.can & ~Mux(self.begins, (offered & self.next_lane).any(), own)),
            self.returns.eq(~self.has_next & ~self.stays & self.can & own),
            self.renews.eq(self.returns & ~self.known_one),
            self.named.eq(
                Mux(self.stays | (self.returns & self.known_one), self.current, Mux(self.covers, self.next_lane, 0))
            ),
        ]
        with m.If(self.begins):
            m.d.sync += [self.current.eq(self.next_lane), self.next_lane.eq(0), self.has_next.eq(0)]
        with m.If(self.takes):
            m.d.sync += [self.next_lane.eq(offered), self.has_next.eq(1)]

    def _grant(self, m: Module) -> Value:
        """Grant whom the decision names if it can send; return the heads of the cycle before."""
        numbers = vl_numbers(data_vls=self.data_vls, vl15=self.vl15, bits=len(self.vl))
        m.d.comb += [
            self.grant.eq(self.vl15_wins | any_able(self.named, self.sends, self.may)),
            self.vl.eq(Mux(self.vl15_wins, VL15, Mux(self.may, one_of(self.named, numbers), 0))),
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
                account.renews.eq(~self.stays & ~self.has_next),
                account.adds.eq(offered[lane] & (~self.after[lane] | self.renews)),
                account.comes.eq(comes[lane]),
                account.empties.eq((self.go & ~self.sends[lane]) | (pays & ~self.behind[lane]) | self.exchange),
            ]

    def _foresee(self, m: Module) -> None:
        """Foresee what stays, covers, and is one block, with a decision in this cycle and without (T10)."""
        sends, current, next_lane = self.sends, self.current, self.next_lane
        own, own_added = Signal(self.data_vls), Signal(self.data_vls)
        covers_added, one_block = Signal(self.data_vls), Signal(self.data_vls)
        granted = Mux(self.stays, current, next_lane) & sends & self.behind
        renewing = Mux(self.returns & self.known_one, current, 0) & sends & self.behind
        m.d.comb += [
            covers_added.eq(Cat(account.covers_added for account in self.accounts)),
            own_added.eq(Mux(self.renews, current, 0) & covers_added),
            own.eq(
                Cat(
                    (granted[lane] & account.covers_next & (self.stays | self.covers))
                    | (renewing[lane] & account.covers_renewed)
                    | (own_added[lane] & sends[lane])
                    for lane, account in enumerate(self.accounts)
                )
            ),
            one_block.eq(Cat(equals(size, 1) for size in list(self.heads.blocks)[: self.data_vls]) & self.charged),
        ]
        m.d.sync += [
            self.stays.eq(Mux(self.go, own.any(), self.stays | self.covers | own_added.any())),
            self.known_one.eq(
                Mux(
                    self.go,
                    (sends & Mux(self.named.any(), self.named & self.behind_one, self.after & one_block)).any(),
                    (self.after & one_block).any(),
                )
            ),
        ]
        offered = self.walk.lane & covers_added
        with m.If(self.takes):
            m.d.sync += self.covers.eq(Mux(self.go, (offered & sends).any(), offered.any()))
        with m.Elif(self.begins | (self.go & ~(next_lane & sends).any())):
            m.d.sync += self.covers.eq(0)


def _sizes(heads: Value) -> list[Value]:
    bits = BLOCKS_SHAPE.width
    return [heads[at : at + bits] for at in range(0, len(heads), bits)]
