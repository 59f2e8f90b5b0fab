"""Input side of a switch: the buffer, the look-up of heads, the packet that crosses."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out
from vlane.hdl.buffers.buffer_geometry import FLAGS, BufferGeometry
from vlane.hdl.common.part import FIFOPart, Part
from vlane.hdl.common.select import equals
from vlane.hdl.links.link import (
    CrossingSignature,
    LinkSignature,
    ReturnSignature,
    blocks_of,
    lane_shape,
    with_channel,
    with_vl,
)

from vlane.drop_cause import DropCause
from vlane.units import HEADER_BITS

__all__ = ["SwitchInput", "flits_of_head"]


class SwitchInput(wiring.Component):
    """One input (``docs/ib_switch.md``, ``docs/opa_switch.md``: stages IB, RT and X).

    Parameters
    ----------
    ports : int
        Of the switch.
    geometry : BufferGeometry
        Of the buffer.
    data_bits : int
        Carried of a flit.
    flits : int
        That may cross in a cycle.
    vl_bits : int
        Of a lane's number on links.
    by_channel : bool
        Whether headers carry a channel, in Omni-Path's form, and not a lane.

    Members
    -------
    rx : In(LinkSignature(data_bits, vl_bits))
        Flits that arrive.
    returned : Out(ReturnSignature(flits, vl_bits))
        Blocks that left, a cycle later.
    header : Out(64)
        Of the head that is looked up in this cycle.
    output, outgoing_vl, channel, cause : In(range(ports)), In(lane_shape(vls)), In(5), In(DropCause)
        What was found; the channel only with ``by_channel``.
    dropped : Out(DropCause)
        Drop cause of the head that was looked up in the previous cycle.
    valid, drop : Out(vls)
        By lane: its first packet may take part; it goes nowhere.
    outputs, outgoing_vls : Out(ArrayLayout(range(ports), vls)), Out(ArrayLayout(lane_shape(vls), vls))
        Where they go, and on which lane.
    blocks : Out(ArrayLayout(range(largest + 1), vls))
        Their sizes.
    free : Out(1)
        The input may take part.
    granted, lane : In(1), In(vls)
        A packet crosses from the next cycle on; its lane, one bit.
    crossing : Out(CrossingSignature(...))
        The flits that cross.
    """

    def __init__(
        self, *, ports: int, geometry: BufferGeometry, data_bits: int, flits: int, vl_bits: int, by_channel: bool
    ) -> None:
        vls, lane = geometry.vls, lane_shape(geometry.vls)
        packet = range(geometry.largest + 1)
        self.geometry, self.flits, self.by_channel = geometry, flits, by_channel
        self.storage = geometry.storage(data_bits=data_bits, read_flits=flits)
        channel = {"channel": In(5)} if by_channel else {}
        super().__init__(
            {
                "rx": In(LinkSignature(data_bits, vl_bits)),
                "returned": Out(ReturnSignature(flits, vl_bits)),
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
                "free": Out(1),
                "granted": In(1),
                "lane": In(vls),
                "crossing": Out(
                    CrossingSignature(flits=flits, data_bits=data_bits, vls=vls, ports=ports, largest=geometry.largest)
                ),
            }
        )
        channels = {"channel": 5} if by_channel else {}
        self._routed = data.StructLayout(
            {"drop": 1, "output": range(ports), "outgoing_vl": lane, "blocks": packet, "vl": lane, **channels}
        )
        self._crosses = Signal(self._routed)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.storage = Part(self.storage, self.storage.parameters)
        arrived, vl, routed = self._receive(m)
        for lane in range(self.geometry.vls):
            heads = SyncFIFO(width=self._routed.size, depth=self.geometry.maximum)
            m.submodules[f"heads_{lane}"] = FIFOPart(heads)
            head = data.View(self._routed, heads.r_data)
            m.d.comb += [
                heads.w_en.eq(arrived & equals(vl, lane)),
                heads.w_data.eq(routed.as_value()),
                heads.r_en.eq(self.granted & self.lane[lane]),
                self.valid[lane].eq(heads.r_rdy),
                self.drop[lane].eq(head.drop),
                self.outputs[lane].eq(head.output),
                self.outgoing_vls[lane].eq(head.outgoing_vl),
                self.blocks[lane].eq(head.blocks),
            ]
            with m.If(self.granted & self.lane[lane]):
                m.d.sync += self._crosses.eq(head)
        self._cross(m)
        return m

    def _receive(self, m: Module) -> tuple[Signal, Signal, data.View]:
        """Write what arrives (IB), and a cycle later look its head up (RT)."""
        storage, rx = self.storage, self.rx
        kept, keeps = Signal(reset_less=True), Signal()
        blocks, small = blocks_of(rx.data), Signal()
        m.d.comb += [
            small.eq(blocks <= self.geometry.largest),
            storage.reserve_flits.eq(Mux(rx.valid & rx.first & small, blocks, 0)),
            storage.reserve_vl.eq(rx.vl),
            keeps.eq(Mux(rx.first, storage.accepted, kept)),
            storage.write_vl[0].eq(rx.vl),
            storage.write_count[0].eq(rx.valid & keeps),
            storage.write_data[0].eq(Cat(rx.last, rx.first, rx.data)),
        ]
        with m.If(rx.valid):
            m.d.sync += kept.eq(keeps)
        arrived, refused = Signal(), Signal()
        vl, size = Signal(lane_shape(self.geometry.vls)), Signal.like(self.blocks[0])
        header = Signal(HEADER_BITS)
        m.d.sync += [
            arrived.eq(rx.valid & rx.first & storage.accepted),
            refused.eq(rx.valid & rx.first & ~storage.accepted),
        ]
        with m.If(rx.valid & rx.first):
            m.d.sync += [vl.eq(rx.vl), size.eq(blocks), header.eq(rx.data[-HEADER_BITS:])]
        found, routed = Signal(DropCause), Signal(self._routed)
        m.d.comb += [
            self.header.eq(header),
            routed.drop.eq(Value.cast(self.cause).any()),
            routed.output.eq(self.output),
            routed.outgoing_vl.eq(self.outgoing_vl),
            routed.blocks.eq(size),
            routed.vl.eq(vl),
        ]
        if self.by_channel:
            m.d.comb += routed.channel.eq(self.channel)
        with m.If(refused):
            m.d.comb += found.eq(DropCause.NO_ROOM)
        with m.Elif(arrived):
            m.d.comb += found.eq(self.cause)
        m.d.sync += self.dropped.eq(found)
        return arrived, vl, routed

    def _cross(self, m: Module) -> None:
        """Let a granted packet leave the buffer, as many flits in a cycle as are there and may (X)."""
        storage, crossing, packet = self.storage, self.crossing, self._crosses
        busy = Signal()
        shown = [storage.read_data[place] for place in range(self.flits)]
        moves, is_last = flits_of_head(m, shown, storage.readable[0])
        body = shown[0][FLAGS:]
        rewritten = with_channel(body, packet.channel) if self.by_channel else with_vl(body, packet.outgoing_vl)
        m.d.comb += [
            storage.read_vl[0].eq(packet.vl),
            storage.read_count[0].eq(Mux(busy, moves, 0)),
            self.free.eq(~busy | is_last),
            crossing.count.eq(Mux(busy & ~packet.drop, moves, 0)),
            crossing.first.eq(shown[0][1]),
            crossing.last.eq(is_last),
            crossing.vl.eq(packet.outgoing_vl),
            crossing.to.eq(packet.output),
            crossing.blocks.eq(packet.blocks),
            crossing.flits[0].eq(Cat(shown[0][:FLAGS], Mux(shown[0][1], rewritten, body))),
            *(crossing.flits[place].eq(shown[place]) for place in range(1, self.flits)),
        ]
        with m.If(self.granted):
            m.d.sync += busy.eq(1)
        with m.Elif(is_last):
            m.d.sync += busy.eq(0)
        left = Signal.like(self.returned.blocks)
        m.d.comb += left.eq(Mux(busy, moves, 0))
        m.d.sync += [self.returned.blocks.eq(left), self.returned.vl.eq(Mux(left.any(), packet.vl, 0))]


def flits_of_head(m: Module, shown: list[Signal], there: Signal) -> tuple[Signal, Signal]:
    """Return how many flits of a lane's first packet may move, and whether its last one is among them.

    Parameters
    ----------
    shown : list of Signal
        The lane's oldest flits, those that are not there 0; bit 0 says which are a packet's last.
    there : Signal
        How many of them are there.
    """
    moves, is_last = Signal(range(len(shown) + 1)), Signal()
    most: Value = Const(len(shown))
    for place in reversed(range(len(shown) - 1)):
        most = Mux(shown[place][0], place + 1, most)
    m.d.comb += [
        moves.eq(there.any() if len(shown) == 1 else Mux(most < there, most, there)),
        is_last.eq(Cat(flit[0] for flit in shown).any()),
    ]
    return moves, is_last
