"""Planted bugs of self-clocked fair queueing."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_SCFQ, _BASE = "hdl/schedulers/scfq.py", "hdl/schedulers/base.py"
PLANTS = (
    Plant(
        "tie-to-the-higher",
        "Of equal tags that of the higher requester is served.",
        _SCFQ,
        "behind.eq(second.tag - first.tag),",
        "behind.eq(second.tag - first.tag - 1),",
    ),
    Plant(
        "tags-do-not-wrap",
        "Tags are compared as if they did not wrap.",
        _SCFQ,
        "takes_second.eq(second.valid & (~first.valid | behind[-1])),",
        "takes_second.eq(second.valid & (~first.valid | (second.tag < first.tag))),",
    ),
    Plant(
        "time-not-reset",
        "Virtual time is kept when no requester can send.",
        _SCFQ,
        "m.d.sync += self.virtual_time.eq(0)",
        "m.d.sync += self.virtual_time.eq(self.virtual_time)",
    ),
    Plant(
        "tag-of-the-inactive-kept",
        "A requester that cannot send in a decision keeps its tag.",
        _SCFQ,
        "m.d.sync += self.has_tag.eq(served & ~missing & ~Mux(self.sends, least.alone, 0))",
        "m.d.sync += self.has_tag.eq((self.has_tag | served) & ~missing & ~Mux(self.sends, least.alone, 0))",
    ),
    Plant(
        "tag-without-time",
        "A tag of the shared unit is the cost of the packet, without virtual time.",
        _SCFQ,
        "made.eq(self.virtual_time + size * reciprocal),",
        "made.eq(size * reciprocal),",
    ),
    Plant(
        "missing-not-waited-for",
        "With a shared unit, a packet is sent while tags are missing.",
        _SCFQ,
        "m.d.comb += [self.sends.eq(least.valid & ~missing.any()), self.winner.eq(least.alone)]",
        "m.d.comb += [self.sends.eq(least.valid), self.winner.eq(least.alone)]",
    ),
    Plant(
        "unit-takes-the-lowest",
        "The shared unit computes the tag of the lowest requester without one.",
        _SCFQ,
        "m.d.sync += self.unit_last.eq(unit.entry)",
        "m.d.sync += self.unit_last.eq(self.unit_last)",
    ),
    Plant(
        "dropped-tag-passes-the-turn",
        "The round robin of a requester's lanes advances when a tag is computed.",
        _SCFQ,
        "m.d.comb += self.takes_lane.eq(unit.chosen)",
        "m.d.comb += [self.takes_lane.eq(unit.chosen), self.notes_lane.eq(unit.chosen)]",
        instance="mapped",
        parameters={"requesters": 2},
    ),
    Plant(
        "lane-not-held",
        "A requester offers the next lane in turn, not the one for which its tag was computed.",
        _BASE,
        "chosen.eq(Mux(kept.any(), kept, turns.chosen)),",
        "chosen.eq(turns.chosen),",
        instance="mapped",
        parameters={"requesters": 2},
    ),
)
"""Planted bugs, each a change of one line."""
