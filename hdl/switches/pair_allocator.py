"""Allocation of a crossbar with a port per VL: each (output, VL) accepts the first requesting (input, VL)."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Shape, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.select import number_of
from vlane.hdl.links.link import lane_shape
from vlane.hdl.switches.pair_turns import PairTurns
from vlane.hdl.switches.request_ages import RequestAges
from vlane.parameters import check_range

_MAX_PORTS = 64
_MAX_VLS = 32


class PairAllocator(wiring.Component):
    """Select the packets that cross from the next cycle on (``docs/ib_switch.md``, IBS-P1, -P2, -P4, IBS-PQ1, -PQ2).

    A pair is a (port, VL), numbered port * vls + VL. Latency 0. After reset pair 0 is first, and no request is queued.

    Parameters
    ----------
    ports : int
        Number of inputs, and of outputs, 2 to 64.
    vls : int
        Number of lanes, 1 to 32.
    blocks : int
        Blocks of each output pair's share of its buffer.
    largest : int
        Size of the largest packet, up to ``blocks``.
    queues : bool
        Whether requests are served in the order of their arrival and checked with their real sizes; otherwise round
        robin, and checked with the largest size.

    Members
    -------
    valid : In(ArrayLayout(vls, ports))
        By input, one bit per lane: the first packet takes part in the allocation.
    drop : In(ArrayLayout(vls, ports))
        By input, one bit per lane: the first packet is to be dropped.
    output : In(ArrayLayout(range(ports), pairs))
        By input pair: output of the first packet.
    outgoing_vl : In(ArrayLayout(lane_shape(vls), pairs))
        By input pair: outgoing lane of the first packet.
    sizes : In(ArrayLayout(range(largest + 1), pairs))
        By input pair: size of the first packet, at least 1. Only with ``queues``.
    input_free, output_free : In(ArrayLayout(vls, ports))
        By port, one bit per lane: pairs that take part in the allocation.
    left : In(ArrayLayout(range(blocks + 1), pairs))
        By output pair: unreserved blocks of its share of the buffer.
    granted : Out(ArrayLayout(vls, ports))
        By input, one bit per lane: packets that cross, or are dropped, from the next cycle on.
    takes : Out(pairs)
        Output pairs that accept a packet.
    source : Out(ArrayLayout(range(pairs), pairs))
        By output pair, the input pair of that packet.

    Raises
    ------
    TypeError
        If a parameter has the wrong type.
    ValueError
        If a parameter is out of range.
    """

    latency = 0

    def __init__(self, *, ports: int, vls: int, blocks: int, largest: int, queues: bool) -> None:
        check_range("ports", ports, 2, _MAX_PORTS)
        check_range("vls", vls, 1, _MAX_VLS)
        check_range("largest", largest, 1, blocks)
        self.ports, self.vls, self.blocks, self.largest, self.queues = ports, vls, blocks, largest, queues
        self.pairs = pairs = ports * vls
        by_port = data.ArrayLayout(vls, ports)
        sizes = {"sizes": In(data.ArrayLayout(range(largest + 1), pairs))} if queues else {}
        super().__init__(
            {
                "valid": In(by_port),
                "drop": In(by_port),
                "output": In(data.ArrayLayout(range(ports), pairs)),
                "outgoing_vl": In(data.ArrayLayout(lane_shape(vls), pairs)),
                **sizes,
                "input_free": In(by_port),
                "output_free": In(by_port),
                "left": In(data.ArrayLayout(range(blocks + 1), pairs)),
                "granted": Out(by_port),
                "takes": Out(pairs),
                "source": Out(data.ArrayLayout(range(pairs), pairs)),
            }
        )
        self.stride = 1 << Shape.cast(lane_shape(vls)).width
        self.places = self.stride << Shape.cast(range(ports)).width
        self.order = RequestAges(pairs) if queues else PairTurns(pairs, self.places)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.order = self.order
        valid, drop, free = (each.as_value() for each in (self.valid, self.drop, self.input_free))
        place = [Signal(range(self.places), name=f"place_{pair}") for pair in range(self.pairs)]
        chosen = [Signal(self.places, name=f"chosen_{pair}") for pair in range(self.pairs)]
        can = Signal(self.pairs)
        wins = Signal(self.pairs)
        m.d.comb += [
            can.eq(valid & ~drop & free & self._fits(m, place)),
            self.granted.as_value().eq(wins | (valid & drop & free)),
        ]
        for pair, to in enumerate(place):
            ahead = Signal(self.pairs, name=f"ahead_{pair}")
            m.d.comb += [
                to.eq(Cat(self.outgoing_vl[pair], self.output[pair])),
                ahead.eq(Cat(each == to for each in place) & self.order.before[pair]),
                wins[pair].eq(can[pair] & ~(ahead & can).any()),
                chosen[pair].eq(Mux(wins[pair], 1 << to, 0)),
            ]
        for number in range(self.pairs):
            source = Signal(self.pairs, name=f"source_{number}")
            m.d.comb += [
                source.eq(Cat(each[self.place_of(number)] for each in chosen)),
                self.takes[number].eq(source.any()),
                self.source[number].eq(number_of(source)),
            ]
        self._keep_order(m, place, wins)
        return m

    def place_of(self, pair: int) -> int:
        """Return an output pair's number with the lane in the low bits: output * (vls as a power of two) + lane."""
        output, vl = divmod(pair, self.vls)
        return output * self.stride + vl

    def _fits(self, m: Module, place: list[Signal]) -> Signal:
        """Return one bit per input pair: its output pair is free and has space for this packet or for the largest."""
        left = [Signal(range(self.blocks + 1), name=f"left_{each}") for each in range(self.places)]
        for pair in range(self.pairs):
            is_free = self.output_free[pair // self.vls][pair % self.vls]
            m.d.comb += left[self.place_of(pair)].eq(Mux(is_free, self.left[pair], 0))
        fits = Signal(self.pairs)
        for pair, to in enumerate(place):
            size = self.sizes[pair] if self.queues else self.largest
            m.d.comb += fits[pair].eq(size <= Array(left)[to])
        return fits

    def _keep_order(self, m: Module, place: list[Signal], wins: Signal) -> None:
        """Drive the inputs of the request order (turns or ages)."""
        if self.queues:
            there = self.valid.as_value() & ~self.drop.as_value()
            m.d.comb += [self.order.there.eq(there), self.order.served.eq(wins)]
            return
        for pair, to in enumerate(place):
            m.d.comb += self.order.place[pair].eq(to)
        for number in range(self.pairs):
            each = self.place_of(number)
            m.d.comb += [
                self.order.serves[each].eq(self.takes[number]),
                self.order.served[each].eq(self.source[number]),
            ]
