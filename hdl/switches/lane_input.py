"""Input side of a switch whose crossbar has a port per VL: packets of several lanes cross at the same time."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from vlane.hdl.buffers.buffer_geometry import FLAGS, BufferGeometry
from vlane.hdl.common.part import Part
from vlane.hdl.common.select import equals
from vlane.hdl.links.link import LaneCrossingSignature, LaneReturnSignature, with_vl
from vlane.hdl.switches.receiving_input import ReceivingInput


class LaneInput(ReceivingInput):
    """One input: a VL buffer, a queue of heads and a crossbar port for each lane (``docs/ib_switch.md``, IBS-P3).

    Parameters
    ----------
    ports, geometry, data_bits, vl_bits, counts_waiting
        See ``ReceivingInput``; each lane has a fixed share of the buffer.

    Members
    -------
    rx : In(LinkSignature(data_bits, vl_bits))
        Arriving flits.
    header : Out(64)
        Header of the head that is looked up in this cycle.
    output : In(range(ports))
        Looked-up output.
    outgoing_vl : In(lane_shape(vls))
        Looked-up outgoing lane.
    cause : In(DropCause)
        Drop cause from the look-up.
    dropped : Out(DropCause)
        Drop cause of the head that was looked up in the previous cycle.
    valid : Out(vls)
        By lane: the first packet takes part in the allocation.
    drop : Out(vls)
        By lane: the first packet is to be dropped.
    outputs : Out(ArrayLayout(range(ports), vls))
        By lane: output of the first packet.
    outgoing_vls : Out(ArrayLayout(lane_shape(vls), vls))
        By lane: outgoing lane of the first packet.
    blocks : Out(ArrayLayout(range(largest + 1), vls))
        By lane: size of the first packet.
    waiting : Out(ArrayLayout(range(maximum + 1), vls))
        With ``counts_waiting`` only: blocks of the packets that waited in the previous cycle, by lane.
    returned : Out(LaneReturnSignature(vls))
        Blocks that left in the previous cycle.
    free : Out(vls)
        Lanes that take part in the allocation.
    granted : In(vls)
        Lanes whose packet crosses, or is dropped, from the next cycle on.
    crossing : Out(LaneCrossingSignature(data_bits)).array(vls)
        By lane: the flit that crosses.
    """

    names_lane = False

    def __init__(
        self, *, ports: int, geometry: BufferGeometry, data_bits: int, vl_bits: int, counts_waiting: bool = False
    ) -> None:
        self.parts = [geometry.part(data_bits=data_bits) for _ in range(geometry.vls)]
        members: dict[str, Any] = {
            "returned": Out(LaneReturnSignature(geometry.vls)),
            "free": Out(geometry.vls),
            "granted": In(geometry.vls),
            "crossing": Out(LaneCrossingSignature(data_bits)).array(geometry.vls),
        }
        super().__init__(
            members,
            ports=ports,
            geometry=geometry,
            data_bits=data_bits,
            vl_bits=vl_bits,
            by_channel=False,
            counts_waiting=counts_waiting,
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        received = self._receive(m)
        for lane, part in enumerate(self.parts):
            m.submodules[f"part_{lane}"] = Part(part, part.parameters)
            head = self._wait(m, received, lane, self.granted[lane])
            self._cross(m, lane, head)
        return m

    def _store(self, m: Module, reserves: Value, writes: Value, flit: Value) -> None:
        for lane, part in enumerate(self.parts):
            is_its = equals(self.rx.vl, lane)
            m.d.comb += [
                part.reserve_flits.eq(Mux(is_its, reserves, 0)),
                part.write_count[0].eq(writes & is_its),
                part.write_data[0].eq(flit),
            ]

    @property
    def _accepted(self) -> Value:
        return reduce(or_, (part.accepted for part in self.parts))

    def _cross(self, m: Module, lane: int, head: Any) -> None:
        """Send a granted packet out of its buffer, one flit per cycle while flits are available (X)."""
        part, crossing = self.parts[lane], self.crossing[lane]
        packet = Signal(data.StructLayout({"drop": 1, "outgoing_vl": head.outgoing_vl.shape()}), name=f"packet_{lane}")
        busy = Signal(name=f"busy_{lane}")
        moves = Signal(name=f"moves_{lane}")
        flit = part.read_data[0]
        is_last, is_first, body = flit[0], flit[1], flit[FLAGS:]
        m.d.comb += [
            moves.eq(busy & part.readable[0].any()),
            part.read_count[0].eq(moves),
            self.free[lane].eq(~busy | is_last),
            crossing.valid.eq(moves & ~packet.drop),
            crossing.flit.eq(Cat(is_last, is_first, Mux(is_first, with_vl(body, packet.outgoing_vl), body))),
        ]
        with m.If(self.granted[lane]):
            m.d.sync += [busy.eq(1), packet.drop.eq(head.drop), packet.outgoing_vl.eq(head.outgoing_vl)]
        with m.Elif(is_last):
            m.d.sync += busy.eq(0)
        m.d.sync += self.returned.blocks[lane].eq(moves)
