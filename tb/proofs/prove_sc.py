"""Proofs of Omni-Path's maps: entries give what was written last; SC15 is used with VL15 and only with it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Assume, Fragment, Module, Mux, Value
from vlane.tb.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.proofs.prove_tables import constant, remembered

from vlane.sc import SC15, SC_COUNT, SCTable

__all__ = ["INSTANCES", "SCProperties"]


class SCProperties(Properties):
    """The maps with the properties to prove; port 0 and both ends always look up the observed channel and egress.

    Parameters
    ----------
    maps : SC
        The component.
    """

    def __init__(self, maps: Any) -> None:
        super().__init__()
        self.maps = maps
        self.m = Module()
        self.sc = constant(self.m, "watched_sc", 5, 0, SC_COUNT - 1)
        self.egress = constant(self.m, "watched_egress", 6, 0, maps.ports - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.maps), self.sc, self.egress]

    def elaborate(self, _platform: object) -> Module:
        m, s = self.m, self.maps
        m.submodules.maps = Fragment.get(s, None)
        p = s.program
        m.d.comb += [
            Assume(s.channel[0] == self.sc),
            Assume(s.egress[0] == self.egress),
            Assume(s.inject_sl == self.sc),
            Assume(s.receive_sc == self.sc),
        ]

        def holds(table: SCTable, index: Value, *where: Value) -> Value:
            here = p.enable & (Value.cast(p.table) == int(table)) & (p.index == index)
            for condition in where:
                here = here & condition
            return remembered(m, table.name.lower(), index, here, p.value)

        channel = holds(SCTable.SC2SC, self.sc, p.ingress == 0, p.egress == self.egress)
        lane_in = holds(SCTable.SC2VL_NT, self.sc, p.ingress == 0)
        injected, level = holds(SCTable.SL2SC, self.sc), holds(SCTable.SC2SL, self.sc)
        management = self.sc == SC15
        with m.If(~s.drop[0]):
            m.d.comb += Assert(s.channel_out[0] == Mux(management, SC15, channel))
        m.d.comb += [
            Assert(s.read["sc2sc_0"][0] == channel),
            Assert(s.read["sc2vl_nt_0"][0] == lane_in),
            Assert(s.read["sl2sc"][0] == injected),
            Assert(s.read["sc2sl"][0] == level),
            Assert(~management | ~s.drop[0]),
            Assert(management | (channel != SC15) | s.drop[0]),
            Assert(s.invalid_in[0] == (~management & ~self._is_lane(lane_in))),
            Assert(s.vl_in[0] == Mux(management, SC15, Mux(s.invalid_in[0], 0, lane_in))),
            Assert(s.inject_drop == (injected == SC15)),
            Assert(s.inject_sc == Mux(s.inject_drop, 0, injected)),
            Assert(s.receive_sl == level),
        ]
        self._pairs(m)
        return m

    def _pairs(self, m: Module) -> None:
        """Assert for every port that SC15 is used with VL15 and only with it, and that no absent lane is used."""
        s = self.maps
        for port in range(s.ports):
            management = s.channel[port] == SC15
            m.d.comb += [
                Assert(s.drop[port] | ((s.channel_out[port] == SC15) == (s.vl[port] == SC15))),
                Assert(s.drop[port] | (management == (s.vl[port] == SC15))),
                Assert(s.drop[port] | management | self._is_lane(s.vl[port])),
                Assert((s.egress[port] < s.ports) | s.drop[port]),
                Assert(~s.drop[port] | ((s.channel_out[port] == 0) & (s.vl[port] == 0))),
                Assert(s.invalid_in[port] | (management == (s.vl_in[port] == SC15))),
            ]

    def _is_lane(self, vl: Value) -> Value:
        lanes = [vl == lane for lane in range(SC_COUNT) if lane != SC15 and lane - (lane > SC15) < self.maps.data_vls]
        found = lanes[0]
        for lane in lanes[1:]:
            found = found | lane
        return found


INSTANCES = (
    Instance("small", SCProperties, {"ports": 2, "data_vls": 4}),
    Instance("odd", SCProperties, {"ports": 3, "data_vls": 20}),
    Instance("full", SCProperties, {"ports": 8, "data_vls": 8}),
)
"""What is proven."""
