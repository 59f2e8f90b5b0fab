"""Proofs of the Deficit Table's line-rate form, for every table and input, by induction over its state."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Assume, Module, Signal, Value
from vlane.tb.proofs.properties import Properties, free_inputs
from vlane.tb.proofs.prove_list_memory import KeptEntry
from vlane.tb.proofs.prove_list_walk import FollowedEntry, assert_entries, lane_bit

from vlane.vlarb import VL15

__all__ = ["LineRateProperties"]


class LineRateProperties(Properties):
    """The scheduler with the properties to prove.

    Assumed: packets stay until they are sent, ``behind`` and ``behind_blocks`` come true, sizes are 1 to
    ``mtu_blocks``, and an offered entry has a weight and a lane of the port.

    Parameters
    ----------
    scheduler : LineRateDTable
        The component; what is in it is watched, nothing is changed.
    """

    unfolds_memories = True
    any_memory = True

    def __init__(self, scheduler: Any) -> None:
        super().__init__()
        self.scheduler = scheduler
        self.followed, self.kept = FollowedEntry(scheduler.walk, "walk"), KeptEntry(scheduler.walk, "walk")

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
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
        s = self.scheduler
        able = s.heads.request & s.heads.fits
        vl15_able = able[s.data_vls] if s.vl15 else Value.cast(0)
        granted = s.named & able[: s.data_vls]
        with m.If(vl15_able):
            m.d.comb += Assert(s.grant & (s.vl == VL15))
        with m.Elif(s.hold_data):
            m.d.comb += Assert(~s.grant)
        with m.Else():
            m.d.comb += [Assert(s.grant == granted.any()), Assert(~s.grant | (granted == lane_bit(s.vl, s.data_vls)))]
            for lane, account in enumerate(s.accounts):
                with m.If(s.named[lane]):
                    returns = s.returns & s.known_one
                    m.d.comb += Assert(account.charged & ((account.account >= 0) | returns))
                    m.d.comb += Assert(~returns | (account.account == -1))

    def _turns(self, m: Module) -> None:
        """Assert that one lane is current and another one next, and what is known of them."""
        s, walk, lanes = self.scheduler, self.scheduler.walk, self.scheduler.data_vls
        assert_entries(m, walk)
        m.d.comb += [
            Assume(~walk.offered | (walk.lane.any() & (walk.offered_weight != 0))),
            Assert(s.current == lane_bit(s.current_vl, lanes)),
            Assert(s.next_lane == lane_bit(s.next_vl, lanes)),
            Assert(s.has_next == s.next_lane.any()),
            Assert(~(s.current & s.next_lane).any()),
            Assert(~s.can | walk.offered),
            Assert(~(s.stays & s.settles)),
            Assert(~s.covers | s.has_next),
            Assert(~(s.stays | s.settles | s.known_one) | s.current.any()),
        ]
        with m.If(walk.offered):
            m.d.comb += [
                Assert(s.is_own == (walk.lane & s.current).any()),
                Assert(s.is_next == (walk.lane & s.next_lane).any()),
            ]

    def _account(self, m: Module, lane: int) -> None:
        """Assert bounds of a lane's account, and what its sign says."""
        s = self.scheduler
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
        m.d.comb += [
            Assert(~charged | (ran & (stood | came))),
            Assert(charged | (balance == 0)),
            Assert(~charged | (balance + head >= 0)),
            Assert(balance <= 254),
            Assert(~(s.stays & owned) | (charged & (balance >= 0))),
            Assert(~(s.covers & is_next) | (charged & (balance >= 0))),
            Assert(~(s.known_one & owned) | (charged & (head == 1))),
            Assert(~charged | (balance < 0) | is_next | (owned & (s.stays | s.settles))),
        ]
