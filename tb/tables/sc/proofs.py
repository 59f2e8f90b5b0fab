"""Proofs of Omni-Path's maps: entries return the values written last. SC15 is used with VL15 only."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Signal, Value

from vlane.tables.sc import SC15, SC_COUNT, SCTable
from vlane.tb.machinery.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.tables.proofs_tables import at, constant, elaborated_module, written_last


class SCProperties(Properties):
    """Check the maps against a reference model of one entry of each table.

    Parameters
    ----------
    maps : SC
        The component. The proof adds a read port for the watched entry to each of its memories.
    """

    statements: ClassVar = {
        "entry": "Each entry of each table is the value written last for its table, ports and index, initially its "
        "own index. Nothing else changes it, not even a reset.",
        "while-written": "A look-up in the cycle in which its entry is written returns the old value.",
        "source": "A packet is injected with the channel of its level; if that is SC15, it is dropped.",
        "destination": "A received packet has the level of its channel.",
        "arrival": "An arriving packet is queued on the lane of its channel at this port, if the port has the lane.",
        "arrival-invalid": "An arriving packet on a data channel without a lane at the port is invalid.",
        "forward": "A forwarded packet leaves with the new channel for its ports and channel, on the lane of its "
        "egress and new channel.",
        "becomes-management": "A packet whose data channel is mapped to SC15 or to VL15 is dropped.",
        "absent-lane": "A packet whose new channel has no lane at its egress is dropped.",
        "absent-egress": "A packet to an absent egress is dropped.",
        "management": "A packet of SC15 arrives on VL15 and leaves with SC15 and VL15, whatever the tables contain.",
        "only-management": "Only a packet of SC15 arrives on VL15, or leaves with SC15 or on VL15.",
        "dropped": "A dropped packet shows channel 0 and lane 0, an invalid one lane 0.",
    }

    depth = 3  # three cycles from reset contain a look-up after a write

    def __init__(self, maps: Any) -> None:
        super().__init__()
        self.maps = maps
        self.m = Module()
        self.port = constant(self.m, "watched_port", 6, 0, maps.ports - 1)
        self.egress = constant(self.m, "watched_egress", 6, 0, maps.ports - 1)
        self.sc = constant(self.m, "watched_sc", 5, 0, SC_COUNT - 1)
        self.new_sc = constant(self.m, "watched_new_sc", 5, 0, SC_COUNT - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.maps), self.port, self.egress, self.sc, self.new_sc]

    def elaborate(self, _platform: object) -> Module:
        m, s = self.m, self.maps
        m.submodules.maps = elaborated_module(s)
        p, index = s.program, Cat(self.sc, self.egress)
        sl2sc, _ = self._entry(m, SCTable.SL2SC, self.sc, [s.tables["sl2sc"]], self.sc)
        sc2sl, _ = self._entry(m, SCTable.SC2SL, self.sc, [s.tables["sc2sl"]], self.sc)
        each = [s.tables[f"sc2sc_{port}"] for port in range(s.ports)]
        there = (p.ingress == self.port) & (p.egress == self.egress)
        channel, of_channel = self._entry(m, SCTable.SC2SC, self.sc, each, index, there)
        into = [s.tables["sc2vl_t"]]
        there = p.egress == self.egress
        lane, of_lane = self._entry(m, SCTable.SC2VL_T, self.new_sc, into, Cat(self.new_sc, self.egress), there)
        each = [s.tables[f"sc2vl_nt_{port}"] for port in range(s.ports)]
        lane_in, of_lane_in = self._entry(m, SCTable.SC2VL_NT, self.sc, each, self.sc, p.ingress == self.port)
        self._ends(m, sl2sc, sc2sl)
        self._arrival(m, lane_in, of_lane_in)
        self._forward(m, channel, lane, of_channel | of_lane)
        return m

    def _entry(
        self, m: Module, table: SCTable, index: Signal, memories: list[Any], where: Value, there: Value | None = None
    ) -> tuple[Signal, Signal]:
        """Return an entry of the model, and whether the entry changes in this cycle."""
        p, name = self.maps.program, table.name.lower()
        written, kept = Signal(name=f"{name}_is_written"), Signal(5, name=f"{name}_entry")
        changes = Signal(name=f"{name}_changes")
        chosen = p.enable & (Value.cast(p.table) == int(table)) & (p.index == index)
        m.d.comb += [
            written.eq(chosen if there is None else chosen & there),
            kept.eq(written_last(m, name, index, written, p.value)),
            changes.eq(written & (p.value != kept)),
        ]
        found = []
        for memory in memories:
            reader = memory.read_port(domain="comb")
            m.d.comb += reader.addr.eq(where)
            found.append(reader.data)
        self.claim(m, "entry", (at(found, self.port) if len(found) > 1 else found[0]) == kept)
        return kept, changes

    def _ends(self, m: Module, sl2sc: Signal, sc2sl: Signal) -> None:
        s, claim = self.maps, self.claim
        injected = s.inject_sl == self.sc
        claim(m, "source", ~s.inject_drop & (s.inject_sc == sl2sc), when=injected & (sl2sc != SC15))
        claim(m, "source", s.inject_drop & (s.inject_sc == 0), when=injected & (sl2sc == SC15))
        claim(m, "destination", s.receive_sl == sc2sl, when=s.receive_sc == self.sc)

    def _arrival(self, m: Module, lane: Signal, changes: Signal) -> None:
        s, claim = self.maps, self.claim
        channel, vl, invalid = (at(list(each), self.port) for each in (s.channel, s.vl_in, s.invalid_in))
        here, there = Signal(name="arrives_here"), Signal(name="arrives_on_a_lane")
        m.d.comb += [here.eq((channel == self.sc) & (self.sc != SC15)), there.eq(self._is_lane(lane))]
        claim(m, "arrival", ~invalid & (vl == lane), when=here & there)
        claim(m, "while-written", ~invalid & (vl == lane), when=here & there & changes)
        claim(m, "arrival-invalid", invalid, when=here & ~there)
        claim(m, "management", ~invalid & (vl == SC15), when=channel == SC15)
        claim(m, "only-management", (vl != SC15) & (invalid | self._is_lane(vl)), when=channel != SC15)
        claim(m, "dropped", vl == 0, when=invalid)

    def _forward(self, m: Module, new: Signal, lane: Signal, changes: Signal) -> None:
        s, claim = self.maps, self.claim
        channel, egress = at(list(s.channel), self.port), at(list(s.egress), self.port)
        out, vl, drop = (at(list(each), self.port) for each in (s.channel_out, s.vl, s.drop))
        goes, here, there = Signal(name="goes_here"), Signal(name="known"), Signal(name="leaves_on_a_lane")
        m.d.comb += [
            goes.eq((channel == self.sc) & (self.sc != SC15) & (egress == self.egress)),
            here.eq(goes & (new == self.new_sc) & (new != SC15)),
            there.eq(self._is_lane(lane)),
        ]
        as_said = ~drop & (out == new) & (vl == lane)
        claim(m, "forward", as_said, when=here & there)
        claim(m, "while-written", as_said, when=here & there & changes)
        claim(m, "becomes-management", drop, when=(goes & (new == SC15)) | (here & (lane == SC15)))
        claim(m, "absent-lane", drop, when=here & ~there & (lane != SC15))
        claim(m, "absent-egress", drop, when=egress >= s.ports)
        management = (channel == SC15) & (egress < s.ports)
        claim(m, "management", ~drop & (out == SC15) & (vl == SC15), when=management)
        claim(m, "only-management", (out != SC15) & (vl != SC15), when=channel != SC15)
        claim(m, "only-management", self._is_lane(vl), when=(channel != SC15) & ~drop)
        claim(m, "dropped", (out == 0) & (vl == 0), when=drop)

    def _is_lane(self, vl: Value) -> Value:
        """Return whether the port has a data lane of this number. VL15 is not a data lane."""
        numbers = [vl for vl in range(SC_COUNT) if vl != SC15][: self.maps.data_vls]
        return Cat(vl == number for number in numbers).any()


INSTANCES = (
    Instance("small", SCProperties, {"ports": 2, "data_vls": 4}),
    Instance("odd", SCProperties, {"ports": 3, "data_vls": 20}),
    Instance("fifteen", SCProperties, {"ports": 2, "data_vls": 15}),
    Instance("every-lane", SCProperties, {"ports": 2, "data_vls": 31}),
    Instance("full", SCProperties, {"ports": 8, "data_vls": 8}),
)
"""Proven instances."""
