"""Input side of a switch: the buffer, the look-up of heads, the packet that crosses."""

from __future__ import annotations

from enum import IntEnum

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out
from vlane.hdl.egress import BLOCKS_SHAPE
from vlane.hdl.link import LinkSignature, ReturnSignature, blocks_of, field_of, with_vl
from vlane.hdl.select import equals
from vlane.hdl.vlbuffer import VLBuffer

__all__ = ["DropCause", "SwitchInput"]


class DropCause(IntEnum):
    """Why a packet goes nowhere."""

    NONE = 0
    UNKNOWN_LID = 1
    NO_VL = 2
    PORT_0 = 3
    NO_ROOM = 4


class SwitchInput(wiring.Component):
    """One input (``docs/ib_switch.md``, stages IB, RT and X).

    Parameters
    ----------
    ports : int
        Of the switch.
    vls : int
        Lanes.
    blocks, minimum, maximum, largest : int
        Of the buffer; guaranteed to and allowed for each lane; its largest packet.
    data_bits : int
        Carried of a flit.

    Members
    -------
    rx : In(LinkSignature(data_bits))
        Flits that arrive.
    returned : Out(ReturnSignature())
        Blocks that left, a cycle later.
    dlid, sl : Out(16), Out(4)
        Of the head that is looked up in this cycle.
    output, following, cause : In(range(ports)), In(4), In(DropCause)
        What was found.
    dropped : Out(DropCause)
        What was found in the cycle before, of a head.
    valid, drop : Out(vls)
        By lane: its first packet may take part; it goes nowhere.
    outputs, followings : Out(ArrayLayout(range(ports), vls)), Out(ArrayLayout(4, vls))
        Where they go, and on which lane.
    blocks : Out(ArrayLayout(7, vls))
        Their sizes.
    free : Out(1)
        The input may take part.
    granted, lane : In(1), In(vls)
        A packet crosses from the next cycle on; its lane, one bit.
    crossing, to : Out(LinkSignature(data_bits)), Out(range(ports))
        The flit that crosses, with its outgoing lane; the output.
    crossing_blocks : Out(7)
        Size of its packet.
    """

    def __init__(
        self, *, ports: int, vls: int, blocks: int, minimum: int, maximum: int, largest: int, data_bits: int
    ) -> None:
        self.ports, self.vls, self.maximum, self.largest, self.data_bits = ports, vls, maximum, largest, data_bits
        self.storage = VLBuffer(
            vls=vls, flits=blocks, minimum=minimum, maximum=maximum, mtu_flits=largest, data_bits=data_bits + 2,
            form="static" if minimum == maximum else "shared",
        )  # fmt: skip
        super().__init__(
            {
                "rx": In(LinkSignature(data_bits)),
                "returned": Out(ReturnSignature()),
                "dlid": Out(16),
                "sl": Out(4),
                "output": In(range(ports)),
                "following": In(4),
                "cause": In(DropCause),
                "dropped": Out(DropCause),
                "valid": Out(vls),
                "drop": Out(vls),
                "outputs": Out(data.ArrayLayout(range(ports), vls)),
                "followings": Out(data.ArrayLayout(4, vls)),
                "blocks": Out(data.ArrayLayout(BLOCKS_SHAPE, vls)),
                "free": Out(1),
                "granted": In(1),
                "lane": In(vls),
                "crossing": Out(LinkSignature(data_bits)),
                "to": Out(range(ports)),
                "crossing_blocks": Out(BLOCKS_SHAPE),
            }
        )
        self.routed = data.StructLayout(
            {"drop": 1, "output": range(ports), "following": 4, "blocks": BLOCKS_SHAPE, "vl": 4}
        )
        self.crosses = Signal(self.routed)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.storage = self.storage
        pushed, vl, routed = self._receive(m)
        for lane in range(self.vls):
            m.submodules[f"heads_{lane}"] = heads = SyncFIFO(width=self.routed.size, depth=self.maximum)
            head = data.View(self.routed, heads.r_data)
            m.d.comb += [
                heads.w_en.eq(pushed & equals(vl, lane)),
                heads.w_data.eq(routed.as_value()),
                heads.r_en.eq(self.granted & self.lane[lane]),
                self.valid[lane].eq(heads.r_rdy),
                self.drop[lane].eq(head.drop),
                self.outputs[lane].eq(head.output),
                self.followings[lane].eq(head.following),
                self.blocks[lane].eq(head.blocks),
            ]
            with m.If(self.granted & self.lane[lane]):
                m.d.sync += self.crosses.eq(head)
        self._cross(m)
        return m

    def _receive(self, m: Module) -> tuple[Signal, Signal, data.View]:
        """Take in what arrives (IB), a cycle later write it and look its head up (RT)."""
        storage, rx = self.storage, self.rx
        kept, keeps = Signal(), Signal()
        arrives, flit, vl = Signal(), Signal(self.data_bits + 2), Signal(4)
        blocks = blocks_of(rx.data)
        m.d.comb += [
            storage.reserve_flits.eq(Mux(rx.valid & rx.first & (blocks <= self.largest), blocks, 0)),
            storage.reserve_vl.eq(rx.vl),
            keeps.eq(Mux(rx.first, storage.accepted, kept)),
            storage.write_vl[0].eq(vl),
            storage.write_count[0].eq(arrives),
            storage.write_data[0].eq(flit),
        ]
        m.d.sync += [arrives.eq(rx.valid & keeps), flit.eq(Cat(rx.last, rx.first, rx.data)), vl.eq(rx.vl)]
        with m.If(rx.valid):
            m.d.sync += kept.eq(keeps)
        found, refused = Signal(DropCause), Signal()
        is_head = flit[1]
        body = flit[2:]
        routed = Signal(self.routed)
        m.d.sync += refused.eq(rx.valid & rx.first & ~storage.accepted)
        m.d.comb += [
            self.dlid.eq(field_of(body, "dlid")),
            self.sl.eq(field_of(body, "sl")),
            routed.drop.eq(Value.cast(self.cause).any()),
            routed.output.eq(self.output),
            routed.following.eq(self.following),
            routed.blocks.eq(blocks_of(body)),
            routed.vl.eq(vl),
        ]
        with m.If(refused):
            m.d.comb += found.eq(DropCause.NO_ROOM)
        with m.Elif(arrives & is_head):
            m.d.comb += found.eq(self.cause)
        m.d.sync += self.dropped.eq(found)
        pushed = Signal()
        m.d.comb += pushed.eq(arrives & is_head)
        return pushed, vl, routed

    def _cross(self, m: Module) -> None:
        """Let a granted packet leave the buffer, a flit in every cycle in which one is there (X)."""
        storage, crossing, packet = self.storage, self.crossing, self.crosses
        busy, moves = Signal(), Signal()
        flit = storage.read_data[0]
        is_last, is_first, body = flit[0], flit[1], flit[2:]
        m.d.comb += [
            storage.read_vl[0].eq(packet.vl),
            storage.read_count[0].eq(busy),
            moves.eq(busy & storage.readable[0].any()),
            self.free.eq(~busy | (moves & is_last)),
            crossing.valid.eq(moves & ~packet.drop),
            crossing.vl.eq(packet.following),
            crossing.first.eq(is_first),
            crossing.last.eq(is_last),
            crossing.data.eq(Mux(is_first, with_vl(body, packet.following), body)),
            self.to.eq(packet.output),
            self.crossing_blocks.eq(packet.blocks),
        ]
        with m.If(self.granted):
            m.d.sync += busy.eq(1)
        with m.Elif(moves & is_last):
            m.d.sync += busy.eq(0)
        m.d.sync += [self.returned.valid.eq(moves), self.returned.vl.eq(Mux(moves, packet.vl, 0))]
