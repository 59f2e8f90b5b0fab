"""Proofs of an output with a crossbar port per lane: space, the scheduler's inputs, and the link."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.links.fcp_round_robin import FCPTimes
from vlane.hdl.switches.lane_output import LaneOutput
from vlane.tb.credits.proofs_room import PERIOD, STEP, WINDOW
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.switches.proofs_switch_output import AnyScheduler
from vlane.tb.tables.proofs_tables import at, constant

VLS, PART, LARGEST = 2, 3, 2
"""Number of lanes; blocks of each lane's share of the buffers here and at the far end; size of the largest packet."""
DEPTH = 7
"""Cycles from reset that are checked."""


def lane_output(*, fcp: bool) -> LaneOutput:
    """Return an output side whose scheduler is cut out, so that its decisions are free inputs of the proof."""
    return LaneOutput(
        AnyScheduler(VLS),
        geometry=BufferGeometry(VLS, VLS * PART, PART, PART, LARGEST),
        data_bits=1,
        vl_bits=4,
        fcp=FCPTimes(STEP, PERIOD) if fcp else None,
    )


class LaneOutputProperties(Properties):
    """Check an output against a reference model of its lanes and link, and follow a packet.

    Assumptions: packets are granted to a free lane with space; the first flit crosses in the next cycle, the others
    with or without gaps. The scheduler grants only a lane that was reported able. Credit returns are arbitrary.

    Parameters
    ----------
    output : LaneOutput
        Output as returned by ``lane_output``.
    """

    statements: ClassVar = {
        "lane-left": "The value `left` is the number of blocks of a lane's share that no packet in the buffer, "
        "or on its way there, has reserved; flits that left no longer count.",
        "lane-closed": "A lane is free until a packet is granted to it, and again when the packet's last flit "
        "arrives, whatever other lanes do.",
        "lane-asked": "The scheduler is ready exactly in the cycles in which no packet is on the link, the link is "
        "not stalled, and no flow-control packet takes it.",
        "lane-requests": "A lane requests from the cycle after its head's first flit crossed until the packet "
        "starts, with the head's own size.",
        "lane-fits": "A lane's head fits exactly when the counted credit of the lane's far buffer suffices.",
        "lane-heard": "Blocks of several lanes that are freed in one cycle are all counted, each for its own lane.",
        "lane-link": "A packet that starts is on the link from the next cycle on, without other flits in between, "
        "until its last flit.",
        "lane-unchanged": "A flit leaves on its packet's lane unchanged, in the packet's order.",
    }
    unfolds_memories = True
    bounded = DEPTH

    def __init__(self, output: Any) -> None:
        super().__init__()
        self.output, self.m = output, Module()
        self.mark, self.which = Signal(), constant(self.m, "followed_flit", 2, 0, LARGEST - 1)
        self.lane = constant(self.m, "followed_lane", 1, 0, VLS - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        s = self.output.scheduler
        return [*free_inputs(self.output), s.grant, s.vl, self.mark, self.which, self.lane]

    def elaborate(self, _platform: object) -> Module:
        m, o, s = self.m, self.output, self.output.scheduler
        m.submodules.output = o
        m.d.comb += Assume(~s.grant | at(s.heads.request & s.heads.fits, s.vl))
        starts = Signal()
        m.d.comb += starts.eq(s.grant & s.ready)
        leaves = self._link(m, starts)
        heads = [self._lane(m, lane, starts & (s.vl == lane), leaves[lane]) for lane in range(VLS)]
        self._follow(m, heads, starts)
        return m

    def _link(self, m: Module, starts: Signal) -> list[Value]:
        """Claim the flits on the link and return, by lane, whether a flit leaves the buffer."""
        o, s, claim = self.output, self.output.scheduler, self.claim
        tells = o.turns.takes if o.turns is not None else Value.cast(0)
        on, left, now, lane = Signal(), Signal(2), Signal(2), Signal(4)
        carried, flows = Signal(4), Signal()
        there = at([part.held[0].any() for part in o.parts], carried)
        m.d.comb += [
            on.eq(left.any()),
            now.eq(Mux(starts, at(s.heads.blocks, s.vl), left)),
            carried.eq(Mux(starts, s.vl, lane)),
            flows.eq((starts | on) & there),
        ]
        m.d.sync += left.eq(now - flows)
        with m.If(starts):
            m.d.sync += lane.eq(s.vl)
        claim(m, "lane-asked", s.ready == (~on & o.ready & ~tells))
        claim(m, "lane-asked", ~s.ready, when=on)
        was, sent = Signal(), Signal()
        m.d.sync += [was.eq(starts), sent.eq(flows)]
        claim(m, "lane-link", o.tx.valid & o.tx.first & (o.tx.vl == lane), when=was)
        claim(m, "lane-link", o.tx.valid == sent)
        claim(m, "lane-link", ~o.tx.first & (o.tx.vl == lane), when=o.tx.valid & ~was)
        claim(m, "lane-link", o.tx.last == ~on, when=o.tx.valid)
        claim(m, "lane-link", ~Cat(o.tx.first, o.tx.last, o.tx.vl, o.tx.data).any(), when=~o.tx.valid)
        return [flows & (carried == vl) for vl in range(VLS)]

    def _lane(self, m: Module, lane: int, goes: Value, leaves: Value) -> tuple[Signal, Signal]:
        """Assume the use of a lane's port, claim its outputs, and return whether a head crosses, and its size."""
        o, s, claim, crossing = self.output, self.output.scheduler, self.claim, self.output.crossing[lane]
        reserved = o.reserved[lane]
        left, size, used = (Signal(3, name=f"{name}_{lane}") for name in ("left", "size", "used"))
        comes, head, stored = (Signal(name=f"{name}_{lane}") for name in ("comes", "head", "stored"))
        m.d.comb += [
            comes.eq(crossing.valid & left.any()),
            head.eq(left.any() & (left == size)),
            stored.eq(left == comes),
            Assume(~reserved.any() | (stored & (reserved <= o.left[lane]) & (reserved <= LARGEST))),
            Assume(~head | comes),
            Assume(~comes | (crossing.flit[:2] == Cat(left == 1, left == size))),
        ]
        with m.If(reserved.any()):
            m.d.sync += [left.eq(reserved), size.eq(reserved)]
        with m.Else():
            m.d.sync += left.eq(left - comes)
        m.d.sync += used.eq(used + reserved - leaves)
        claim(m, "lane-left", o.left[lane] == PART - used)
        claim(m, "lane-closed", o.free[lane] == stored)
        claim(m, "lane-closed", o.free[lane], when=left.any() & stored)
        packets, after = Signal(3, name=f"packets_{lane}"), Signal(3, name=f"after_{lane}")
        sizes = [Signal(3, name=f"size_{lane}_{place}") for place in range(PART)]
        m.d.comb += after.eq(packets - goes)
        m.d.sync += packets.eq(after + head)
        for place, each in enumerate(sizes):
            following = sizes[place + 1] if place + 1 < PART else each
            m.d.sync += each.eq(Mux(head & (after == place), size, Mux(goes, following, each)))
        claim(m, "lane-requests", s.heads.request[lane] == packets.any())
        claim(m, "lane-requests", s.heads.blocks[lane] == sizes[0], when=packets.any())
        fits = self._model_far_lane(m, lane, Mux(goes, sizes[0], 0), sizes[0])
        claim(m, "lane-fits", s.heads.fits[lane] == fits, when=packets.any())
        return head, size

    def _model_far_lane(self, m: Module, lane: int, taken: Value, size: Value) -> Value:
        """Model a lane's share of the far buffer and return whether ``size`` blocks fit there."""
        o = self.output
        if o.turns is None:
            owed = Signal(3, name=f"owed_{lane}")
            came = o.far_returned.blocks[lane] & owed.any()
            m.d.sync += owed.eq(owed + taken - came)
            self.claim(m, "lane-heard", o.remote.give[lane] == o.far_returned.blocks[lane])
            self.claim(m, "lane-heard", o.remote.give[lane] == 1, when=o.far_returned.blocks.all())
            return owed + size <= PART
        limit = Signal(12, name=f"freed_{lane}", init=PART)
        m.d.sync += limit.eq(limit + o.freed.blocks[lane])
        told = Signal(12, name=f"told_{lane}")
        m.d.comb += told.eq(limit + o.freed.blocks[lane])
        self.claim(m, "lane-heard", o.turns.offer.limits[lane] == told)
        self.claim(m, "lane-heard", o.turns.offer.limits[lane] == told, when=o.freed.blocks.all())
        sent, received = Signal(12, name=f"sent_{lane}"), Signal(12, name=f"received_{lane}", init=PART)
        m.d.sync += sent.eq(sent + taken)
        with m.If(o.fcp_rx.valid & (o.fcp_rx.vl == lane)):
            m.d.sync += received.eq(o.fcp_rx.limit)
        return (received - sent - size)[:12] <= WINDOW

    def _follow(self, m: Module, heads: list[tuple[Signal, Signal]], starts: Signal) -> None:
        """Follow a flit of an arbitrary packet of a lane from its crossing to the link."""
        o, s = self.output, self.output.scheduler
        following, ahead, data, has, gone = Signal(), Signal(4), Signal(), Signal(), Signal()
        crossing, head, size = (
            at(each, self.lane) for each in ([each.flit for each in o.crossing], *map(list, zip(*heads, strict=True)))
        )
        comes = at([each.valid for each in o.crossing], self.lane)
        goes, waiting, crossed, leaving = starts & (s.vl == self.lane), Signal(4), Signal(2), Signal(2)
        m.d.sync += waiting.eq(waiting + head - goes)
        joins, more = head & self.mark & ~following & (size > self.which), following & comes & ~has
        with m.If(joins):
            m.d.sync += [following.eq(1), ahead.eq(waiting - goes), crossed.eq(1)]
        with m.Elif(more & (crossed != LARGEST)):
            m.d.sync += crossed.eq(crossed + 1)
        with m.If((joins & (self.which == 0)) | (more & ~head & (crossed == self.which))):
            m.d.sync += [has.eq(1), data.eq(crossing[2])]
        with m.If(following & goes):
            m.d.sync += ahead.eq(ahead - 1)
            with m.If(ahead == 0):
                m.d.sync += gone.eq(1)
        with m.If(gone & o.tx.valid & (leaving != LARGEST)):
            m.d.sync += leaving.eq(leaving + 1)
        is_it = gone & o.tx.valid & (leaving == self.which) & has
        self.claim(m, "lane-unchanged", (o.tx.data == data) & (o.tx.vl == self.lane), when=is_it)
