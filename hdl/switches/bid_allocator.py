"""Decision of bids: each output grants the bid of the input served least recently."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.least_recent import LeastRecent
from vlane.hdl.common.select import any_of, equals, one_of


class BidAllocator(wiring.Component):
    """Decide the bids of a cycle (IBF-3, ``docs/fast_switch.md``). Latency 0.

    Parameters
    ----------
    ports : int
        Number of inputs, and of outputs.
    largest : int
        Size of the largest packet.

    Members
    -------
    valid : In(ports)
        By input: there is a bid.
    follows : In(ports)
        By input: the bid is refused with the input's last bid.
    drop : In(ports)
        By input: the packet of the bid is to be dropped.
    free : In(ports)
        Inputs that take part.
    to : In(ArrayLayout(ports, ports))
        By input: output of the bid, one-hot; 0 if its packet drops.
    blocks : In(ArrayLayout(range(largest + 1), ports))
        By input: size of the packet.
    granted : Out(ports)
        Inputs whose bid is granted.
    source : Out(ArrayLayout(ports, ports))
        By output: input whose bid is granted, one-hot; 0 if none.
    free_soon : Out(ports)
        Outputs that take part two cycles later, as far as known.
    """

    latency = 0

    def __init__(self, *, ports: int, largest: int) -> None:
        self.ports, self.largest = ports, largest
        by_port = data.ArrayLayout(ports, ports)
        super().__init__(
            {
                "valid": In(ports),
                "follows": In(ports),
                "drop": In(ports),
                "free": In(ports),
                "to": In(by_port),
                "blocks": In(data.ArrayLayout(range(largest + 1), ports)),
                "granted": Out(ports),
                "source": Out(by_port),
                "free_soon": Out(ports),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        ports = range(self.ports)
        refused, asks = Signal(self.ports), Signal(self.ports)
        is_short = Cat(equals(self.blocks[port], 1) for port in ports)
        m.d.comb += asks.eq(self.valid & self.free & ~(self.follows & refused))
        m.d.sync += refused.eq(self.valid & ~self.granted)
        for output in ports:
            m.submodules[f"inputs_{output}"] = turns = LeastRecent(self.ports)
            left = Signal(range(self.largest + 1), name=f"left_{output}")
            is_free = Signal(init=1, name=f"is_free_{output}")
            m.d.comb += [
                turns.eligible.eq(Mux(is_free, asks & Cat(self.to[port][output] for port in ports), 0)),
                turns.served.eq(turns.chosen),
                self.source[output].eq(turns.chosen),
                self.free_soon[output].eq(left <= 2),
            ]
            with m.If(turns.chosen.any()):
                m.d.sync += [
                    left.eq(one_of(turns.chosen, (self.blocks[port] - 1 for port in ports))),
                    is_free.eq((turns.chosen & is_short).any()),
                ]
            with m.Else():
                m.d.sync += [left.eq(left - left.any()), is_free.eq(left <= 1)]
        # A chosen bid asks, so only dropping packets need the test again.
        m.d.comb += self.granted.eq(
            (asks & self.drop) | Cat(any_of(self.source[output][port] for output in ports) for port in ports)
        )
        return m
