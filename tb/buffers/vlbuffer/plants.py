"""Planted bugs of the VL buffer."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_BUFFER, _ADMISSION = "hdl/buffers/vlbuffer.py", "hdl/buffers/admission.py"
PLANTS = (
    Plant(
        "reserves-one-flit",
        "A packet reserves one flit, whatever its size.",
        _ADMISSION,
        "grown.eq(used + self.reserve_flits),",
        "grown.eq(used + 1),",
    ),
    Plant(
        "minimum-given-away",
        "The minimums of other lanes are given away.",
        _BUFFER,
        "shared=p.flits - p.vls * p.minimum,",
        "shared=p.flits - p.minimum,",
    ),
    Plant(
        "read-lost-when-reserving",
        "A flit that is read in a cycle in which its lane reserves does not free its space.",
        _ADMISSION,
        "used.eq(used_then - leaving),",
        "used.eq(Mux(gains, used_then, used_then - leaving)),",
    ),
    Plant(
        "two-ports-remove",
        "Two ports that remove flits of one lane in a cycle both do so.",
        _BUFFER,
        "free[vl] = free[vl] & ~takes.any()",
        "free[vl] = Const(1)",
        instance="small-two-ports",
    ),
    Plant(
        "own-room-too-late",
        "Flits of a packet are discarded in the cycle in which its space is reserved.",
        _BUFFER,
        "return gains | (held < used)",
        "return held < used",
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
        _ADMISSION,
        "Mux(self.accepted, reduced + count >= self.largest, space + count >= self.largest)",
        "Mux(self.accepted, reduced + count >= 1, space + count >= 1)",
        instance="small-two-ports",
    ),
    Plant(
        "returned-to-the-minimum",
        "A flit leaving in the cycle in which its lane exceeds its minimum is not returned to the shared space.",
        _ADMISSION,
        "share.eq(Mux(gains, self._above(grown, leaving), self._above(used, leaving))),",
        "share.eq(self._above(used, leaving)),",
        instance="small-two-ports",
    ),
    Plant(
        "shown-too-late",
        "A flit written into an empty lane is shown one cycle late.",
        _BUFFER,
        "levels = chosen(written, after)",
        "levels = after[0]",
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
