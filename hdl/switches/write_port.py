"""Write port of a buffer that one packet at a time uses."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.select import equals
from vlane.hdl.links.link import lane_shape


class WritePort(wiring.Component):
    """Occupancy of a write port: from the cycle after a packet's grant until its last flit arrives (IBS-5, OPAS-6).

    Parameters
    ----------
    vls : int
        Number of lanes.

    Members
    -------
    enters : In(1)
        A packet was granted the write port in this cycle.
    vl : In(lane_shape(vls))
        VL of the granted packet.
    ends : In(1)
        The packet's last flit arrives in this cycle; another packet may be granted the port.
    free : Out(1)
        A packet may be granted the port.
    writes : Out(vls)
        VL that must not be granted to another write port, one-hot; 0 if the port is free.
    """

    def __init__(self, vls: int) -> None:
        self.vls = vls
        super().__init__(
            {"enters": In(1), "vl": In(lane_shape(vls)), "ends": In(1), "free": Out(1), "writes": Out(vls)}
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        busy = Signal()
        lane = Signal(lane_shape(self.vls))
        with m.If(self.enters):
            m.d.sync += [busy.eq(1), lane.eq(self.vl)]
        with m.Elif(self.ends):
            m.d.sync += busy.eq(0)
        m.d.comb += [
            self.free.eq(~busy | self.ends),
            self.writes.eq(Mux(self.free, 0, Cat(equals(lane, vl) for vl in range(self.vls)))),
        ]
        return m
