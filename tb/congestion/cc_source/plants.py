"""Planted bugs of the source."""

from __future__ import annotations

from vlane.congestion.cc_source import CCT_LEAST_ENTRIES
from vlane.tb.machinery.plants.plant import Plant

_ASKS, _TELLS = "hdl/congestion/ask_stages.py", "hdl/congestion/tell_stages.py"
_FILE, _SETS = "hdl/congestion/cc_source.py", "hdl/congestion/flow_sets.py"
_GAP, _SETTINGS = "hdl/congestion/injection_gap.py", "hdl/congestion/source_settings.py"
PLANTS = (
    Plant(
        "gap-without-the-packet",
        "The not-before omits the packet's own blocks.",
        _GAP,
        "(self.cycle + self.blocks, self.ends),",
        "(self.cycle, self.ends),",
        instance="gap",
    ),
    Plant(
        "two-packets-before-the-gap",
        "In the cycle after a packet its flow may inject another one.",
        _ASKS,
        "self.held.eq(stays | self.recent[3] | (self.of_asked[1][3] & self.inject)),",
        "self.held.eq(stays | self.recent[3]),",
    ),
    Plant(
        "above-the-limit",
        "CCTI_Limit does not stop the CCTI.",
        _TELLS,
        "return Mux(exceeds(before, self.room[stage]), self.limit[stage], total)[:CCTI_BITS]",
        "return total[:CCTI_BITS]",
    ),
    Plant(
        "starts-at-0",
        "A flow that becomes known starts from 0 instead of CCTI_Min.",
        _TELLS,
        "self.first.eq(self._raised(3, level.minimum)),",
        "self.first.eq(self._raised(3, level.minimum & 0)),",
    ),
    Plant(
        "timer-starts-anew",
        "Every BECN starts the timer again.",
        _TELLS,
        "self.state[4].ends.eq(Mux(above, state.ends, started)),",
        "self.state[4].ends.eq(started),",
    ),
    Plant(
        "freed-while-held",
        "An entry at CCTI_Min is freed while its flow is held.",
        _TELLS,
        "self.frees.eq(Mux(may_free & self.is_least, ways, 0)),",
        "self.frees.eq(Mux(~told & ~self.stale[4] & self.is_least, ways, 0)),",
    ),
    Plant(
        "below-the-minimum",
        "A CCTI equal to CCTI_Min counts as above it, so timers lower it.",
        _TELLS,
        "above = exceeds(state.ccti, level.minimum)",
        "above = state.ccti >= level.minimum",
    ),
    Plant(
        "visit-after-a-becn",
        "A visit writes what it read before a BECN changed it.",
        _TELLS,
        "lowers = self.lowers & ~self.stale[4]",
        "lowers = self.lowers",
    ),
    Plant(
        "sweep-passes-over",
        "The sweep advances while a BECN acts, so an entry is not visited.",
        _FILE,
        "with m.If(~self.becn):",
        "with m.If(1):",
    ),
    Plant(
        "logged-again",
        "A BECN is logged although the CCTI was at Trigger_Threshold before.",
        _FILE,
        "with m.If(raises & exceeds(trigger, before) & ~exceeds(trigger, tells.last.ccti)):",
        "with m.If(raises & trigger.any() & ~exceeds(trigger, tells.last.ccti)):",
    ),
    Plant(
        "injection-is-forgotten",
        "An injection is not noted if a BECN or a visit acts in the same set.",
        _SETS,
        "with m.If(of_marked & self.marks[way]):",
        "with m.If(of_marked & self.marks[way] & ~of_told):",
        instance="entries",
    ),
    Plant(
        "just-taken-is-overlooked",
        "A request in the pipeline does not see that its flow is being allocated an entry.",
        _ASKS,
        "self.ways[3].eq(Mux(by_second, tells.after, self.ways[2])),",
        "self.ways[3].eq(self.ways[2]),",
    ),
    Plant(
        "lost-beside-others",
        "A BECN that is allocated an entry is reported as lost if its set has other flows.",
        _TELLS,
        "self.lost.eq(misses & known.all()),",
        "self.lost.eq(misses & known.any()),",
    ),
    Plant(
        "sum-of-an-older-ccti",
        "Of two consecutive BECNs of a flow the second one adds to the CCTI that the first one found.",
        _TELLS,
        "self.uses_last.eq(self.follows & ~misses),",
        "self.uses_last.eq(0),",
    ),
    Plant(
        "limit-past-the-table",
        "A limit beyond the last entry of the CCT is not clamped.",
        _SETTINGS,
        "m.d.sync += self.limit.eq(Mux(limit > self.last_entry, self.last_entry, limit))",
        "m.d.sync += self.limit.eq(limit)",
        instance="settings",
        parameters={"cct_entries": CCT_LEAST_ENTRIES},
        cycles=100_000,
    ),
    Plant(
        "shifts-neither-first-nor-last",
        "With shift_first the multiplier is not shifted.",
        _GAP,
        "factor = self.sizes[1] >> entry.shift if self.shift_first else self.sizes[1]",
        "factor = self.sizes[1]",
        instance="gap-shift-first",
        parameters={"shift_first": True},
    ),
)
"""Planted bugs, each a change of one line."""
