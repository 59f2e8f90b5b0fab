"""Proofs of a switch's output: decisions of the scheduler, its inputs, and the flits on the link."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.links.fcp_round_robin import FCPTimes
from vlane.hdl.schedulers.ports import egress_members
from vlane.hdl.switches.switch_output import SwitchOutput
from vlane.tb.credits.proofs_room import PERIOD, STEP, WINDOW
from vlane.tb.credits.proofs_room_account import AdmissionModel
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.schedulers.proofs_turns import at_most_one
from vlane.tb.tables.proofs_tables import at, constant

VLS, BLOCKS, MINIMUM, MAXIMUM, LARGEST = 2, 4, 1, 3, 2
"""Number of lanes, and sizes of the buffer and of the one at the far end."""
DEPTH, DEPTH_OF_TWO = 7, 6
"""Cycles from reset that are checked, with one write port and with two."""
_FCP_BLOCKS = 3
"""Blocks of each lane's share of the buffer, with flow-control packets."""


class AnyScheduler(wiring.Component):
    """Stand-in for the scheduler that grants arbitrary lanes.

    Parameters
    ----------
    vls : int
        Number of lanes.
    """

    def __init__(self, vls: int) -> None:
        super().__init__({**egress_members(vls), "behind": In(vls)})
        self.parameters = {"vls": vls}

    def elaborate(self, _platform: object) -> Module:
        return Module()


def switch_output(
    *, flits: int, write_ports: int, fcp: bool, marker: Any = None, measured: bool = False
) -> SwitchOutput:
    """Return an output side whose scheduler is cut out, so that its decisions are free inputs of the proof."""
    blocks, least, most = (VLS * _FCP_BLOCKS, _FCP_BLOCKS, _FCP_BLOCKS) if fcp else (BLOCKS, MINIMUM, MAXIMUM)
    return SwitchOutput(
        AnyScheduler(VLS),
        ports=2,
        geometry=BufferGeometry(VLS, blocks, least, most, LARGEST),
        data_bits=1,
        flits=flits,
        write_ports=write_ports,
        vl_bits=4,
        fcp=FCPTimes(STEP, PERIOD) if fcp else None,
        marker=marker,
        measured=measured,
    )


class SwitchOutputProperties(Properties):
    """Check an output against a reference model of its link, and follow one packet, for any scheduler.

    Assumptions: packets are granted through a free write port, to a lane with space that no other port is writing; then
    their flits cross, with or without gaps. The scheduler grants only a lane that was reported able. Credit returns are
    arbitrary.

    Parameters
    ----------
    output : SwitchOutput
        Output as returned by ``switch_output``.
    """

    statements: ClassVar = {
        "asked-when-free": "The scheduler is ready exactly in the cycles in which no packet is on the link, the link "
        "is not stalled, and no flow-control packet takes it.",
        "requests": "A lane requests from the cycle after its head's first flit crossed until the packet starts.",
        "head": "The scheduler's size of a lane is that of the oldest packet that has not started.",
        "fits": "A lane's head fits exactly when the counted credit suffices.",
        "takes": "A packet that starts takes its blocks from its lane's credit for the far buffer, and nothing else "
        "does.",
        "returns": "Blocks returned by the far end are credited to their lane.",
        "behind": "The signal `behind` is asserted for a lane exactly when it has a second packet and the far buffer "
        "has credit for both packets.",
        "holds-the-link": "From a packet's first flit to its last, the link carries no flits of other packets.",
        "starts": "The first flit of a packet is on the link in the cycle after the scheduler's decision, on the "
        "selected lane.",
        "unchanged": "A flit leaves on its packet's lane unchanged, in the packet's order.",
        "fcp-between": "A flow-control packet leaves only in a cycle in which no packet is on the link and none"
        " starts.",
        "room": "A lane is open to a packet exactly when the buffer has space for a largest one and no write port is "
        "writing the lane.",
        "write-ports": "A write port is free until a packet is granted to it, and again when the packet's last flit "
        "arrives.",
    }

    def __init__(self, output: Any) -> None:
        super().__init__()
        self.output, self.m = output, Module()
        self.unfolds_memories = True
        self.bounded = DEPTH if len(output.write_ports) == 1 else DEPTH_OF_TWO
        self.mark, self.which = Signal(), constant(self.m, "followed_flit", 2, 0, LARGEST - 1)
        fcp = output.turns is not None
        sizes = (VLS * _FCP_BLOCKS, _FCP_BLOCKS, _FCP_BLOCKS) if fcp else (BLOCKS, MINIMUM, MAXIMUM)
        self.room = AdmissionModel(*sizes)
        self.leaves = [Signal(name=f"leaves_{lane}") for lane in range(VLS)]
        self.port = constant(self.m, "followed_port", 1, 0, len(output.write_ports) - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        s = self.output.scheduler
        return [*free_inputs(self.output), s.grant, s.vl, self.mark, self.which, self.port]

    def elaborate(self, _platform: object) -> Module:
        m, o = self.m, self.output
        m.submodules.output = o
        self._assume_decisions(m)
        enters = [self._enters(m, number) for number in range(len(o.write_ports))]
        self._link(m)
        self._lanes(m)
        self._claim_remote_credit(m)
        self._follow(m, enters)
        return m

    def _assume_decisions(self, m: Module) -> None:
        """Assume that the scheduler grants an able lane, and that grants into the buffer fit."""
        o, s = self.output, self.output.scheduler
        able = at(s.heads.request & s.heads.fits, s.vl)
        m.d.comb += [Assume(~s.grant | able), Assume(o.reserved <= LARGEST), Assume(at_most_one(o.enters))]
        m.d.comb += Assume(~o.reserved.any() | at(o.room, o.reserved_vl))
        if len(o.write_ports) > 1:
            m.d.comb += Assume(~o.reserved.any() | (o.enters & o.free).any())
        else:
            m.d.comb += [Assume(o.enters), Assume(~o.reserved.any() | o.free)]

    def _enters(self, m: Module, port_number: int) -> Signal:
        """Assume the use of a write port, claim when it is free, and return whether a packet's head crosses."""
        o, crossing = self.output, self.output.crossing[port_number]
        left, size, lane = (Signal(2, name=f"{name}_{port_number}") for name in ("left", "size", "lane"))
        granted, heads, stored = (Signal(name=f"{name}_{port_number}") for name in ("granted", "heads", "stored"))
        moves = crossing.count
        m.d.comb += [
            granted.eq(o.reserved.any() & o.enters[port_number]),
            heads.eq(moves.any() & crossing.first),
            Assume(moves <= left),
            Assume(crossing.first == (moves.any() & (left == size))),
            Assume(crossing.last == (moves.any() & (left == moves))),
            Assume((crossing.vl == lane) & (crossing.blocks == size)),
            stored.eq(left == moves),
        ]
        flits = len(crossing.flits)
        for place in range(flits):
            is_first, is_last = crossing.first & (place == 0), (moves == place + 1) & crossing.last
            m.d.comb += Assume((moves <= place) | (crossing.flits[place][:2] == Cat(is_last, is_first)))
        with m.If(granted):
            m.d.sync += [left.eq(o.reserved), size.eq(o.reserved), lane.eq(o.reserved_vl)]
        with m.Else():
            m.d.sync += left.eq(left - moves)
        self.claim(m, "write-ports", o.free[port_number] == stored)
        self.claim(m, "write-ports", o.free[port_number], when=left.any() & stored)
        closed = Signal(VLS, name=f"closed_{port_number}")
        m.d.comb += closed.eq(Mux(stored, 0, 1 << lane))
        if len(o.write_ports) > 1:
            self.claim(m, "room", ~(o.room & closed).any(), when=closed.any())
        return heads

    def _link(self, m: Module) -> None:
        """Claim the flits on the link."""
        o, s, claim = self.output, self.output.scheduler, self.claim
        on, starts, tells = Signal(), Signal(), o.turns.takes if o.turns is not None else Value.cast(0)
        left, size = Signal(2), Signal(2)
        flows = o.storage.readable[0].any() & (starts | on)
        m.d.comb += [starts.eq(s.grant & s.ready), size.eq(at(s.heads.blocks, s.vl))]
        claim(m, "asked-when-free", s.ready == (~on & o.ready & ~tells))
        claim(m, "asked-when-free", ~s.ready, when=on)
        now = Signal(2)
        m.d.comb += now.eq(Mux(starts, size, left))
        m.d.sync += left.eq(now - flows)
        m.d.comb += on.eq(left.any())
        lane, sent = Signal(4), Signal()
        with m.If(starts):
            m.d.sync += lane.eq(s.vl)
        was, carried = Signal(), Signal(4)
        m.d.comb += carried.eq(Mux(starts, s.vl, lane))
        m.d.comb += [leaves.eq(flows & (carried == vl)) for vl, leaves in enumerate(self.leaves)]
        m.d.sync += [was.eq(starts), sent.eq(flows)]
        claim(m, "starts", o.tx.valid & o.tx.first & (o.tx.vl == lane), when=was)
        claim(m, "holds-the-link", o.tx.valid == sent)
        claim(m, "holds-the-link", ~o.tx.first & (o.tx.vl == lane), when=o.tx.valid & ~was)
        claim(m, "holds-the-link", o.tx.last == ~on, when=o.tx.valid)
        claim(m, "holds-the-link", ~Cat(o.tx.first, o.tx.last, o.tx.vl, o.tx.data).any(), when=~o.tx.valid)
        if o.turns is not None:
            claim(m, "fcp-between", ~on & ~starts & o.ready, when=o.turns.takes)
            said = Signal()
            m.d.sync += said.eq(o.turns.takes)
            claim(m, "fcp-between", o.fcp_tx.valid & ~o.tx.valid, when=said)

    def _lanes(self, m: Module) -> None:
        """Claim the scheduler's inputs about lanes, and the credit counters of the far buffer."""
        o, s, claim = self.output, self.output.scheduler, self.claim
        starts = s.grant & s.ready
        used, owed = ([Signal(4, name=f"{name}_{vl}") for vl in range(VLS)] for name in ("used", "owed"))
        for lane in range(VLS):
            packets, comes = Signal(3, name=f"packets_{lane}"), Signal(2, name=f"comes_{lane}")
            sizes = [Signal(2, name=f"size_{lane}_{place}") for place in range(MAXIMUM)]
            goes = starts & (s.vl == lane)
            after = Signal(3, name=f"after_{lane}")
            for crossing in o.crossing:
                with m.If(crossing.count.any() & crossing.first & (crossing.vl == lane)):
                    m.d.comb += comes.eq(crossing.blocks)
            m.d.comb += after.eq(packets - goes)
            m.d.sync += packets.eq(after + comes.any())
            for place, size in enumerate(sizes):
                following = sizes[place + 1] if place + 1 < MAXIMUM else size
                m.d.sync += size.eq(Mux(comes.any() & (after == place), comes, Mux(goes, following, size)))
            claim(m, "requests", s.heads.request[lane] == packets.any())
            claim(m, "head", s.heads.blocks[lane] == sizes[0], when=packets.any())
            far = self._model_far_lane(m, lane, Mux(goes, sizes[0], 0), owed)
            claim(m, "fits", s.heads.fits[lane] == far(sizes[0]), when=packets.any())
            claim(m, "fits", ~s.heads.fits[lane], when=~packets.any())
            claim(m, "behind", s.behind[lane] == far(sizes[0] + sizes[1]), when=packets > 1)
            claim(m, "behind", ~s.behind[lane], when=packets < 2)
            claim(m, "takes", o.remote.take[lane] == goes)
            claim(m, "takes", o.remote.take_blocks == sizes[0], when=goes)
            writes = [w.writes[lane] for w in o.write_ports] if len(o.write_ports) > 1 else []
            m.d.sync += used[lane].eq(used[lane] + Mux(o.reserved_vl == lane, o.reserved, 0) - self.leaves[lane])
            claim(m, "room", o.room[lane] == (self._fits(used, lane, LARGEST) & ~Cat(writes).any()))

    def _fits(self, used: list[Signal], lane: int, more: Value | int) -> Value:
        """Return whether ``more`` blocks fit into a buffer, given the used blocks of each lane."""
        return self.room.fits(used[lane], more, self.room.promised(used))

    def _model_far_lane(self, m: Module, lane: int, taken: Value, owed: list[Signal]) -> Callable[[Value], Value]:
        """Model a lane of the far buffer. Return a function that returns whether a number of blocks fit there."""
        o = self.output
        if o.turns is None:
            came = Mux(o.far_returned.vl == lane, o.far_returned.blocks, 0)
            m.d.sync += owed[lane].eq(owed[lane] + taken - Mux(came > owed[lane], owed[lane], came))
            return lambda more: self._fits(owed, lane, more)
        sent, limit = Signal(12, name=f"sent_{lane}"), Signal(12, name=f"limit_{lane}", init=_FCP_BLOCKS)
        m.d.sync += sent.eq(sent + taken)
        with m.If(o.fcp_rx.valid & (o.fcp_rx.vl == lane)):
            m.d.sync += limit.eq(o.fcp_rx.limit)
        return lambda more: (limit - sent - more)[:12] <= WINDOW

    def _claim_remote_credit(self, m: Module) -> None:
        """Claim that returned credits, or received limits, reach the right lane."""
        o = self.output
        if o.turns is not None:
            received = Cat(o.remote.fcp_rx.valid, o.remote.fcp_rx.vl, o.remote.fcp_rx.limit)
            self.claim(m, "returns", received == Cat(o.fcp_rx.valid, o.fcp_rx.vl, o.fcp_rx.limit), when=o.fcp_rx.valid)
            freed = Cat(o.turns.freed.blocks, o.turns.freed.vl)
            self.claim(m, "returns", freed == Cat(o.freed.blocks, o.freed.vl), when=o.freed.blocks.any())
            return
        for lane in range(VLS):
            given = Mux(o.far_returned.vl == lane, o.far_returned.blocks, 0)
            self.claim(m, "returns", o.remote.give[lane] == given)

    def _follow(self, m: Module, enters: list[Signal]) -> None:
        """Follow a flit of an arbitrary packet from its crossing to the link."""
        o, s = self.output, self.output.scheduler
        following, lane, ahead, data, has = Signal(), Signal(4), Signal(4), Signal(), Signal()
        starts, gone, number, leaving = s.grant & s.ready, Signal(), Signal(2), Signal(2)
        crossed = Signal(2)
        waiting = [Signal(4, name=f"waiting_{vl}") for vl in range(VLS)]
        for vl in range(VLS):
            comes = Cat(heads & (o.crossing[n].vl == vl) for n, heads in enumerate(enters)).any()
            m.d.sync += waiting[vl].eq(waiting[vl] + comes - (starts & (s.vl == vl)))
        for n, heads in enumerate(enters):
            crossing = o.crossing[n]
            joins = heads & self.mark & (self.port == n) & ~following & (crossing.blocks > self.which)
            with m.If(joins):
                before = at(waiting, crossing.vl)
                m.d.sync += [
                    following.eq(1),
                    lane.eq(crossing.vl),
                    crossed.eq(crossing.count),
                    ahead.eq(before - (starts & (s.vl == crossing.vl))),
                ]
            with m.If(following & (self.port == n)):
                m.d.sync += crossed.eq(crossed + Mux(crossed == 3, 0, crossing.count))
            for place in range(len(crossing.flits)):
                now = (following & (self.port == n) & (crossed + place == self.which)) | (joins & (self.which == place))
                with m.If(now & ~has & (crossing.count > place)):
                    m.d.sync += [data.eq(crossing.flits[place][2]), has.eq(1)]
        with m.If(following & starts & (s.vl == lane)):
            m.d.sync += ahead.eq(ahead - 1)
            with m.If(ahead == 0):
                m.d.sync += [gone.eq(1)]
        m.d.comb += number.eq(leaving)
        with m.If(gone & o.tx.valid & ~(leaving == LARGEST)):
            m.d.sync += leaving.eq(leaving + 1)
        is_it = gone & o.tx.valid & (leaving == self.which)
        self.claim(m, "unchanged", has & (o.tx.data == data) & (o.tx.vl == lane), when=is_it)
