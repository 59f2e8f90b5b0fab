"""Proofs of a sender's credit counters for a far buffer: by returned blocks, and by limits in flow-control packets."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from vlane.tb.credits.proofs_room_account import AdmissionModel
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.schedulers.proofs_turns import Turns, at_most_one
from vlane.tb.tables.proofs_tables import at, constant

PART, STEP, PERIOD, LARGEST = 5, 2, 7, 2
"""Shape of the instances: a lane's share of the buffer, limit step and period of packets, largest packet."""
TELLS_DEPTH, TELLS_DEPTH_OF_TWO = 14, 10
"""Cycles from reset that are checked, with one block freed per cycle and with two."""
WINDOW = 2048
"""Most blocks by which the limit may be ahead of the blocks sent (IBA 7.9.4)."""


def _assume_starts(m: Module, remote: Any) -> None:
    """Assume that no packet is too large, and that at most one head per cycle starts, fits, and names its size."""
    sizes = (Mux(remote.take[vl], remote.blocks[vl], 0) for vl in range(remote.vls))
    m.d.comb += [
        *(Assume(remote.blocks[vl] <= LARGEST) for vl in range(remote.vls)),
        *(Assume(remote.behind_blocks[vl] <= LARGEST) for vl in range(remote.vls) if remote.behind),
        Assume(at_most_one(remote.take)),
        Assume(~(remote.take & ~remote.fits).any()),
        Assume(~remote.take.any() | (remote.take_blocks == reduce(or_, sizes))),
    ]


class CreditCounterProperties(Properties):
    """Check a sender's credit counters, updated by returned blocks, against a model of every lane.

    Assumptions: no packet exceeds the largest size, at most one packet starts per cycle, and it fits. Returns are
    arbitrary.

    Parameters
    ----------
    room : Room
        The component.
    """

    statements: ClassVar = {
        "room-account": "The sender's count of a lane is the blocks taken minus the blocks returned, also when both "
        "happen in one cycle, and is never below 0.",
        "room-fits": "A packet fits exactly when its lane stays within its maximum and every lane can still use its"
        " minimum.",
        "room-fits-behind": "A packet behind the head fits exactly when both packets together would.",
        "room-bounds": "No lane uses more than its maximum, and all lanes together, with each lane's unused minimum, "
        "never exceed the buffer.",
    }
    depth = 4

    def __init__(self, room: Any) -> None:
        super().__init__()
        self.room = room

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.room)

    def elaborate(self, _platform: object) -> Module:
        m, r, claim = Module(), self.room, self.claim
        m.submodules.room = r
        _assume_starts(m, r)
        owed = [Signal(10, name=f"owed_{vl}") for vl in range(r.vls)]
        promised, room = Signal(14), AdmissionModel(r.shared + r.vls * r.minimum, r.minimum, r.maximum)
        m.d.comb += promised.eq(room.promised(owed))
        for vl, account in enumerate(owed):
            came = Mux(r.give[vl] < account, r.give[vl], account)
            m.d.sync += account.eq(account + Mux(r.take[vl], r.take_blocks, 0) - came)
            claim(m, "room-account", r.used[vl] == account)
            claim(m, "room-bounds", account <= r.maximum)
            both = r.give[vl].any() & r.take[vl] & account.any()
            claim(m, "room-account", r.used[vl] == account, when=both)
            claim(m, "room-fits", r.fits[vl] == room.fits(account, r.blocks[vl], promised))
            if r.behind:
                size = r.blocks[vl] + r.behind_blocks[vl]
                claim(m, "room-fits-behind", r.fits_behind[vl] == room.fits(account, size, promised))
        claim(m, "room-bounds", promised <= room.blocks)
        over = sum(Mux(each > r.minimum, each - r.minimum, 0) for each in owed)
        claim(m, "room-account", r.beyond == over)
        return m


class LimitCounterProperties(Properties):
    """Check a sender's credit counters, updated by limits in FCPs, against a model of one arbitrary lane.

    Assumptions: no packet exceeds the largest size, at most one packet starts per cycle, and it fits. For the property
    of the far buffer, arriving limits are at most the far end's capacity plus the blocks freed there, and never
    decrease.

    Parameters
    ----------
    limits : FCPLimits
        The component.
    """

    statements: ClassVar = {
        "sent": "Every packet that starts adds its blocks to its own lane, and only there.",
        "limit": "The limit of a lane is the last one received for it, initially its share of the buffer.",
        "limit-fits": "A packet fits exactly when the blocks sent plus its own do not exceed the limit, modulo 4096.",
        "limit-fits-behind": "A packet behind the head fits exactly when both packets together would.",
        "far-buffer": "The blocks in flight and in the far buffer never exceed the lane's share of that buffer.",
    }
    depth = 4

    def __init__(self, limits: Any) -> None:
        super().__init__()
        self.limits, self.m = limits, Module()
        self.lane = constant(self.m, "watched_lane", 4, 0, limits.vls - 1)
        self.frees = Signal(2)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.limits), self.lane, self.frees]

    def elaborate(self, _platform: object) -> Module:
        m, f, claim = self.m, self.limits, self.claim
        m.submodules.limits = f
        _assume_starts(m, f)
        sent, limit, freed, free = (
            Signal(12, name="sent"),
            Signal(12, init=PART, name="limit"),
            Signal(12),
            Signal(12),
        )
        starts, received = at(f.take, self.lane), f.fcp_rx.valid & (f.fcp_rx.vl == self.lane)
        m.d.sync += sent.eq(sent + Mux(starts, f.take_blocks, 0))
        with m.If(received):
            m.d.sync += limit.eq(f.fcp_rx.limit)
        claim(m, "sent", self._of_lane(f.sender.fctbs) == sent)
        claim(m, "limit", self._of_lane(f.sender.fccl) == limit)
        claim(m, "limit", self._of_lane(f.sender.fccl) == limit, when=limit != PART)
        m.d.comb += free.eq(limit - sent)
        head, behind = self._of_lane(f.blocks), self._of_lane(f.behind_blocks) if f.behind else None
        for name, fits, size in (
            ("limit-fits", f.fits, head),
            *([("limit-fits-behind", f.fits_behind, head + behind)] if f.behind else []),
        ):
            left = Signal(12, name=f"left_{name.replace('-', '_')}")
            m.d.comb += left.eq(free - size)
            claim(m, name, at(fits, self.lane) == (left <= WINDOW))
            claim(m, name, ~at(fits, self.lane), when=(free <= PART) & (size > free))

        under_way, told, newest = Signal(12), Signal(12), Signal(12)
        m.d.comb += [
            under_way.eq(sent - freed),
            newest.eq(freed + PART - limit),
            told.eq(f.fcp_rx.limit - limit),
            Assume(self.frees <= under_way),
            Assume(~received | (told <= newest)),
        ]
        m.d.sync += freed.eq(freed + self.frees)
        claim(m, "far-buffer", (under_way <= PART) & (newest <= PART) & (free <= PART))
        claim(m, "far-buffer", under_way <= PART, when=starts & received & self.frees.any())
        return m

    def _of_lane(self, values: Any) -> Value:
        return at([values[vl] for vl in range(self.limits.vls)], self.lane)


class FCPSenderProperties(Properties):
    """Check the FCPs of a port against a model of every lane: the limit sent, and the cycle in which it is due.

    Assumption: no more blocks of a lane are freed than it holds.

    Parameters
    ----------
    tells : FCPRoundRobin
        The component.
    """

    statements: ClassVar = {
        "told": "A flow-control packet leaves exactly when the link can take one and one is due.",
        "told-limit": "The packet is for the next due lane, round robin after the lane sent last; its limit is the "
        "lane's share plus all blocks freed up to the previous cycle.",
        "due": "A lane is due from reset, after its limit has advanced by the step, and from the end of each period, "
        "until its packet leaves.",
        "told-wait": "A due lane is served after at most as many packets of other lanes as there are other lanes.",
    }

    def __init__(self, tells: Any) -> None:
        super().__init__()
        self.bounded = TELLS_DEPTH if tells.returned == 1 else TELLS_DEPTH_OF_TWO
        self.tells, self.m = tells, Module()
        self.lane = constant(self.m, "watched_lane", 4, 0, tells.vls - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.tells), self.lane]

    def elaborate(self, _platform: object) -> Module:
        m, t, claim = self.m, self.tells, self.claim
        m.submodules.tells = t
        timer, limits, due = Signal(range(PERIOD)), [], []
        m.d.sync += timer.eq(Mux(timer == PERIOD - 1, 0, timer + 1))
        sends = Signal(t.vls)
        for vl in range(t.vls):
            freed = Signal(8, name=f"freed_{vl}")
            limit, told, waits = (
                Signal(12, name=f"limit_{vl}"),
                Signal(12, name=f"told_{vl}", init=PART),
                Signal(init=1),
            )
            grown = Signal(12, name=f"grown_{vl}")
            comes = Mux(t.freed.vl == vl, t.freed.blocks, 0)
            m.d.comb += [limit.eq(PART + freed + comes), grown.eq(limit - told)]
            m.d.sync += freed.eq(freed + comes)
            m.d.comb += Assume(grown <= PART)
            with m.If(sends[vl]):
                m.d.sync += [told.eq(limit), waits.eq(0)]
            with m.If(timer == PERIOD - 1):
                m.d.sync += waits.eq(1)
            limits.append(limit)
            due.append(waits | (grown >= STEP))
        account = Turns(m, "turns", due)
        m.d.comb += sends.eq(Mux(t.may, account.expected, 0))
        account.serve(sends)
        claim(m, "told", t.takes == sends.any())
        claim(m, "due", t.takes, when=t.may & Cat(due).any())
        claim(m, "due", ~t.takes, when=t.may & ~Cat(due).any())
        was, lane, limit = Signal(), Signal(4), Signal(12)
        m.d.sync += [
            was.eq(sends.any()),
            lane.eq(reduce(or_, (Mux(sends[vl], vl, 0) for vl in range(t.vls)))),
            limit.eq(reduce(or_, (Mux(sends[vl], limits[vl], 0) for vl in range(t.vls)))),
        ]
        claim(m, "told", t.fcp_tx.valid == was)
        claim(m, "told-limit", (t.fcp_tx.vl == lane) & (t.fcp_tx.limit == limit), when=was)
        claim(m, "told-limit", ~Cat(t.fcp_tx.vl, t.fcp_tx.limit).any(), when=~was)
        passed, bounded = account.wait(self.lane, at(due, self.lane), sends)
        claim(m, "told-wait", bounded, when=passed != 0)
        return m
