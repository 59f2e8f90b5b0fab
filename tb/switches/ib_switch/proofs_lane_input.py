"""Proofs of an input with a crossbar port per lane: look-up, drops, waiting heads, and crossing flits."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.switches.lane_input import LaneInput
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.tables.proofs_tables import at

VLS, PART = 2, 2
"""Number of lanes, and blocks of each lane's share of the buffer."""
DEPTH = 9
"""Cycles from reset that are checked."""
_NO_ROOM = 4
_FREE_BITS = ((60, 64), (50, 56), (32, 34), (16, 22), (0, 1))
"""Free bits of a flit:

VL; SL and reserved; DLID; PktLen; source LID. The others, which no part of an input reads, are 0.
"""


def lane_input(*, largest: int, waiting: bool = False) -> LaneInput:
    """Return an input side with a crossbar port per lane and a buffer small enough for a proof."""
    geometry = BufferGeometry(VLS, VLS * PART, PART, PART, largest)
    return LaneInput(ports=4, geometry=geometry, data_bits=64, vl_bits=4, counts_waiting=waiting)


class LaneInputProperties(Properties):
    """Check an input against a reference model of its lanes, and follow one packet, for any tables and allocation.

    Assumptions: a packet has as many flits as the header states, on one lane, with or without gaps; packets may be
    larger than allowed. Only free lanes that take part are granted.

    Parameters
    ----------
    port : LaneInput
        Input as returned by ``lane_input``.
    """

    statements: ClassVar = {
        "lane-accepted": "A packet is accepted exactly when it is not larger than the largest and its lane's share "
        "of the buffer has space for it; otherwise all of it is discarded.",
        "lane-looked-up": "In the cycle after a head's arrival its own header is looked up.",
        "lane-dropped": "Two cycles after a head's arrival the drop cause of its packet is reported: no space, or "
        "the cause from the look-up; 0 if it is not dropped.",
        "lane-takes-part": "A lane takes part from two cycles after its head's arrival until the head is granted, "
        "whatever other lanes do.",
        "lane-routed": "A head takes part with the output, outgoing lane, size and drop of its own look-up.",
        "lane-free": "A lane is free unless a packet of its own is crossing and has flits left after this cycle.",
        "lane-crosses": "From the cycle after the grant on, a flit of the packet crosses in every cycle in which one "
        "is available, on its lane's own port, in order and unchanged except for the lane in the "
        "header of the first one.",
        "lane-drops": "No flit of a packet that is dropped crosses.",
        "lane-returned": "Every flit that left, or was discarded after its packet was accepted, is returned on its "
        "incoming lane one cycle later, and no other.",
    }
    unfolds_memories = True
    bounded = DEPTH

    def __init__(self, port: Any) -> None:
        super().__init__()
        self.port, self.m = port, Module()
        self.mark, self.largest = Signal(), port.geometry.largest

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.port), self.mark]

    def elaborate(self, _platform: object) -> Module:
        m, p = self.m, self.port
        m.submodules.port = p
        rx = p.rx
        free = [bit for low, high in _FREE_BITS for bit in range(low, high)]
        m.d.comb += Assume((rx.data & ~Value.cast(sum(1 << bit for bit in free))) == 0)
        head, size = Signal(), Signal(4)
        m.d.comb += [head.eq(rx.valid & rx.first), size.eq(((rx.data[16:27] + 16) >> 4)[:4])]
        self._assume_packets(m, size)
        accepts = self._lanes(m, head, size)
        self._follow(m, head, size, accepts)
        return m

    def _assume_packets(self, m: Module, size: Value) -> None:
        """Assume whole packets, and grants only of lanes that take part."""
        p, rx = self.port, self.port.rx
        left, lane = Signal(4), Signal(4)
        with m.If(rx.valid):
            m.d.sync += [left.eq(Mux(rx.first, size, left) - 1), lane.eq(rx.vl)]
        m.d.comb += [
            Assume(~rx.valid | (rx.first == (left == 0))),
            Assume(~rx.valid | (rx.last == Mux(rx.first, size == 1, left == 1))),
            Assume(~rx.valid | rx.first | (rx.vl == lane)),
            Assume(rx.vl < VLS),
            Assume(~rx.valid | ~rx.first | (size <= self.largest + 1)),
            Assume((p.granted & ~(p.free & p.valid)) == 0),
            Assume(Value.cast(p.cause) < _NO_ROOM),
            Assume(p.outgoing_vl < VLS),
        ]

    def _lanes(self, m: Module, head: Value, size: Value) -> Signal:
        """Model each lane's buffer and crossing packet, and return whether a head's packet is accepted."""
        p, rx, claim = self.port, self.port.rx, self.claim
        used = [Signal(4, name=f"used_{vl}") for vl in range(VLS)]
        accepts = Signal()
        m.d.comb += accepts.eq(head & (size <= self.largest) & (at(used, rx.vl) + size <= PART))
        let_in, writes = Signal(), Signal()
        with m.If(head):
            m.d.sync += let_in.eq(accepts)
        m.d.comb += writes.eq(rx.valid & Mux(head, accepts, let_in))
        refused = Signal()
        m.d.sync += refused.eq(head & ~accepts)
        for vl, part in enumerate(p.parts):
            mine = rx.vl == vl
            claim(m, "lane-accepted", part.accepted == (accepts & mine), when=head & mine)
            claim(m, "lane-accepted", part.write_count[0] == (writes & mine))
            coming, there = Signal(name=f"coming_{vl}"), Signal(3, name=f"there_{vl}")
            m.d.sync += [coming.eq(accepts & mine), there.eq(there + coming - p.granted[vl])]
            claim(m, "lane-takes-part", p.valid[vl] == there.any())
            held, crosses, goes = Signal(3, name=f"held_{vl}"), Signal(name=f"on_{vl}"), Signal(name=f"goes_{vl}")
            m.d.comb += goes.eq(crosses & held.any())
            m.d.sync += [
                held.eq(held + (writes & mine) - goes),
                used[vl].eq(used[vl] + Mux(accepts & mine, size, 0) - goes),
            ]
            left = Signal(3, name=f"left_{vl}")
            with m.If(p.granted[vl]):
                m.d.sync += left.eq(p.blocks[vl])
            with m.Else():
                m.d.sync += left.eq(left - goes)
            m.d.comb += crosses.eq(left.any())
            claim(m, "lane-free", p.free[vl] == (left == goes))
            claim(m, "lane-free", ~p.free[vl], when=left != goes)
            gone = Signal(name=f"gone_{vl}")
            m.d.sync += gone.eq(goes)
            claim(m, "lane-returned", p.returned.blocks[vl] == gone)
            claim(m, "lane-crosses", ~p.crossing[vl].valid, when=~goes)
        return accepts

    def _follow(self, m: Module, head: Value, size: Value, accepts: Value) -> None:
        """Follow an arbitrary packet from arrival until its last flit has crossed."""
        p, rx, claim = self.port, self.port.rx, self.claim
        starts, once = Signal(), Signal()
        m.d.comb += starts.eq(head & self.mark & ~once)
        lane, blocks, accepted, ahead = Signal(4), Signal(4), Signal(), Signal(4)
        waiting = [Signal(4, name=f"waiting_{vl}") for vl in range(VLS)]
        for vl in range(VLS):
            m.d.sync += waiting[vl].eq(waiting[vl] + (accepts & (rx.vl == vl)) - p.granted[vl])
        flits = [Signal(64, name=f"flit_{place}") for place in range(self.largest)]
        arrived, arriving = Signal(4), Signal()
        with m.If(starts):
            m.d.sync += [
                once.eq(1),
                lane.eq(rx.vl),
                blocks.eq(size),
                accepted.eq(accepts),
                arriving.eq(~rx.last),
                ahead.eq(at(waiting, rx.vl) - at(p.granted, rx.vl)),
                flits[0].eq(rx.data),
                arrived.eq(1),
            ]
        with m.If(arriving & rx.valid):
            m.d.sync += [arrived.eq(arrived + 1), arriving.eq(~rx.last)]
            for place in range(1, self.largest):
                with m.If(arrived == place):
                    m.d.sync += flits[place].eq(rx.data)
        looked, told, part = Signal(), Signal(), Signal()
        output, outgoing, cause = (Signal(8, name=name) for name in ("output", "outgoing", "cause"))
        m.d.sync += [looked.eq(starts), told.eq(looked)]
        with m.If(looked):
            m.d.sync += [output.eq(p.output), outgoing.eq(p.outgoing_vl), cause.eq(p.cause), part.eq(accepted)]
        claim(m, "lane-looked-up", p.header == flits[0], when=looked)
        claim(m, "lane-dropped", Value.cast(p.dropped) == Mux(accepted, cause, _NO_ROOM), when=told)
        claim(m, "lane-dropped", Value.cast(p.dropped) == _NO_ROOM, when=told & ~accepted)
        granted = once & accepted & at(p.granted, lane)
        is_head, crossing, crossed = part & (ahead == 0), Signal(), Signal(4)
        with m.If(granted):
            m.d.sync += ahead.eq(ahead - 1)
        own = Cat(
            at(p.drop, lane) == cause.any(),
            at([p.outputs[vl] for vl in range(VLS)], lane) == output,
            at([p.outgoing_vls[vl] for vl in range(VLS)], lane) == outgoing,
            at([p.blocks[vl] for vl in range(VLS)], lane) == blocks,
        )
        claim(m, "lane-routed", own.all(), when=is_head)
        with m.If(is_head & at(p.granted, lane)):
            m.d.sync += [crossing.eq(1), part.eq(0)]
        moves, is_first, is_last = crossing & (crossed < arrived), crossed == 0, crossed + 1 == blocks
        with m.If(moves):
            m.d.sync += [crossed.eq(crossed + 1), crossing.eq(~is_last)]
        valid, flit = at([each.valid for each in p.crossing], lane), at([each.flit for each in p.crossing], lane)
        body = at(flits, crossed)
        header = Cat(body[:60], outgoing[:4])
        expected = Cat(is_last, is_first, Mux(is_first, header, body))
        claim(m, "lane-crosses", valid & (flit == expected), when=moves & ~cause.any())
        claim(m, "lane-drops", ~valid, when=crossing & cause.any())
