"""Planted bugs of PAUSE."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_FILE = "hdl/ethernet/pause.py"
PLANTS = (
    Plant(
        "no-hysteresis",
        "The neighbour resumes as soon as the level is no longer above the high watermark.",
        _FILE,
        "m.d.comb += self.paused.eq(self.pause_on & (exceeds(self.level, self.high) | stays))",
        "m.d.comb += self.paused.eq(self.pause_on & exceeds(self.level, self.high))",
    ),
    Plant(
        "goes-on-at-low",
        "The neighbour resumes when the level is at the low watermark.",
        _FILE,
        "stays = self.held & ~exceeds(self.low, self.level)",
        "stays = self.held & exceeds(self.level, self.low)",
    ),
    Plant(
        "room-at-once",
        "A frame fits into space that another one frees in the same cycle.",
        _FILE,
        "self.drop.eq(exceeds(arrives, room)),",
        "self.drop.eq(exceeds(arrives, room + leaves)),",
    ),
    Plant(
        "dropped-frames-are-counted-in",
        "The level grows by frames that are dropped.",
        _FILE,
        "level = Mux(self.drop, without, with_it)",
        "level = with_it",
    ),
    Plant(
        "told-the-wrong-way-round",
        "The state sent last is stored inverted.",
        _FILE,
        "m.d.sync += self.last_sent_paused.eq(self.paused)",
        "m.d.sync += self.last_sent_paused.eq(~self.paused)",
    ),
    Plant(
        "never-again",
        "A lasting PAUSE is not repeated.",
        _FILE,
        "m.d.comb += self.request.eq((self.paused ^ self.last_sent_paused) | (self.paused & is_old))",
        "m.d.comb += self.request.eq(self.paused ^ self.last_sent_paused)",
    ),
    Plant(
        "drops-wrap",
        "The count of drops wraps to 0.",
        _FILE,
        "with m.If(self.drop & (self.drops != DROP_MOST)):",
        "with m.If(self.drop):",
    ),
    Plant(
        "low-watermark-is-not-written",
        "A write leaves the low watermark unchanged.",
        _FILE,
        'm.d.sync += [getattr(self, name).eq(getattr(self.program, name)) for name in ("high", "low", "pause_on")]',
        'm.d.sync += [getattr(self, name).eq(getattr(self.program, name)) for name in ("high", "pause_on")]',
    ),
)
"""Planted bugs, each a change of one line."""
