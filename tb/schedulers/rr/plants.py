"""Planted bugs of round robin."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_RR, _BASE, _TURNS = "hdl/schedulers/rr.py", "hdl/schedulers/base.py", "hdl/common/round_robin.py"
PLANTS = (
    Plant(
        "never-advances",
        "The turn never advances: the search always begins behind the last requester.",
        _TURNS,
        "with m.If(self.served):",
        "with m.If(self.served & ~self.served):",
    ),
    Plant(
        "advances-while-not-ready",
        "The turn advances for a grant that does not start.",
        _RR,
        "turns.served.eq(self.ready & self.decides & turns.found),",
        "turns.served.eq(self.decides & turns.found),",
    ),
    Plant(
        "stays-with-the-last",
        "The requester served last is served again while it can send.",
        _TURNS,
        "before[number] | (selected[number] & any_of(first[:place]))",
        "before[number] | (selected[number] & any_of(first[: place + 1]))",
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
        "When the search wraps, nobody is chosen but requesters after the one served last.",
        _TURNS,
        "m.d.comb += first.eq(Mux(later.any(), _lowest(later), _lowest(here)))",
        "m.d.comb += first.eq(Mux(later.any(), _lowest(later), _lowest(later)))",
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
