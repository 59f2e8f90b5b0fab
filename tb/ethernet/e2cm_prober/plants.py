"""Planted bugs of the prober."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_FILE, _QUOTIENT = "hdl/ethernet/e2cm_prober.py", "hdl/ethernet/serial_divider.py"
PLANTS = (
    Plant(
        "one-byte-more",
        "A probe follows only when more than `probe_bytes` were sent.",
        _FILE,
        "m.d.sync += self.enough.eq(self.since >= p.probe_bytes)",
        "m.d.sync += self.enough.eq(self.since > p.probe_bytes)",
    ),
    Plant(
        "first-is-forgotten",
        "No probe follows the first frame of a flow.",
        _FILE,
        "follows = ~excluded & (self.enough | ~record.begun)",
        "follows = ~excluded & self.enough",
    ),
    Plant(
        "begun-without-a-limiter",
        "After a frame without a limiter the next frame with one does not count as the first.",
        _FILE,
        "m.d.sync += [self.follows.eq(follows), record.begun.eq(~excluded)]",
        "m.d.sync += [self.follows.eq(follows), record.begun.eq(1)]",
    ),
    Plant(
        "probes-are-counted",
        "The size given with a probe is added to the flow's bytes.",
        _FILE,
        "with m.Case(_COUNTED), m.If(~self.probes):",
        "with m.Case(_COUNTED):",
    ),
    Plant(
        "same-cycle-counts",
        "A reply whose probe arrived in the same cycle as the previous one is not ignored.",
        _FILE,
        "self.late.eq(record.heard & (equals(self.gap, 0) | self.gap[-1])),",
        "self.late.eq(record.heard & self.gap[-1]),",
    ),
    Plant(
        "late-replies-are-kept",
        "An ignored reply replaces the previous reply.",
        _FILE,
        "writer.en.eq(self.clears | (self.is_last & ~(self.replies & self.late))),",
        "writer.en.eq(self.clears | self.is_last),",
    ),
    Plant(
        "every-delay-is-the-least",
        "The least delay is that of the last reply.",
        _FILE,
        "least = self.below | (~record.heard & self.learned)",
        "least = self.below | self.learned",
        instance="learned",
        parameters={"base": "learned"},
    ),
    Plant(
        "bytes-wrap",
        "Bytes and excess above their largest values lose their high bits.",
        _FILE,
        "return value[:bits] | value[bits:].any().replicate(bits)",
        "return value[:bits]",
    ),
    Plant(
        "change-of-the-first",
        "The second reply's change of occupancy is computed from 0.",
        _FILE,
        "self.change.eq(Mux(record.known, self.occupancy - record.occupancy, 0)),",
        "self.change.eq(self.occupancy - record.occupancy),",
    ),
    Plant(
        "rounded-down",
        "A negative feedback is rounded down instead of towards 0.",
        _FILE,
        "rounded = (self.total + Mux(self.total < 0, FEEDBACK_BYTES - 1, 0)) >> _UNIT_BITS",
        "rounded = self.total >> _UNIT_BITS",
    ),
    Plant(
        "one-record-stays",
        "The record of the last flow is not cleared after reset.",
        _FILE,
        "with m.If(self.clears & (self.place == self.parameters.flows - 1)):",
        "with m.If(self.clears & (self.place == self.parameters.flows - 2)):",
    ),
    Plant(
        "large-quotients-wrap",
        "A quotient that does not fit loses its high bits.",
        _QUOTIENT,
        "m.d.sync += self.full.eq(self.remainder >= self.by)",
        "m.d.sync += self.full.eq(0)",
        instance="divider",
    ),
)
"""Planted bugs, each a change of one line."""
