"""Input side of the fast switch: buffer, window of each lane, bid, crossing packet (``docs/fast_switch.md``).

Stages of a head with arrival in cycle a:

    a + 1   arrived        registered flit; the switch looks up the forwarding table
    a + 2   sized          size; accepted or refused; the switch looks up SL2VL
    a + 3   stored         flit written to the memory; the packet joins the queue of its lane
    a + 4   queue
    a + 5   next           third packet of the window; its output buffer is looked at
    a + 6   first, second  the lane offers one of them; the input bids
    g       decision       the packet leaves the window
    g + 1   crossing       address of the memory
    g + 2                  data of the memory
    g + 3   flit           crosses
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.buffers.ring_memory import RingMemory, ring_size
from vlane.hdl.common.least_recent import LeastRecent
from vlane.hdl.common.part import FIFOPart
from vlane.hdl.common.select import any_of, equals, number_of, one_of
from vlane.hdl.links.link import LinkSignature, ReturnSignature, blocks_of, lane_shape
from vlane.packets.drop_cause import DropCause
from vlane.units import HEADER_BITS

_OVERTAKEN = 2
"""Packets that may leave before a lane's first packet (IBF-4)."""

_OVERRUN = 3
"""Packets that can arrive before a full lane is noticed (IBF-9)."""


class FastInput(wiring.Component):
    """Input with a bid per cycle and a crossing flit per cycle.

    Parameters
    ----------
    ports : int
        Number of ports of the switch.
    geometry : BufferGeometry
        Geometry of the buffer. Each lane has a ring of its own, larger than its maximum.
    data_bits : int
        Data bits of a flit.
    vl_bits : int
        Width of a lane number on links.

    Members
    -------
    rx : In(LinkSignature(data_bits, vl_bits))
        Arriving flits.
    header : Out(64)
        Header of a head, one cycle after its arrival.
    output : In(range(ports))
        Looked-up output, two cycles after ``header``.
    outgoing_vl : In(lane_shape(vls))
        Looked-up outgoing lane, in the same cycle.
    cause : In(DropCause)
        Drop cause from the look-up, in the same cycle.
    dropped : Out(DropCause)
        Drop cause of the head that arrived four cycles ago.
    returned : Out(ReturnSignature(1, vl_bits))
        Block that left in the previous cycle.
    free_soon : In(ports)
        Outputs that take part in the next cycle but one, as known one cycle before a bid.
    open : In(ArrayLayout(vls, ports))
        By output, one bit per lane: the output's buffer is open.
    bid : Out(StructLayout)
        The bid under decision, from registers.
    granted : In(1)
        The bid under decision is granted.
    free : Out(1)
        The input takes part.
    started : Out(StructLayout)
        The packet granted last, from the cycle after its grant on.
    crossing : Out(StructLayout)
        Packet whose flit crosses.
    first : Out(1)
        The crossing flit is the first one of its packet.
    flit : Out(data_bits)
        The crossing flit.
    """

    def __init__(self, *, ports: int, geometry: BufferGeometry, data_bits: int, vl_bits: int) -> None:
        self.ports, self.geometry, self.data_bits = ports, geometry, data_bits
        vls, lane = geometry.vls, lane_shape(geometry.vls)
        self.ring = ring_size(geometry.maximum + (_OVERRUN + _OVERTAKEN) * geometry.largest)
        size = range(geometry.largest + 1)
        place = Shape.cast(range(max(2, self.ring)))
        self.packet_layout = data.StructLayout(
            {"drop": 1, "to": ports, "outgoing_vl": lane, "blocks": size, "place": place}
        )
        self.bid_layout = data.StructLayout(
            {"valid": 1, "follows": 1, "one": 1, "two": 1, "lanes": vls, "packet": self.packet_layout}
        )
        self.crossing_layout = data.StructLayout(
            {"valid": 1, "last": 1, "to": ports, "outgoing_vl": lane, "blocks": size}
        )
        self.heads = [SyncFIFO(width=self.packet_layout.size, depth=self.ring) for _ in range(vls)]
        self.memory = RingMemory(width=data_bits, depth=self.ring << (vls - 1).bit_length())
        super().__init__(
            {
                "rx": In(LinkSignature(data_bits, vl_bits)),
                "header": Out(HEADER_BITS),
                "output": In(range(ports)),
                "outgoing_vl": In(lane),
                "cause": In(DropCause),
                "dropped": Out(DropCause),
                "returned": Out(ReturnSignature(1, vl_bits)),
                "free_soon": In(ports),
                "open": In(data.ArrayLayout(vls, ports)),
                "bid": Out(self.bid_layout),
                "granted": In(1),
                "free": Out(1),
                "started": Out(self.crossing_layout),
                "crossing": Out(self.crossing_layout),
                "first": Out(1),
                "flit": Out(data_bits),
            }
        )

        self.bid_next = Signal(self.bid_layout)
        self.ends = Signal(init=1)
        """A packet crosses for at most one more cycle."""

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.memory = self.memory
        leaves = Signal(self.geometry.vls)
        stored = self._receive(m, leaves)
        offers = [self._window(m, lane, stored) for lane in range(self.geometry.vls)]
        self._bid(m, offers)
        self._cross(m, leaves)
        return m

    def _receive(self, m: Module, leaves: Signal) -> tuple[Signal, Signal, Any]:
        """Store arriving flits. Return whether a head is queued, the lane, and the record of the packet (a + 3)."""
        rx, geometry, vls = self.rx, self.geometry, self.geometry.vls
        lane = lane_shape(vls)
        flit = data.StructLayout({"valid": 1, "first": 1, "last": 1, "vl": rx.vl.shape(), "data": self.data_bits})
        arrived, sized = Signal(flit), Signal(flit)
        blocks, lanes = Signal(8), Signal(vls)
        fits, accepted, keeps, kept = Signal(), Signal(), Signal(), Signal()
        full = Signal(vls)
        arrived_lanes = [equals(arrived.vl, number) for number in range(vls)]
        m.d.sync += [
            arrived.valid.eq(rx.valid),
            arrived.first.eq(rx.first),
            arrived.last.eq(rx.last),
            arrived.vl.eq(rx.vl),
            arrived.data.eq(rx.data),
            sized.eq(arrived),
            blocks.eq(blocks_of(arrived.data)),
            lanes.eq(Cat(arrived_lanes)),
            fits.eq(any_of(lane & ~full[number] for number, lane in enumerate(arrived_lanes))),
        ]
        is_head = sized.valid & sized.first
        m.d.comb += [
            self.header.eq(arrived.data[-HEADER_BITS:]),
            accepted.eq(is_head & (blocks <= geometry.largest) & fits),
            keeps.eq(Mux(sized.first, accepted, kept)),
        ]
        with m.If(sized.valid):
            m.d.sync += kept.eq(keeps)
        heads, refused, vl = Signal(), Signal(), Signal(lane)
        size = Signal(range(geometry.largest + 1))
        place = Signal(range(max(2, self.ring)))
        writes = Signal()
        written = Signal(self.data_bits)
        behind = [Signal(range(max(2, self.ring)), name=f"behind_{number}") for number in range(vls)]
        m.d.sync += [
            heads.eq(accepted),
            refused.eq(is_head & ~accepted),
            vl.eq(sized.vl),
            size.eq(blocks),
            place.eq(one_of(lanes, behind)),
            writes.eq(sized.valid & keeps),
            written.eq(sized.data),
            *(
                place_behind.eq(place_behind + (sized.valid & keeps & lanes[number]))
                for number, place_behind in enumerate(behind)
            ),
        ]
        m.d.comb += [
            self.memory.write.eq(writes),
            self.memory.write_place.eq(Cat(place[: self._place_bits], vl)),
            self.memory.write_data.eq(written),
        ]
        self._hold(m, heads, vl, size, leaves, full)
        found = Signal(DropCause)
        with m.If(refused):
            m.d.comb += found.eq(DropCause.NO_ROOM)
        with m.Elif(heads):
            m.d.comb += found.eq(self.cause)
        m.d.sync += self.dropped.eq(found)
        record = Signal(self.packet_layout)
        m.d.comb += [
            record.drop.eq(Value.cast(self.cause).any()),
            record.to.eq(Mux(record.drop, 0, 1 << self.output)),
            record.outgoing_vl.eq(self.outgoing_vl),
            record.blocks.eq(size),
            record.place.eq(place),
        ]
        return heads, vl, record

    @property
    def _place_bits(self) -> int:
        return (self.ring - 1).bit_length()

    def _hold(self, m: Module, heads: Value, vl: Value, size: Value, leaves: Signal, full: Signal) -> None:
        """Count the blocks of each lane, and find the lanes that are full in the next cycle (IBF-9)."""
        geometry = self.geometry
        shown, left, gone = (Signal.like(leaves, name=f"{name}_lanes") for name in ("shown", "left", "gone"))
        m.d.sync += [shown.eq(leaves), left.eq(shown), gone.eq(left)]
        for lane in range(geometry.vls):
            held = Signal(range(geometry.maximum + _OVERRUN * geometry.largest + 1), name=f"held_{lane}")
            m.d.sync += held.eq(held + Mux(heads & equals(vl, lane), size, 0) - gone[lane])
            m.d.comb += full[lane].eq(held >= geometry.maximum)

    def _window(self, m: Module, lane: int, stored: tuple[Value, Value, Any]) -> Any:
        """Keep the first packets of a lane, and return the record of the offered one (IBF-1, IBF-2)."""
        heads, vl, record = stored
        fifo = self.heads[lane]
        m.submodules[f"heads_{lane}"] = FIFOPart(fifo)
        layout = data.StructLayout({"there": 1, "able": 1, "packet": self.packet_layout})
        first, second, third = (Signal(layout, name=f"{name}_{lane}") for name in ("first", "second", "third"))
        claims = Signal(2, name=f"claims_{lane}")
        overtaken = Signal(range(_OVERTAKEN + 1), name=f"overtaken_{lane}")
        chosen, removes = self.bid_next.lanes[lane], Signal(name=f"removes_{lane}")
        is_claimed = Signal(name=f"is_claimed_{lane}")
        seen = [
            self._seen(m, f"{name}_{lane}", entry) for name, entry in zip("abc", (first, second, third), strict=True)
        ]
        # Both results of a decision are prepared, because the decision is the last to be known.
        behind = Mux(second.there, seen[1], seen[2])
        first_stays = Mux(claims[0] | ~first.there, behind, seen[0])
        first_left = Mux(first.there, seen[0], behind)
        second_follows = Mux(second.there, seen[2], 0)
        second_stays = Mux(second.there, seen[1], Mux(first.there, seen[2], 0))
        moves = Signal(name=f"moves_{lane}")
        m.d.comb += [
            removes.eq(self.granted & is_claimed),
            moves.eq(removes | ~second.there | ~third.there),
            fifo.w_en.eq(heads & equals(vl, lane)),
            fifo.w_data.eq(record.as_value()),
            fifo.r_en.eq(moves),
        ]
        m.d.sync += [
            first.eq(Mux(removes, first_stays, first_left)),
            second.eq(Mux(removes, second_follows, second_stays)),
            claims.eq(Cat(chosen & (~claims[0] | self.granted), chosen & claims[0] & ~self.granted)),
            is_claimed.eq(chosen),
        ]
        with m.If(moves):
            m.d.sync += [third.there.eq(fifo.r_rdy), third.packet.eq(fifo.r_data)]
        with m.If(removes):
            m.d.sync += overtaken.eq(Mux(claims[0], 0, overtaken + 1))
        offer = Signal(self.bid_layout, name=f"offer_{lane}")
        m.d.comb += [
            offer.valid.eq(Mux(claims[0], second.able & (overtaken != _OVERTAKEN), first.able)),
            offer.follows.eq(claims[0] & (first.packet.to == second.packet.to)),
            offer.packet.eq(Mux(claims[0], second.packet, first.packet)),
            offer.one.eq(Mux(claims[0], equals(second.packet.blocks, 1), equals(first.packet.blocks, 1))),
            offer.two.eq(Mux(claims[0], equals(second.packet.blocks, 2), equals(first.packet.blocks, 2))),
        ]
        return offer

    def _seen(self, m: Module, name: str, entry: Any) -> Signal:
        """Return an entry of the window for the next cycle, able to be offered or not."""
        seen = Signal(entry.shape(), name=f"seen_{name}")
        packet = entry.packet
        can = any_of(
            packet.to[output] & self.free_soon[output] & self.open[output].bit_select(packet.outgoing_vl, 1)
            for output in range(self.ports)
        )
        m.d.comb += [seen.eq(entry), seen.able.eq(entry.there & (packet.drop | can))]
        return seen

    def _bid(self, m: Module, offers: list[Any]) -> None:
        """Choose the lane served least recently among lanes with an offer (IBF-2)."""
        m.submodules.turns = turns = LeastRecent(self.geometry.vls)
        new = self.bid_next
        m.d.comb += [
            turns.eligible.eq(Cat(offer.valid for offer in offers)),
            turns.served.eq(Mux(self.granted, self.bid.lanes, 0)),
            new.valid.eq(turns.eligible.any() & self.ends),
            new.lanes.eq(Mux(self.ends, turns.chosen, 0)),
            new.follows.eq(one_of(turns.chosen, (offer.follows for offer in offers))),
            new.one.eq(one_of(turns.chosen, (offer.one for offer in offers))),
            new.two.eq(one_of(turns.chosen, (offer.two for offer in offers))),
            new.packet.eq(one_of(turns.chosen, (offer.packet.as_value() for offer in offers))),
        ]
        m.d.sync += self.bid.eq(new)

    def _cross(self, m: Module, leaves: Signal) -> None:
        """Read the flits of a granted packet for the crossbar (IBF-5)."""
        bid, vls = self.bid, self.geometry.vls
        left, is_free, active = Signal(range(self.geometry.largest + 1)), Signal(init=1), Signal()
        lanes, lane = Signal(vls), Signal(lane_shape(vls))
        place = Signal(range(max(2, self.ring)))
        current, following = self.started, Signal(self.crossing_layout)
        packet = Signal(self.packet_layout)
        first, second_first = Signal(), Signal()
        m.d.sync += active.eq(self.granted | ~is_free)
        with m.If(self.granted):
            m.d.sync += [
                left.eq(bid.packet.blocks - 1),
                is_free.eq(bid.one),
                self.ends.eq(bid.one | bid.two),
                lanes.eq(bid.lanes),
                lane.eq(number_of(bid.lanes)),
                place.eq(bid.packet.place),
                packet.eq(bid.packet),
                first.eq(1),
            ]
        with m.Else():
            m.d.sync += [
                left.eq(left - left.any()),
                is_free.eq(left <= 1),
                self.ends.eq(left <= 2),
                place.eq(place + 1),
                first.eq(0),
            ]
        m.d.comb += [
            self.free.eq(is_free),
            current.valid.eq(active & ~packet.drop),
            current.last.eq(is_free),
            current.to.eq(packet.to),
            current.outgoing_vl.eq(packet.outgoing_vl),
            current.blocks.eq(packet.blocks),
            leaves.eq(Mux(active, lanes, 0)),
            self.memory.read_place.eq(Cat(place[: self._place_bits], lane)),
        ]
        m.d.sync += [
            self.returned.blocks.eq(active),
            self.returned.vl.eq(Mux(active, lane, 0)),
            following.eq(current),
            second_first.eq(first),
            self.crossing.eq(following),
            self.first.eq(second_first),
            self.flit.eq(self.memory.read_data),
        ]
