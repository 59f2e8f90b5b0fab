"""Round robin: the first eligible requester after the one served last."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.select import any_of, number_of

_GROUP = 4
"""Requesters per group: a group's own choice is a function of 8 bits."""


class RoundRobin(wiring.Component):
    """Round-robin selection within the cycle. After reset, requester 0 is first.

    The turn is a mask of the requesters after the one served last. Requesters stand in groups of four. Each group
    chooses on its own: its first eligible requester of the mask, or else its first eligible one. The choice is right
    whenever the group is selected, because only the group of the requester served last has requesters on both sides
    of the turn. The first group with an eligible requester of the mask is selected, or else the first group with any.
    A value per requester passes through the same groups while they are being selected.

    Parameters
    ----------
    count : int
        Number of requesters, 1 to 64.
    value_bits : int
        Width of the values; 0 for none.

    Members
    -------
    eligible : In(count)
        Requesters that can be served.
    served : In(1)
        The chosen requester is served; from the next cycle on the search starts behind it.
    found : Out(1)
        At least one requester is eligible.
    chosen : Out(count)
        The chosen requester, one-hot; 0 if none is eligible.
    values : In(ArrayLayout(value_bits, count))
        With ``value_bits`` only: a value per requester.
    value : Out(value_bits)
        With ``value_bits`` only: the value of the chosen requester; if none is eligible, that of requester 0.
    """

    def __init__(self, count: int, value_bits: int = 0) -> None:
        self.count, self.value_bits = count, value_bits
        values = {"values": In(data.ArrayLayout(value_bits, count)), "value": Out(value_bits)} if value_bits else {}
        super().__init__({"eligible": In(count), "served": In(1), "found": Out(1), "chosen": Out(count), **values})
        self.behind = Signal(count)
        """The requesters after the one served last."""

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        groups = [slice(first, min(first + _GROUP, self.count)) for first in range(0, self.count, _GROUP)]
        firsts, there, turns, values = [], [], [], []
        for number, group in enumerate(groups):
            here, later = self.eligible[group], self.eligible[group] & self.behind[group]
            first = Signal(len(here), name=f"first_{number}")
            m.d.comb += first.eq(Mux(later.any(), _lowest(later), _lowest(here)))
            firsts.append(first)
            there.append(here.any())
            turns.append(later.any())
            if self.value_bits:
                each = [self.values[index] for index in range(group.start, group.stop)]
                values.append(_picked(number_of(first), each))
        selected = Signal(len(groups))
        ahead = Signal(len(groups))
        before = Signal(len(groups))
        able = Signal(len(groups))
        m.d.comb += [
            ahead.eq(Cat(turns)),
            able.eq(Cat(there)),
            before.eq(Mux(ahead.any(), _before(m, "ahead", ahead), _before(m, "able", able))),
            selected.eq(Mux(ahead.any(), ahead, able) & ~before),
            self.found.eq(able.any()),
            self.chosen.eq(Cat(Mux(selected[number], first, 0) for number, first in enumerate(firsts))),
        ]
        if self.value_bits:
            m.d.comb += self.value.eq(_picked(number_of(selected), values))
        with m.If(self.served):
            m.d.sync += self.behind.eq(
                Cat(
                    before[number] | (selected[number] & any_of(first[:place]))
                    for number, first in enumerate(firsts)
                    for place in range(len(first))
                )
            )
        return m


def _picked(index: Value, values: Sequence[Value]) -> Value:
    """Return ``values[index]`` by a tree of multiplexers. The index must be below the number of values."""
    if len(values) == 1:
        return values[0]
    half = 1 << (len(values) - 1).bit_length() - 1
    return Mux(index[half.bit_length() - 1], _picked(index, values[half:]), _picked(index, values[:half]))


def _before(m: Module, name: str, bits: Signal) -> Signal:
    """Return, for each bit, whether a lower one is set: a parallel prefix of logarithmic depth."""
    reached: Value = bits
    distance = 1
    while distance < len(bits):
        step = Signal(len(bits), name=f"{name}_{distance}")
        m.d.comb += step.eq(reached | (reached << distance))
        reached, distance = step, distance * 2
    below = Signal(len(bits), name=f"{name}_below")
    m.d.comb += below.eq(reached << 1)
    return below


def _lowest(bits: Value) -> Value:
    """Return the lowest set bit as a one-hot value, without a carry chain."""
    return Cat(bits[place] & ~any_of(bits[:place]) for place in range(len(bits)))
