"""What is proven of the Deficit Table's line-rate form, for every table and input, by induction over its state."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Assume, Elaboratable, Module, Signal, Value
from vlane.tb.prove import free_inputs
from vlane.tb.prove_list_memory import KeptEntry
from vlane.tb.prove_list_walk import FollowedEntry, assert_entries, lane_bit

from vlane.vlarb import VL15

__all__ = ["LineRateProperties"]


class LineRateProperties(Elaboratable):
    """The scheduler beside its properties.

    Packets stay until they are sent, those behind come true, sizes are 1 to ``mtu_blocks``: assumed, and that an
    offered entry has a weight and a lane that is there.

    Parameters
    ----------
    scheduler : DTable
        The component in its line-rate form; what is in it is watched, nothing is changed.
    """

    unfolds_memories = True
    any_memory = True

    def __init__(self, scheduler: Any) -> None:
        self.scheduler = scheduler
        self.followed, self.kept = FollowedEntry(scheduler.core.walk, "walk"), KeptEntry(scheduler.core.walk, "walk")

    def ports(self) -> list[Value]:
        """Return the free inputs."""
        return [*free_inputs(self.scheduler), *self.followed.ports(), *self.kept.ports()]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.scheduler = self.scheduler
        self._grants(m)
        self._turns(m)
        self.followed.assert_turns(m)
        m.submodules.kept = self.kept
        for lane in range(self.scheduler.data_vls):
            self._account(m, lane)
        return m

    def _grants(self, m: Module) -> None:
        """Assert that a grant goes to an able lane that its account covers, VL15 first."""
        s, core = self.scheduler, self.scheduler.core
        able = s.heads.request & s.heads.fits
        vl15_able = able[s.data_vls] if s.vl15 else Value.cast(0)
        granted = core.named & able[: s.data_vls]
        with m.If(vl15_able):
            m.d.comb += Assert(s.grant & (s.vl == VL15))
        with m.Elif(s.hold_data):
            m.d.comb += Assert(~s.grant)
        with m.Else():
            m.d.comb += [Assert(s.grant == granted.any()), Assert(~s.grant | (granted == lane_bit(s.vl, s.data_vls)))]
            for lane, account in enumerate(core.accounts):
                with m.If(core.named[lane]):
                    returns = core.returns & core.known_one
                    m.d.comb += Assert(account.charged & ((account.account >= 0) | returns))
                    m.d.comb += Assert(~returns | (account.account == -1))

    def _turns(self, m: Module) -> None:
        """Assert that one lane is current and another one next, and what is known of them."""
        core, walk = self.scheduler.core, self.scheduler.core.walk
        lanes = self.scheduler.data_vls
        assert_entries(m, walk)
        m.d.comb += [
            Assume(~walk.offered | (walk.lane.any() & (walk.offered_weight != 0))),
            Assert(core.current == lane_bit(core.current_vl, lanes)),
            Assert(core.next_lane == lane_bit(core.next_vl, lanes)),
            Assert(core.has_next == core.next_lane.any()),
            Assert(~(core.current & core.next_lane).any()),
            Assert(~core.can | walk.offered),
            Assert(~(core.stays & core.settles)),
            Assert(~core.covers | core.has_next),
            Assert(~(core.stays | core.settles | core.known_one) | core.current.any()),
        ]
        with m.If(walk.offered):
            m.d.comb += [
                Assert(core.is_own == (walk.lane & core.current).any()),
                Assert(core.is_next == (walk.lane & core.next_lane).any()),
            ]

    def _account(self, m: Module, lane: int) -> None:
        """Assert bounds of a lane's account, and what its sign says."""
        s, core = self.scheduler, self.scheduler.core
        account, head, behind = core.accounts[lane], s.heads.blocks[lane], s.behind_blocks[lane]
        request, balance, charged = s.heads.request[lane], account.account, account.charged
        ran, stood, came = (Signal(name=f"{what}_{lane}") for what in ("ran", "stood", "came"))
        size = Signal(7, name=f"size_{lane}")
        paid = core.go & core.named[lane] & core.sends[lane]
        follows = paid & s.behind[lane]
        m.d.sync += [ran.eq(1), stood.eq(request & ~paid), came.eq(follows), size.eq(head)]
        with m.If(follows):
            m.d.sync += size.eq(behind)
        m.d.comb += [
            Assume((head >= 1) & (head <= s.mtu_blocks) & (behind >= 1) & (behind <= s.mtu_blocks)),
            Assume(~(ran & (stood | came)) | (request & (head == size))),
        ]
        owned, is_next = core.current[lane], core.next_lane[lane]
        m.d.comb += [
            Assert(~charged | (ran & (stood | came))),
            Assert(charged | (balance == 0)),
            Assert(~charged | (balance + head >= 0)),
            Assert(balance <= 254),
            Assert(~(core.stays & owned) | (charged & (balance >= 0))),
            Assert(~(core.covers & is_next) | (charged & (balance >= 0))),
            Assert(~(core.known_one & owned) | (charged & (head == 1))),
            Assert(~charged | (balance < 0) | is_next | (owned & (core.stays | core.settles))),
        ]
