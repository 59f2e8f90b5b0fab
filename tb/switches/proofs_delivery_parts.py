"""What a packet meets on its way through a switch, in the proofs of delivery: a link, a queue of heads, a crossing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Array, Assume, Cat, Fragment, Module, Mux, Signal, Value

from vlane.hdl.links.link import blocks_of
from vlane.tb.machinery.proofs.inside import contents, inside
from vlane.tb.machinery.proofs.properties import Gathered
from vlane.tb.switches.proofs_flit_chain import INDEX_BITS, FlitChain
from vlane.tb.tables.proofs_tables import at, wrapped


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
    """The heads of a lane of a buffer: of the packet that is taken out, those in a FIFO, and one that comes there.

    Each is told by some values, of which the first is the packet's size.

    Parameters
    ----------
    claim : Gathered
        Collector of the claims: that the FIFO's pointers and its level correspond.
    statement : str
        Property under which things are claimed.
    fragment : Fragment
        The elaborated switch.
    path : sequence of str
        Names of the submodules on the way to the FIFO.
    depth : int
        Of the FIFO.

    Attributes
    ----------
    level : Value
        Heads in the FIFO.
    entries : list of Value
        Of the FIFO, oldest first; as many as the level are there.
    any_there : Value
        There is a head at all; after ``correspond``.
    """

    def __init__(self, claim: Gathered, statement: str, fragment: Fragment, path: Sequence[str], depth: int) -> None:
        self._claim, self._statement = claim, statement
        self.level = inside(fragment, "level", *path)
        self.entries = contents(fragment, *path, "storage")
        if depth > 1:
            stored, (consume, produce) = (
                Array(self.entries),
                (inside(fragment, name, *path) for name in ("consume", "produce")),
            )
            self.entries = [stored[wrapped(consume + place, depth)] for place in range(depth)]
            claim(statement, (consume < depth) & (produce == wrapped(consume + self.level, depth)))
        claim(statement, self.level <= depth)

    def correspond(
        self,
        m: Module,
        chain: FlitChain,
        taken: Value,
        gone: Value,
        arrives: Value,
        told: TakenAndNew,
        queued: Sequence[Sequence[Value]],
    ) -> list[tuple[Value, ...]]:
        """Claim that every packet of a lane has its head, with its size; return what is told of each flit's.

        Parameters
        ----------
        m : Module
            In which they are numbered.
        chain : FlitChain
            The flits of the lane.
        taken, gone : Value
            A packet is being taken out, and as many of its flits have left.
        arrives : Value
            A head is on its way to the FIFO.
        told : TakenAndNew
            What is told of the head that is taken out, and of the one that arrives.
        queued : sequence of sequence of Value
            What is told of the entries.
        """
        claim, fresh = self._claim, taken & ~gone.any()
        self.any_there = taken | self.level.any() | arrives
        claim(self._statement, chain.begun == self.level + fresh + arrives)
        found, before = [], Value.cast(0)
        for place, (first, last, index) in enumerate(zip(chain.first, chain.last, chain.index, strict=True)):
            number = Signal(INDEX_BITS, name="number_of")
            before = before + first
            m.d.comb += number.eq(before - fresh)
            own = [Mux(number == 0, *both) for both in zip(told.taken, told.new, strict=True)]
            for entry, values in enumerate(queued):
                is_its = (number == entry + 1) & (self.level > entry)
                own = [Mux(is_its, value, other) for value, other in zip(values, own, strict=True)]
            there = chain.held > place
            claim(self._statement, (index < own[0]) & (last == (index + 1 == own[0])), when=there)
            claim(self._statement, taken, when=there & (number == 0))
            found.append(tuple(own))
        return found

    def newest(self, arrives: Value, told: TakenAndNew, queued: Sequence[Sequence[Value]]) -> tuple[Value, ...]:
        """Return what is told of the packet of the lane that came last; parameters are those of ``correspond``."""
        return tuple(
            Mux(arrives, new, Mux(self.level == 0, taken, at(values, self.level - 1)))
            for taken, new, values in zip(told.taken, told.new, zip(*queued, strict=True), strict=True)
        )


@dataclass(frozen=True, slots=True)
class TakenAndNew:
    """What is told of a head that is not in the FIFO.

    Parameters
    ----------
    taken : sequence of Value
        Of the packet that is being taken out.
    new : sequence of Value
        Of the one that came in the cycle before.
    """

    taken: Sequence[Value]
    new: Sequence[Value]


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
    lane, output : Value
        To which it crosses.
    ends : Value
        Its last flit crosses in this cycle.
    """

    busy: Value
    gone: Value
    size: Value
    lane: Value
    output: Value
    ends: Value

    def to(self, there: Value) -> Crossing:
        """Return the same, if it is for some place."""
        return replace(self, busy=self.busy & there)


def one_of(m: Module, packets: Sequence[Crossing]) -> Crossing:
    """Return the one packet that is there, if one is."""
    names = ("gone", "size", "lane", "output", "ends")
    found = {name: Value.cast(getattr(packets[0], name)) for name in names}
    for packet in packets[1:]:
        found = {name: Mux(packet.busy, getattr(packet, name), found[name]) for name in names}
    made = {name: Signal(len(value), name=f"coming_{name}") for name, value in found.items()}
    m.d.comb += [made[name].eq(value) for name, value in found.items()]
    return Crossing(Cat(packet.busy for packet in packets).any(), **made)
