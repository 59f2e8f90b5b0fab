"""Proofs of the decision of bids: ports, order, and least recent service (IBF-3, IBF-5)."""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Fragment, Module, Signal, Value

from vlane.tb.machinery.proofs.inside import inner_signal
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.schedulers.proofs_turns import at_most_one
from vlane.tb.tables.proofs_tables import at, constant


class BidAllocatorProperties(Properties):
    """Check the grants against a model of the ports' busy times and of the service order of two inputs.

    Parameters
    ----------
    allocator : BidAllocator
        The component.
    """

    statements: ClassVar = {
        "bids-only": "Only a bid of an input that takes part is granted.",
        "not-after-refused": "A bid that follows a refused bid is refused.",
        "one-bid": "An output grants one input at most, and only a bid for this output.",
        "bid-busy": "An output grants no bid while the flits of an earlier packet cross.",
        "bid-granted": "An input is granted exactly when an output grants its bid, or its packet drops "
        "and is not refused.",
        "bid-work": "An output that takes part grants a bid if there is one that is not refused.",
        "least-recent": "Of two inputs that bid for an output, the one granted later by this output does not go first.",
        "ranks": "Of any three inputs, an output ranks one first and one last.",
        "known-soon": "An output is announced as free soon exactly if its packet has crossed two cycles later.",
    }

    def __init__(self, allocator: Any) -> None:
        super().__init__()
        self.allocator, self.m = allocator, Module()
        self.output = constant(self.m, "watched_output", 6, 0, allocator.ports - 1)
        self.early = constant(self.m, "watched_input", 6, 0, allocator.ports - 1)
        self.late = constant(self.m, "watched_rival", 6, 0, allocator.ports - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.allocator), self.output, self.early, self.late]

    def elaborate(self, _platform: object) -> Module:
        m, a, claim = self.m, self.allocator, self.claim
        m.submodules.allocator = self.fragment = Fragment.get(a, None)
        ports = range(a.ports)
        m.d.comb += Assume(self.early != self.late)
        refused, had_bid = Signal(a.ports), Signal(a.ports)
        m.d.sync += [refused.eq(a.valid & ~a.granted), had_bid.eq(a.valid)]
        asks = [a.valid[port] & a.free[port] & ~(a.follows[port] & refused[port]) for port in ports]
        for port in ports:
            to = a.to[port]
            m.d.comb += [
                Assume(~to.any() | at_most_one(to)),
                Assume(to.any() == ~a.drop[port]),
                Assume((a.blocks[port] >= 1) & (a.blocks[port] <= a.largest)),
                Assume(~a.follows[port] | had_bid[port]),
            ]
            served = Cat(a.source[output][port] for output in ports)
            claim(m, "bids-only", a.valid[port] & a.free[port], when=a.granted[port])
            claim(m, "not-after-refused", ~a.granted[port], when=a.valid[port] & a.follows[port] & refused[port])
            claim(m, "bid-granted", a.granted[port] == (served.any() | (asks[port] & a.drop[port])))
        for output in ports:
            self._output(m, output, asks)
        return m

    def _output(self, m: Module, output: int, requests: list[Value]) -> None:
        """Claim what an output grants, against a count of the cycles for which it is busy."""
        a, claim, ports = self.allocator, self.claim, range(self.allocator.ports)
        source = a.source[output]
        wants = [requests[port] & a.to[port][output] for port in ports]
        left = Signal(range(a.largest + 1), name=f"busy_{output}")
        size = Signal.like(left, name=f"size_{output}")
        for port in ports:
            with m.If(source[port]):
                m.d.comb += size.eq(a.blocks[port])
            claim(m, "one-bid", wants[port], when=source[port])
        with m.If(source.any()):
            m.d.sync += left.eq(size - 1)
        with m.Elif(left.any()):
            m.d.sync += left.eq(left - 1)
        claim(m, "one-bid", at_most_one(source), when=source.any())
        claim(m, "bid-busy", ~left.any(), when=source.any())
        claim(m, "bid-work", source.any(), when=~left.any() & Cat(wants).any())
        claim(m, "known-soon", a.free_soon[output] == (left <= 2))
        later = Signal(name=f"rival_is_later_{output}")
        with m.If(at(source, self.late)):
            m.d.sync += later.eq(1)
        with m.Elif(at(source, self.early)):
            m.d.sync += later.eq(0)
        for other in ports:
            for one in range(other):
                earlier = inner_signal(self.fragment, f"earlier_{one}_{other}", f"inputs_{output}")
                claim(m, "least-recent", earlier, when=later & (self.early == one) & (self.late == other))
                claim(m, "least-recent", ~earlier, when=later & (self.early == other) & (self.late == one))
        for one, other, third in combinations(ports, 3):
            pairs = ((one, other), (other, third), (one, third))
            ab, bc, ac = (inner_signal(self.fragment, f"earlier_{a}_{b}", f"inputs_{output}") for a, b in pairs)
            claim(m, "ranks", ~((ab & bc & ~ac) | (~ab & ~bc & ac)))
        both = at(wants, self.early) & at(wants, self.late) & later
        claim(m, "least-recent", ~at(source, self.late), when=both & (self.output == output))
