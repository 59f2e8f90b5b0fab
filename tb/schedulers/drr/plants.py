"""Planted bugs of deficit round robin."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_DRR, _TURNS = "hdl/schedulers/drr.py", "hdl/schedulers/deficit.py"
PLANTS = (
    Plant(
        "inactive-keeps-its-deficit",
        "A requester that becomes inactive keeps its deficit.",
        _TURNS,
        "kept = self.active[requester]",
        "kept = self.active[requester] | self.deficit[requester].any()",
    ),
    Plant(
        "inactive-keeps-its-turn",
        "A requester that becomes inactive in its turn keeps the remainder as its deficit.",
        _TURNS,
        "return Mux(turn_able, self.accumulated, 0)",
        "return self.accumulated",
    ),
    Plant(
        "ends-too-early",
        "A turn ends before a packet that would use up exactly its remainder.",
        _TURNS,
        "continues.eq(turn_able & (self.accumulated >= size_in_turn)),",
        "continues.eq(turn_able & (self.accumulated > size_in_turn)),",
    ),
    Plant(
        "deficit-not-kept",
        "The remainder of a turn is not kept as a deficit.",
        _TURNS,
        "self.stored.write(m, self.deficit[requester], left)",
        "self.stored.write(m, self.deficit[requester], 0)",
    ),
    Plant(
        "first-packet-for-nothing",
        "The packet that is sent when a turn begins is not deducted.",
        _TURNS,
        "self._begin(m, left, Mux(self.sends, total - size, total))",
        "self._begin(m, left, total)",
    ),
    Plant(
        "one-block-a-packet",
        "A packet that continues a turn costs one block, whatever its size.",
        _TURNS,
        "self.stored.write(m, self.accumulated, self.accumulated - size_in_turn)",
        "self.stored.write(m, self.accumulated, self.accumulated - 1)",
    ),
    Plant(
        "never-moves-on",
        "The position of the last turn never changes: the search always begins with requester 0.",
        _TURNS,
        "self.stored.write(m, self.pointer, self.search.entry)",
        "self.stored.write(m, self.pointer, self.pointer)",
    ),
    Plant(
        "stalled-keeps-everything",
        "With `keep_on_stall` a requester without credit keeps the whole remainder of its turn.",
        _TURNS,
        "kept = Mux(self.accumulated > self.most_kept, self.most_kept, self.accumulated)",
        "kept = self.accumulated[:DEFICIT_BITS]",
        instance="mapped",
        parameters={"keep_on_stall": True},
    ),
    Plant(
        "decides-while-not-ready",
        "Turns begin and continue while no packet may start.",
        _DRR,
        "turns.commit.eq(self.ready & self.decides),",
        "turns.commit.eq(self.decides),",
    ),
    Plant(
        "quantum-added-up",
        "A written quantum is added to the previous one.",
        _DRR,
        "m.d.sync += quantum.eq(self.program.weight)",
        "m.d.sync += quantum.eq(quantum + self.program.weight)",
    ),
    Plant(
        "stalled-loses-its-deficit",
        "With keep_on_stall a requester without room loses its deficit.",
        _TURNS,
        "kept = kept | self.waiting[requester]",
        "kept = kept & ~self.waiting[requester]",
        instance="mapped",
        parameters={"keep_on_stall": True, "vl15": False},
    ),
)
"""Planted bugs, each a change of one line."""
