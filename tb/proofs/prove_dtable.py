"""Proofs of the Deficit Table, for every table; in the IB form for every table that is accepted."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Module
from vlane.tb.proofs.properties import Instance
from vlane.tb.proofs.prove_deficit import DeficitProperties
from vlane.tb.proofs.prove_dtable_line_rate import LineRateProperties

from vlane.dtable import IB_COUNTER_MOST
from vlane.units import MAX_PACKET_BLOCKS

__all__ = ["INSTANCES", "DTableProperties"]

_FREE = {"form": "free", "keep_on_stall": False, "mtu_blocks": 66}


class DTableProperties(DeficitProperties):
    """The Deficit Table with the properties to prove."""

    def most_weight(self, m: Module) -> int:
        """Return the largest weight: in the IB form what leaves room for the largest packet in 8 bits."""
        s = self.scheduler
        if s.form == "free":
            return 255
        most = IB_COUNTER_MOST - (MAX_PACKET_BLOCKS - 1)
        m.d.comb += Assume(s.program.weight <= most)
        for entries in s.banks:
            for index in range(s.entries):
                m.d.comb += Assert(entries[index].weight <= most)
        return most


INSTANCES = (
    Instance("small", DTableProperties, {"data_vls": 2, "requesters": 0, "entries": 4, "vl15": True, **_FREE}),
    Instance(
        "mapped",
        DTableProperties,
        {"data_vls": 4, "requesters": 3, "entries": 5, "vl15": False, **_FREE, "keep_on_stall": True},
    ),
    Instance("full", DTableProperties, {"data_vls": 15, "requesters": 0, "entries": 64, "vl15": True, **_FREE}),
    Instance(
        "ib-packing",
        DTableProperties,
        {"data_vls": 4, "requesters": 0, "entries": 64, "vl15": True, **_FREE, "form": "ib"},
    ),
    Instance(
        "line-rate-small",
        LineRateProperties,
        {"data_vls": 2, "requesters": 0, "entries": 4, "vl15": True, **_FREE, "form": "line_rate", "mtu_blocks": 5},
    ),
    Instance(
        "line-rate-full",
        LineRateProperties,
        {"data_vls": 16, "requesters": 0, "entries": 64, "vl15": False, **_FREE, "form": "line_rate"},
    ),
)
"""What is proven: small, with a map, full size, the IB packing, line rate."""
