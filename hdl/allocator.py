"""Two-stage allocation: a VL per input, then an input per output, both in turns."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from vlane.hdl.list_search import ListSearch
from vlane.hdl.parameters import check_range
from vlane.hdl.select import bit_of, one_of

__all__ = ["Allocator"]

_MAX_PORTS = 64
_MAX_VLS = 32


class Allocator(wiring.Component):
    """Which packets cross from the next cycle on (``docs/ib_switch.md``, S2 to S4, and the turns of S10).

    Latency 0. After reset VL 0 and input 0 are first.

    Parameters
    ----------
    ports : int
        Inputs, and outputs, 2 to 64.
    vls : int
        Lanes, 1 to 32.

    Members
    -------
    valid : In(ArrayLayout(vls, ports))
        By input, a bit per lane: its first packet may take part.
    drop : In(ArrayLayout(vls, ports))
        That packet goes nowhere.
    output : In(ArrayLayout(range(ports), ports * vls))
        By input and lane: where it goes.
    following : In(ArrayLayout(4, ports * vls))
        By input and lane: its outgoing lane.
    input_free, output_free : In(ports)
        Ports that may take part.
    room : In(ArrayLayout(vls, ports))
        By output, a bit per lane: its buffer has room for the largest packet.
    granted : Out(ports)
        Inputs whose packet crosses from the next cycle on.
    lane : Out(ArrayLayout(vls, ports))
        By input: the lane it chose, one bit.
    source : Out(ArrayLayout(ports, ports))
        By output: the input whose packet it takes, one bit; none if it takes none.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If it is out of range.
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
                "following": In(data.ArrayLayout(4, ports * vls)),
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
            m.submodules[f"lanes_{port}"] = search = ListSearch(self.vls)
            last = Signal(range(max(2, self.vls)), name=f"last_lane_{port}", init=self.vls - 1)
            able = Cat(
                self.drop[port][lane] | bit_of(takes, Cat(self.following[place][: self._lane_bits], self.output[place]))
                for lane, place in enumerate(places)
            )
            chosen_drops, output = Signal(name=f"drops_{port}"), Signal(range(self.ports), name=f"output_{port}")
            m.d.comb += [
                search.eligible.eq(Mux(self.input_free[port], self.valid[port] & able, 0)),
                search.pointer.eq(last),
                search.weight_left.eq(0),
                self.lane[port].eq(search.chosen),
                chosen_drops.eq((search.chosen & self.drop[port]).any()),
                output.eq(one_of(search.chosen, (self.output[place] for place in places))),
            ]
            with m.If(self.granted[port]):
                m.d.sync += last.eq(search.entry)
            drops.append(chosen_drops)
            wishes.append(Mux(search.found & ~chosen_drops, 1 << output, 0)[: self.ports])
        for output in range(self.ports):
            m.submodules[f"inputs_{output}"] = search = ListSearch(self.ports)
            last = Signal(range(self.ports), name=f"last_input_{output}", init=self.ports - 1)
            m.d.comb += [
                search.eligible.eq(Cat(wish[output] for wish in wishes)),
                search.pointer.eq(last),
                search.weight_left.eq(0),
                self.source[output].eq(search.chosen),
            ]
            with m.If(search.found):
                m.d.sync += last.eq(search.entry)
        for port, drop in enumerate(drops):
            m.d.comb += self.granted[port].eq(
                drop | Cat(self.source[output][port] for output in range(self.ports)).any()
            )
        return m

    @property
    def _lane_bits(self) -> int:
        return max(1, (self.vls - 1).bit_length())

    def _takes(self, m: Module) -> Signal:
        """Return a bit per output and lane, lanes first: the output is free and has room."""
        stride = 1 << self._lane_bits
        takes = Signal(self.ports * stride)
        m.d.comb += takes.eq(
            Cat(
                Cat(Mux(self.output_free[output], self.room[output], 0), Const(0, stride - self.vls))
                for output in range(self.ports)
            )
        )
        return takes
