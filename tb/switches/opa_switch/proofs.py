"""Proofs of the Omni-Path switch: each part against a model, their connections, and the path of a packet."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assume, Cat, Module, Mux, Value

from vlane.hdl.links.room import Room
from vlane.hdl.switches.opa_allocator import OPAAllocator
from vlane.hdl.switches.write_port import WritePort
from vlane.schedulers.registry import DEFAULT
from vlane.switches.mports import MPORT, READERS, ports_of
from vlane.tables.sc import SC15
from vlane.tb.credits.proofs_room import CreditCounterProperties
from vlane.tb.machinery.proofs.properties import Instance
from vlane.tb.schedulers.proofs_turns import at_most_one
from vlane.tb.switches.opa_switch.proofs_allocator import OPAAllocatorProperties
from vlane.tb.switches.opa_switch.proofs_centre import CentreProperties, centre
from vlane.tb.switches.opa_switch.proofs_delivery import OPADeliveryProperties
from vlane.tb.switches.proofs_queues import WritePortProperties
from vlane.tb.switches.proofs_switch import SwitchWiringProperties
from vlane.tb.switches.proofs_switch_input import SwitchInputProperties, switch_input
from vlane.tb.switches.proofs_switch_output import SwitchOutputProperties, switch_output

_LOCAL, _CENTRAL = 0, 1
"""Write ports of an output."""


class OPASwitchProperties(SwitchWiringProperties):
    """Check the Omni-Path switch's connections.

    Parameters
    ----------
    switch : OPASwitch
        The component.
    """

    def _channel(self, port_number: int) -> Value:
        header = self.switch.inputs[port_number].header
        return Cat(header[60:64], header[51])

    def _mapped_away(self, port_number: int) -> Value:
        away: Value = self.switch.map.drop[port_number] | (self._channel(port_number) == SC15)
        return away

    def _claim_own_properties(self, m: Module) -> None:
        s, claim = self.switch, self.claim
        for number, port in enumerate(s.inputs):
            claim(m, "lane-map", s.map.channel[number] == self._channel(number))
            claim(m, "lane-map", port.channel == s.map.channel_out[number])
            found, vl = s.table.out_port[number], s.map.vl[number]
            claim(m, "lane-map", s.map.egress[number] + 1 == found, when=(found != 0) & (found <= s.ports))
            lane = Mux(vl > SC15, vl - 1, vl)
            claim(m, "lane-map", port.outgoing_vl == lane, when=(lane < s.geometry.vls) & (vl != SC15))
        for mport, buffer in enumerate(s.centres):
            self._centre(m, mport, buffer)
            self._claim_buffer_sizes(m, buffer.storage, "central_")
        for number in range(s.ports):
            self._output(m, number)

    def _of_reader(self, taken: Value, reader: int) -> list[tuple[Value, Value, Value]]:
        """Return the packets that a read port may give: whether accepted, size, lane."""
        s = self.switch
        buffer, lanes = s.centres[reader // READERS], s.allocator.reader_lane[reader]
        return [(taken & lanes[lane], buffer.blocks[lane], Value.cast(lane)) for lane in range(s.geometry.vls)]

    def _centre(self, m: Module, mport: int, buffer: Any) -> None:
        s, a = self.switch, self.switch.allocator
        mine, vls, first = ports_of(mport, s.ports), s.geometry.vls, READERS * mport
        sees = [a.link_free[mport] == buffer.link_free, a.central_room[mport] == buffer.room]
        sees += [a.stored[mport] == buffer.stored]
        sees += [a.stored_output[mport * vls + lane] == buffer.outputs[lane] for lane in range(vls)]
        for reader in range(READERS):
            number = first + reader
            m.d.comb += Assume(at_most_one(Value.cast(a.reader_lane[number])))
            sees += [a.reader_free[number] == buffer.free[reader], a.reading[number] == buffer.reading[reader]]
            sees += [buffer.granted[reader] == a.reader_granted[number], buffer.lane[reader] == a.reader_lane[number]]
        self.claim(m, "resources", Cat(sees).all())
        source: Any = Value.cast(a.central_source[mport])[: len(mine)]
        self.claim(m, "resources", buffer.source[: len(mine)] == source)
        self._reserves(
            m, buffer, source, [each for place, port in enumerate(mine) for each in self._of_input(source[place], port)]
        )
        for place, port in enumerate(mine):
            self._crosses(m, buffer.crossing[place], [(Value.cast(1), s.inputs[port].crossing)])

    def _output(self, m: Module, port_number: int) -> None:
        s, a, output = self.switch, self.switch.allocator, self.switch.outputs[port_number]
        mine, source = ports_of(port_number // MPORT, s.ports), Value.cast(a.source[port_number])
        free = Cat(a.local_free[port_number], a.central_free[port_number])
        self.claim(m, "resources", (free == output.free) & (a.room[port_number] == output.room))
        readers = range(READERS * a.mports)
        local, central = source[: len(mine)], source[MPORT:]
        packets = [each for place, port in enumerate(mine) for each in self._of_input(local[place], port)]
        packets += [each for reader in readers for each in self._of_reader(central[reader], reader)]
        m.d.comb += Assume(~source[len(mine) : MPORT].any())  # of absent ports
        self._reserves(m, output, Cat(local, central), packets)
        self.claim(m, "reserved", output.enters == 1 << _LOCAL, when=local.any())
        self.claim(m, "reserved", output.enters == 1 << _CENTRAL, when=central.any())
        crossings = [s.inputs[port].crossing for port in mine]
        reads = [buffer.read[reader] for buffer in s.centres for reader in range(READERS)]
        for place, comes in ((_LOCAL, crossings), (_CENTRAL, reads)):
            self._crosses(m, output.crossing[place], [(each.to == port_number, each) for each in comes])


INSTANCES = (
    Instance("allocation", OPAAllocatorProperties, {"ports": 5, "vls": 2}, part=OPAAllocator),
    Instance("allocation-one-mport", OPAAllocatorProperties, {"ports": 3, "vls": 3}, part=OPAAllocator),
    Instance(
        "room",
        CreditCounterProperties,
        {"vls": 3, "blocks": 9, "minimum": 2, "maximum": 5, "largest": 2, "returned": 3, "behind": False},
        part=Room,
    ),
    Instance("write-port", WritePortProperties, {"vls": 3}, part=WritePort),
    Instance("input", SwitchInputProperties, {"flits": 3, "largest": 3, "channels": True}, part=switch_input),
    Instance("output", SwitchOutputProperties, {"flits": 3, "write_ports": 2, "fcp": False}, part=switch_output),
    Instance("centre", CentreProperties, {"flits": 2, "largest": 2}, part=centre),
    Instance(
        "connections",
        OPASwitchProperties,
        {
            "ports": 5,
            "data_vls": 3,
            "blocks": 9,
            "minimum": 2,
            "maximum": 5,
            "largest": 2,
            "central_blocks": 9,
            "central_minimum": 2,
            "central_maximum": 5,
            "lids": 4,
            "scheduler": DEFAULT,
            "entries": 1,
            "data_bits": 64,
        },
    ),
    Instance(
        "connections-lanes",
        OPASwitchProperties,
        {
            "ports": 2,
            "data_vls": 17,
            "blocks": 17,
            "minimum": 1,
            "maximum": 1,
            "largest": 1,
            "central_blocks": 17,
            "central_minimum": 1,
            "central_maximum": 1,
            "lids": 4,
            "scheduler": DEFAULT,
            "entries": 1,
            "data_bits": 64,
        },
    ),
    Instance(
        "delivery",
        OPADeliveryProperties,
        {
            "ports": 5,
            "data_vls": 2,
            "blocks": 2,
            "minimum": 1,
            "maximum": 1,
            "largest": 1,
            "central_blocks": 2,
            "central_minimum": 1,
            "central_maximum": 1,
            "lids": 3,
            "scheduler": DEFAULT,
            "entries": 1,
            "data_bits": 64,
        },
    ),
)
"""Proven instances: the parts, their connections (once with lanes beyond 15), then the path of a packet."""
