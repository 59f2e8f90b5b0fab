"""Bounded proofs of small switches: an accepted packet leaves once, at its output and on its lane, or drops."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any, ClassVar

from amaranth.hdl import Array, Assume, Cat, Module, Signal, Value, unsigned
from vlane.hdl.buffers.vlbuffer import VLBuffer
from vlane.tb.proofs.properties import Properties, free_inputs
from vlane.tb.proofs.prove_tables import constant

__all__ = ["DEPTH", "TAG", "DeliveryProperties", "tag"]

DEPTH = 12
_TAG_BITS = 16
TAG = (1 << _TAG_BITS) - 1
"""Source LID of the packet that is followed, and of no other."""
_LOOKED_UP, _TOLD = 1, 2
"""Cycles from a head's arrival to its look-up, and to the report of a drop."""


class DeliveryProperties(Properties):
    """The switch beside any one packet that is followed, for all that may happen in ``DEPTH`` cycles from reset.

    Packets have one flit. The followed one, of any sender and cycle, has a source LID of its own, which passes through.

    Parameters
    ----------
    switch : IBSwitch
        The component; its largest packet has one block.
    """

    statements: ClassVar = {
        "once": "An accepted packet that does not drop leaves once; until then a flit is held in the switch.",
        "where": "It leaves at the output and on the lane that the tables gave for it, and its header names that lane.",
        "dropped-never-leaves": "A packet that drops never leaves, and none leaves before it was let in.",
    }
    bounded = DEPTH
    """Cycles from reset that are looked at: its tables are programmed in the first of them."""
    unfolds_memories = True

    def __init__(self, switch: Any) -> None:
        super().__init__()
        self.switch = switch
        self.m = Module()
        self.port = constant(self.m, "followed_port", 6, 0, switch.ports - 1)
        self.begins = Signal()

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.switch), self.port, self.begins]

    def elaborate(self, _platform: object) -> Module:
        m, switch = self.m, self.switch
        m.submodules.switch = switch
        sent, comes, let_in, dropped = Signal(), Signal(), Signal(), Signal()
        m.d.comb += comes.eq(self.begins & ~sent)
        with m.If(comes):
            m.d.sync += sent.eq(1)
        for number, rx in enumerate(switch.rx):
            followed = comes & (self.port == number)
            m.d.comb += [
                Assume(~rx.valid | (rx.first & rx.last)),
                Assume(~followed | rx.valid),
                Assume((tag(rx.data) == TAG) == followed),
            ]
        now = [Signal(name=f"followed_{ago}") for ago in range(_TOLD + 1)]
        m.d.comb += now[0].eq(comes)
        m.d.sync += [after.eq(before) for before, after in itertools.pairwise(now)]
        cause = Signal.like(Value.cast(switch.dropped[0]))
        m.d.comb += cause.eq(Array(Value.cast(each) for each in switch.dropped)[self.port])
        with m.If(now[_TOLD]):
            m.d.sync += [let_in.eq(cause == 0), dropped.eq(cause != 0)]

        to, lane, name = self._looked_up(m, now[_LOOKED_UP])
        out = Signal(unsigned(2))
        leaves = Cat(tx.valid & (tag(tx.data) == TAG) for tx in switch.tx)
        m.d.sync += out.eq(out + leaves.any())
        claim = self.claim
        claim(m, "once", out + sum(leaves) == 1, when=leaves.any())
        claim(m, "once", out == 1, when=let_in & ~self._holds_any())
        claim(m, "where", leaves == (1 << to)[: switch.ports], when=leaves.any())
        for number, tx in enumerate(switch.tx):
            claim(m, "where", (tx.vl == lane) & (self._named(tx.data) == name), when=leaves[number])
        claim(m, "dropped-never-leaves", let_in, when=leaves.any())
        claim(m, "dropped-never-leaves", ~leaves.any(), when=dropped)
        return m

    def _looked_up(self, m: Module, now: Signal) -> tuple[Value, Value, Value]:
        """Return where the tables send the packet, on which lane, and what its header is to name.

        They hold from the cycle after its look-up on.
        """
        to = self._kept(m, now, "to", [each.output for each in self.switch.inputs])
        lane = self._kept(m, now, "lane", [each.outgoing_vl for each in self.switch.inputs])
        return to, lane, lane

    def _kept(self, m: Module, now: Signal, name: str, told: Iterable[Value]) -> Signal:
        """Return what was told of the packet, by input of the switch."""
        by_input = [Value.cast(each) for each in told]
        kept = Signal(max(len(each) for each in by_input), name=f"kept_{name}")
        with m.If(now):
            m.d.sync += kept.eq(Array(by_input)[self.port])
        return kept

    def _named(self, data: Value) -> Value:
        """Return the lane that the local route header names, in its first bits (IBA 7.7)."""
        return data[len(data) - 4 :]

    def _buffers(self) -> list[VLBuffer]:
        """Return the buffers in which a flit may be."""
        return [port.storage for port in (*self.switch.inputs, *self.switch.outputs)]

    def _holds_any(self) -> Value:
        """Return whether any flit is in the switch, on its outputs too."""
        held = [buffer.held[lane].any() for buffer in self._buffers() for lane in range(buffer.vls)]
        return reduce(or_, [*held, *(tx.valid for tx in self.switch.tx)])


def tag(data: Value) -> Value:
    """Return the source LID that the local route header names, in its last bits (IBA 7.7)."""
    return data[len(data) - 64 :][:_TAG_BITS]
