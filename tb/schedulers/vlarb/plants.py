"""Planted bugs of the VL arbiter, in both forms."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_EXACT, _BANKS = "hdl/schedulers/vlarb.py", "hdl/schedulers/vlarb_banks.py"
_SEARCH = "hdl/common/list_search.py"
_LINE_RATE, _WALK = "hdl/schedulers/vlarb_line_rate.py", "hdl/schedulers/list_walk.py"
_MEMORY, _BUDGET = "hdl/schedulers/list_memory.py", "hdl/schedulers/block_budget.py"
_FORM = {"form": "line_rate"}
PLANTS = (
    Plant(
        "limit-charged-per-packet",
        "The limit of High is charged one block per packet instead of its size.",
        _EXACT,
        "self.stored.write(m, self.counter, counter - self.blocks)",
        "self.stored.write(m, self.counter, counter - 1)",
    ),
    Plant(
        "limit-kept-while-high-is-empty",
        "The limit is not reloaded when High has no able entry.",
        _EXACT,
        "reloads = (self.counter <= 0) | ~self.searches[ListCode.HIGH].found",
        "reloads = self.counter <= 0",
    ),
    Plant(
        "weight-charged-per-packet",
        "An entry is charged one block per packet instead of its size.",
        _EXACT,
        "self.stored.write(m, self.remaining[side], left - self.blocks)",
        "self.stored.write(m, self.remaining[side], left - 1)",
    ),
    Plant(
        "weight-not-loaded",
        "A new current entry starts with the remaining weight of the previous one.",
        _EXACT,
        "left = Mux(search.arrives, self._entry_of(side)[4:], self.remaining[side])",
        "left = Mux(search.found, self.remaining[side], self._entry_of(side)[4:])",
    ),
    Plant(
        "pointer-stays",
        "The pointer of a list does not move.",
        _EXACT,
        "self.stored.write(m, self.pointers[side], search.entry)",
        "self.stored.write(m, self.pointers[side], self.pointers[side])",
    ),
    Plant(
        "unlimited-is-counted",
        "High's packets are charged even if the limit is 255.",
        _EXACT,
        "with m.If(use_high & (self.banks.limit != LIMIT_UNBOUNDED)):",
        "with m.If(use_high):",
    ),
    Plant(
        "swaps-at-once",
        "The banks are exchanged as soon as a swap is requested, even during a packet.",
        _EXACT,
        "with m.If(wanted & self.ready):",
        "with m.If(wanted):",
    ),
    Plant(
        "writes-the-active-bank",
        "Writes go to the active bank.",
        _BANKS,
        "with m.If(self.program.enable & ~self.exchange & (active != bank)):",
        "with m.If(self.program.enable & ~self.exchange & (active == bank)):",
    ),
    Plant(
        "first-after-a-round",
        "When the search wraps, entries before the current one are skipped.",
        _SEARCH,
        "self.chosen.eq(Mux(stays, current, Mux(beyond.any(), _lowest(beyond), _lowest(self.eligible)))),",
        "self.chosen.eq(Mux(stays, current, Mux(beyond.any(), _lowest(beyond), _lowest(self.eligible & current)))),",
    ),
    Plant(
        "line-rate-limit-kept-while-high-is-empty",
        "The line-rate form does not reload the limit when High has nothing to send.",
        _LINE_RATE,
        "self.turn.renew.eq(high.walk.reading | (self.go & ~(high.has_one & self.turn.left))),",
        "self.turn.renew.eq(high.walk.reading | (self.go & ~self.turn.left)),",
        instance="line-rate-small",
        parameters=_FORM,
    ),
    Plant(
        "line-rate-limit-per-packet",
        "The line-rate form charges the limit one block per packet.",
        _LINE_RATE,
        "self.turn.charge.eq(high.weight.charge & ~unbounded),",
        "self.turn.charge.eq(self.go & high.wins & ~unbounded),",
        instance="line-rate-small",
        parameters=_FORM,
    ),
    Plant(
        "line-rate-third-block-free",
        "The line-rate form charges at most two blocks of a packet of three.",
        _LINE_RATE,
        "above_two.eq(Cat(size[2:].any() | size[:2].all() for size in self.heads.blocks)),",
        "above_two.eq(Cat(size[2:].any() for size in self.heads.blocks)),",
        instance="line-rate-small",
        parameters=_FORM,
    ),
    Plant(
        "walk-skips-the-waiting-entry",
        "The walk moves on while an entry waits, so entries are lost.",
        _WALK,
        "advances.eq(self.reading | ~waits),",
        "advances.eq(self.reading | ~waits | self.leaves),",
        instance="walk",
        parameters=_FORM,
    ),
    Plant(
        "row-not-filled",
        "The first write of a row keeps the row's other entries from before the reset.",
        _MEMORY,
        "writer.en[place].eq(writes & (is_here | self.is_first)),",
        "writer.en[place].eq(writes & is_here),",
        instance="walk",
        parameters=_FORM,
    ),
    Plant(
        "budget-ends-a-block-late",
        "Charging the last block of a budget does not end the budget.",
        _BUDGET,
        "m.d.comb += [value.eq(Mux(renewed, given, counted)), self.last.eq(Mux(charged, is_two, is_one))]",
        "m.d.comb += [value.eq(Mux(renewed, given, counted)), self.last.eq(Mux(charged, is_one, is_two))]",
        instance="line-rate-small",
        parameters=_FORM,
    ),
    Plant(
        "last-lane-is-vl15",
        "Without VL15 the last data lane is served as VL15.",
        _EXACT,
        "vl15_wins = able[self.data_vls] if self.vl15 else Signal()",
        "vl15_wins = able[self.data_vls - (not self.vl15)]",
        instance="odd",
        parameters={"vl15": False},
    ),
)
"""Planted bugs, each a change of one line."""
