"""The Deficit Table's line-rate form: the walk, the next turn and the sizes of heads are prepared ahead of decisions.

::

    walk: entry offered ---takes---> next turn ---begins---> current lane
               |                     covers                  stays, settles
               | weight                 |                        |
               v                        +---> names_next         +---> names_own    grant, if the lane sends
    accounts of the lanes (sign) -------------------^------------------------^

Every cycle predicts ``stays``, ``covers``, ``settles`` and ``known_one`` for the next one, so that the decision itself
reads registers only. Worked traces are in ``docs/dtable_line_rate.md``.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.egress import ListCode
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.schedulers.base import ScheduleSignature
from vlane.hdl.schedulers.forms import require_form
from vlane.hdl.schedulers.lane_account import LaneAccount
from vlane.hdl.schedulers.list_walk import ListWalk, any_able
from vlane.hdl.schedulers.ports import BLOCKS_SHAPE, egress_members, vl_bits_of
from vlane.schedulers.dtable import DTableParameters
from vlane.schedulers.registry import LINE_RATE
from vlane.schedulers.vlarb import VL15
from vlane.schedulers.writes import ScheduleSelect

_LANE_BITS = 5
LINE_RATE_LANES = (1 << _LANE_BITS) - 1
"""Largest number of data lanes: the number of all ones names no lane."""


class LineRateDTable(wiring.Component):
    """Deficit Table's line-rate form: the table in memory, walked ahead of need (``docs/dtable_line_rate.md``).

    Latency 0 but for ``blocks``. Reset empties both banks: nobody is served.

    Parameters
    ----------
    parameters : DTableParameters
        Shape of the component.

    Members
    -------
    heads : In(HeadsSignature(lanes))
        Head packets of the lanes.
    ready : In(1)
        A new packet may start.
    hold_data : In(1)
        A flow-control packet is due: only VL15 may win.
    grant : Out(1)
        A packet may start; it starts if ``ready`` is asserted too.
    vl : Out(vl_bits)
        Its lane. 0 if none is named.
    from_list : Out(ListCode)
        ``VL15`` or ``NONE``.
    blocks : Out(7)
        The size of the grant a cycle ago; 0 if there was none.
    program : In(ScheduleSignature(8))
        Writes to the shadow table.
    swap : In(1)
        Asks, for one cycle or more, that the shadow table becomes the active one in the first ready cycle.
    swap_pending : Out(1)
        A swap was asked for and waits for a ready cycle.
    unreachable : Out(data_vls)
        Lanes that no entry with a weight names: they are never served.
    behind : In(data_vls)
        Behind the head is another packet, and it fits after it.
    behind_blocks : In(ArrayLayout(7, data_vls))
        Its size.
    """

    latency = 0
    form = LINE_RATE

    def __init__(self, parameters: DTableParameters) -> None:
        require_form(self, parameters)
        self.parameters = p = parameters
        self.data_vls, self.vl15, self.lanes = p.data_vls, p.vl15, p.data_vls + p.vl15
        self.entries, self.mtu_blocks = p.entries, p.mtu_blocks
        members = {
            "program": In(ScheduleSignature(8)),
            "swap": In(1),
            "swap_pending": Out(1),
            "unreachable": Out(p.data_vls),
            "behind": In(p.data_vls),
            "behind_blocks": In(data.ArrayLayout(BLOCKS_SHAPE, p.data_vls)),
        }
        super().__init__({**egress_members(self.lanes, vl_bits=vl_bits_of(self.lanes)), **members})
        self.walk = ListWalk(data_vls=p.data_vls, entries=p.entries, lane_bits=_LANE_BITS, ample_from=p.mtu_blocks)
        self.accounts = [LaneAccount() for _ in range(p.data_vls)]
        self.sends = Signal(p.data_vls)
        self.sends_before = Signal(p.data_vls)
        self.able_before = Signal(p.data_vls)
        self.charged = Signal(p.data_vls)
        self.charged_before = Signal(p.data_vls)
        self.may = Signal()
        self.go = Signal()
        self.exchange = Signal()
        self.vl15_wins = Signal()
        self.current = Signal(p.data_vls)
        self.stays = Signal()
        self.known_one = Signal()
        self.next_lane = Signal(p.data_vls)
        self.has_next = Signal()
        self.covers = Signal()
        self.begins = Signal()
        self.room = Signal()
        self.can = Signal()
        self.returns = Signal()
        self.renews = Signal()
        self.takes = Signal()
        self.is_own = Signal()
        self.is_next = Signal()
        self.settles = Signal()
        self.names_own = Signal()
        self.names_next = Signal()
        self.current_vl = Signal(_LANE_BITS, init=LINE_RATE_LANES)
        self.next_vl = Signal(_LANE_BITS, init=LINE_RATE_LANES)
        self.after = Signal(p.data_vls)
        self.named = Signal(p.data_vls)
        self.behind_one = Signal(p.data_vls)

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
        """Walk the table (DTLR-1)."""
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
        """Begin the next turn when the current lane is done, and consider the offered entry (DTLR-3 to DTLR-6)."""
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
        with m.If(self.takes):  # also in the cycle in which the previous next turn begins
            m.d.sync += [self.next_lane.eq(offered), self.has_next.eq(1)]
        self._recognise(m)

    def _recognise(self, m: Module) -> None:
        """Compute a cycle ahead whether the offered entry names the current lane, or the lane of the next turn."""
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
        """Grant the named lane if it can send and return the heads of the cycle before."""
        own, following = (self.current & self.sends).any(), (self.next_lane & self.sends).any()
        lane = Mux(self.names_own, self.current_vl, self.next_vl)
        skipped = (lane >= VL15) if self.vl15 and self.data_vls > VL15 else 0
        m.d.comb += [
            self.grant.eq(self.vl15_wins | (self.may & ((self.names_own & own) | (self.names_next & following)))),
            self.vl.eq(
                Mux(self.vl15_wins, VL15, Mux(self.may & (self.names_own | self.names_next), lane + skipped, 0))
            ),
            self.from_list.eq(Mux(self.vl15_wins, ListCode.VL15, ListCode.NONE)),
        ]
        heads = Signal.like(Value.cast(self.heads.blocks))
        lanes = Signal(self.lanes)
        granted = Signal()
        named = Mux(self.may, self.named, 0)
        m.d.sync += [
            heads.eq(Value.cast(self.heads.blocks)),
            lanes.eq(Cat(named, self.vl15_wins) if self.vl15 else named),
            granted.eq(self.grant),
        ]
        m.d.comb += self.blocks.eq(Mux(granted, one_of(lanes, _sizes(heads)), 0))
        return heads

    def _keep_accounts(self, m: Module, heads: Value) -> None:
        """Drive the accounts of all lanes (DTLR-2, DTLR-6 to DTLR-8)."""
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
        """Predict ``stays``, ``settles``, ``covers`` and ``known_one`` for the next cycle (DTLR-10).

        Each case is evaluated for both values of ``go`` before ``go``, which is known last, selects.
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
                any_able(paying, covers_next, self.go & (self.stays | self.names_next))  # covers the next head
                | Mux(
                    self.go,
                    (self.settles & (current & sends & covered).any())  # its weight was added a cycle ago
                    | (begins_unsure & (next_lane & sends & covered).any())  # its turn begins without a grant
                    | (returned & ~self.walk.single & own_follower_is_one)  # one block of the returned weight is left
                    | (renewed & (current & sends & charged).any()),  # an ample entry of its own was taken
                    self.stays  # no decision: it keeps staying, or one of the cases above without a lane losing
                    | (self.settles & (current & covered).any())
                    | (self.begins & (next_lane & covered).any())
                    | (renewed & (current & charged).any()),
                )
            ),
            self.settles.eq(
                # the account that decides is right a cycle later: nothing is named until then
                (self.renews & ~ample) | (self.go & returned & (current & sends & behind).any() & ~own_follower_is_one)
            ),
            self.known_one.eq(
                Mux(
                    self.go,
                    (self.names_own & own_follower_is_one)  # sent from: the packet behind becomes the head
                    | (self.names_next & (next_lane & sends & self.behind_one).any())
                    # not sent from, its turn did not begin: the head is the same in the next cycle
                    | (~self.stays & ~self.begins & ~returned & (current & sends & one_block).any()),
                    ~self.begins & (current & one_block).any(),
                )
            ),
        ]
        sure = offered & Mux(ample, charged, one_block)  # covered whatever the account: no addition is needed
        with m.If(self.takes):
            m.d.sync += self.covers.eq(Mux(self.go, (sure & sends).any(), sure.any()))
        with m.Elif(self.begins):  # there is no next turn any more
            m.d.sync += self.covers.eq(0)
        with m.Else():  # the weight was added: the sign of the account decides
            m.d.sync += self.covers.eq(Mux(self.go, (next_lane & covered & sends).any(), (next_lane & covered).any()))


def _sizes(heads: Value) -> list[Value]:
    bits = BLOCKS_SHAPE.width
    return [heads[at : at + bits] for at in range(0, len(heads), bits)]
