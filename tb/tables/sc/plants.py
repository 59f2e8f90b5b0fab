"""Planted bugs of Omni-Path's maps."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_FILE = "hdl/tables/sc.py"
PLANTS = (
    Plant(
        "lane-of-the-old-channel",
        "The lane is that of the packet's incoming channel, not of the new one.",
        _FILE,
        "[self._address(mapped[port], self.egress[port]) for port in range(self.ports)],",
        "[self._address(self.channel[port], self.egress[port]) for port in range(self.ports)],",
    ),
    Plant(
        "any-ingress",
        "An entry of SC2SC is written for every ingress.",
        _FILE,
        "here = self._selects(SCTable.SC2SC) & equals(program.ingress, port) & (program.egress < self.ports)",
        "here = self._selects(SCTable.SC2SC) & (program.egress < self.ports)",
    ),
    Plant(
        "neighbours-lane-by-egress",
        "SC2VL_nt is written by its egress instead of its ingress.",
        _FILE,
        "here = self._selects(SCTable.SC2VL_NT) & equals(self.program.ingress, port)",
        "here = self._selects(SCTable.SC2VL_NT) & equals(self.program.egress, port)",
    ),
    Plant(
        "data-becomes-management",
        "A data packet whose channel is mapped to SC15 leaves with it.",
        _FILE,
        "self.drop[port].eq(~there | (~management & ((mapped == SC15) | ~self._is_lane(lane)))),",
        "self.drop[port].eq(~there | (~management & ~self._is_lane(lane))),",
    ),
    Plant(
        "management-is-mapped",
        "A packet of SC15 leaves with the channel from the table.",
        _FILE,
        "self.channel_out[port].eq(Mux(management, SC15, mapped)),",
        "self.channel_out[port].eq(mapped),",
    ),
    Plant(
        "levels-from-the-other-table",
        "The level of a received packet is taken from writes to SL2SC.",
        _FILE,
        '(level,) = self._table(m, "sc2sl", 1, self._selects(SCTable.SC2SL), program.index, [self.receive_sc])',
        '(level,) = self._table(m, "sc2sl", 1, self._selects(SCTable.SL2SC), program.index, [self.receive_sc])',
    ),
    Plant(
        "lanes-past-15-not-renumbered",
        "Lanes from the 15th on are numbered as if VL15 were a data lane.",
        _FILE,
        "return (vl <= self.data_vls) & (vl != SC15)",
        "return (vl < self.data_vls) & (vl != SC15)",
        instance="odd",
        parameters={"data_vls": 20},
    ),
)
"""Planted bugs, each a change of one line."""
