"""Planted bugs of the VL buffer."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_BUFFER = "hdl/buffers/vlbuffer.py"
PLANTS = (
    Plant(
        "reserves-one-flit",
        "A packet reserves one flit, whatever its size.",
        _BUFFER,
        "m.d.comb += gained.eq(Mux(fits[vl], self.reserve_flits, 0))",
        "m.d.comb += gained.eq(Mux(fits[vl], 1, 0))",
    ),
    Plant(
        "minimum-given-away",
        "The minimums of other lanes are given away.",
        _BUFFER,
        "pool = self.flits - self.vls * self.minimum",
        "pool = self.flits - self.minimum",
    ),
    Plant(
        "read-lost-when-reserving",
        "A flit that is read in a cycle in which its lane reserves does not free its space.",
        _BUFFER,
        "m.d.sync += used.eq(used - reads[vl] + gained)",
        "m.d.sync += used.eq(Mux(gained.any(), used + gained, used - reads[vl]))",
    ),
    Plant(
        "two-ports-remove",
        "Two ports that remove flits of one lane in a cycle both do so.",
        _BUFFER,
        "free = free & ~Mux(counts[port].any(), looks[port], 0)",
        "free = free & ~Mux(counts[port].any(), 0, 0)",
        instance="small-two-ports",
    ),
    Plant(
        "own-room-too-late",
        "Flits of a packet are discarded in the cycle in which its space is reserved.",
        _BUFFER,
        "m.d.comb += lane[vl].eq(named & (before < self.used_now[vl] + gained[vl]))",
        "m.d.comb += lane[vl].eq(named & (before < self.used_now[vl]))",
    ),
    Plant(
        "first-of-an-emptied-lane",
        "A lane that is emptied in the cycle in which it gains a flit continues at the wrong slot.",
        _BUFFER,
        "with m.If(any_new & (self.held_now[vl] == reads[vl])):",
        "with m.If(any_new & ~self.held_now[vl].any()):",
        instance="queues-shared",
    ),
    Plant(
        "freed-place-lost",
        "Freed slots overwrite one another, so a slot is used twice.",
        _BUFFER,
        "m.d.sync += newest.eq(_modulo(newest + given, self.flits))",
        "m.d.sync += newest.eq(newest)",
        instance="queues-shared",
    ),
    Plant(
        "two-freed-count-as-one",
        "Of two slots freed in one cycle one is lost, so another one is used twice.",
        _BUFFER,
        "m.d.sync += newest.eq(_modulo(newest + given, self.flits))",
        "m.d.sync += newest.eq(_modulo(newest + given.any(), self.flits))",
        instance="queues-two-ports",
    ),
    Plant(
        "two-freed-in-one-place",
        "Two slots freed in one cycle are stored at the same position of the free list.",
        _BUFFER,
        "writer.addr.eq(_modulo(newest + given, self.flits)),",
        "writer.addr.eq(newest),",
        instance="queues-two-ports",
    ),
    Plant(
        "room-for-one-flit",
        "The output ``room`` is asserted when one more flit fits, instead of a largest packet.",
        _BUFFER,
        "self.room[vl].eq(self._within(used + self.mtu_flits, others, pool)),",
        "self.room[vl].eq(self._within(used + 1, others, pool)),",
        instance="small-two-ports",
    ),
    Plant(
        "static-read-does-not-wrap",
        "The second flit that a static buffer shows is read past the end of its lane instead of at its start.",
        _BUFFER,
        "m.d.comb += reader.addr.eq(base + _modulo(start + index, size))",
        "m.d.comb += reader.addr.eq(base + start + index)",
        instance="queues-static-wrap",
        parameters={"form": "static", "flits": 6, "minimum": 3, "maximum": 3, "mtu_flits": 2},
    ),
)
"""Planted bugs, each a change of one line."""
