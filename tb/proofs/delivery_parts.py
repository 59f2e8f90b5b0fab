"""What a packet meets on its way through a switch, in the proofs of delivery: a link, a queue of heads, a crossing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Array, Assume, Cat, Fragment, Module, Mux, Signal, Value
from vlane.hdl.links.link import blocks_of
from vlane.tb.proofs.inside import contents, inside
from vlane.tb.proofs.properties import Gathered

__all__ = ["Arriving", "Crossing", "Heads", "one_of"]


class Arriving:
    """What comes on a link: whole packets, each on one lane. That they are is assumed.

    Parameters
    ----------
    m : Module
        In which an account of it is kept.
    number : int
        Of the port.
    rx : LinkSignature
        The link.
    port : SwitchInput
        The input.
    kept : Value
        Its register that tells whether the flits of the packet that comes are let in.

    Attributes
    ----------
    opened, lane, size : Signal
        The first flits of a packet came, and more are to come; its lane; its size.
    left, written : Value
        Flits that are to come, and that came.
    kept, keeps : Value
        Its flits are let in; likewise the one that comes in this cycle.
    arrived : Signal
        A packet's first flit was let in in the cycle before.
    """

    def __init__(self, m: Module, number: int, rx: Any, port: Any, kept: Value) -> None:
        self.left, self.size = Signal(8, name=f"left_{number}"), Signal(8, name=f"size_{number}")
        self.lane, self.arrived = Signal.like(rx.vl, name=f"lane_{number}"), Signal(name=f"arrived_{number}")
        self.opened, self.kept = self.left.any(), kept
        self.written = (self.size - self.left)[:8]
        self.keeps = rx.valid & Mux(rx.first, port.storage.accepted, kept)
        blocks = blocks_of(rx.data)
        m.d.comb += [
            Assume(~rx.valid | (rx.first == ~self.opened)),
            Assume(~rx.valid | (rx.last == Mux(rx.first, blocks == 1, self.left == 1))),
            Assume(~rx.valid | rx.first | (rx.vl == self.lane)),
        ]
        m.d.sync += self.arrived.eq(rx.valid & rx.first & self.keeps)
        with m.If(rx.valid):
            m.d.sync += self.left.eq(Mux(rx.first, blocks, self.left) - 1)
        with m.If(rx.valid & rx.first):
            m.d.sync += [self.size.eq(blocks), self.lane.eq(rx.vl)]


class Heads:
    """A FIFO of heads inside a switch: how many are there, and its entries, oldest first.

    Parameters
    ----------
    claim : Gathered
        Collector of the claims: that its pointers and its level correspond.
    statement : str
        Property under which that is claimed.
    fragment : Fragment
        The elaborated switch.
    path : sequence of str
        Names of the submodules on the way to the FIFO.
    depth : int
        Of the FIFO.
    """

    def __init__(self, claim: Gathered, statement: str, fragment: Fragment, path: Sequence[str], depth: int) -> None:
        part = fragment
        for each in path:
            part = part.find_subfragment(each)
        self.level, self.depth = inside(part, "level"), depth
        entries = Array(contents(part, "storage"))
        if depth == 1:
            self.entries = list(entries)
            claim(statement, self.level <= depth)
            return
        consume, produce = inside(part, "consume"), inside(part, "produce")
        self.entries = [entries[self._around(consume + place)] for place in range(depth)]
        pointers = (consume < depth) & (produce == self._around(consume + self.level))
        claim(statement, (self.level <= depth) & pointers)

    def _around(self, place: Value) -> Value:
        return Mux(place >= self.depth, place - self.depth, place)


@dataclass(frozen=True, slots=True)
class Crossing:
    """A packet that is being taken out of a buffer, if one is.

    Parameters
    ----------
    busy : Value
        Whether one is.
    gone : Value
        How many of its flits have left.
    size : Value
        Of the packet.
    lane : Value
        To which it crosses.
    ends : Value
        Its last flit crosses in this cycle.
    """

    busy: Value
    gone: Value
    size: Value
    lane: Value
    ends: Value

    def to(self, there: Value) -> Crossing:
        """Return the same, if it is for some place."""
        return replace(self, busy=self.busy & there)


def one_of(m: Module, packets: Sequence[Crossing]) -> Crossing:
    """Return the one packet that is there, if one is."""
    names = ("gone", "size", "lane", "ends")
    found = {name: Value.cast(getattr(packets[0], name)) for name in names}
    for packet in packets[1:]:
        found = {name: Mux(packet.busy, getattr(packet, name), found[name]) for name in names}
    made = {name: Signal(len(value), name=f"coming_{name}") for name, value in found.items()}
    m.d.comb += [made[name].eq(value) for name, value in found.items()]
    return Crossing(Cat(packet.busy for packet in packets).any(), **made)
