"""Proofs of occupied write ports and of packet sizes in order, next to the buffers of a switch."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from vlane.tb.machinery.proofs.properties import Properties, free_inputs

DEPTH = 5
"""Depth of the proven queue of sizes, in packets."""


class WritePortProperties(Properties):
    """Check the busy state of a write port against a model of the packet that uses the port.

    Assumption: no packet is granted a busy port.

    Parameters
    ----------
    write_port : WritePort
        The component.
    """

    statements: ClassVar = {
        "write-port-busy": "A write port is busy from the cycle after a packet's grant until its last flit arrives, "
        "and may be granted again in that cycle.",
        "write-port-lane": "While it is busy, the lane of that packet, and no other, is closed to the other write "
        "ports.",
    }
    depth = 4

    def __init__(self, write_port: Any) -> None:
        super().__init__()
        self.write_port = write_port

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.write_port)

    def elaborate(self, _platform: object) -> Module:
        m, w, claim = Module(), self.write_port, self.claim
        m.submodules.write_port = w
        busy, lane = Signal(), Signal.like(w.vl)
        m.d.comb += [Assume(~w.enters | ~busy | w.ends), Assume(w.vl < w.vls)]
        with m.If(w.ends):
            m.d.sync += busy.eq(0)
        with m.If(w.enters):
            m.d.sync += [busy.eq(1), lane.eq(w.vl)]
        claim(m, "write-port-busy", ~w.free, when=busy & ~w.ends)
        claim(m, "write-port-busy", w.free, when=~busy | w.ends)
        claim(m, "write-port-lane", w.writes == (1 << lane)[: w.vls], when=busy & ~w.ends)
        claim(m, "write-port-lane", ~w.writes.any(), when=~busy | w.ends)
        return m


class SizeQueueProperties(Properties):
    """Check a queue of packet sizes against a model of plain registers.

    Assumption: a size is written only if there is space, and read only if there is one.

    Parameters
    ----------
    queue : SizeQueue
        The component.
    """

    statements: ClassVar = {
        "head-size": "A lane's head is present from the cycle after it entered, with its own size, in the order in "
        "which packets entered.",
        "behind-size": "A second packet is present once it has entered, with its own size.",
    }
    bounded = 10

    def __init__(self, queue: Any) -> None:
        super().__init__()
        self.queue = queue

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.queue)

    def elaborate(self, _platform: object) -> Module:
        m, q, claim = Module(), self.queue, self.claim
        m.submodules.queue = q
        count, sizes = Signal(range(DEPTH + 1)), [Signal.like(q.size, name=f"size_{each}") for each in range(DEPTH)]
        left = Signal(range(DEPTH + 1))
        m.d.comb += [Assume(~q.comes | (count < DEPTH)), Assume(~q.leaves | count.any()), left.eq(count - q.leaves)]
        m.d.sync += count.eq(left + q.comes)
        for place, size in enumerate(sizes):
            after = sizes[place + 1] if place + 1 < DEPTH else size
            m.d.sync += size.eq(Mux(q.comes & (left == place), q.size, Mux(q.leaves, after, size)))
        both = Cat(q.comes, q.leaves).all()
        claim(m, "head-size", q.there == count.any())
        claim(m, "head-size", q.head == sizes[0], when=count.any())
        claim(m, "head-size", q.head == sizes[0], when=(count == DEPTH) & q.leaves)
        claim(m, "head-size", q.head == sizes[0], when=(count == 1) & both)
        claim(m, "behind-size", q.follows == (count > 1))
        claim(m, "behind-size", q.behind == sizes[1], when=count > 1)
        return m
