"""Line-rate form of the VL arbiter: lists are walked ahead of decisions, weights are charged one block per cycle.

::

    cycle t - 1                          cycle t                                    cycle t + 1
    walk.next_able   -> can              entry that stays, or is offered    wins    blocks: size of the granted packet
    behind, able     -> looks (able)     High or Low: limit left, has_one  ----->   further blocks are charged, one
    weight.left                          lane able: grant                           a cycle

The winner of a cycle depends on registers only; ``heads`` only decides whether the decision is lost. A worked trace is
in ``docs/vlarb_line_rate.md``.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring

from vlane.egress import ListCode
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.schedulers.block_budget import BlockBudget
from vlane.hdl.schedulers.forms import require_form
from vlane.hdl.schedulers.list_walk import ListWalk, any_able
from vlane.hdl.schedulers.ports import BLOCKS_SHAPE
from vlane.hdl.schedulers.vlarb_banks import vlarb_members
from vlane.schedulers.registry import LINE_RATE
from vlane.schedulers.vlarb import VL15, VLArbParameters
from vlane.schedulers.writes import ListSelect

_LIMIT_BITS = 14


class _List:
    """State of one list: its walk, its current entry, and the flags of this cycle's decision."""

    def __init__(self, side: ListCode, *, data_vls: int, entries: int) -> None:
        name = side.name.lower()
        self.name, self.code = name, Const(int(side), 2)
        self.select = ListSelect[side.name]
        self.walk = ListWalk(data_vls=data_vls, entries=entries, lane_bits=4)
        self.weight = BlockBudget(8, starts_with=0)
        self.lane = Signal(data_vls, name=f"lane_{name}")
        self.vl = Signal(4, name=f"vl_{name}")
        self.can = Signal(name=f"can_{name}")
        self.looks = Signal(name=f"looks_{name}")
        self.stays = Signal(name=f"stays_{name}")
        self.has_one = Signal(name=f"has_one_{name}")
        self.prefers = Signal(name=f"prefers_{name}")
        self.wins = Signal(name=f"wins_{name}")
        self.goes_on = Signal(name=f"goes_on_{name}")


class LineRateVLArb(wiring.Component):
    """VL arbiter in line-rate form: lists in memory, walked ahead of decisions (``docs/vlarb_line_rate.md``).

    Latency 0, except for ``blocks`` (1). Reset empties both banks.

    Parameters
    ----------
    parameters : VLArbParameters
        Shape of the component.

    Members
    -------
    heads : In(HeadsSignature(requesters))
        Head packets of the lanes.
    ready : In(1)
        A new packet may start.
    hold_data : In(1)
        A flow-control packet is due: only VL15 may win.
    grant : Out(1)
        A packet may start; it starts if ``ready`` is asserted too.
    vl : Out(4)
        Lane named by the decision; 15 for VL15, 0 if no lane is named.
    from_list : Out(ListCode)
        List of the named lane.
    blocks : Out(7)
        Size of the packet granted in the previous cycle; 0 without a grant.
    program : In(ProgramSignature())
        Write port of the shadow tables, usable at any time.
    swap : In(1)
        Request to exchange the banks in the first ready cycle.
    swap_pending : Out(1)
        A swap was requested and waits for a ready cycle.
    unreachable : Out(data_vls)
        Data lanes that no entry with a weight names. They are never served.
    bad_entries : Out(range(2 * entries + 1))
        Number of entries in the active lists that name VL15 or an absent lane. They are skipped.
    behind : In(data_vls)
        Lanes with a second packet that fits behind the head. A hint: wrong values cost lost decisions only.
    """

    latency = 0
    form = LINE_RATE

    def __init__(self, parameters: VLArbParameters) -> None:
        require_form(self, parameters)
        self.parameters = p = parameters
        self.data_vls, self.entries, self.vl15 = p.data_vls, p.entries, p.vl15
        self.requesters = p.data_vls + p.vl15
        super().__init__(vlarb_members(data_vls=p.data_vls, entries=p.entries, vl15=p.vl15, behind=True))
        self.lists = tuple(
            _List(side, data_vls=p.data_vls, entries=p.entries) for side in (ListCode.HIGH, ListCode.LOW)
        )
        self.turn = BlockBudget(_LIMIT_BITS, starts_with=1)
        self.able = Signal(p.data_vls)
        self.able_before = Signal(p.data_vls)
        self.vl15_wins = Signal()
        self.may = Signal()
        self.go = Signal()
        self.exchange = Signal()
        self.limits = [Signal(8, name=f"limit_{bank}") for bank in range(2)]
        self.limit = Signal(8)
        self.active = Signal()
        self.unbounded = Signal()
        self.is_none = Signal(init=1)
        self.starts = Signal()
        self.goes_on = Signal()
        self.to_go = Signal(BLOCKS_SHAPE)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        able = self.heads.request & self.heads.fits
        wanted = self.swap | self.swap_pending
        m.d.comb += [
            self.able.eq(able),
            self.vl15_wins.eq(able[self.data_vls] if self.vl15 else 0),
            self.may.eq(~self.vl15_wins & ~self.hold_data),
            self.go.eq(self.ready & self.may),
            self.exchange.eq(wanted & self.ready),
        ]
        m.d.sync += [self.able_before.eq(self.able), self.swap_pending.eq(wanted & ~self.ready)]
        high, low = self.lists
        m.d.comb += [
            high.prefers.eq(self.turn.left | ~low.has_one),
            low.prefers.eq(~self.turn.left | ~high.has_one),
            self.unreachable.eq(~(high.walk.served | low.walk.served)),
            self.bad_entries.eq(high.walk.bad + low.walk.bad),
        ]
        for each in self.lists:
            self._serve(m, each)
        self._limit(m)
        self._further_blocks(m, self._grant(m))
        return m

    def _serve(self, m: Module, each: _List) -> None:
        """Walk a list, serve it, and predict its state in the next cycle (VLALR-3 to VLALR-8)."""
        walk, weight = each.walk, each.weight
        m.submodules[f"walk_{each.name}"], m.submodules[f"weight_{each.name}"] = walk, weight
        takes, continues, recent = (Signal(name=f"{what}_{each.name}") for what in ("takes", "continues", "recent"))
        m.d.comb += [
            walk.able_before.eq(self.able_before),
            walk.write.eq(self.program.enable & equals(Value.cast(self.program.select), int(each.select))),
            walk.index.eq(self.program.index),
            walk.vl.eq(self.program.vl),
            walk.weight.eq(self.program.weight),
            walk.exchange.eq(self.exchange),
            walk.leaves.eq(~each.stays & (~each.can | (self.go & each.prefers))),
            weight.renew.eq(takes),
            weight.amount.eq(walk.offered_weight),
            weight.single.eq(walk.single),
            weight.double.eq(walk.double),
            weight.charge.eq((self.go & each.wins) | each.goes_on),
            weight.end.eq(self.exchange),
            each.stays.eq(each.looks & weight.left),
            each.has_one.eq(each.stays | each.can),
            each.wins.eq(each.has_one & each.prefers),
            takes.eq(self.go & each.can & ~each.stays & each.prefers),
            continues.eq(self.go & each.stays & each.prefers),
        ]
        m.d.sync += [
            each.can.eq(walk.next_able),
            # all four cases are evaluated in parallel: whether this decision names the list is known late
            each.looks.eq(
                any_able(walk.lane, self.behind, takes)  # offered entry named: check its second packet
                | any_able(each.lane, self.behind, continues)  # current entry named
                | any_able(
                    each.lane, self.able_before, ~takes & ~continues & ~recent
                )  # neither named in the last two cycles
                | (each.looks & recent & ~takes & ~continues)  # named a cycle ago: `able_before` is stale
            ),
            recent.eq(takes | continues),
        ]
        with m.If(takes):  # the offered entry becomes the current one
            m.d.sync += [each.lane.eq(walk.lane), each.vl.eq(walk.offered_vl)]
        with m.If(self.exchange):  # predictions are about the old bank
            m.d.sync += each.can.eq(0)

    def _limit(self, m: Module) -> None:
        """Store the limit, and renew and charge the blocks that High may send (VLA-7 to VLA-9, VLA-15)."""
        high, _ = self.lists
        active, limits, limit, unbounded, is_none = self.active, self.limits, self.limit, self.unbounded, self.is_none
        select = Value.cast(self.program.select)
        with m.If(self.program.enable & ~self.exchange & equals(select, int(ListSelect.LIMIT))):
            for bank in range(2):
                with m.If(active != bank):
                    m.d.sync += limits[bank].eq(self.program.weight)
        m.d.sync += [
            active.eq(active ^ self.exchange),
            limit.eq(Mux(active, limits[1], limits[0])),
            unbounded.eq(limit.all()),
            is_none.eq(~limit.any()),
        ]
        m.submodules.turn = self.turn
        m.d.comb += [
            self.turn.amount.eq(Mux(limit.any(), limit << 6, 1)),
            self.turn.single.eq(is_none),
            self.turn.renew.eq(high.walk.reading | (self.go & ~(high.has_one & self.turn.left))),
            self.turn.charge.eq(high.weight.charge & ~unbounded),
        ]

    def _grant(self, m: Module) -> Value:
        """Grant the winner if its lane can send. Return the named lane as a one-hot value, VL15 as the top bit."""
        named = [(self.vl15_wins, Const(VL15, 4), Const(int(ListCode.VL15), 2))]
        lanes, sends = [], [self.vl15_wins]
        for each in self.lists:
            for wins, lane, vl in (
                (self.may & each.wins & each.stays, each.lane, each.vl),
                (self.may & each.wins & ~each.stays, each.walk.lane, each.walk.offered_vl),
            ):
                named.append((wins, vl, each.code))
                lanes.append((wins, lane))
                sends.append(any_able(lane, self.able, wins))
        m.d.comb += [
            self.grant.eq(Cat(sends).any()),
            self.vl.eq(one_of((wins for wins, *_ in named), (vl for _, vl, _ in named))),
            self.from_list.eq(one_of((wins for wins, *_ in named), (code for *_, code in named))),
        ]
        lane = one_of((wins for wins, _ in lanes), (lane for _, lane in lanes))
        return Cat(lane, self.vl15_wins) if self.vl15 else lane

    def _further_blocks(self, m: Module, named: Value) -> None:
        """Drive the previous grant's packet size, and charge its further blocks one per cycle (VLALR-6)."""
        bits = len(self.heads.blocks[0])
        lanes = Signal(self.requesters)
        heads = Signal.like(Value.cast(self.heads.blocks))
        above_one = Signal(self.requesters)
        above_two = Signal(self.requesters)
        granted = Signal()
        decided = Signal()
        starts = self.starts
        m.d.sync += [
            lanes.eq(named),
            heads.eq(Value.cast(self.heads.blocks)),
            above_one.eq(Cat(size[1:].any() for size in self.heads.blocks)),
            above_two.eq(Cat(size[2:].any() | size[:2].all() for size in self.heads.blocks)),
            granted.eq(self.grant),
            decided.eq(self.go),
        ]
        # The size is selected in the cycle after the grant and counted down from the next cycle on. Whether there is a
        # second and a third block is known at once, from bits computed together with the heads.
        size = Signal(bits)
        sized = Signal()
        counted = Signal(bits)
        to_go = self.to_go
        more = Signal()
        goes_on = self.goes_on
        is_low = Signal()
        sizes = (heads[bits * lane : bits * (lane + 1)] for lane in range(self.requesters))
        m.d.comb += [
            starts.eq(granted & decided),
            self.blocks.eq(Mux(granted, one_of(lanes, sizes), 0)),
            to_go.eq(Mux(sized, size, counted)),
            more.eq(Mux(starts, (lanes & above_one).any(), goes_on)),
        ]
        m.d.sync += [
            size.eq(self.blocks),
            sized.eq(starts),
            counted.eq(to_go - goes_on),
            goes_on.eq(Mux(starts, (lanes & above_two).any(), goes_on & to_go[2:].any())),
        ]
        with m.If(self.exchange):
            m.d.sync += [decided.eq(0), goes_on.eq(0)]
        high, low = self.lists
        with m.If(self.go):
            m.d.sync += is_low.eq(low.wins)
        m.d.comb += [high.goes_on.eq(more & ~is_low), low.goes_on.eq(more & is_low)]
