"""Proofs of a central buffer: links, space, and the path of a packet from an input to a read port."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.switches.centre import Centre
from vlane.switches.mports import MPORT, READERS
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.schedulers.proofs_turns import at_most_one
from vlane.tb.tables.proofs_tables import at

VLS, BLOCKS, MINIMUM, MAXIMUM = 2, 4, 1, 3
DEPTH = 6
"""Cycles from reset that are checked; a packet of one flit takes five through an empty buffer."""
_LINKS, INPUTS = 2, 3


def centre(*, flits: int, largest: int) -> Centre:
    """Return a central buffer small enough for a proof, with flits of one data bit."""
    return Centre(ports=5, geometry=BufferGeometry(VLS, BLOCKS, MINIMUM, MAXIMUM, largest), data_bits=1, flits=flits)


class CentreProperties(Properties):
    """Check a central buffer against a reference model of its links and lanes, and follow one packet.

    Assumptions: grants are those of the allocation. A packet is granted a free link, to a lane with space, from an
    input that ends its previous packet; a stored lane is granted to a read port if the second read port neither
    continues to read nor receives the lane. Flits cross with or without gaps, those for outputs of the own MPort too.
    One of the four inputs is idle.

    Parameters
    ----------
    buffer : Centre
        Central buffer as returned by ``centre``.
    """

    statements: ClassVar = {
        "link-free": "A central link is free exactly when fewer than two packets are entering that have flits left "
        "after this cycle.",
        "central-room": "A lane is open exactly when the buffer has space for a largest packet of it and no packet "
        "is entering it that has flits left after this cycle.",
        "two-cycles": "A lane takes part from two cycles after its head crossed until it is granted to a read port.",
        "stored-head": "A head takes part with its own output and size, in the order of the grants.",
        "read": "From the cycle after the grant on, the available flits of the packet leave, as many per cycle as "
        "the internal link carries, through that read port only.",
        "reader-free": "A read port is free, and continues to read no lane, unless flits of its packet are left "
        "after this cycle.",
        "read-bound-for": "The flits from a read port go to the packet's output, on its lane, with its size, and its "
        "first and last flit are marked as such.",
        "read-unchanged": "A flit leaves unchanged, in the packet's order.",
    }
    bounded = DEPTH
    unfolds_memories = True

    def __init__(self, buffer: Any) -> None:
        super().__init__()
        self.buffer, self.m = buffer, Module()
        self.mark, self.largest = Signal(), buffer.geometry.largest
        self.left = [Signal(2, name=f"left_{each}") for each in range(MPORT)]
        self.sizes = [Signal(2, name=f"size_{each}") for each in range(MPORT)]
        self.lanes = [Signal(1, name=f"lane_{each}") for each in range(MPORT)]

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.buffer), self.mark]

    def elaborate(self, _platform: object) -> Module:
        m = self.m
        m.submodules.buffer = self.buffer
        for place in range(MPORT):
            self._assume_input(m, place)
        self._assume_grants(m)
        self._links(m)
        for lane in range(VLS):
            self._lane(m, lane)
        self._follow(m)
        return m

    def _last_flits_cross(self, place: int) -> Value:
        return self.left[place] == self.buffer.crossing[place].count

    def _assume_input(self, m: Module, place: int) -> None:
        """Assume that granted packets cross, and that an input is granted again only at the end of its packet."""
        b, c = self.buffer, self.buffer.crossing[place]
        left, size, lane, granted = self.left[place], self.sizes[place], self.lanes[place], b.source[place]
        to = Signal.like(c.to, name=f"to_{place}")
        is_ours, first = left.any(), left == size
        m.d.comb += [
            Assume(~is_ours | (c.count <= left)),
            Assume(~is_ours | (c.first == (first & c.count.any()))),
            Assume(~is_ours | (c.last == (c.count.any() & self._last_flits_cross(place)))),
            Assume(~is_ours | ((c.vl == lane) & (c.blocks == size) & (first | (c.to == to)))),
            Assume(~granted | ~is_ours | self._last_flits_cross(place)),
            Assume(c.to < 5),
            Assume((~granted & (c.count == 0)) | (place < INPUTS)),
        ]
        for index in range(len(c.flits)):
            is_last = c.last & (c.count == index + 1)
            flags = c.flits[index][:2] == Cat(is_last, c.first & (index == 0))
            m.d.comb += Assume(~is_ours | (c.count <= index) | flags)
        with m.If(c.count.any() & is_ours & first):
            m.d.sync += to.eq(c.to)
        with m.If(granted):
            m.d.sync += [left.eq(b.reserved), size.eq(b.reserved), lane.eq(b.reserved_vl)]
        with m.Elif(is_ours):
            m.d.sync += left.eq(left - c.count)

    def _assume_grants(self, m: Module) -> None:
        b = self.buffer
        m.d.comb += [
            Assume(at_most_one(b.source)),
            Assume(b.reserved.any() == b.source.any()),
            Assume((b.reserved <= self.largest) & (b.reserved_vl < VLS)),
            Assume(~b.reserved.any() | (b.link_free & at(b.room, b.reserved_vl))),
        ]
        for reader in range(READERS):
            lane, granted = Value.cast(b.lane[reader]), b.granted[reader]
            others = Value.cast(b.reading[1 - reader]) | Mux(b.granted[1 - reader], b.lane[1 - reader], 0)
            able = b.free[reader] & lane.any() & ~(lane & ~b.stored).any() & ~(lane & others).any()
            m.d.comb += Assume(at_most_one(lane) & (~granted | able))

    def _links(self, m: Module) -> None:
        """Claim whether a link is free."""
        entering = [self.left[place].any() & ~self._last_flits_cross(place) for place in range(MPORT)]
        count = Signal(3)
        m.d.comb += count.eq(sum(entering))
        self.claim(m, "link-free", self.buffer.link_free, when=count < _LINKS)
        self.claim(m, "link-free", ~self.buffer.link_free, when=count == _LINKS)

    def _lane(self, m: Module, lane: int) -> None:
        """Claim when a lane is open, and when it takes part."""
        b, claim = self.buffer, self.claim
        used = [Signal(4, name=f"used_{lane}_{each}") for each in range(VLS)]
        for each in range(VLS):
            comes = Mux(b.reserved_vl == each, b.reserved, 0)
            goes = sum(Mux(read.vl == each, read.count, 0) for read in b.read)
            m.d.sync += used[each].eq(used[each] + comes - goes)
        promised = sum(Mux(each < MINIMUM, MINIMUM, each) for number, each in enumerate(used) if number != lane)
        after = Signal(4, name=f"after_{lane}")
        m.d.comb += after.eq(used[lane] + self.largest)
        fits = (after <= MAXIMUM) & (promised + Mux(after < MINIMUM, MINIMUM, after) <= BLOCKS)
        entering = Cat(
            self.left[place].any() & ~self._last_flits_cross(place) & (self.lanes[place] == lane)
            for place in range(MPORT)
        )
        claim(m, "central-room", b.room[lane] == fits, when=~entering.any())
        claim(m, "central-room", ~b.room[lane], when=entering.any())
        heads = Cat(
            self.left[place].any()
            & b.crossing[place].count.any()
            & b.crossing[place].first
            & (self.lanes[place] == lane)
            for place in range(MPORT)
        )
        coming, there = Signal(name=f"coming_{lane}"), Signal(3, name=f"there_{lane}")
        granted = Cat(b.granted[reader] & b.lane[reader][lane] for reader in range(READERS)).any()
        m.d.sync += [coming.eq(heads.any()), there.eq(there + coming - granted)]
        claim(m, "two-cycles", b.stored[lane] == there.any())

    def _follow(self, m: Module) -> None:
        """Follow an arbitrary packet from its grant until the last flit has left."""
        b, claim = self.buffer, self.claim
        once, starts, source = Signal(), Signal(), Signal(MPORT)
        lane, size, ahead, got = Signal(1), Signal(2), Signal(3), Signal(3)
        granted = [
            Cat(b.granted[reader] & b.lane[reader][each] for reader in range(READERS)).any() for each in range(VLS)
        ]
        waiting = [Signal(3, name=f"waiting_{each}") for each in range(VLS)]
        for each in range(VLS):
            comes = b.reserved.any() & (b.reserved_vl == each)
            m.d.sync += waiting[each].eq(waiting[each] + comes - granted[each])
        m.d.comb += starts.eq(b.reserved.any() & self.mark & ~once)
        with m.If(once & at(granted, lane)):
            m.d.sync += ahead.eq(ahead - 1)
        with m.If(starts):
            m.d.sync += [
                once.eq(1),
                source.eq(b.source),
                lane.eq(b.reserved_vl),
                size.eq(b.reserved),
                ahead.eq(at(waiting, b.reserved_vl) - at(granted, b.reserved_vl)),
            ]
        to, flits = Signal(3), [Signal(name=f"flit_{each}") for each in range(self.largest)]
        came, part, done = Signal(), Signal(), Signal()
        for place in range(MPORT):
            crossing = b.crossing[place]
            with m.If(once & source[place] & (got < size)):
                m.d.sync += got.eq(got + crossing.count)
                with m.If(crossing.count.any() & (got == 0)):
                    m.d.sync += [to.eq(crossing.to), came.eq(1)]
                for index in range(len(crossing.flits)):
                    for number in range(self.largest):
                        with m.If((crossing.count > index) & (got + index == number)):
                            m.d.sync += flits[number].eq(crossing.flits[index][2])
        m.d.comb += part.eq(came_before(m, came) & ~done)
        is_head = part & (ahead == 0)
        own = (at([b.outputs[v] for v in range(VLS)], lane) == to) & (
            at([b.blocks[v] for v in range(VLS)], lane) == size
        )
        claim(m, "stored-head", own, when=is_head)
        with m.If(is_head & at(granted, lane)):
            m.d.sync += done.eq(1)
        reads, crossed = Signal(READERS), Signal(3)
        moves, there, ends = Signal(3), Signal(3), Signal()
        m.d.comb += [
            there.eq(got - crossed),
            moves.eq(Mux(there > b.flits, b.flits, there)),
            ends.eq(crossed + moves == size),
        ]
        with m.If(reads.any()):
            m.d.sync += crossed.eq(crossed + moves)
        for reader in range(READERS):
            with m.If(is_head & b.granted[reader] & at(b.lane[reader], lane)):
                m.d.sync += reads[reader].eq(1)
            with m.Elif(reads[reader] & ends):
                m.d.sync += reads[reader].eq(0)
            read, now = b.read[reader], reads[reader]
            reading: Value = Value.cast(b.reading[reader])
            claim(m, "read", read.count == moves, when=now)
            claim(m, "reader-free", b.free[reader] & ~reading.any(), when=now & ends)
            claim(m, "reader-free", ~b.free[reader] & (reading == 1 << lane), when=now & ~ends)
            claim(m, "read-bound-for", (read.to == to) & (read.vl == lane) & (read.blocks == size), when=now)
            marks = (read.first == (crossed == 0)) & (read.last == ends)
            claim(m, "read-bound-for", marks, when=now & moves.any())
            for index in range(min(b.flits, self.largest)):
                flags = Cat(crossed + index + 1 == size, (crossed == 0) & (index == 0))
                same = read.flits[index] == Cat(flags, at(flits, crossed + index))
                claim(m, "read-unchanged", same, when=now & (moves > index))
            self._claim_idle(m, reader)

    def _claim_idle(self, m: Module, reader: int) -> None:
        """Claim that a read port without a packet is free and shows no flits."""
        b, busy = self.buffer, Signal(name=f"busy_{reader}")
        with m.If(b.granted[reader]):
            m.d.sync += busy.eq(1)
        with m.Elif(b.free[reader]):
            m.d.sync += busy.eq(0)
        idle = b.free[reader] & ~Value.cast(b.reading[reader]).any()
        self.claim(m, "reader-free", idle, when=~busy)
        self.claim(m, "read", ~b.read[reader].count.any(), when=~busy)


def came_before(m: Module, came: Signal) -> Signal:
    """Return the signal delayed by one cycle."""
    later = Signal.like(came, name="came_before")
    m.d.sync += later.eq(came)
    return later
