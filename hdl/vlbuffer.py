"""VL buffers over one storage: linked lists of flits, a guaranteed minimum and a maximum per lane."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from vlane.hdl.parameters import check_range
from vlane.hdl.select import equals, one_of

from vlane.egress import MAX_REQUESTERS
from vlane.errors import InputError, unknown_word

__all__ = ["VLBuffer"]

_MAX_FLITS = 8192
_MAX_PORTS = 2
_MAX_PORT_FLITS = 3
_VL_BITS = 5
_COUNT_BITS = 2
_PACKET_BITS = 10
_FORMS = ("shared", "static")


class VLBuffer(wiring.Component):
    """First-in first-out queues of all lanes of a port in one storage (``docs/vlbuffer.md``).

    Latency 1: a flit that is written is seen from the next cycle on. ``room``, ``accepted`` and the flits that are
    seen follow within the cycle. Reset empties everything.

    Parameters
    ----------
    vls : int
        Lanes, 1 to 32.
    flits : int
        Storage, 2 to 8192.
    minimum, maximum : int
        Flits that each lane is guaranteed, and the most it may use.
    mtu_flits : int
        Largest packet, 1 to ``maximum``: what ``room`` asks for.
    writers, readers : int
        Ports, 1 or 2 each.
    write_flits, read_flits : int
        Most flits of a writing and of a reading port in a cycle, 1 to 3.
    data_bits : int
        Width of a flit, 1 to 1024.
    form : str
        ``shared``: linked lists through the storage; ``static``: a partition per lane, ``minimum`` = ``maximum``.

    Members
    -------
    room : Out(vls)
        The largest packet can be reserved.
    reserve_flits : In(10)
        Flits of a packet whose room is wanted in this cycle; 0: none is.
    reserve_vl : In(5)
        Its lane.
    accepted : Out(1)
        The room is there, and taken, for flits of this cycle already.
    write_vl : In(ArrayLayout(5, writers))
        Lane that each writing port writes to.
    write_count : In(ArrayLayout(2, writers))
        How many flits; more than ``write_flits`` is that many.
    write_data : In(ArrayLayout(data_bits, writers * write_flits))
        The flits, port by port, oldest first.
    discarded : Out(3)
        Flits of this cycle that had no reserved room, or no lane.
    read_vl : In(ArrayLayout(5, readers))
        Lane that each reading port looks at.
    read_data : Out(ArrayLayout(data_bits, readers * read_flits))
        Its oldest flits, port by port; 0 where none is.
    readable : Out(ArrayLayout(2, readers))
        How many of them there are.
    read_count : In(ArrayLayout(2, readers))
        How many of them the port takes; of one lane only the first port that does.
    held : Out(ArrayLayout(14, vls))
        Flits in each lane.
    used : Out(ArrayLayout(14, vls))
        Flits reserved for each lane, those held included.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If it is out of range.
    """

    latency = 1

    def __init__(
        self,
        *,
        vls: int = 4,
        flits: int = 64,
        minimum: int = 8,
        maximum: int = 40,
        mtu_flits: int = 8,
        writers: int = 1,
        readers: int = 1,
        write_flits: int = 1,
        read_flits: int = 1,
        data_bits: int = 32,
        form: str = "shared",
    ) -> None:
        self.check_parameters(
            vls=vls, flits=flits, minimum=minimum, maximum=maximum, mtu_flits=mtu_flits, writers=writers,
            readers=readers, write_flits=write_flits, read_flits=read_flits, data_bits=data_bits, form=form,
        )  # fmt: skip
        self.vls, self.flits, self.minimum, self.maximum, self.mtu_flits = vls, flits, minimum, maximum, mtu_flits
        self.writers, self.readers, self.data_bits = writers, readers, data_bits
        self.write_flits, self.read_flits = write_flits, read_flits
        self.form = form
        self.counts = range(maximum + 1)
        counters = data.ArrayLayout(_MAX_FLITS.bit_length(), vls)
        super().__init__(
            {
                "room": Out(vls),
                "reserve_flits": In(_PACKET_BITS),
                "reserve_vl": In(_VL_BITS),
                "accepted": Out(1),
                "write_vl": In(data.ArrayLayout(_VL_BITS, writers)),
                "write_count": In(data.ArrayLayout(_COUNT_BITS, writers)),
                "write_data": In(data.ArrayLayout(data_bits, writers * write_flits)),
                "discarded": Out(3),
                "read_vl": In(data.ArrayLayout(_VL_BITS, readers)),
                "read_data": Out(data.ArrayLayout(data_bits, readers * read_flits)),
                "readable": Out(data.ArrayLayout(_COUNT_BITS, readers)),
                "read_count": In(data.ArrayLayout(_COUNT_BITS, readers)),
                "held": Out(counters),
                "used": Out(counters),
            }
        )
        self.held_now = [Signal(self.counts, name=f"held_{vl}") for vl in range(vls)]
        self.takes = [Signal(_COUNT_BITS, name=f"takes_{port}") for port in range(readers)]
        self.used_now = [Signal(self.counts, name=f"used_{vl}") for vl in range(vls)]

    @staticmethod
    def check_parameters(
        *,
        vls: int,
        flits: int,
        minimum: int,
        maximum: int,
        mtu_flits: int,
        writers: int,
        readers: int,
        write_flits: int,
        read_flits: int,
        data_bits: int,
        form: str,
    ) -> None:
        """Raise what the constructor would raise, without making anything."""
        check_range("vls", vls, 1, MAX_REQUESTERS)
        check_range("flits", flits, 2, _MAX_FLITS)
        check_range("minimum", minimum, 0, flits // vls)
        check_range("maximum", maximum, max(1, minimum), flits - (vls - 1) * minimum)
        check_range("mtu_flits", mtu_flits, 1, maximum)
        check_range("writers", writers, 1, _MAX_PORTS)
        check_range("readers", readers, 1, _MAX_PORTS)
        check_range("write_flits", write_flits, 1, _MAX_PORT_FLITS)
        check_range("read_flits", read_flits, 1, _MAX_PORT_FLITS)
        check_range("data_bits", data_bits, 1, 1024)
        if form not in _FORMS:
            raise unknown_word("form", _FORMS, form)
        if form == "static" and minimum != maximum:
            raise InputError("minimum", f"maximum, {maximum}, in the static form", minimum)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        reads = self._reads(m)
        gained = self._reserve(m, reads)
        writes = self._writes(m, gained)
        for vl in range(self.vls):
            m.d.comb += [self.held[vl].eq(self.held_now[vl]), self.used[vl].eq(self.used_now[vl])]
            m.d.sync += self.held_now[vl].eq(self.held_now[vl] - reads[vl] + sum(w[vl] for w in writes))
        if self.form == "static":
            self._partition(m, reads, writes)
        else:
            self._lists(m, reads, writes)
        return m

    def _reads(self, m: Module) -> list[Signal]:
        """Return how many flits leave each lane; the first port that takes any has the lane."""
        taken = []
        free = (1 << self.vls) - 1
        looks = [Signal(self.vls, name=f"looks_{port}") for port in range(self.readers)]
        counts = self.takes
        for port in range(self.readers):
            held = one_of(looks[port], self.held_now)
            seen = Signal(range(self.read_flits + 1), name=f"seen_{port}")
            asked = self.read_count[port]
            m.d.comb += [
                looks[port].eq(Cat(equals(self.read_vl[port], vl) for vl in range(self.vls))),
                seen.eq(Mux(held < self.read_flits, held, self.read_flits)),
                self.readable[port].eq(seen),
                counts[port].eq(Mux((looks[port] & free).any(), Mux(asked < seen, asked, seen), 0)),
            ]
            free = free & ~Mux(counts[port].any(), looks[port], 0)
        for vl in range(self.vls):
            leaving = Signal(_COUNT_BITS, name=f"leaving_{vl}")
            m.d.comb += leaving.eq(sum(Mux(look[vl], count, 0) for look, count in zip(looks, counts, strict=True)))
            taken.append(leaving)
        return taken

    def _writes(self, m: Module, gained: list[Value]) -> list[Signal]:
        """Return, per flit that may come, the lane it is kept in, one bit; none if it is discarded."""
        kept: list[Signal] = []
        comes: list[Signal] = []
        for place in range(self.writers * self.write_flits):
            port, index = divmod(place, self.write_flits)
            lane, coming = Signal(self.vls, name=f"kept_{place}"), Signal(name=f"comes_{place}")
            m.d.comb += coming.eq(self.write_count[port] > index)
            for vl in range(self.vls):
                before = self.held_now[vl] + sum(other[vl] for other in kept)
                named = coming & equals(self.write_vl[port], vl)
                m.d.comb += lane[vl].eq(named & (before < self.used_now[vl] + gained[vl]))
            kept.append(lane)
            comes.append(coming)
        m.d.comb += self.discarded.eq(sum(coming & ~lane.any() for coming, lane in zip(comes, kept, strict=True)))
        return kept

    def _reserve(self, m: Module, reads: list[Signal]) -> list[Value]:
        """Reserve what is within the maximum and what lanes share, a minimum is always left; return it by lane."""
        pool = self.flits - self.vls * self.minimum
        excess = [Mux(used > self.minimum, used - self.minimum, 0) for used in self.used_now]
        in_pool = range(max(1, pool) + 1)
        shared = Signal(in_pool)
        m.d.comb += shared.eq(sum(excess))
        fits = Signal(self.vls)
        gains: list[Value] = []
        for vl, used in enumerate(self.used_now):
            others = Signal(in_pool, name=f"others_{vl}")
            m.d.comb += [
                others.eq(shared - excess[vl]),
                self.room[vl].eq(self._within(used + self.mtu_flits, others, pool)),
                fits[vl].eq(equals(self.reserve_vl, vl) & self._within(used + self.reserve_flits, others, pool)),
            ]
            gained = Signal(self.counts, name=f"gained_{vl}")
            m.d.comb += gained.eq(Mux(fits[vl], self.reserve_flits, 0))
            gains.append(gained)
            m.d.sync += used.eq(used - reads[vl] + gained)
        m.d.comb += self.accepted.eq(fits.any() & self.reserve_flits.any())
        return gains

    def _within(self, after: Value, others: Value, pool: int) -> Value:
        beyond = Mux(after > self.minimum, after - self.minimum, 0)
        return (after <= self.maximum) & (others + beyond <= pool)

    def _looked_at(self, port: int, values: list[Signal]) -> Value:
        return one_of((equals(self.read_vl[port], vl) for vl in range(self.vls)), values)

    def _partition(self, m: Module, reads: list[Signal], writes: list[Signal]) -> None:
        """Keep each lane in a ring of its own part of the storage."""
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
        """Keep each lane in a linked list through the storage, and free places in a list of their own."""
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
        """Return the place of the flit that a lane's next one follows."""
        found: Value = last
        for place, lane in zip(places[:number], writes[:number], strict=True):
            found = Mux(lane[vl], place, found)
        return found

    def _follow(
        self, m: Module, storage: Memory, links: Memory, first: list[Signal]
    ) -> tuple[list[tuple[Value, Signal]], list[Value]]:
        """Show each port its flits; return the places that become free, and where each lane goes on."""
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
        """Return a free place per flit that may come: places never used since reset first, then freed ones in order."""
        slot = range(self.flits)
        fresh, oldest = Signal(range(self.flits + 1)), Signal(slot)
        newest = Signal(slot)
        recycled = Memory(shape=slot_shape(self.flits), depth=self.flits, init=[])
        m.submodules.recycled = recycled
        places: list[Signal] = []
        taken: Value = Const(0, 1)
        for number, lane in enumerate(writes):
            place = Signal(slot, name=f"place_{number}")
            reader = recycled.read_port(domain="comb")
            unused = Signal(range(self.flits + len(writes) + 1), name=f"unused_{number}")
            m.d.comb += [
                unused.eq(fresh + taken),
                reader.addr.eq(_modulo(oldest + Mux(unused > self.flits, unused - self.flits, 0), self.flits)),
                place.eq(Mux(unused < self.flits, unused, reader.data)),
            ]
            places.append(place)
            taken = taken + lane.any()
        from_fresh = Mux(taken < self.flits - fresh, taken, self.flits - fresh)
        m.d.sync += [
            fresh.eq(fresh + from_fresh),
            oldest.eq(_modulo(oldest + (taken - from_fresh)[: len(newest)], self.flits)),
        ]
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

    def _show(self, m: Module, port: int, index: int, flit: Value) -> None:
        there = self.readable[port] > index
        m.d.comb += self.read_data[port * self.read_flits + index].eq(Mux(there, flit, 0))


def slot_shape(flits: int) -> Shape:
    """Return the shape of a place in a storage of that many flits."""
    return Shape.cast(range(flits))


def _modulo(value: Value, size: int) -> Value:
    """Return a value that is below twice a size modulo that size."""
    width = max(1, (size - 1).bit_length())
    return Mux(value >= size, value - size, value)[:width]
