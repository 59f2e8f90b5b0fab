"""Input side of a switch: the buffer, the look-up of heads, the packet that crosses."""

from __future__ import annotations

from enum import IntEnum

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out
from vlane.hdl.buffer_sizes import FLAGS, BufferSizes
from vlane.hdl.link import (
    HEADER_BITS,
    CrossingSignature,
    LinkSignature,
    ReturnSignature,
    blocks_of,
    lane_shape,
    with_channel,
    with_vl,
)
from vlane.hdl.select import equals

__all__ = ["DropCause", "SwitchInput", "flits_of_head"]


class DropCause(IntEnum):
    """Why a packet goes nowhere."""

    NONE = 0
    UNKNOWN_LID = 1
    NO_VL = 2
    PORT_0 = 3
    NO_ROOM = 4


class SwitchInput(wiring.Component):
    """One input (``docs/ib_switch.md``, ``docs/opa_switch.md``: stages IB, RT and X).

    Parameters
    ----------
    ports : int
        Of the switch.
    sizes : BufferSizes
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
    output, following, channel, cause : In(range(ports)), In(lane_shape(vls)), In(5), In(DropCause)
        What was found; the channel only with ``by_channel``.
    dropped : Out(DropCause)
        What was found in the cycle before, of a head.
    valid, drop : Out(vls)
        By lane: its first packet may take part; it goes nowhere.
    outputs, followings : Out(ArrayLayout(range(ports), vls)), Out(ArrayLayout(lane_shape(vls), vls))
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
        self, *, ports: int, sizes: BufferSizes, data_bits: int, flits: int, vl_bits: int, by_channel: bool
    ) -> None:
        vls, lane = sizes.vls, lane_shape(sizes.vls)
        packet = range(sizes.largest + 1)
        self.sizes, self.flits, self.by_channel = sizes, flits, by_channel
        self.storage = sizes.storage(data_bits=data_bits, read_flits=flits)
        channel = {"channel": In(5)} if by_channel else {}
        super().__init__(
            {
                "rx": In(LinkSignature(data_bits, vl_bits)),
                "returned": Out(ReturnSignature(flits, vl_bits)),
                "header": Out(HEADER_BITS),
                "output": In(range(ports)),
                "following": In(lane),
                **channel,
                "cause": In(DropCause),
                "dropped": Out(DropCause),
                "valid": Out(vls),
                "drop": Out(vls),
                "outputs": Out(data.ArrayLayout(range(ports), vls)),
                "followings": Out(data.ArrayLayout(lane, vls)),
                "blocks": Out(data.ArrayLayout(packet, vls)),
                "free": Out(1),
                "granted": In(1),
                "lane": In(vls),
                "crossing": Out(
                    CrossingSignature(flits=flits, data_bits=data_bits, vls=vls, ports=ports, largest=sizes.largest)
                ),
            }
        )
        channels = {"channel": 5} if by_channel else {}
        self._routed = data.StructLayout(
            {"drop": 1, "output": range(ports), "following": lane, "blocks": packet, "vl": lane, **channels}
        )
        self._crosses = Signal(self._routed)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.storage = self.storage
        arrived, vl, routed = self._receive(m)
        for lane in range(self.sizes.vls):
            m.submodules[f"heads_{lane}"] = heads = SyncFIFO(width=self._routed.size, depth=self.sizes.maximum)
            head = data.View(self._routed, heads.r_data)
            m.d.comb += [
                heads.w_en.eq(arrived & equals(vl, lane)),
                heads.w_data.eq(routed.as_value()),
                heads.r_en.eq(self.granted & self.lane[lane]),
                self.valid[lane].eq(heads.r_rdy),
                self.drop[lane].eq(head.drop),
                self.outputs[lane].eq(head.output),
                self.followings[lane].eq(head.following),
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
            small.eq(blocks <= self.sizes.largest),
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
        vl, size = Signal(lane_shape(self.sizes.vls)), Signal.like(self.blocks[0])
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
            routed.following.eq(self.following),
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
        rewritten = with_channel(body, packet.channel) if self.by_channel else with_vl(body, packet.following)
        m.d.comb += [
            storage.read_vl[0].eq(packet.vl),
            storage.read_count[0].eq(Mux(busy, moves, 0)),
            self.free.eq(~busy | is_last),
            crossing.count.eq(Mux(busy & ~packet.drop, moves, 0)),
            crossing.first.eq(shown[0][1]),
            crossing.last.eq(is_last),
            crossing.vl.eq(packet.following),
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
