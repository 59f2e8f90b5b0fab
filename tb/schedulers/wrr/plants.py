"""Planted bugs of weighted round robin."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_WRR, _BASE = "hdl/schedulers/wrr.py", "hdl/schedulers/base.py"
_STEP = "m.d.sync += [self.turn.eq(search.entry), self.count.eq(Mux(search.arrives, 1, self.count + 1))]"
PLANTS = (
    Plant(
        "one-packet-too-many",
        "A turn has one packet more than its weight.",
        _WRR,
        "search.weight_left.eq(self.count < weight),",
        "search.weight_left.eq(self.count <= weight),",
    ),
    Plant(
        "served-without-weight",
        "A requester with weight 0 is served.",
        _WRR,
        "search.eligible.eq(self.active & has_weight),",
        "search.eligible.eq(self.active),",
    ),
    Plant(
        "count-from-0",
        "The first packet of a turn is not counted.",
        _WRR,
        _STEP,
        "m.d.sync += [self.turn.eq(search.entry), self.count.eq(Mux(search.arrives, 0, self.count + 1))]",
    ),
    Plant(
        "counts-while-not-ready",
        "A packet that does not start is counted.",
        _WRR,
        "with m.If(self.ready & self.decides & search.found):",
        "with m.If(self.decides & search.found):",
    ),
    Plant(
        "kept-count",
        "A requester continues with the count of the previous one.",
        _WRR,
        _STEP,
        "m.d.sync += [self.turn.eq(search.entry), self.count.eq(Mux(self.count < weight, self.count + 1, 1))]",
    ),
    Plant(
        "first-turn-after-reset",
        "After reset the last requester appears to have a turn in progress.",
        _WRR,
        "self.count = Signal(_WEIGHT_BITS, init=MAX_WRR_WEIGHT)  # above every weight: after reset the turn is over",
        "self.count = Signal(_WEIGHT_BITS)",
    ),
    Plant(
        "lanes-keep-the-turn",
        "A requester always offers its lowest lane that can send.",
        _BASE,
        "self.stored.write(m, last, lane)",
        "self.stored.write(m, last, last)",
        instance="mapped",
        parameters={"requesters": 2},
    ),
)
"""Planted bugs, each a change of one line."""
