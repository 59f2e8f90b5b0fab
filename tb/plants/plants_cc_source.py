"""Planted bugs of the source."""

from __future__ import annotations

from vlane.tb.plants.plant import Plant

__all__ = ["PLANTS"]

_FILE, _SETS = "hdl/congestion/cc_source.py", "hdl/congestion/flow_sets.py"
_GAP, _SETTINGS = "hdl/congestion/injection_gap.py", "hdl/congestion/source_settings.py"
PLANTS = (
    Plant(
        "gap-without-the-packet",
        "The not-before leaves out the packet's own blocks.",
        _GAP,
        "self.end.eq(self.cycle + self.blocks),",
        "self.end.eq(self.cycle),",
        instance="gap",
    ),
    Plant(
        "two-packets-before-the-gap",
        "In the cycle after a packet its flow may inject another one.",
        _FILE,
        "(gaps.early & (gaps.early_place == Cat(way_bits, index)))",
        "(gaps.early & 0)",
    ),
    Plant(
        "above-the-limit",
        "CCTI_Limit does not stop the CCTI.",
        _FILE,
        "raised.eq(Mux(total > limit, limit, total)),",
        "raised.eq(total),",
    ),
    Plant(
        "starts-at-0",
        "A flow that becomes known starts from 0 instead of CCTI_Min.",
        _FILE,
        "before.eq(Mux(is_known, one_of(hits, (each.ccti for each in entries)), level.minimum)),",
        "before.eq(one_of(hits, (each.ccti for each in entries))),",
    ),
    Plant(
        "timer-starts-anew",
        "Every BECN starts the timer again.",
        _FILE,
        "with m.If(before <= level.minimum):",
        "with m.If(told):",
    ),
    Plant(
        "freed-while-held",
        "An entry at CCTI_Min is freed while its flow is held.",
        _FILE,
        "sets.frees.eq(Mux(ccti > level.minimum, 0, free_to_go)),",
        "sets.frees.eq(Mux(ccti > level.minimum, 0, visited)),",
    ),
    Plant(
        "below-the-minimum",
        "Timers lower the CCTI of a flow that is at CCTI_Min.",
        _FILE,
        "sets.changes.eq(Mux((ccti > level.minimum) & over, visited, 0)),",
        "sets.changes.eq(Mux((ccti >= level.minimum) & over, visited, 0)),",
    ),
    Plant(
        "sweep-passes-over",
        "The sweep goes on while a BECN acts, so that an entry is not visited.",
        _FILE,
        "with m.If(~self.becn):",
        "with m.If(1):",
    ),
    Plant(
        "logged-again",
        "A BECN is logged although the CCTI was at Trigger_Threshold before.",
        _FILE,
        "with m.If(told & ~self.lost & (before < level.trigger) & (raised >= level.trigger)):",
        "with m.If(told & ~self.lost & level.trigger.any() & (raised >= level.trigger)):",
    ),
    Plant(
        "injection-is-forgotten",
        "An injection is not noted if a BECN or a visit acts in the same set.",
        _SETS,
        "with m.If(of_asked & self.marks[way]):",
        "with m.If(of_asked & self.marks[way] & ~of_told):",
    ),
    Plant(
        "just-taken-is-overlooked",
        "A set that is read as a flow takes an entry of it is seen without the flow.",
        _SETS,
        "is_known = (is_known & ~(as_told & self.frees[way])) | (as_told & self.takes[way])",
        "is_known = is_known & ~(as_told & self.frees[way])",
    ),
    Plant(
        "limit-past-the-table",
        "A limit above the last entry of the CCT is taken as it is.",
        _SETTINGS,
        "m.d.sync += self.limit.eq(Mux(program.limit > self.last_entry, self.last_entry, program.limit))",
        "m.d.sync += self.limit.eq(program.limit)",
    ),
)
"""Each changes one line."""
