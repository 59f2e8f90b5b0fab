"""Two-stage allocation, both stages round robin: a VL for each input, then an input for each output."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.round_robin import RoundRobin
from vlane.hdl.common.select import bit_of, one_of
from vlane.hdl.links.link import lane_shape
from vlane.parameters import check_range

_MAX_PORTS = 64
_MAX_VLS = 32


class Allocator(wiring.Component):
    """Select the packets that cross from the next cycle on (``docs/ib_switch.md``, IBS-2 to IBS-4, IBS-10).

    Latency 0. After reset VL 0 and input 0 are first.

    Parameters
    ----------
    ports : int
        Number of inputs, and of outputs, 2 to 64.
    vls : int
        Number of lanes, 1 to 32.

    Members
    -------
    valid : In(ArrayLayout(vls, ports))
        By input, one bit per lane: the first packet takes part in the allocation.
    drop : In(ArrayLayout(vls, ports))
        By input, one bit per lane: the first packet is to be dropped.
    output : In(ArrayLayout(range(ports), ports * vls))
        By input and lane: output of the first packet.
    outgoing_vl : In(ArrayLayout(lane_shape(vls), ports * vls))
        By input and lane: outgoing lane of the first packet.
    input_free, output_free : In(ports)
        Ports that take part in the allocation.
    room : In(ArrayLayout(vls, ports))
        By output, one bit per lane: the output's buffer has space for the largest packet.
    granted : Out(ports)
        Inputs whose packet crosses from the next cycle on.
    lane : Out(ArrayLayout(vls, ports))
        By input: selected lane, one-hot.
    source : Out(ArrayLayout(ports, ports))
        By output: input whose packet it accepts, one-hot; 0 if none.

    Raises
    ------
    TypeError
        If a parameter has the wrong type.
    ValueError
        If a parameter is out of range.
    """

    latency = 0

    def __init__(self, *, ports: int, vls: int) -> None:
        check_range("ports", ports, 2, _MAX_PORTS)
        check_range("vls", vls, 1, _MAX_VLS)
        self.ports, self.vls = ports, vls
        by_port = data.ArrayLayout(vls, ports)
        super().__init__(
            {
                "valid": In(by_port),
                "drop": In(by_port),
                "output": In(data.ArrayLayout(range(ports), ports * vls)),
                "outgoing_vl": In(data.ArrayLayout(lane_shape(vls), ports * vls)),
                "input_free": In(ports),
                "output_free": In(ports),
                "room": In(by_port),
                "granted": Out(ports),
                "lane": Out(by_port),
                "source": Out(data.ArrayLayout(ports, ports)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        wishes, drops = [], []
        takes = self._takes(m)
        for port in range(self.ports):
            places = range(port * self.vls, (port + 1) * self.vls)
            m.submodules[f"lanes_{port}"] = turns = RoundRobin(self.vls)
            able = Cat(
                self.drop[port][lane] | bit_of(takes, Cat(self.outgoing_vl[place], self.output[place]))
                for lane, place in enumerate(places)
            )
            chosen_drops = Signal(name=f"drops_{port}")
            output = Signal(range(self.ports), name=f"output_{port}")
            m.d.comb += [
                turns.eligible.eq(Mux(self.input_free[port], self.valid[port] & able, 0)),
                turns.served.eq(self.granted[port]),
                self.lane[port].eq(turns.chosen),
                chosen_drops.eq((turns.chosen & self.drop[port]).any()),
                output.eq(one_of(turns.chosen, (self.output[place] for place in places))),
            ]
            drops.append(chosen_drops)
            wishes.append(Mux(turns.found & ~chosen_drops, 1 << output, 0)[: self.ports])
        for output in range(self.ports):
            m.submodules[f"inputs_{output}"] = turns = RoundRobin(self.ports)
            m.d.comb += [
                turns.eligible.eq(Cat(wish[output] for wish in wishes)),
                turns.served.eq(turns.found),
                self.source[output].eq(turns.chosen),
            ]
        for port, drop in enumerate(drops):
            m.d.comb += self.granted[port].eq(
                drop | Cat(self.source[output][port] for output in range(self.ports)).any()
            )
        return m

    @property
    def _lane_bits(self) -> int:
        return max(1, (self.vls - 1).bit_length())

    def _takes(self, m: Module) -> Signal:
        """Return one bit per output and lane, lane lowest: the output is free and has space."""
        stride = 1 << self._lane_bits
        takes = Signal(self.ports * stride)
        m.d.comb += takes.eq(
            Cat(
                Cat(Mux(self.output_free[output], self.room[output], 0), Const(0, stride - self.vls))
                for output in range(self.ports)
            )
        )
        return takes
