"""What is proven of a walk along a list, wherever it is part of: entries name one lane, the same in every way."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Module, Value

__all__ = ["assert_entries", "lane_bit"]


def assert_entries(m: Module, walk: Any) -> None:
    """Assert that what is offered or waits names one lane of the port and says truly how much its weight is."""
    with m.If(walk.offered):
        m.d.comb += [
            Assert(walk.lane == lane_bit(walk.offered_vl, walk.data_vls)),
            Assert(walk.single == (walk.offered_weight == 1)),
            Assert(walk.double == (walk.offered_weight == 2)),
            Assert(walk.ample == (walk.offered_weight >= walk.ample_from)),
        ]
    with m.If(walk.waits):
        m.d.comb += [
            Assert(walk.offered),
            Assert(walk.waiting_lane == lane_bit(walk.waiting.vl, walk.data_vls)),
            Assert(walk.waiting_single == (walk.waiting.weight == 1)),
            Assert(walk.waiting_double == (walk.waiting.weight == 2)),
            Assert(walk.waiting_ample == (walk.waiting.weight >= walk.ample_from)),
        ]
    with m.If(walk.reading):
        m.d.comb += Assert(~walk.offered & ~walk.waits)


def lane_bit(vl: Value, data_vls: int) -> Value:
    """Return a lane, one bit; 0 for nobody and lanes that are not there."""
    return (1 << vl)[:data_vls]
