"""Proofs of the VL buffer: room and counts by induction against accounts, the delivery of flits up to a depth."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, ClassVar

from amaranth.hdl import Array, Cat, Fragment, Module, Mux, Signal, Value
from vlane.tb.proofs.inside import inside
from vlane.tb.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.proofs.prove_tables import constant

__all__ = ["DEPTH", "INSTANCES", "DeliveryProperties", "VLBufferProperties"]

DEPTH, TWO_PORTS_DEPTH = 8, 5
"""Cycles from reset for which flits are followed; with two ports 8 were undecided after five minutes."""


class VLBufferProperties(Properties):
    """The buffer beside an account of one arbitrary lane: what was reserved, written and read.

    Parameters
    ----------
    buffer : VLBuffer
        The component.
    """

    statements: ClassVar = {
        "reserved": "The flits reserved for a lane are those that were accepted less those that were read.",
        "held": "The flits in a lane are those that were written into reserved room less those that were read.",
        "accepted": "A packet is accepted exactly when its lane stays within its maximum and every lane can still use"
        " its minimum.",
        "room": "A lane is said to have room exactly when its largest packet would be accepted.",
        "storage": "All lanes together never reserve more than the storage, the unused minimum of each included.",
        "bounds": "No lane reserves more than its maximum, or holds more than it reserved.",
        "discarded": "The flits discarded in a cycle are those that are written without a lane or without reserved"
        " room.",
        "readable": "A reading port shows the flits that its lane holds, at most as many as it has places; the other"
        " places are 0.",
    }

    def __init__(self, buffer: Any) -> None:
        super().__init__()
        self.buffer, self.m = buffer, Module()
        self.unfolds_memories = buffer.readers * buffer.read_flits > 1
        self.lane = constant(self.m, "watched_lane", 5, 0, buffer.vls - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.buffer), self.lane]

    def elaborate(self, _platform: object) -> Module:
        m, b = self.m, self.buffer
        m.submodules.buffer = b
        self._room(m)
        gained = Signal(10)
        m.d.comb += gained.eq(Mux(b.accepted & (b.reserve_vl == self.lane), b.reserve_flits, 0))
        used, held, leaving = Signal(16), Signal(16), Signal(4)
        m.d.comb += leaving.eq(self._leaving(held))
        written = self._written(m, held, used + gained)
        m.d.sync += [used.eq(used + gained - leaving), held.eq(held + written - leaving)]
        self.claim(m, "reserved", self._of_lane(b.used) == used)
        self.claim(m, "held", self._of_lane(b.held) == held)
        for vl in range(b.vls):
            self.claim(m, "bounds", (b.used[vl] <= b.maximum) & (b.held[vl] <= b.used[vl]))
        self._discarded(m)
        self._readable(m)
        return m

    def _of_lane(self, values: Any) -> Value:
        return Array(values[vl] for vl in range(self.buffer.vls))[self.lane]

    def _room(self, m: Module) -> None:
        """Claim what is accepted: the storage has a place for each flit reserved and for each minimum not yet used."""
        b = self.buffer
        promised, asks = Signal(16), Signal()
        m.d.comb += [promised.eq(sum(self._promised(b.used[vl]) for vl in range(b.vls))), asks.eq(b.reserve_flits != 0)]
        self.claim(m, "storage", promised <= b.flits)
        fits = []
        for vl in range(b.vls):
            fits.append((b.reserve_vl == vl) & self._fits(b.used[vl], b.reserve_flits, promised))
            self.claim(m, "room", b.room[vl] == self._fits(b.used[vl], b.mtu_flits, promised))
        self.claim(m, "accepted", b.accepted == reduce(or_, fits), when=asks)
        self.claim(m, "accepted", ~b.accepted, when=~asks)

    def _promised(self, used: Value) -> Value:
        return Mux(used < self.buffer.minimum, self.buffer.minimum, used)

    def _fits(self, used: Value, more: Value | int, promised: Value) -> Value:
        b, after = self.buffer, used + more
        return (after <= b.maximum) & (promised - self._promised(used) + self._promised(after) <= b.flits)

    def _leaving(self, held: Value) -> Value:
        """Return how many flits leave the lane: the first port that removes any has it to itself (VLB-6, VLB-7)."""
        b, leaving = self.buffer, Value.cast(0)
        for port in reversed(range(b.readers)):
            most = Mux(held < b.read_flits, held, b.read_flits)
            removes = Mux(b.read_count[port] < most, b.read_count[port], most)
            leaving = Mux((b.read_vl[port] == self.lane) & (removes != 0), removes, leaving)
        return leaving

    def _written(self, m: Module, held: Value, reserved: Value) -> Value:
        """Return how many flits are written into reserved room of the lane."""
        b, count, written, room = self.buffer, Value.cast(0), Signal(4), Signal(16)
        for port in range(b.writers):
            given = Mux(b.write_count[port] < b.write_flits, b.write_count[port], b.write_flits)
            count = count + Mux(b.write_vl[port] == self.lane, given, 0)
        m.d.comb += [room.eq(reserved - held), written.eq(Mux(count < room, count, room))]
        return written

    def _discarded(self, m: Module) -> None:
        """Claim that of the flits written in a cycle those that no lane gains are discarded."""
        b = self.buffer
        ran, written, gone, before, after = (Signal(16, name=name) for name in ("ran", "written", "gone", "was", "now"))
        m.d.comb += after.eq(sum(b.held))
        m.d.sync += [
            ran.eq(1),
            before.eq(after - sum(b.takes)),
            gone.eq(b.discarded),
            written.eq(sum(Mux(count < b.write_flits, count, b.write_flits) for count in b.write_count)),
        ]
        self.claim(m, "discarded", written == gone + after - before, when=ran[0] & (written != 0))

    def _readable(self, m: Module) -> None:
        b = self.buffer
        for port in range(b.readers):
            held = Signal(16, name=f"held_at_{port}")
            m.d.comb += held.eq(
                sum(Mux(b.read_vl[port] == vl, b.held[vl], 0) for vl in range(b.vls)),
            )
            most = Mux(held < b.read_flits, held, b.read_flits)
            self.claim(m, "readable", b.readable[port] == most)
            for index in range(b.read_flits):
                flit = b.read_data[port * b.read_flits + index]
                self.claim(m, "readable", flit == 0, when=b.readable[port] <= index)


class DeliveryProperties(Properties):
    """The buffer beside a flit that is marked when it is written and followed until it is read.

    Parameters
    ----------
    buffer : VLBuffer
        The component.
    """

    statements: ClassVar = {
        "order": "A flit that is written is shown behind those written to its lane before, until it is removed, and"
        " unchanged: none is lost, doubled or swapped.",
        "own-place": "While a flit is in a buffer that lanes share, no other flit is written to its place.",
    }

    def __init__(self, buffer: Any) -> None:
        super().__init__()
        self.buffer, self.m = buffer, Module()
        self.unfolds_memories = buffer.readers * buffer.read_flits > 1
        self.bounded = TWO_PORTS_DEPTH if buffer.readers > 1 else DEPTH
        self.lane = constant(self.m, "watched_lane", 5, 0, buffer.vls - 1)
        self.place = Signal(range(max(2, buffer.write_flits * buffer.writers)))
        self.mark = Signal()

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.buffer), self.lane, self.mark, self.place]

    def elaborate(self, _platform: object) -> Module:
        m, b = self.m, self.buffer
        m.submodules.buffer = fragment = Fragment.get(b, None)
        following, flit, ahead = Signal(), Signal(b.data_bits), Signal(8)
        held, used, leaving, joins = (Signal(8, name=name) for name in ("in_lane", "reserved", "leaving", "joins"))
        for vl in range(b.vls):
            with m.If(self.lane == vl):
                gained = Mux(b.accepted & (b.reserve_vl == vl), b.reserve_flits, 0)
                m.d.comb += [held.eq(b.held[vl]), used.eq(b.used[vl] + gained)]
        m.d.comb += leaving.eq(sum(Mux(b.read_vl[port] == self.lane, b.takes[port], 0) for port in range(b.readers)))
        given, mine = self._given(fragment), Signal(range(b.flits))
        for place in range(b.writers * b.write_flits):
            port, index = divmod(place, b.write_flits)
            comes = (b.write_vl[port] == self.lane) & (b.write_count[port] > index)
            earlier = sum(
                (b.write_vl[place // b.write_flits] == self.lane)
                & (b.write_count[place // b.write_flits] > place % b.write_flits)
                for place in range(place)
            )
            with m.If(self.mark & ~following & comes & (self.place == place) & (held + earlier < used)):
                m.d.comb += joins.eq(1)
                m.d.sync += [flit.eq(b.write_data[place]), ahead.eq(held + earlier - leaving), mine.eq(given[place])]
        with m.If(joins):
            m.d.sync += following.eq(1)
        with m.If(following):
            m.d.sync += [following.eq(ahead >= leaving), ahead.eq(ahead - leaving)]
        self.claim(m, "order", ahead < held, when=following)
        if b.form == "shared":
            written = [inside(fragment, f"kept_{place}").any() for place in range(len(given))]
            for place, (now, where) in enumerate(zip(written, given, strict=True)):
                self.claim(m, "own-place", where != mine, when=following & now)
                if place:
                    same = Cat(written[before] & (where == given[before]) for before in range(place))
                    self.claim(m, "own-place", ~same.any(), when=now & Cat(written[:place]).any())
        for port in range(b.readers):
            for index in range(b.read_flits):
                is_next = following & (b.read_vl[port] == self.lane) & (ahead == index)
                shown = b.read_data[port * b.read_flits + index]
                self.claim(m, "order", (b.readable[port] > index) & (shown == flit), when=is_next)
        return m

    def _given(self, fragment: Fragment) -> list[Value]:
        """Return the place that the buffer gives to each flit that may be written; a lane's own part has none."""
        places = range(self.buffer.writers * self.buffer.write_flits)
        shared = self.buffer.form == "shared"
        return [inside(fragment, f"place_{place}") if shared else Value.cast(0) for place in places]


_ONE = {"writers": 1, "readers": 1, "write_flits": 1, "read_flits": 1, "data_bits": 1}
_MANY = {"writers": 2, "readers": 2, "write_flits": 2, "read_flits": 2, "data_bits": 1}
_TINY = {"vls": 2, "flits": 3, "minimum": 1, "maximum": 2, "mtu_flits": 1}
_PARTS = {"vls": 2, "flits": 4, "minimum": 2, "maximum": 2, "mtu_flits": 1}
INSTANCES = (
    Instance("small", VLBufferProperties, {**_TINY, **_ONE, "form": "shared"}),
    Instance("small-two-ports", VLBufferProperties, {
        "vls": 3, "flits": 8, "minimum": 1, "maximum": 5, "mtu_flits": 2, **_MANY, "form": "shared",
    }),
    Instance("static", VLBufferProperties, {**_PARTS, **_ONE, "form": "static"}),
    Instance("shared", VLBufferProperties, {
        "vls": 3, "flits": 16, "minimum": 2, "maximum": 9, "mtu_flits": 3, **_ONE, "form": "shared",
    }),
    Instance("followed-shared", DeliveryProperties, {**_TINY, **_ONE, "form": "shared"}),
    Instance("followed-static", DeliveryProperties, {**_PARTS, **_ONE, "form": "static"}),
    Instance("followed-two-ports", DeliveryProperties, {**_TINY, **_MANY, "form": "shared"}),
)  # fmt: skip
"""What is proven: accounts by induction, then flits that are followed."""
