"""Flits in a lane of a buffer, in a proof: consecutive packets, the first and last of which may be incomplete."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from vlane.hdl.buffers.buffer_geometry import FLAGS
from vlane.tb.buffers.vlbuffer.proofs_account import BufferModel
from vlane.tb.machinery.proofs.properties import MergedClaims

_TAG_BITS = 16
TAG = (1 << _TAG_BITS) - 1
"""Mark of the followed flit only."""
BEHIND = TAG - 1
"""Mark of flits that come after it, on its link and its VL."""
INDEX_BITS = 4
"""Width of the index of a flit in its packet, and of counts of flits."""
CHAIN_STATEMENTS = {
    "whole": "On every link and in every lane of a buffer packets are consecutive, each from its first flit to its "
    "last; a flit leaves with its own index in its packet, and the last one as the last.",
    "in-order": "A flit that arrived after another one on the same link and lane does not leave before it at the "
    "same output and on the same outgoing lane.",
}
"""Properties of a lane."""


def tag(data: Value) -> Value:
    """Return the bits that identify a flit in a proof: the SLID of a header, and the same bits of a body flit."""
    return data[len(data) - 64 :][:_TAG_BITS]


@dataclass(frozen=True, slots=True)
class ChainEnds:
    """Packets at the two ends of a lane.

    Parameters
    ----------
    taken : Value
        A packet is being read.
    gone : Value
        Number of flits of the packet being read that have left.
    comes : Value
        A packet is being written, and its first flit has already been written.
    written : Value
        Number of written flits of this packet.
    """

    taken: Value
    gone: Value
    comes: Value
    written: Value


class FlitChain:
    """Flits of a lane of a buffer, oldest first.

    Parameters
    ----------
    m : Module
        Module to which the claims are added.
    claim : MergedClaims
        Collector of the claims, with ``CHAIN_STATEMENTS``.
    account : BufferModel
        Reference model of the buffer.
    lane : int
        Number of the lane.
    ends : ChainEnds
        Packets at the ends of the lane.

    Attributes
    ----------
    lane : int
        Number of the lane.
    held : Value
        Number of flits.
    first : list of Value
        By position: whether the flit is its packet's first.
    last : list of Value
        By position: whether the flit is its packet's last.
    index : list of Value
        By position: index of the flit in its packet.
    here : list of Value
        By position: whether the followed flit is there.
    behind : list of Value
        By position: whether a flit that came after the followed flit is there.
    begun : Value
        Number of packets whose first flit is there.
    """

    def __init__(self, m: Module, claim: MergedClaims, account: BufferModel, lane: int, ends: ChainEnds) -> None:
        self.lane = lane
        flits, self.held = account.flits[lane], account.held[lane]
        there = [self.held > place for place in range(len(flits))]
        self.first, self.last = ([each & flit[bit] for each, flit in zip(there, flits, strict=True)] for bit in (1, 0))
        self.here, self.behind = (
            [Signal(name=f"{name}_{lane}_{place}") for place in range(len(flits))] for name in ("here", "behind")
        )
        self.index: list[Signal] = []
        at: Value = Mux(ends.taken, ends.gone, 0)
        for place, flit in enumerate(flits):
            marked = tag(flit[FLAGS:])
            index = Signal(INDEX_BITS, name=f"index_{lane}_{place}")
            m.d.comb += [
                self.here[place].eq(there[place] & (marked == TAG)),
                self.behind[place].eq(there[place] & (marked == BEHIND)),
                index.eq(at),
            ]
            self.index.append(index)
            at = Mux(flit[0], 0, index + 1)
        self.begun = sum(self.first)
        self._claim(claim, there, ends)
        most = account.buffer.mtu_flits - 1
        for place, exists in enumerate(there):
            within = (self.index[place] <= most) & (self.last[place] | (self.index[place] != most))
            claim("whole", within, when=exists)

    def _claim(self, claim: MergedClaims, there: list[Value], ends: ChainEnds) -> None:
        begins = ~(ends.taken & ends.gone.any())
        claim("whole", self.first[0] == begins, when=there[0])
        claim("whole", ends.comes, when=~there[0] & ~begins, longer=True)
        claim("whole", ends.taken & (ends.gone == ends.written), when=~there[0] & ends.comes, longer=True)
        claim("whole", there[0], when=ends.taken & ~ends.gone.any())
        for place in range(len(there)):
            is_newest = self.held == place + 1
            claim("whole", self.last[place] == ~ends.comes, when=is_newest)
            claim("whole", self.index[place] + 1 == ends.written, when=is_newest & ends.comes, longer=True)
            later = self.here[place + 1 :]
            if later:
                claim("whole", self.last[place] == self.first[place + 1], when=there[place + 1])
                claim("in-order", ~Cat(later).any(), when=self.behind[place])
