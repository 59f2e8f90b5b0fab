"""A way into a buffer, for one packet at a time."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from vlane.hdl.link import lane_shape
from vlane.hdl.select import equals

__all__ = ["Door"]


class Door(wiring.Component):
    """Which packet has the way: from the cycle after its grant until its last flit comes (S5, O6).

    Parameters
    ----------
    vls : int
        Lanes.

    Members
    -------
    enters, vl : In(1), In(lane_shape(vls))
        A packet was granted the way in this cycle; its lane.
    ends : In(1)
        Its last flit comes in this cycle: another one may be granted.
    free : Out(1)
        A packet may be granted the way.
    writes : Out(vls)
        The lane that must not be granted to another door, one bit; 0 if the way is free.
    """

    def __init__(self, vls: int) -> None:
        self.vls = vls
        super().__init__(
            {"enters": In(1), "vl": In(lane_shape(vls)), "ends": In(1), "free": Out(1), "writes": Out(vls)}
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        busy, lane = Signal(), Signal(lane_shape(self.vls))
        with m.If(self.enters):
            m.d.sync += [busy.eq(1), lane.eq(self.vl)]
        with m.Elif(self.ends):
            m.d.sync += busy.eq(0)
        m.d.comb += [
            self.free.eq(~busy | self.ends),
            self.writes.eq(Mux(self.free, 0, Cat(equals(lane, vl) for vl in range(self.vls)))),
        ]
        return m
