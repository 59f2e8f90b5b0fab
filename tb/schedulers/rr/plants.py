"""Planted bugs of round robin."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_RR, _BASE, _SEARCH = "hdl/schedulers/rr.py", "hdl/schedulers/base.py", "hdl/common/list_search.py"
PLANTS = (
    Plant(
        "never-advances",
        "The turn never advances: the search always begins behind the last requester.",
        _RR,
        "m.d.sync += self.last.eq(search.entry)",
        "m.d.sync += self.last.eq(self.last)",
    ),
    Plant(
        "advances-while-not-ready",
        "The turn advances for a grant that does not start.",
        _RR,
        "with m.If(self.ready & self.decides & search.found):",
        "with m.If(self.decides & search.found):",
    ),
    Plant(
        "stays-with-the-last",
        "The requester served last is served again while it can send.",
        _RR,
        "search.weight_left.eq(0),",
        "search.weight_left.eq(1),",
    ),
    Plant(
        "hold-is-ignored",
        "Data lanes are granted while they are held.",
        _BASE,
        "m.d.comb += self.decides.eq(~vl15_wins & ~self.hold_data)",
        "m.d.comb += self.decides.eq(~vl15_wins)",
    ),
    Plant(
        "first-after-a-round",
        "When the search wraps, requester 0 is skipped if another one can send.",
        _SEARCH,
        "self.chosen.eq(Mux(stays, current, Mux(beyond.any(), _lowest(beyond), _lowest(self.eligible)))),",
        "self.chosen.eq(Mux(stays, current, Mux(beyond.any(), _lowest(beyond), _lowest(self.eligible & current)))),",
    ),
    Plant(
        "lanes-past-14-skip-vl15",
        "Without VL15 the lanes from 15 on are named one VL too high.",
        "hdl/schedulers/base.py",
        "numbers = (Const(lane + (self.vl15 and lane >= VL15), len(self.vl)) for lane in range(self.data_vls))",
        "numbers = (Const(lane + (lane >= VL15), len(self.vl)) for lane in range(self.data_vls))",
        instance="no-vl15",
        parameters={"data_vls": 17, "requesters": 0, "vl15": False},
    ),
)
"""Planted bugs, each a change of one line."""
