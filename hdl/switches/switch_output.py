"""Output side of a switch: buffer, egress scheduler, remote credits."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib.wiring import In, Out

from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.common.part import Part
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.congestion.cc_marker import CCMarker
from vlane.hdl.links.fcp_round_robin import FCPTimes
from vlane.hdl.links.link import CrossingSignature, ReturnSignature, lane_shape
from vlane.hdl.switches.sending_output import SendingOutput
from vlane.hdl.switches.write_port import WritePort


class SwitchOutput(SendingOutput):
    """Output side that one packet at a time enters, or two (``docs/ib_switch.md``, ``docs/opa_switch.md``).

    Parameters
    ----------
    scheduler, geometry, data_bits, vl_bits, fcp, marker, measured
        See ``SendingOutput``.
    ports : int
        Number of ports of the switch.
    flits : int
        Most flits that enter per cycle and write port.
    write_ports : int
        Number of packets that may enter at the same time, 1 or 2, on different lanes.

    Members
    -------
    reserved, reserved_vl : In(range(largest + 1)), In(lane_shape(vls))
        Blocks of the packet granted in this cycle (0 if none), and its lane.
    enters : In(write_ports)
        Write port of the granted packet, one-hot.
    room : Out(vls)
        VLs that can accept a largest packet and that no write port is filling.
    free : Out(write_ports)
        Write ports through which another packet may be granted.
    crossing : In(CrossingSignature(...)).array(write_ports)
        Flits that enter.
    measure : In(ArrayLayout(range(maximum + 1), vls))
        With ``measured`` only: fill of each lane, for the marker.
    ready : In(1)
        A packet may start on the link.
    tx : Out(LinkSignature(data_bits, vl_bits))
        Flits that leave, one cycle after they were selected.
    far_returned : In(ReturnSignature(flits, vl_bits))
        Space freed at the far end. Not with ``fcp``.
    freed : In(ReturnSignature(flits, vl_bits))
        With ``fcp`` only: space freed in the input buffer of the same port.
    fcp_rx : In(LimitSignature())
        With ``fcp`` only: arriving flow-control packet.
    fcp_tx : Out(LimitSignature())
        With ``fcp`` only: leaving flow-control packet, one cycle after it was selected.
    """

    vls_apart = False

    def __init__(
        self,
        scheduler: Any,
        *,
        ports: int,
        geometry: BufferGeometry,
        data_bits: int,
        flits: int,
        write_ports: int,
        vl_bits: int,
        fcp: FCPTimes | None,
        marker: CCMarker | None = None,
        measured: bool = False,
    ) -> None:
        self.flits = flits
        self.write_ports = [WritePort(geometry.vls) for _ in range(write_ports)]
        self.storage = geometry.storage(data_bits=data_bits, writers=write_ports, write_flits=flits)
        crossing = CrossingSignature(
            flits=flits, data_bits=data_bits, vls=geometry.vls, ports=ports, largest=geometry.largest
        )
        members: dict[str, Any] = {
            "reserved": In(range(geometry.largest + 1)),
            "reserved_vl": In(lane_shape(geometry.vls)),
            "enters": In(write_ports),
            "room": Out(geometry.vls),
            "free": Out(write_ports),
            "crossing": In(crossing).array(write_ports),
        }
        super().__init__(
            scheduler,
            members,
            returns=ReturnSignature(flits, vl_bits),
            geometry=geometry,
            data_bits=data_bits,
            vl_bits=vl_bits,
            returned=flits,
            fcp=fcp,
            marker=marker,
            measured=measured,
        )

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.submodules.storage = Part(self.storage, self.storage.parameters)
        return m

    def _take_in(self, m: Module) -> None:
        """Store the flits that cross. A write port and its VL are busy until the packet's last flit (IBS-5, OPAS-6)."""
        storage = self.storage
        m.d.comb += [storage.reserve_flits.eq(self.reserved), storage.reserve_vl.eq(self.reserved_vl)]
        for number, write_port in enumerate(self.write_ports):
            m.submodules[f"write_port_{number}"] = write_port
            crossing, first = self.crossing[number], number * self.flits
            m.d.comb += [
                storage.write_vl[number].eq(crossing.vl),
                storage.write_count[number].eq(crossing.count),
                *(storage.write_data[first + place].eq(crossing.flits[place]) for place in range(self.flits)),
                write_port.enters.eq(self.reserved.any() & self.enters[number]),
                write_port.vl.eq(self.reserved_vl),
                write_port.ends.eq(crossing.count.any() & crossing.last),
                self.free[number].eq(write_port.free),
            ]
        if len(self.write_ports) > 1:
            m.d.comb += self.room.eq(storage.room & ~reduce(or_, (each.writes for each in self.write_ports)))
        else:
            m.d.comb += self.room.eq(storage.room)

    def _comes(self, lane: int) -> tuple[Value, Value]:
        comes = [each.count.any() & each.first & equals(each.vl, lane) for each in self.crossing]
        return Cat(comes).any(), one_of(comes, (each.blocks for each in self.crossing))

    def _read(self, m: Module, vl: Value, reads: Value) -> tuple[Value, Value]:
        storage = self.storage
        m.d.comb += [storage.read_vl[0].eq(vl), storage.read_count[0].eq(reads)]
        return storage.read_data[0], storage.readable[0].any()

    def _taken(self, lane: int) -> Value:
        return self.storage.used[lane]
