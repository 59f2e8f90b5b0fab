"""Planted bugs of the congestion point."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_FILE, _PRBS = "hdl/ethernet/ecm_cp.py", "hdl/ethernet/prbs.py"
PLANTS = (
    Plant(
        "change-with-wrong-sign",
        "A queue that grows raises the feedback.",
        _FILE,
        "self.raw.eq(self.offset - self.change * self.parameters.weight),",
        "self.raw.eq(self.offset + self.change * self.parameters.weight),",
    ),
    Plant(
        "feedback-wraps",
        "Positive feedback is not saturated.",
        _FILE,
        "m.d.comb += saturated.eq(maximal | (size > most))",
        "m.d.comb += saturated.eq(maximal | (is_negative & (size > most)))",
    ),
    Plant(
        "last-frame-instead-of-last-sample",
        "The change is computed against the previous frame, sampled or not.",
        _FILE,
        "with m.If(sampled):",
        "with m.If(1):",
    ),
    Plant(
        "everybody-is-raised",
        "Positive feedback is sent for frames without the point's tag.",
        _FILE,
        "sends = (saturated | (within >> _TO_UNITS).any()) & (falls | mine)",
        "sends = saturated | (within >> _TO_UNITS).any()",
    ),
    Plant(
        "tag-of-anybody",
        "A tag of any point is accepted.",
        _FILE,
        "mine.eq(self.has_tag & (self.tag == self.cpid)),",
        "mine.eq(self.has_tag),",
    ),
    Plant(
        "queue-without-the-frame",
        "Q is the queue length before the sampled frame.",
        _FILE,
        "self.queues[0].eq(Mux(over, most, self.waiting + self.joins)),",
        "self.queues[0].eq(self.waiting),",
    ),
    Plant(
        "probes-are-sampled",
        "Frames that are not managed are sampled.",
        _FILE,
        "self.counts.eq(self.enter & self.managed),",
        "self.counts.eq(self.enter),",
    ),
    Plant(
        "numbers-overlap",
        "The random sequence advances by one bit instead of 24.",
        _PRBS,
        "m.d.sync += state.eq(Cat(fresh, state))",
        "m.d.sync += state.eq(Cat(fresh[-1], state))",
    ),
    Plant(
        "stop-is-silent",
        "BCN(0,0) is never sent.",
        _FILE,
        "self.notify.eq(sampled & (stops | sends)),",
        "self.notify.eq(sampled & ~stops & sends),",
    ),
)
"""Planted bugs, each a change of one line."""
