"""Output side of a switch whose crossbar has a port per VL: packets of several lanes enter at the same time."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.common.part import Part
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.congestion.cc_marker import CCMarker
from vlane.hdl.links.fcp_round_robin import FCPTimes
from vlane.hdl.links.link import LaneCrossingSignature, LaneReturnSignature
from vlane.hdl.switches.sending_output import SendingOutput


class LaneOutput(SendingOutput):
    """One output: a VL buffer and a crossbar port for each lane (``docs/ib_switch.md``, IBS-P3).

    Parameters
    ----------
    scheduler, geometry, data_bits, vl_bits, fcp, marker, measured
        See ``SendingOutput``; each lane has a fixed share of the buffer.

    Members
    -------
    reserved : In(ArrayLayout(range(largest + 1), vls))
        By lane: blocks of the packet granted in this cycle, or 0.
    left : Out(ArrayLayout(range(minimum + 1), vls))
        By lane: unreserved blocks of its share.
    free : Out(vls)
        Lanes to which another packet may be granted.
    crossing : In(LaneCrossingSignature(data_bits)).array(vls)
        By lane: the flit that enters, if the lane is busy.
    measure : In(ArrayLayout(range(maximum + 1), vls))
        With ``measured`` only: fill of each lane, for the marker.
    ready : In(1)
        A packet may start on the link.
    tx : Out(LinkSignature(data_bits, vl_bits))
        Flits that leave, one cycle after they were selected.
    far_returned : In(LaneReturnSignature(vls))
        Space freed at the far end. Not with ``fcp``.
    freed : In(LaneReturnSignature(vls))
        With ``fcp`` only: space freed in the input buffer of the same port.
    fcp_rx : In(LimitSignature())
        With ``fcp`` only: arriving flow-control packet.
    fcp_tx : Out(LimitSignature())
        With ``fcp`` only: leaving flow-control packet, one cycle after it was selected.
    """

    vls_apart = True

    def __init__(
        self,
        scheduler: Any,
        *,
        geometry: BufferGeometry,
        data_bits: int,
        vl_bits: int,
        fcp: FCPTimes | None,
        marker: CCMarker | None = None,
        measured: bool = False,
    ) -> None:
        vls = geometry.vls
        self.parts = [geometry.part(data_bits=data_bits) for _ in range(vls)]
        packet = range(geometry.largest + 1)
        self._granted = [Signal(packet, name=f"granted_{lane}") for lane in range(vls)]
        members: dict[str, Any] = {
            "reserved": In(data.ArrayLayout(packet, vls)),
            "left": Out(data.ArrayLayout(range(geometry.minimum + 1), vls)),
            "free": Out(vls),
            "crossing": In(LaneCrossingSignature(data_bits)).array(vls),
        }
        super().__init__(
            scheduler,
            members,
            returns=LaneReturnSignature(vls),
            geometry=geometry,
            data_bits=data_bits,
            vl_bits=vl_bits,
            returned=1,
            fcp=fcp,
            marker=marker,
            measured=measured,
        )

    def _take_in(self, m: Module) -> None:
        """Store the flits that cross. A lane is busy until the last flit of its packet (IBS-P3)."""
        for lane, part in enumerate(self.parts):
            m.submodules[f"part_{lane}"] = Part(part, part.parameters)
            busy, comes, ends = (Signal(name=f"{name}_{lane}") for name in ("busy", "comes", "ends"))
            crossing, reserved = self.crossing[lane], self.reserved[lane]
            m.d.comb += [
                comes.eq(busy & crossing.valid),
                ends.eq(comes & crossing.flit[0]),
                part.reserve_flits.eq(reserved),
                part.write_count[0].eq(comes),
                part.write_data[0].eq(crossing.flit),
                self.free[lane].eq(~busy | ends),
                self.left[lane].eq(self.geometry.minimum - part.used[0]),
            ]
            m.d.sync += self._granted[lane].eq(reserved)
            with m.If(reserved.any()):
                m.d.sync += busy.eq(1)
            with m.Elif(ends):
                m.d.sync += busy.eq(0)

    def _comes(self, lane: int) -> tuple[Value, Value]:
        size = self._granted[lane]  # a packet's first flit crosses in the cycle after its grant
        return size.any(), size

    def _read(self, m: Module, vl: Value, reads: Value) -> tuple[Value, Value]:
        looks = [equals(vl, lane) for lane in range(self.geometry.vls)]
        m.d.comb += [part.read_count[0].eq(reads & look) for part, look in zip(self.parts, looks, strict=True)]
        flit = one_of(looks, (part.read_data[0] for part in self.parts))
        return flit, one_of(looks, (part.readable[0].any() for part in self.parts))

    def _taken(self, lane: int) -> Value:
        return self.parts[lane].used[0]
