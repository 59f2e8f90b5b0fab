"""Central buffer of an MPort: two incoming links, queues by outgoing lane, two read ports."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.common.part import FIFOPart, Part
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.links.link import CrossingSignature, lane_shape, take_crossing
from vlane.hdl.switches.switch_input import flits_of_head
from vlane.hdl.switches.write_port import WritePort
from vlane.switches.mports import MPORT, READERS

_LINKS = 2


class Centre(wiring.Component):
    """One central buffer (``docs/opa_switch.md``, stage CB, OPAS-2, OPAS-4, OPAS-6 and OPAS-7).

    Parameters
    ----------
    ports : int
        Number of ports of the switch.
    geometry : BufferGeometry
        Geometry of the central buffer.
    data_bits : int
        Data bits of a flit.
    flits : int
        Most flits that cross per cycle and link.

    Members
    -------
    source : In(4)
        Input of the MPort that is granted a central link in this cycle, one-hot.
    reserved, reserved_vl : In(range(largest + 1)), In(lane_shape(vls))
        Blocks of the granted packet (0 if none is granted), and its lane.
    crossing : In(CrossingSignature(...)).array(4)
        Flits from the MPort's inputs.
    link_free : Out(1)
        At least one link is free.
    room : Out(vls)
        Lanes that no link is writing and that have space for a largest packet.
    stored : Out(vls)
        By lane: the first packet takes part in the allocation.
    outputs : Out(ArrayLayout(range(ports), vls))
        By lane: output of the first packet.
    blocks : Out(ArrayLayout(range(largest + 1), vls))
        By lane: size of the first packet in blocks.
    granted : In(2)
        Read ports whose packet crosses from the next cycle on.
    lane : In(ArrayLayout(vls, 2))
        By read port: lane of the granted packet, one-hot.
    free : Out(2)
        Read ports that take part in the allocation.
    reading : Out(ArrayLayout(vls, 2))
        By read port: lane that the busy port is reading, one-hot.
    read : Out(CrossingSignature(...)).array(2)
        Flits that leave through each read port.
    """

    def __init__(self, *, ports: int, geometry: BufferGeometry, data_bits: int, flits: int) -> None:
        vls, packet = geometry.vls, range(geometry.largest + 1)
        self.geometry, self.flits = geometry, flits
        self.storage = geometry.storage(
            data_bits=data_bits, writers=_LINKS, readers=READERS, write_flits=flits, read_flits=flits
        )
        self.crossing_signature = CrossingSignature(
            flits=flits, data_bits=data_bits, vls=vls, ports=ports, largest=geometry.largest
        )
        super().__init__(
            {
                "source": In(MPORT),
                "reserved": In(packet),
                "reserved_vl": In(lane_shape(vls)),
                "crossing": In(self.crossing_signature).array(MPORT),
                "link_free": Out(1),
                "room": Out(vls),
                "stored": Out(vls),
                "outputs": Out(data.ArrayLayout(range(ports), vls)),
                "blocks": Out(data.ArrayLayout(packet, vls)),
                "granted": In(READERS),
                "lane": In(data.ArrayLayout(vls, READERS)),
                "free": Out(READERS),
                "reading": Out(data.ArrayLayout(vls, READERS)),
                "read": Out(self.crossing_signature).array(READERS),
            }
        )
        self.links = [WritePort(geometry.vls) for _ in range(_LINKS)]
        self._head = data.StructLayout({"output": range(ports), "blocks": packet})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.storage = Part(self.storage, self.storage.parameters)
        arrivals = self._take_in(m)
        self._queue(m, arrivals)
        for reader in range(READERS):
            self._read(m, reader)
        return m

    def _take_in(self, m: Module) -> list[tuple[Signal, Signal]]:
        """Store the flits that arrive over the links.

        Return, for each link, the lane and the head of the packet that arrived in the previous cycle.
        """
        storage = self.storage
        write_ports = self.links
        lower: Value = write_ports[0].free
        enters = (self.reserved.any() & lower, self.reserved.any() & ~lower)
        m.d.comb += [
            storage.reserve_flits.eq(self.reserved),
            storage.reserve_vl.eq(self.reserved_vl),
            self.link_free.eq(Cat(write_port.free for write_port in write_ports).any()),
            self.room.eq(storage.room & ~(write_ports[0].writes | write_ports[1].writes)),
        ]
        arrivals = []
        for link, write_port in enumerate(write_ports):
            m.submodules[f"link_{link}"] = write_port
            crossing = self.crossing_signature.flip().create(path=(f"over_{link}",))
            source = Signal(MPORT, name=f"source_{link}")
            busy = Signal(name=f"busy_{link}")
            with m.If(enters[link]):
                m.d.sync += source.eq(self.source)
            with m.Elif(write_port.ends):
                m.d.sync += source.eq(0)
            take_crossing(m, crossing, [(source[place], self.crossing[place]) for place in range(MPORT)])
            first = link * self.flits
            m.d.comb += [
                write_port.enters.eq(enters[link]),
                write_port.vl.eq(self.reserved_vl),
                busy.eq(crossing.count.any()),
                write_port.ends.eq(busy & crossing.last),
                storage.write_vl[link].eq(crossing.vl),
                storage.write_count[link].eq(crossing.count),
                *(storage.write_data[first + place].eq(crossing.flits[place]) for place in range(self.flits)),
            ]
            lanes = Signal(self.geometry.vls, name=f"lanes_{link}")
            head = Signal(self._head, name=f"head_{link}")
            with m.If(busy & crossing.first):
                m.d.sync += [
                    lanes.eq(Cat(equals(crossing.vl, lane) for lane in range(self.geometry.vls))),
                    head.output.eq(crossing.to),
                    head.blocks.eq(crossing.blocks),
                ]
            with m.Else():
                m.d.sync += lanes.eq(0)
            arrivals.append((lanes, head.as_value()))
        return arrivals

    def _queue(self, m: Module, arrivals: list[tuple[Signal, Signal]]) -> None:
        """Make heads available to the allocation two cycles after they crossed (OPAS-2)."""
        for lane in range(self.geometry.vls):
            heads = SyncFIFO(width=Shape.cast(self._head).width, depth=self.geometry.maximum)
            m.submodules[f"heads_{lane}"] = FIFOPart(heads)
            head = data.View(self._head, heads.r_data)
            comes = [lanes[lane] for lanes, _ in arrivals]
            m.d.comb += [
                heads.w_en.eq(Cat(comes).any()),
                heads.w_data.eq(one_of(comes, (value for _, value in arrivals))),
                heads.r_en.eq(Cat(self.granted[reader] & self.lane[reader][lane] for reader in range(READERS)).any()),
                self.stored[lane].eq(heads.r_rdy),
                self.outputs[lane].eq(head.output),
                self.blocks[lane].eq(head.blocks),
            ]

    def _read(self, m: Module, reader: int) -> None:
        """Send a granted packet through a read port (OPAS-6)."""
        storage, read, vls = self.storage, self.read[reader], self.geometry.vls
        busy = Signal(name=f"reads_{reader}")
        lane = Signal(vls, name=f"lane_{reader}")
        head = Signal(self._head, name=f"read_head_{reader}")
        first = reader * self.flits
        shown = [storage.read_data[first + place] for place in range(self.flits)]
        moves, is_last = flits_of_head(m, shown, storage.readable[reader])
        m.d.comb += [
            storage.read_vl[reader].eq(read.vl),
            storage.read_count[reader].eq(Mux(busy, moves, 0)),
            self.free[reader].eq(~busy | is_last),
            self.reading[reader].eq(Mux(busy & ~is_last, lane, 0)),
            read.count.eq(Mux(busy, moves, 0)),
            read.first.eq(shown[0][1]),
            read.last.eq(is_last),
            read.vl.eq(one_of(lane, range(vls))),
            read.to.eq(head.output),
            read.blocks.eq(head.blocks),
            *(read.flits[place].eq(shown[place]) for place in range(self.flits)),
        ]
        with m.If(self.granted[reader]):
            chosen = self.lane[reader]
            m.d.sync += [
                busy.eq(1),
                lane.eq(chosen),
                head.output.eq(one_of(chosen, (self.outputs[each] for each in range(vls)))),
                head.blocks.eq(one_of(chosen, (self.blocks[each] for each in range(vls)))),
            ]
        with m.Elif(is_last):
            m.d.sync += busy.eq(0)
