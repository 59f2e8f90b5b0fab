"""VL buffers in one storage: linked lists of flits, with a guaranteed minimum and a maximum per lane."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from vlane.buffers.vlbuffer import MAX_FLITS, VLBufferParameters
from vlane.hdl.buffers.admission import Admission
from vlane.hdl.common.select import chosen, equals, one_of

__all__ = ["VLBuffer"]

_VL_BITS = 5
_COUNT_BITS = 2
_PACKET_BITS = 10


class VLBuffer(wiring.Component):
    """First-in first-out queues of all lanes of a port in one storage (``docs/vlbuffer.md``).

    Latency 1: a flit that is written can be read from the next cycle on. ``room``, ``accepted`` and the read outputs
    follow their inputs within the cycle. Reset empties all lanes.

    Parameters
    ----------
    parameters : VLBufferParameters
        Shape of the component.

    Members
    -------
    room : Out(vls)
        Lanes in which the largest packet can be reserved.
    reserve_flits : In(10)
        Flits to reserve for a packet in this cycle; 0 for none.
    reserve_vl : In(5)
        Lane of that packet.
    accepted : Out(1)
        The reservation succeeds. Flits of the packet may be written in this cycle already.
    write_vl : In(ArrayLayout(5, writers))
        Lane to which each writing port writes.
    write_count : In(ArrayLayout(2, writers))
        Number of flits that each port writes; larger values count as ``write_flits``.
    write_data : In(ArrayLayout(data_bits, writers * write_flits))
        Flits that are written, port by port, oldest first.
    discarded : Out(3)
        Number of flits discarded in this cycle: their lane has no reserved space, or does not exist.
    read_vl : In(ArrayLayout(5, readers))
        Lane that each reading port reads.
    read_data : Out(ArrayLayout(data_bits, readers * read_flits))
        Oldest flits of that lane, port by port; 0 where there is none.
    readable : Out(ArrayLayout(2, readers))
        Number of flits in ``read_data`` that are valid.
    read_count : In(ArrayLayout(2, readers))
        Number of flits that the port removes. If two ports remove flits of one lane, only the first one does.
    held : Out(ArrayLayout(14, vls))
        Number of flits in each lane.
    used : Out(ArrayLayout(14, vls))
        Number of flits reserved for each lane, including those in it.
    """

    latency = 1

    def __init__(self, parameters: VLBufferParameters) -> None:
        self.parameters = p = parameters
        self.vls, self.flits, self.mtu_flits = p.vls, p.flits, p.mtu_flits
        self.minimum, self.maximum = p.minimum, p.maximum
        self.writers, self.readers, self.data_bits = p.writers, p.readers, p.data_bits
        self.write_flits, self.read_flits = p.write_flits, p.read_flits
        self.form = p.form
        self.counts = range(p.maximum + 1)
        counters = data.ArrayLayout(MAX_FLITS.bit_length(), p.vls)
        super().__init__(
            {
                "room": Out(p.vls),
                "reserve_flits": In(_PACKET_BITS),
                "reserve_vl": In(_VL_BITS),
                "accepted": Out(1),
                "write_vl": In(data.ArrayLayout(_VL_BITS, p.writers)),
                "write_count": In(data.ArrayLayout(_COUNT_BITS, p.writers)),
                "write_data": In(data.ArrayLayout(p.data_bits, p.writers * p.write_flits)),
                "discarded": Out(3),
                "read_vl": In(data.ArrayLayout(_VL_BITS, p.readers)),
                "read_data": Out(data.ArrayLayout(p.data_bits, p.readers * p.read_flits)),
                "readable": Out(data.ArrayLayout(_COUNT_BITS, p.readers)),
                "read_count": In(data.ArrayLayout(_COUNT_BITS, p.readers)),
                "held": Out(counters),
                "used": Out(counters),
            }
        )
        self.seen_now = [Signal(range(p.read_flits + 1), name=f"seen_{vl}") for vl in range(p.vls)]
        """By lane: flits that a reading port shows, the smaller of those held and ``read_flits``."""
        self.held_now = [Signal(self.counts, name=f"held_{vl}") for vl in range(p.vls)]
        self.takes = [Signal(_COUNT_BITS, name=f"takes_{port}") for port in range(p.readers)]
        self.admission = Admission(
            vls=p.vls,
            minimum=p.minimum,
            maximum=p.maximum,
            shared=p.flits - p.vls * p.minimum,
            largest=p.mtu_flits,
            readers=p.readers,
            read_flits=p.read_flits,
        )
        self.used_now = self.admission.used_now

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        reads = self._reads(m)
        gains = self._reserve(m, reads)
        writes = self._writes(m, gains)
        for vl in range(self.vls):
            m.d.comb += [self.held[vl].eq(self.held_now[vl]), self.used[vl].eq(self.used_now[vl])]
            written = sum(w[vl] for w in writes)
            m.d.sync += [
                self.held_now[vl].eq(self.held_now[vl] - reads[vl] + written),
                self.seen_now[vl].eq(self._seen_next(self.held_now[vl], reads[vl], written, len(writes))),
            ]
        if self.form == "static":
            self._partition(m, reads, writes)
        else:
            self._lists(m, reads, writes)
        return m

    def _reads(self, m: Module) -> list[Signal]:
        """Return the number of flits that leave each lane.

        If several ports remove flits of one lane, only the first of them does.
        """
        looks = [Signal(self.vls, name=f"looks_{port}") for port in range(self.readers)]
        free: list[Value] = [Const(1)] * self.vls
        leaving = [Signal(_COUNT_BITS, name=f"leaving_{vl}") for vl in range(self.vls)]
        removed: list[list[Value]] = [[] for _ in range(self.vls)]
        seen = self.seen_now
        for port in range(self.readers):
            asked, taken = self.read_count[port], []
            m.d.comb += [
                looks[port].eq(Cat(equals(self.read_vl[port], vl) for vl in range(self.vls))),
                self.readable[port].eq(one_of(looks[port], seen)),
            ]
            for vl in range(self.vls):
                takes = Signal(_COUNT_BITS, name=f"takes_{port}_{vl}")
                m.d.comb += takes.eq(Mux(looks[port][vl] & free[vl], Mux(asked < seen[vl], asked, seen[vl]), 0))
                free[vl] = free[vl] & ~takes.any()
                taken.append(takes)
                removed[vl].append(takes)
            m.d.comb += self.takes[port].eq(reduce(or_, taken))
        for vl in range(self.vls):
            m.d.comb += leaving[vl].eq(reduce(or_, removed[vl]))
        return leaving

    def _seen_next(self, held: Value, leaving: Value, written: Value, most: int) -> Value:
        """Return how many flits of a lane are shown in the next cycle. The late counts only select among results."""

        def shown(change: int) -> Value:
            least = [count - change for count in range(1, self.read_flits + 1)]
            return Cat(held >= each if each > 0 else Const(1) for each in least)

        after = [
            chosen(leaving, [shown(count - gone) for gone in range(self.read_flits + 1)]) for count in range(most + 1)
        ]
        levels = chosen(written, after)
        return sum(levels[place] for place in range(self.read_flits))

    def _writes(self, m: Module, gains: list[Value]) -> list[Signal]:
        """Return the lane of each written flit as a one-hot value, or 0 if the flit is discarded."""
        kept: list[Signal] = []
        comes: list[Signal] = []
        for place in range(self.writers * self.write_flits):
            port, index = divmod(place, self.write_flits)
            lane = Signal(self.vls, name=f"kept_{place}")
            coming = Signal(name=f"comes_{place}")
            m.d.comb += coming.eq(self.write_count[port] > index)
            for vl in range(self.vls):
                named = coming & equals(self.write_vl[port], vl)
                m.d.comb += lane[vl].eq(named & self._has_place(vl, gains[vl], [other[vl] for other in kept]))
            kept.append(lane)
            comes.append(coming)
        m.d.comb += self.discarded.eq(sum(coming & ~lane.any() for coming, lane in zip(comes, kept, strict=True)))
        return kept

    def _has_place(self, vl: int, gains: Value, before: list[Value]) -> Value:
        """Return whether a lane has reserved space for a flit, behind other flits of the cycle.

        A lane never holds more than it reserved, so it has space for the first flit of the cycle if it gains any.
        """
        held, used = self.held_now[vl], self.used_now[vl]
        if not before:
            return gains | (held < used)
        return held + sum(before) < used + Mux(gains, self.reserve_flits, 0)

    def _reserve(self, m: Module, reads: list[Signal]) -> list[Value]:
        """Reserve flits for a packet and return, by lane, whether it gains the flits in this cycle."""
        m.submodules.admission = admission = self.admission
        m.d.comb += [
            admission.reserve_flits.eq(self.reserve_flits),
            admission.reserve_vl.eq(self.reserve_vl),
            self.accepted.eq(admission.accepted),
            self.room.eq(admission.room),
            *(admission.leaving[vl].eq(reads[vl]) for vl in range(self.vls)),
        ]
        return list(admission.gains)

    def _looked_at(self, port: int, values: list[Signal]) -> Value:
        return one_of((equals(self.read_vl[port], vl) for vl in range(self.vls)), values)

    def _partition(self, m: Module, reads: list[Signal], writes: list[Signal]) -> None:
        """Keep each lane in a ring buffer within a fixed share of the storage."""
        size = self.maximum
        memory = Memory(shape=unsigned(self.data_bits), depth=size * self.vls, init=[])
        m.submodules.storage = memory
        first = [Signal(range(max(2, size)), name=f"first_{vl}") for vl in range(self.vls)]
        after_last = [Signal(range(max(2, size)), name=f"after_last_{vl}") for vl in range(self.vls)]
        for place, lane in enumerate(writes):
            writer = memory.write_port()
            behind = [_modulo(after_last[vl] + sum(w[vl] for w in writes[:place]), size) for vl in range(self.vls)]
            where = [behind[vl] + vl * size for vl in range(self.vls)]
            m.d.comb += [
                writer.en.eq(lane.any()),
                writer.addr.eq(one_of(lane, where)),
                writer.data.eq(self.write_data[place]),
            ]
        bases = [Signal(range(size * self.vls), init=vl * size, name=f"base_{vl}") for vl in range(self.vls)]
        for port in range(self.readers):
            base = self._looked_at(port, bases)
            start = self._looked_at(port, first)
            for index in range(self.read_flits):
                reader = memory.read_port(domain="comb")
                m.d.comb += reader.addr.eq(base + _modulo(start + index, size))
                self._show(m, port, index, reader.data)
        for vl in range(self.vls):
            m.d.sync += [
                first[vl].eq(_modulo(first[vl] + reads[vl], size)),
                after_last[vl].eq(_modulo(after_last[vl] + sum(w[vl] for w in writes), size)),
            ]

    def _lists(self, m: Module, reads: list[Signal], writes: list[Signal]) -> None:
        """Keep each lane in a linked list through the storage, and the free slots in another list."""
        slot = range(self.flits)
        storage = Memory(shape=unsigned(self.data_bits), depth=self.flits, init=[])
        links = Memory(shape=slot_shape(self.flits), depth=self.flits, init=[])
        m.submodules.storage, m.submodules.links = storage, links
        first = [Signal(slot, name=f"first_{vl}") for vl in range(self.vls)]
        last = [Signal(slot, name=f"last_{vl}") for vl in range(self.vls)]
        freed, behind = self._follow(m, storage, links, first)
        places = self._places(m, writes, freed)
        for vl in range(self.vls):
            newest, oldest_new, any_new = last[vl], first[vl], Const(0, 1)
            for place, lane in zip(places, writes, strict=True):
                newest = Mux(lane[vl], place, newest)
                oldest_new = Mux(lane[vl] & ~any_new, place, oldest_new)
                any_new = any_new | lane[vl]
            m.d.sync += last[vl].eq(newest)
            with m.If(any_new & (self.held_now[vl] == reads[vl])):
                m.d.sync += first[vl].eq(oldest_new)
            with m.Else():
                m.d.sync += first[vl].eq(behind[vl])
        for number, (place, lane) in enumerate(zip(places, writes, strict=True)):
            writer, linker = storage.write_port(), links.write_port()
            before = [self._before(number, vl, places, writes, last[vl]) for vl in range(self.vls)]
            follows = [
                lane[vl] & (self.held_now[vl].any() | Cat(w[vl] for w in writes[:number]).any())
                for vl in range(self.vls)
            ]
            m.d.comb += [
                writer.en.eq(lane.any()),
                writer.addr.eq(place),
                writer.data.eq(self.write_data[number]),
                linker.en.eq(Cat(follows).any()),
                linker.addr.eq(one_of(lane, before)),
                linker.data.eq(place),
            ]

    def _before(self, number: int, vl: int, places: list[Signal], writes: list[Signal], last: Signal) -> Value:
        """Return the slot of the flit that precedes write ``number`` in its lane."""
        found: Value = last
        for place, lane in zip(places[:number], writes[:number], strict=True):
            found = Mux(lane[vl], place, found)
        return found

    def _follow(
        self, m: Module, storage: Memory, links: Memory, first: list[Signal]
    ) -> tuple[list[tuple[Value, Signal]], list[Value]]:
        """Drive each reading port's flits, and return the freed slots and the new first slot of each lane."""
        freed = []
        behind: list[Value] = list(first)
        for port in range(self.readers):
            here: Value = self._looked_at(port, first)
            for index in range(self.read_flits):
                reader, link = storage.read_port(domain="comb"), links.read_port(domain="comb")
                m.d.comb += [reader.addr.eq(here), link.addr.eq(here)]
                self._show(m, port, index, reader.data)
                leaves = Signal(name=f"leaves_{port}_{index}")
                m.d.comb += leaves.eq(self.takes[port] > index)
                freed.append((leaves, here))
                here = link.data
                for vl in range(self.vls):
                    behind[vl] = Mux(leaves & equals(self.read_vl[port], vl), link.data, behind[vl])
        return freed, behind

    def _places(self, m: Module, writes: list[Signal], freed: list[tuple[Value, Signal]]) -> list[Signal]:
        """Return a free slot for each written flit: slots unused since reset first, then recycled ones."""
        slot = range(self.flits)
        fresh = Signal(range(self.flits + 1))
        oldest = Signal(slot)
        newest = Signal(slot)
        recycled = Memory(shape=slot_shape(self.flits), depth=self.flits, init=[])
        m.submodules.recycled = recycled
        free = self._next_free(m, recycled, fresh, oldest, len(writes))
        places: list[Signal] = []
        taken: Value = Const(0, 1)
        for number, lane in enumerate(writes):
            place = Signal(slot, name=f"place_{number}")
            m.d.comb += place.eq(chosen(taken, free[: number + 1]))
            places.append(place)
            taken = taken + lane.any()
        counts = range(len(writes) + 1)
        unused = [Mux(fresh > self.flits - count, self.flits, fresh + count) for count in counts]
        reused = [Mux(fresh > self.flits - count, fresh + count - self.flits, 0) for count in counts]
        behind = [_modulo(oldest + again, self.flits) for again in reused]
        m.d.sync += [fresh.eq(chosen(taken, unused)), oldest.eq(chosen(taken, behind))]
        given: Value = Const(0, 1)
        for leaves, place in freed:
            writer = recycled.write_port()
            m.d.comb += [
                writer.en.eq(leaves),
                writer.addr.eq(_modulo(newest + given, self.flits)),
                writer.data.eq(place),
            ]
            given = given + leaves
        m.d.sync += newest.eq(_modulo(newest + given, self.flits))
        return places

    def _next_free(self, m: Module, recycled: Memory, fresh: Signal, oldest: Signal, count: int) -> list[Signal]:
        """Return the next free slots, computed from registers only. Writes select a slot."""
        found = []
        for number in range(count):
            reader, slot = recycled.read_port(domain="comb"), Signal(range(self.flits), name=f"free_{number}")
            unused = Signal(range(self.flits + count + 1), name=f"unused_{number}")
            m.d.comb += [
                unused.eq(fresh + number),
                reader.addr.eq(_modulo(oldest + Mux(unused > self.flits, unused - self.flits, 0), self.flits)),
                slot.eq(Mux(unused < self.flits, unused, reader.data)),
            ]
            found.append(slot)
        return found

    def _show(self, m: Module, port: int, index: int, flit: Value) -> None:
        there = self.readable[port] > index
        m.d.comb += self.read_data[port * self.read_flits + index].eq(Mux(there, flit, 0))


def slot_shape(flits: int) -> Shape:
    """Return the shape of an address into a storage of ``flits`` flits."""
    return Shape.cast(range(flits))


def _modulo(value: Value, size: int) -> Value:
    """Return a value modulo ``size``. The value must be below twice the size."""
    width = max(1, (size - 1).bit_length())
    return Mux(value >= size, value - size, value)[:width]


COMPONENT = VLBuffer
