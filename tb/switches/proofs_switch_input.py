"""Proofs of a switch's input: look-up, drops, waiting heads, and crossing flits."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.switches.switch_input import SwitchInput
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.schedulers.proofs_turns import at_most_one
from vlane.tb.tables.proofs_tables import at

VLS, BLOCKS, MINIMUM, MAXIMUM = 2, 4, 1, 3
DEPTH, DEPTH_OF_THREE = 9, 8
"""Cycles from reset that are checked, with one flit per cycle and with three."""
_NO_ROOM = 4
_FREE_BITS = ((60, 64), (50, 56), (32, 34), (16, 22), (0, 1))
"""Free bits of a flit:

VL; SL and reserved; DLID; PktLen; source LID. The others, which no part of an input reads, are 0.
"""


def switch_input(*, flits: int, largest: int, channels: bool, waiting: bool = False) -> SwitchInput:
    """Return an input side with a buffer small enough for a proof, with channel maps if ``channels``."""
    geometry = BufferGeometry(VLS, BLOCKS, MINIMUM, MAXIMUM, largest)
    return SwitchInput(
        ports=4,
        geometry=geometry,
        data_bits=64,
        flits=flits,
        vl_bits=5 if channels else 4,
        by_channel=channels,
        counts_waiting=waiting,
    )


class SwitchInputProperties(Properties):
    """Check an input against a reference model of its lanes, and follow one packet, for any tables and allocation.

    Assumptions: a packet has as many flits as the header states, on one lane, with or without gaps; packets may be
    larger than allowed. Only a lane that takes part is granted, and only while the input is free.

    Parameters
    ----------
    port : SwitchInput
        Input as returned by ``switch_input``.
    """

    statements: ClassVar = {
        "accepted": "A packet is accepted exactly when it is not larger than the largest and fits into the lane's "
        "space without using space that other lanes may still need; otherwise all of it is discarded.",
        "looked-up": "In the cycle after a head's arrival its own header is looked up.",
        "dropped": "Two cycles after a head's arrival the drop cause of its packet is reported: no space, or the "
        "cause from the look-up; 0 if it is not dropped.",
        "takes-part": "A lane takes part from two cycles after its head's arrival until the head is granted.",
        "routed": "A head takes part with the output, outgoing lane, size and drop of its own look-up.",
        "takes-part-again": "An input is free unless a packet is crossing that has flits left after this cycle.",
        "crosses": "From the cycle after the grant on, the available flits of the packet cross, in order, as many "
        "per cycle as the internal link carries, and no others.",
        "bound-for": "Crossing flits go to the packet's output, on its outgoing lane, with its size, and its first "
        "and last flit are marked as such.",
        "crosses-unchanged": "A flit crosses unchanged, except for the lane or channel in the header of a first flit.",
        "drops-cross-nowhere": "No flit of a packet that is dropped crosses.",
        "returned": "Every flit that left, or was discarded after its packet was accepted, is returned on its "
        "incoming lane one cycle later, and no other.",
    }
    unfolds_memories = True

    def __init__(self, port: Any) -> None:
        super().__init__()
        self.port, self.m = port, Module()
        self.mark, self.largest = Signal(), port.geometry.largest
        self.bounded = DEPTH if port.flits == 1 else DEPTH_OF_THREE

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.port), self.mark]

    def elaborate(self, _platform: object) -> Module:
        m, p = self.m, self.port
        m.submodules.port = p
        rx = p.rx
        free = [bit for low, high in _FREE_BITS for bit in range(low, high)]
        m.d.comb += Assume((rx.data & ~Value.cast(sum(1 << bit for bit in free))) == 0)
        head, size = Signal(), Signal(4)
        words = rx.data[16:27]
        m.d.comb += [head.eq(rx.valid & rx.first), size.eq(((words + 16) >> 4)[:4])]
        self._assume_packets(m, size)
        accepts = self._lanes(m, head, size)
        self._follow(m, head, size, accepts)
        return m

    def _assume_packets(self, m: Module, size: Value) -> None:
        """Assume whole packets, and grants only of lanes that take part."""
        p, rx = self.port, self.port.rx
        left, lane = Signal(4), Signal(4)
        with m.If(rx.valid):
            m.d.sync += [left.eq(Mux(rx.first, size, left) - 1), lane.eq(rx.vl)]
        m.d.comb += [
            Assume(~rx.valid | (rx.first == (left == 0))),
            Assume(~rx.valid | (rx.last == Mux(rx.first, size == 1, left == 1))),
            Assume(~rx.valid | rx.first | (rx.vl == lane)),
            Assume(rx.vl < VLS),
            Assume(~rx.valid | ~rx.first | (size <= self.largest + 1)),
            Assume(at_most_one(p.lane)),
            Assume(~p.granted | (p.free & (p.lane & p.valid).any())),
            Assume(Value.cast(p.cause) < _NO_ROOM),
            Assume(p.outgoing_vl < VLS),
        ]

    def _lanes(self, m: Module, head: Value, size: Value) -> Value:
        """Model the lanes' space and waiting packets, and return whether a head's packet is accepted."""
        p, rx, claim = self.port, self.port.rx, self.claim
        used = [Signal(4, name=f"used_{vl}") for vl in range(VLS)]
        promised, accepts = Signal(6), Signal()
        m.d.comb += promised.eq(sum(Mux(each < MINIMUM, MINIMUM, each) for each in used))
        held = at(used, rx.vl)
        after = held + size
        promise = Mux(held < MINIMUM, MINIMUM, held)
        fits = (after <= MAXIMUM) & (promised - promise + Mux(after < MINIMUM, MINIMUM, after) <= BLOCKS)
        m.d.comb += accepts.eq(head & (size <= self.largest) & fits)
        claim(m, "accepted", p.storage.accepted == accepts, when=head)
        granted = p.granted
        for vl in range(VLS):
            let_in = Mux(accepts & (rx.vl == vl), size, 0)
            leaves = Mux(p.storage.read_vl[0] == vl, p.storage.read_count[0], 0)
            m.d.sync += used[vl].eq(used[vl] + let_in - leaves)
            claim(m, "returned", p.storage.used[vl] == used[vl])
            coming, there = Signal(name=f"coming_{vl}"), Signal(3, name=f"there_{vl}")
            m.d.sync += [coming.eq(accepts & (rx.vl == vl)), there.eq(there + coming - (granted & p.lane[vl]))]
            claim(m, "takes-part", p.valid[vl] == there.any())
        return accepts

    def _follow(self, m: Module, head: Value, size: Value, accepts: Value) -> None:
        """Follow an arbitrary packet from arrival until its last flit has crossed."""
        p, rx, claim = self.port, self.port.rx, self.claim
        starts, once = Signal(), Signal()
        m.d.comb += starts.eq(head & self.mark & ~once)
        lane, blocks, accepted, ahead = Signal(4), Signal(4), Signal(), Signal(4)
        waiting = [Signal(4, name=f"waiting_{vl}") for vl in range(VLS)]
        granted = [p.granted & p.lane[vl] for vl in range(VLS)]
        for vl in range(VLS):
            m.d.sync += waiting[vl].eq(waiting[vl] + (accepts & (rx.vl == vl)) - granted[vl])
        flits = [Signal(64, name=f"flit_{place}") for place in range(self.largest)]
        arrived, arriving = Signal(4), Signal()
        with m.If(starts):
            m.d.sync += [
                once.eq(1),
                lane.eq(rx.vl),
                blocks.eq(size),
                accepted.eq(accepts),
                arriving.eq(~rx.last),
                ahead.eq(at(waiting, rx.vl) - at(granted, rx.vl)),
                flits[0].eq(rx.data),
                arrived.eq(1),
            ]
        with m.If(arriving & rx.valid):
            m.d.sync += [arrived.eq(arrived + 1), arriving.eq(~rx.last)]
            for place in range(1, self.largest):
                with m.If(arrived == place):
                    m.d.sync += flits[place].eq(rx.data)
        looked, told, part = Signal(), Signal(), Signal()
        output, outgoing, cause, channel = (Signal(8, name=name) for name in ("output", "outgoing", "cause", "channel"))
        m.d.sync += [looked.eq(starts), told.eq(looked)]
        with m.If(looked):
            m.d.sync += [output.eq(p.output), outgoing.eq(p.outgoing_vl), cause.eq(p.cause), part.eq(accepted)]
            if p.by_channel:
                m.d.sync += channel.eq(p.channel)
        claim(m, "looked-up", p.header == flits[0], when=looked)
        expected = Mux(accepted, cause, _NO_ROOM)
        claim(m, "dropped", Value.cast(p.dropped) == expected, when=told)
        claim(m, "dropped", Value.cast(p.dropped) == _NO_ROOM, when=told & ~accepted)
        before = Signal()
        m.d.sync += before.eq(head)
        nobody = Signal()
        m.d.sync += nobody.eq(~before)
        claim(m, "dropped", ~Value.cast(p.dropped).any(), when=nobody)
        goes, crossing, crossed = Signal(), Signal(), Signal(4)
        m.d.comb += goes.eq(part & at(granted, lane) & ~crossing)
        with m.If(once & accepted & at(granted, lane)):
            m.d.sync += ahead.eq(ahead - 1)
        is_head = part & (ahead == 0)
        own = Cat(
            at(p.drop, lane) == cause.any(),
            at([p.outputs[vl] for vl in range(VLS)], lane) == output,
            at([p.outgoing_vls[vl] for vl in range(VLS)], lane) == outgoing,
            at([p.blocks[vl] for vl in range(VLS)], lane) == blocks,
        )
        claim(m, "routed", own.all(), when=is_head)
        with m.If(goes & (ahead == 0)):
            m.d.sync += [crossing.eq(1), part.eq(0)]
        self._crosses(m, crossing, crossed, arrived, blocks, cause)
        c, now = p.crossing, crossing & p.crossing.count.any()
        claim(m, "bound-for", (c.to == output) & (c.vl == outgoing) & (c.blocks == blocks), when=now)
        claim(m, "bound-for", (c.first == (crossed == 0)) & (c.last == (crossed + c.count == blocks)), when=now)
        for index in range(min(p.flits, self.largest)):
            is_last = crossed + index + 1 == blocks
            flit, one = c.flits[index], now & (c.count > index)
            body = at(flits, crossed + index)
            header = self._header(body, channel, outgoing) if index == 0 else body
            expected = Mux((crossed == 0) & (index == 0), header, body)
            claim(m, "crosses-unchanged", flit[2:] == expected, when=one)
            claim(m, "crosses-unchanged", flit[:2] == Cat(is_last, (crossed == 0) & (index == 0)), when=one)
        left, came, crossed_before = Signal(2), Signal(4), Signal()
        m.d.sync += [left.eq(self._moves(crossed, arrived)), came.eq(lane), crossed_before.eq(crossing)]
        claim(m, "returned", p.returned.blocks == left, when=crossed_before)
        claim(m, "returned", p.returned.vl == came, when=crossed_before & left.any())
        self._idle(m)

    def _header(self, body: Value, channel: Value, outgoing: Value) -> Value:
        if self.port.by_channel:
            return Cat(body[:51], channel[4], body[52:60], channel[:4])
        return Cat(body[:60], outgoing[:4])

    def _moves(self, crossed: Value, arrived: Value) -> Value:
        there = Signal(4)
        self.m.d.comb += there.eq(arrived - crossed)
        return Mux(there > self.port.flits, self.port.flits, there)

    def _crosses(
        self, m: Module, crossing: Signal, crossed: Signal, arrived: Value, blocks: Value, cause: Value
    ) -> None:
        """Claim how many flits of the followed packet cross in each cycle."""
        p, moves, ends = self.port, Signal(4), Signal()
        m.d.comb += [moves.eq(self._moves(crossed, arrived)), ends.eq(crossing & (crossed + moves == blocks))]
        self.claim(m, "crosses", p.crossing.count == moves, when=crossing & ~cause.any())
        self.claim(m, "drops-cross-nowhere", ~p.crossing.count.any(), when=crossing & cause.any())
        self.claim(m, "takes-part-again", p.free == ends, when=crossing)
        with m.If(crossing):
            m.d.sync += [crossed.eq(crossed + moves), crossing.eq(~ends)]

    def _idle(self, m: Module) -> None:
        """Claim that an input without a crossing packet is free, and lets nothing cross."""
        p, busy, was = self.port, Signal(), Signal()
        with m.If(p.granted):
            m.d.sync += busy.eq(1)
        with m.Elif(p.free):
            m.d.sync += busy.eq(0)
        m.d.sync += was.eq(busy)
        self.claim(m, "takes-part-again", p.free, when=~busy)
        self.claim(m, "crosses", ~p.crossing.count.any(), when=~busy)
        self.claim(m, "returned", ~Cat(p.returned.blocks, p.returned.vl).any(), when=~was)
