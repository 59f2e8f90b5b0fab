"""Input side of a switch up to the waiting queues: heads are looked up and queued by lane."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.common.part import FIFOPart
from vlane.hdl.common.select import equals
from vlane.hdl.links.link import LinkSignature, blocks_of, lane_shape
from vlane.packets.drop_cause import DropCause
from vlane.units import HEADER_BITS


class ReceivingInput(wiring.Component):
    """Base of the input sides (``docs/ib_switch.md``, ``docs/opa_switch.md``: stages IB and RT).

    A subclass adds the buffer and the crossing, and documents all members.

    Parameters
    ----------
    members : dict
        Members in addition to the shared ones.
    ports : int
        Number of ports of the switch.
    geometry : BufferGeometry
        Geometry of the input buffer.
    data_bits : int
        Data bits of a flit.
    vl_bits : int
        Width of a lane number on links.
    by_channel : bool
        Whether headers carry an Omni-Path channel instead of a lane.
    counts_waiting : bool
        Whether to count the waiting blocks by lane, for the marking measure.
    """

    names_lane: ClassVar[bool]
    """Whether a queued packet records the lane on which it arrived."""

    def __init__(
        self,
        members: dict[str, Any],
        *,
        ports: int,
        geometry: BufferGeometry,
        data_bits: int,
        vl_bits: int,
        by_channel: bool,
        counts_waiting: bool = False,
    ) -> None:
        vls, lane = geometry.vls, lane_shape(geometry.vls)
        packet = range(geometry.largest + 1)
        self.geometry, self.by_channel, self.counts_waiting = geometry, by_channel, counts_waiting
        waiting = {"waiting": Out(data.ArrayLayout(range(geometry.maximum + 1), vls))} if counts_waiting else {}
        channel = {"channel": In(5)} if by_channel else {}
        super().__init__(
            {
                "rx": In(LinkSignature(data_bits, vl_bits)),
                "header": Out(HEADER_BITS),
                "output": In(range(ports)),
                "outgoing_vl": In(lane),
                **channel,
                "cause": In(DropCause),
                "dropped": Out(DropCause),
                "valid": Out(vls),
                "drop": Out(vls),
                "outputs": Out(data.ArrayLayout(range(ports), vls)),
                "outgoing_vls": Out(data.ArrayLayout(lane, vls)),
                "blocks": Out(data.ArrayLayout(packet, vls)),
                **waiting,
                **members,
            }
        )
        came_on, channels = {"vl": lane} if self.names_lane else {}, {"channel": 5} if by_channel else {}
        self._routed = data.StructLayout(
            {"drop": 1, "output": range(ports), "outgoing_vl": lane, "blocks": packet, **came_on, **channels}
        )

    @abstractmethod
    def _store(self, m: Module, reserves: Value, writes: Value, flit: Value) -> None:
        """Reserve ``reserves`` blocks for a packet (0 for none) and write an arriving flit, on the lane of ``rx``."""

    @property
    @abstractmethod
    def _accepted(self) -> Value:
        """Whether the reservation of this cycle succeeds."""

    def _receive(self, m: Module) -> tuple[Signal, Signal, Any]:
        """Store arriving flits (IB) and look the head up one cycle later (RT).

        Return whether a head was looked up, its lane, and the result.
        """
        rx = self.rx
        kept = Signal(reset_less=True)
        keeps = Signal()
        blocks = blocks_of(rx.data)
        small = Signal()
        m.d.comb += [small.eq(blocks <= self.geometry.largest), keeps.eq(Mux(rx.first, self._accepted, kept))]
        self._store(m, Mux(rx.valid & rx.first & small, blocks, 0), rx.valid & keeps, Cat(rx.last, rx.first, rx.data))
        with m.If(rx.valid):
            m.d.sync += kept.eq(keeps)
        arrived = Signal()
        refused = Signal()
        vl = Signal(lane_shape(self.geometry.vls))
        size = Signal.like(self.blocks[0])
        header = Signal(HEADER_BITS)
        m.d.sync += [
            arrived.eq(rx.valid & rx.first & self._accepted),
            refused.eq(rx.valid & rx.first & ~self._accepted),
        ]
        with m.If(rx.valid & rx.first):
            m.d.sync += [vl.eq(rx.vl), size.eq(blocks), header.eq(rx.data[-HEADER_BITS:])]
        found = Signal(DropCause)
        routed = Signal(self._routed)
        m.d.comb += [
            self.header.eq(header),
            routed.drop.eq(Value.cast(self.cause).any()),
            routed.output.eq(self.output),
            routed.outgoing_vl.eq(self.outgoing_vl),
            routed.blocks.eq(size),
        ]
        if self.names_lane:
            m.d.comb += routed.vl.eq(vl)
        if self.by_channel:
            m.d.comb += routed.channel.eq(self.channel)
        with m.If(refused):
            m.d.comb += found.eq(DropCause.NO_ROOM)
        with m.Elif(arrived):
            m.d.comb += found.eq(self.cause)
        m.d.sync += self.dropped.eq(found)
        return arrived, vl, routed

    def _wait(self, m: Module, received: tuple[Signal, Signal, Any], lane: int, leaves: Value) -> Any:
        """Queue the received packets of a lane until they leave, and return the record of the first packet."""
        arrived, vl, routed = received
        heads = SyncFIFO(width=self._routed.size, depth=self.geometry.maximum)
        m.submodules[f"heads_{lane}"] = FIFOPart(heads)
        head = data.View(self._routed, heads.r_data)
        m.d.comb += [
            heads.w_en.eq(arrived & equals(vl, lane)),
            heads.w_data.eq(routed.as_value()),
            heads.r_en.eq(leaves),
            self.valid[lane].eq(heads.r_rdy),
            self.drop[lane].eq(head.drop),
            self.outputs[lane].eq(head.output),
            self.outgoing_vls[lane].eq(head.outgoing_vl),
            self.blocks[lane].eq(head.blocks),
        ]
        if self.counts_waiting:
            self._count(m, lane, Mux(heads.w_en, routed.blocks, 0), Mux(leaves, head.blocks, 0))
        return head

    def _count(self, m: Module, lane: int, come: Value, gone: Value) -> None:
        """Count the waiting blocks of a lane, one cycle late, to keep grants off the adder's path."""
        coming, going = (Signal.like(self.blocks[0], name=f"{name}_{lane}") for name in ("coming", "going"))
        m.d.sync += [coming.eq(come), going.eq(gone)]
        m.d.sync += self.waiting[lane].eq(self.waiting[lane] + coming - going)
