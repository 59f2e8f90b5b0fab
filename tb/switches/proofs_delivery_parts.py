"""Stations of a packet's path through a switch in the delivery proofs: link, queue of heads, crossing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Array, Assume, Cat, Fragment, Module, Mux, Signal, Value

from vlane.hdl.links.link import blocks_of
from vlane.tb.machinery.proofs.inside import inner_signal, memory_entries
from vlane.tb.machinery.proofs.properties import MergedClaims
from vlane.tb.switches.proofs_flit_chain import INDEX_BITS, FlitChain
from vlane.tb.tables.proofs_tables import at, wrapped


class ArrivingPackets:
    """Packets that arrive on a link. Assumption: the packets are whole, each on one lane.

    Parameters
    ----------
    m : Module
        Module to which the model is added.
    port_number : int
        Number of the port.
    rx : LinkSignature
        Link on which the packets arrive.
    port : SwitchInput
        Input of the switch.
    kept : Value
        Register of the input that stores whether the arriving packet is accepted.

    Attributes
    ----------
    opened : Signal
        A packet has begun to arrive and is incomplete.
    lane : Signal
        Lane of the arriving packet.
    size : Signal
        Size of the arriving packet in flits.
    left : Value
        Number of flits of the packet that are still to arrive.
    written : Value
        Number of flits of the packet that have arrived.
    kept : Value
        The arriving packet is accepted.
    keeps : Value
        The flit of this cycle is accepted.
    arrived : Signal
        A packet's first flit was accepted in the previous cycle.
    """

    def __init__(self, m: Module, port_number: int, rx: Any, port: Any, kept: Value) -> None:
        self.left, self.size = Signal(8, name=f"left_{port_number}"), Signal(8, name=f"size_{port_number}")
        self.lane, self.arrived = Signal.like(rx.vl, name=f"lane_{port_number}"), Signal(name=f"arrived_{port_number}")
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


class HeadPackets:
    """Head records of a lane in order: packet being read, packets in the FIFO, packet on its way to the FIFO.

    Each record is a sequence of values; the first value is the packet's size.

    Parameters
    ----------
    claim : MergedClaims
        Collector of the claims about the FIFO's pointers and level.
    statement : str
        Property to which the claims belong.
    fragment : Fragment
        Elaborated switch.
    path : sequence of str
        Names of the submodules on the path to the FIFO.
    depth : int
        Depth of the FIFO.

    Attributes
    ----------
    level : Value
        Number of heads in the FIFO.
    entries : list of Value
        Entries of the FIFO, oldest first; the first ``level`` are valid.
    any_there : Value
        The lane has at least one head; set by ``correspond``.
    """

    def __init__(
        self, claim: MergedClaims, statement: str, fragment: Fragment, path: Sequence[str], depth: int
    ) -> None:
        self._claim, self._statement = claim, statement
        self.level = inner_signal(fragment, "level", *path)
        self.entries = memory_entries(fragment, *path, "storage")
        if depth > 1:
            stored, (consume, produce) = (
                Array(self.entries),
                (inner_signal(fragment, name, *path) for name in ("consume", "produce")),
            )
            self.entries = [stored[wrapped(consume + place, depth)] for place in range(depth)]
            claim(statement, (consume < depth) & (produce == wrapped(consume + self.level, depth)))
        claim(statement, self.level <= depth)

    def correspond(
        self,
        m: Module,
        chain: FlitChain,
        taken: Value,
        departed: Value,
        arrives: Value,
        expected: PacketSets,
        queued: Sequence[Sequence[Value]],
    ) -> list[tuple[Value, ...]]:
        """Claim that every packet of a lane has a head with the right size, and return each flit's head values.

        Parameters
        ----------
        m : Module
            Module in which packets are numbered.
        chain : FlitChain
            Flits of the lane.
        taken : Value
            A packet is being read.
        departed : Value
            Number of flits of the packet being read that have left.
        arrives : Value
            A head is on its way to the FIFO.
        expected : PacketSets
            Values of the head being read, and of the arriving one.
        queued : sequence of sequence of Value
            Values of the FIFO's entries.
        """
        claim, fresh = self._claim, taken & ~departed.any()
        self.any_there = taken | self.level.any() | arrives
        claim(self._statement, chain.begun == self.level + fresh + arrives)
        found, before = [], Value.cast(0)
        for place, (first, last, index) in enumerate(zip(chain.first, chain.last, chain.index, strict=True)):
            number = Signal(INDEX_BITS, name="number_of")
            before = before + first
            m.d.comb += number.eq(before - fresh)
            own = [Mux(number == 0, *both) for both in zip(expected.taken, expected.new, strict=True)]
            for entry, values in enumerate(queued):
                is_its = (number == entry + 1) & (self.level > entry)
                own = [Mux(is_its, value, other) for value, other in zip(values, own, strict=True)]
            there = chain.held > place
            claim(self._statement, (index < own[0]) & (last == (index + 1 == own[0])), when=there)
            claim(self._statement, taken, when=there & (number == 0))
            found.append(tuple(own))
        return found

    def newest(self, arrives: Value, expected: PacketSets, queued: Sequence[Sequence[Value]]) -> tuple[Value, ...]:
        """Return the head record of the lane's newest packet (parameters as in ``correspond``)."""
        return tuple(
            Mux(arrives, new, Mux(self.level == 0, taken, at(values, self.level - 1)))
            for taken, new, values in zip(expected.taken, expected.new, zip(*queued, strict=True), strict=True)
        )


@dataclass(frozen=True, slots=True)
class PacketSets:
    """Head records outside the FIFO: the packet being read and the packet that just arrived.

    Parameters
    ----------
    taken : sequence of Value
        Values of the packet being read.
    new : sequence of Value
        Values of the packet that arrived in the previous cycle.
    """

    taken: Sequence[Value]
    new: Sequence[Value]


@dataclass(frozen=True, slots=True)
class CrossingPacket:
    """The packet that a reader transfers from a buffer to an output, if any.

    Parameters
    ----------
    busy : Value
        Whether there is one.
    gone : Value
        Number of its flits that have left.
    size : Value
        Size of the packet, in blocks.
    lane, output : Value
        Lane and output to which it crosses.
    ends : Value
        Its last flit crosses in this cycle.
    """

    busy: Value
    gone: Value
    size: Value
    lane: Value
    output: Value
    ends: Value

    def to(self, there: Value) -> CrossingPacket:
        """Return the crossing packet, with ``busy`` cleared unless ``there`` is set."""
        return replace(self, busy=self.busy & there)


def one_of(m: Module, packets: Sequence[CrossingPacket]) -> CrossingPacket:
    """Return the busy packet among crossing packets of which at most one is busy."""
    names = ("gone", "size", "lane", "output", "ends")
    found = {name: Value.cast(getattr(packets[0], name)) for name in names}
    for packet in packets[1:]:
        found = {name: Mux(packet.busy, getattr(packet, name), found[name]) for name in names}
    made = {name: Signal(len(value), name=f"coming_{name}") for name, value in found.items()}
    m.d.comb += [made[name].eq(value) for name, value in found.items()]
    return CrossingPacket(Cat(packet.busy for packet in packets).any(), **made)
