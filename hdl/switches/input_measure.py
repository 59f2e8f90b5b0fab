"""Blocks queued at a switch's inputs per output and VL: the marking measure if the crossbar is no faster than links."""

from __future__ import annotations

from functools import reduce
from operator import add

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.links.link import lane_shape

_BEHIND = 2
"""Pipeline depth of the sums: the sweep is two places ahead."""


class InputMeasure(wiring.Component):
    """Sum the blocks that wait for one (output, lane) per cycle, sweeping over all pairs (``docs/congestion.md``).

    The heads of cycle s are reflected in ``measure`` from cycle s + 3 on. In the first cycle after reset the sweep is
    at place 0.

    Parameters
    ----------
    ports : int
        Number of inputs, and of outputs, at least 2.
    vls : int
        Number of lanes, at least 2.
    maximum : int
        Blocks of a lane's share of an input buffer; the measure saturates at this value.

    Members
    -------
    valid : In(ArrayLayout(vls, ports))
        By input, one bit per lane: a first packet takes part in the allocation.
    drop : In(ArrayLayout(vls, ports))
        By input, one bit per lane: a first packet is to be dropped.
    output : In(ArrayLayout(range(ports), pairs))
        By input and lane: output of the first packet.
    outgoing_vl : In(ArrayLayout(lane_shape(vls), pairs))
        By input and lane: outgoing lane of the first packet.
    waiting : In(ArrayLayout(range(maximum + 1), pairs))
        By input and lane: blocks of the waiting packets in the previous cycle.
    measure : Out(ArrayLayout(range(maximum + 1), pairs))
        By output and lane: blocks that wait in queues whose first packet goes to this pair.
    """

    def __init__(self, *, ports: int, vls: int, maximum: int) -> None:
        self.ports, self.vls, self.maximum = ports, vls, maximum
        by_port, pairs = data.ArrayLayout(vls, ports), ports * vls
        blocks = data.ArrayLayout(range(maximum + 1), pairs)
        super().__init__(
            {
                "valid": In(by_port),
                "drop": In(by_port),
                "output": In(data.ArrayLayout(range(ports), pairs)),
                "outgoing_vl": In(data.ArrayLayout(lane_shape(vls), pairs)),
                "waiting": In(blocks),
                "measure": Out(blocks),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        output, lane = self._sweep(m)
        sums = [self._of_input(m, port, output, lane) for port in range(self.ports)]
        total = Signal(range(self.ports * self.vls * self.maximum + 1))
        found = Signal.like(self.measure[0])
        m.d.comb += [total.eq(_sum(sums)), found.eq(Mux(total < self.maximum, total, self.maximum))]
        places = self.ports * self.vls
        turn = Signal(places, init=1)  # one-hot copy of the place, so that writing a measure needs no comparator
        m.d.sync += turn.eq(turn.rotate_left(1))
        for pair in range(places):
            with m.If(turn[(pair + _BEHIND) % places]):
                m.d.sync += self.measure[pair].eq(found)
        return m

    def _sweep(self, m: Module) -> tuple[Signal, Signal]:
        """Return the current output and lane of the sweep."""
        output = Signal(range(self.ports))
        lane = Signal(range(self.vls))
        with m.If(lane == self.vls - 1):
            m.d.sync += [lane.eq(0), output.eq(Mux(output == self.ports - 1, 0, output + 1))]
        with m.Else():
            m.d.sync += lane.eq(lane + 1)
        return output, lane

    def _of_input(self, m: Module, port: int, output: Signal, lane: Signal) -> Signal:
        """Return the blocks waiting at an input for the place of two cycles ago."""
        there = []
        for own in range(self.vls):
            pair = port * self.vls + own
            goes = Signal(name=f"goes_{pair}")
            place = Cat(self.outgoing_vl[pair], self.output[pair])
            m.d.sync += goes.eq(self.valid[port][own] & ~self.drop[port][own] & (place == Cat(lane, output)))
            there.append(Mux(goes, self.waiting[pair], 0))
        blocks = Signal(range(self.vls * self.maximum + 1), name=f"sum_{port}")
        m.d.sync += blocks.eq(_sum(there))
        return blocks


def _sum(values: list[Value]) -> Value:
    """Return the sum of the values, added in pairs."""
    while len(values) > 1:
        values = [reduce(add, values[at : at + 2]) for at in range(0, len(values), 2)]
    return values[0]
