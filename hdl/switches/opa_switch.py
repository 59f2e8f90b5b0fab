"""Hierarchical Omni-Path switch: MPorts of four ports, central buffers, a selectable egress scheduler."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Value
from amaranth.lib.wiring import In, connect, flipped

from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.links.link import field_of, take_crossing
from vlane.hdl.switches.centre import Centre
from vlane.hdl.switches.opa_allocator import OPAAllocator
from vlane.hdl.switches.switch import Switch
from vlane.hdl.tables.sc import SC, SCProgramSignature
from vlane.switches.mports import MPORT, READERS, ports_of
from vlane.switches.opa_switch import OPASwitchParameters
from vlane.switches.switch_kinds import OMNI_PATH
from vlane.tables.sc import SC15, SCParameters

__all__ = ["OPASwitch"]

(_LOCAL, _CENTRAL) = range(OMNI_PATH.write_ports)


class OPASwitch(Switch):
    """Virtual cut-through switch: internal links of up to 3 flits per cycle, two allocations (``docs/opa_switch.md``).

    Every output is registered: a packet scheduled in cycle t is on ``tx`` from t + 1 on.

    A packet has as many flits as the length in its header gives. The switch does not check this. A packet of another
    length damages the later packets of its lane until the reset (IBS-H4).

    Parameters
    ----------
    parameters : OPASwitchParameters
        Shape of the component.

    Members
    -------
    rx : In(LinkSignature(data_bits, 5)).array(ports)
        Arriving flits.
    returned : Out(ReturnSignature(3, 5)).array(ports)
        Blocks that left the input's buffer.
    tx : Out(LinkSignature(data_bits, 5)).array(ports)
        Flits to the next node.
    far_returned : In(ReturnSignature(3, 5)).array(ports)
        Blocks that left the next node's buffer.
    ready : In(ports)
        Links on which a packet may start.
    dropped : Out(ArrayLayout(DropCause, ports))
        By input: why the packet whose head arrived two cycles ago is dropped:
        1 no port for the DLID, 2 no VL, 3 addressed to the switch, 4 no space or too large; 0 otherwise.
    lft : In(LFTProgramSignature())
        Write port of the forwarding table, usable at any time; ports count from 1.
    sc : In(SCProgramSignature())
        Write port of SC2SC and SC2VL_t, usable at any time; ports count from 0.
    schedule : In(the scheduler's program signature)
        Write port of the schedulers' tables. Absent with ``rr``.
    schedule_ports : In(ports)
        Outputs that accept the write. Absent with ``rr``.
    swap : In(ports)
        With ``vlarb`` and ``dtable`` only: outputs whose banks are to be exchanged.
    """

    latency = 5
    """Zero-load cycles from a head on ``rx`` to its flit on ``tx``, within an MPort; 8 via the central buffer."""

    def __init__(self, parameters: OPASwitchParameters) -> None:
        self.parameters = p = parameters
        self.map = SC(SCParameters(ports=p.ports, data_vls=p.data_vls))
        self.allocator = OPAAllocator(ports=p.ports, vls=p.data_vls)
        central = BufferGeometry(p.data_vls, p.central_blocks, p.central_minimum, p.central_maximum, p.largest)
        self.centres = [
            Centre(ports=p.ports, geometry=central, data_bits=p.data_bits, flits=OMNI_PATH.inner_flits)
            for _ in range(self.allocator.mports)
        ]
        super().__init__(p, kind=OMNI_PATH, fcp=None, members={"sc": In(SCProgramSignature())})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self.connect_ports(m)
        m.submodules.sc, m.submodules.allocator = self.map, self.allocator
        connect(m, flipped(self.sc), self.map.program)
        for number, port in enumerate(self.inputs):
            maps, header = self.map, port.header
            channel = Cat(field_of(header, "vl"), field_of(header, "channel_top"))
            mapped_away = maps.drop[number] | equals(channel, SC15)
            lane = Value.cast(maps.vl[number])
            m.d.comb += [
                maps.channel[number].eq(channel),
                maps.egress[number].eq(self.look_up(m, number, mapped_away=mapped_away)),
                port.outgoing_vl.eq(lane - (lane > SC15)),
                port.channel.eq(maps.channel_out[number]),
            ]
        for number, centre in enumerate(self.centres):
            m.submodules[f"centre_{number}"] = centre
        self._allocate(m)
        self._cross(m)
        return m

    def _allocate(self, m: Module) -> None:
        """Connect the allocator to the heads and to the buffers (VA-SA, for inputs and for central buffers)."""
        allocator, vls = self.allocator, self.geometry.vls
        sizes, lanes = self.connect_heads(m, allocator)
        stored_sizes, stored_lanes = [], []
        for mport, centre in enumerate(self.centres):
            mine = ports_of(mport, self.ports)
            source = allocator.central_source[mport]
            readers = [READERS * mport + reader for reader in range(READERS)]
            m.d.comb += [
                allocator.link_free[mport].eq(centre.link_free),
                allocator.central_room[mport].eq(centre.room),
                allocator.stored[mport].eq(centre.stored),
                *(allocator.stored_output[mport * vls + lane].eq(centre.outputs[lane]) for lane in range(vls)),
                *(allocator.reader_free[number].eq(centre.free[number % READERS]) for number in readers),
                *(allocator.reading[number].eq(centre.reading[number % READERS]) for number in readers),
                *(centre.lane[number % READERS].eq(allocator.reader_lane[number]) for number in readers),
                centre.granted.eq(Cat(allocator.reader_granted[number] for number in readers)),
                centre.source.eq(source),
                centre.reserved.eq(one_of(source[: len(mine)], (sizes[port] for port in mine))),
                centre.reserved_vl.eq(one_of(source[: len(mine)], (lanes[port] for port in mine))),
            ]
            for number in readers:
                chosen = allocator.reader_lane[number]
                stored_sizes.append(self.of_chosen(m, f"stored_size_{number}", chosen, centre.blocks))
                stored_lanes.append(one_of(chosen, range(vls)))
        for mport in range(len(self.centres)):
            mine = ports_of(mport, self.ports)
            for number in mine:
                output, source = self.outputs[number], allocator.source[number]
                picked = Cat(source[: len(mine)], source[MPORT:])
                m.d.comb += [
                    allocator.local_free[number].eq(output.free[_LOCAL]),
                    allocator.central_free[number].eq(output.free[_CENTRAL]),
                    allocator.room[number].eq(output.room),
                    output.reserved.eq(one_of(picked, [*(sizes[port] for port in mine), *stored_sizes])),
                    output.reserved_vl.eq(one_of(picked, [*(lanes[port] for port in mine), *stored_lanes])),
                    output.enters[_LOCAL].eq(source[:MPORT].any()),
                    output.enters[_CENTRAL].eq(source[MPORT:].any()),
                ]

    def _cross(self, m: Module) -> None:
        """Connect output write ports and central links to the crossing packets that are destined for them (X)."""
        reads = [centre.read[reader] for centre in self.centres for reader in range(READERS)]
        for mport, centre in enumerate(self.centres):
            mine = [self.inputs[port].crossing for port in ports_of(mport, self.ports)]
            for place, crossing in enumerate(mine):
                take_crossing(m, centre.crossing[place], [(Value.cast(1), crossing)])
            for number in ports_of(mport, self.ports):
                write_ports = self.outputs[number].crossing
                take_crossing(m, write_ports[_LOCAL], [(equals(each.to, number), each) for each in mine])
                take_crossing(m, write_ports[_CENTRAL], [(equals(each.to, number), each) for each in reads])


COMPONENT = OPASwitch
