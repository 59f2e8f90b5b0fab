"""Proofs of the allocation of crossbar ports per VL: service, order, and waiting times."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Fragment, Module, Mux, Signal, Value

from vlane.tb.machinery.proofs.inside import inner_signal
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.schedulers.proofs_turns import Turns
from vlane.tb.tables.proofs_tables import at, constant


class PairAllocatorProperties(Properties):
    """Check each output pair against a model of its round robin (IBS-P1, IBS-P2) or queue (IBS-PQ1, IBS-PQ2).

    Assumption, with queues: a request does not change until it is served, and has at least one block.

    Parameters
    ----------
    allocator : PairAllocator
        The component.
    """

    statements: ClassVar = {
        "pair-takes": "An (output, VL) accepts a packet exactly when it is free and has space for a packet that "
        "requests it and whose (input, VL) is free.",
        "pair-turn": "With round robin the accepted packet is the first such packet after the pair accepted last; "
        "there must be space for the largest packet.",
        "pair-turn-moves": "The round robin of an (output, VL) advances with every packet that it accepts, and in no "
        "other cycle.",
        "pair-turn-wait": "A pair whose packet can be accepted is served after at most as many others of that "
        "(output, VL) as there are other pairs.",
        "joins": "A request joins in the first cycle in which its packet takes part, and leaves when it is served.",
        "queue-order": "In a queue, requests are ordered by arrival; those that joined in the same cycle are ordered "
        "by input, then by VL.",
        "queue-first": "With queues an (output, VL) accepts the first request of its queue that can be served: its "
        "(input, VL) is free, and the packet fits with its real size.",
        "queue-wait": "Other requests are served before one that can be served only if they precede it in its queue.",
        "pair-granted": "An (input, VL) is granted exactly when an (output, VL) accepts its packet, or when it is "
        "free and its packet is to be dropped.",
        "one-pair-each": "No packet is accepted twice.",
    }
    depth = 3

    def __init__(self, allocator: Any) -> None:
        super().__init__()
        self.allocator, self.m = allocator, Module()
        pairs = allocator.pairs
        self.watched = constant(self.m, "watched", 6, 0, pairs - 1)
        self.pairs = range(pairs)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.allocator), self.watched]

    def elaborate(self, _platform: object) -> Module:
        m, a, claim = self.m, self.allocator, self.claim
        m.submodules.allocator = fragment = Fragment.get(a, None)
        takes = [[a.takes[to] & (a.source[to] == pair) for pair in self.pairs] for to in self.pairs]
        can = [[self._may_accept(pair, to) for pair in self.pairs] for to in self.pairs]
        for to in self.pairs:
            claim(m, "pair-takes", Cat(can[to]).any(), when=a.takes[to])
            claim(m, "pair-takes", a.takes[to], when=Cat(can[to]).any())
            claim(m, "pair-takes", at(can[to], a.source[to]), when=a.takes[to])
        for pair in self.pairs:
            taken = Cat(takes[to][pair] for to in self.pairs)
            claim(m, "pair-granted", self._bit_of(a.granted, pair) == (taken.any() | self._is_dropped(pair)))
            claim(m, "pair-granted", ~taken.any(), when=self._is_dropped(pair))
            claim(m, "one-pair-each", (taken & (taken - 1)) == 0, when=taken.any())
        if a.queues:
            self._queues(m, fragment, takes, can)
        else:
            self._turns(m, fragment, takes, can)
        return m

    def _bit_of(self, by_port: Any, pair: int) -> Value:
        """Return a pair's bit."""
        bit: Value = by_port[pair // self.allocator.vls][pair % self.allocator.vls]
        return bit

    def _is_dropped(self, pair: int) -> Value:
        """Return whether a packet is dropped now."""
        a = self.allocator
        return self._bit_of(a.valid, pair) & self._bit_of(a.drop, pair) & self._bit_of(a.input_free, pair)

    def _requests(self, pair: int, output_pair: int) -> Value:
        """Return whether a packet that goes to an output pair is present."""
        a = self.allocator
        output, vl = divmod(output_pair, a.vls)
        there = self._bit_of(a.valid, pair) & ~self._bit_of(a.drop, pair)
        return there & (a.output[pair] == output) & (a.outgoing_vl[pair] == vl)

    def _may_accept(self, pair: int, output_pair: int) -> Value:
        """Return whether an output pair may accept the packet."""
        a = self.allocator
        size = a.sizes[pair] if a.queues else a.largest
        free = self._bit_of(a.input_free, pair) & self._bit_of(a.output_free, output_pair)
        can = Signal(name=f"can_{pair}_{output_pair}")
        self.m.d.comb += can.eq(self._requests(pair, output_pair) & free & (size <= a.left[output_pair]))
        return can

    def _turns(self, m: Module, fragment: Any, accepted: list[list[Value]], may_accept: list[list[Value]]) -> None:
        """Claim that each output pair serves round robin."""
        a = self.allocator
        for to in self.pairs:
            turns = Turns(m, f"to_{to}", may_accept[to])
            served = Cat(accepted[to])
            turns.serve(served)
            last = inner_signal(fragment, f"last_{a.place_of(to)}", "order")
            self.claim(m, "pair-turn-moves", turns.is_at(last))
            self.claim(m, "pair-turn", served == turns.expected)
            self.claim(m, "pair-turn", served == turns.expected, when=Cat(may_accept[to]).any())
            passed, bounded = turns.wait(self.watched, at(may_accept[to], self.watched), served)
            self.claim(m, "pair-turn-wait", bounded, when=passed != 0)

    def _queues(self, m: Module, fragment: Any, accepted: list[list[Value]], may_accept: list[list[Value]]) -> None:
        """Claim that each output pair serves its queue, from a model of the number of requests ahead of each."""
        a, claim, count = self.allocator, self.claim, len(self.pairs)
        there = [self._bit_of(a.valid, pair) & ~self._bit_of(a.drop, pair) for pair in self.pairs]
        served = [Cat(accepted[to][pair] for to in self.pairs).any() for pair in self.pairs]
        joined = [Signal(name=f"joined_{pair}") for pair in self.pairs]
        kept = [Signal(range(count + 1), name=f"kept_{pair}") for pair in self.pairs]
        ahead = [Signal(range(count + 1), name=f"ahead_{pair}") for pair in self.pairs]
        were = Signal(range(count + 1))
        m.d.comb += were.eq(sum(joined))
        claim(m, "joins", inner_signal(fragment, "joined", "order") == Cat(joined))
        for pair in self.pairs:
            new = sum((there[other] & ~joined[other] for other in range(pair)), start=Value.cast(0))
            gone = sum(served[other] & (ahead[other] < ahead[pair]) for other in self.pairs if other != pair)
            m.d.comb += ahead[pair].eq(Mux(joined[pair], kept[pair], were + new))
            m.d.sync += [joined[pair].eq(there[pair] & ~served[pair]), kept[pair].eq(ahead[pair] - gone)]
            self._assume_it_stays(m, pair, joined[pair])
            claim(m, "joins", kept[pair] < were, when=joined[pair])
            for other in range(pair):
                both = joined[pair] & joined[other]
                claim(m, "joins", kept[pair] != kept[other], when=both)
                now = there[pair] & there[other]
                claim(m, "queue-order", a.order.before[pair][other] == (ahead[other] < ahead[pair]), when=now)
                claim(m, "queue-order", a.order.before[other][pair] == (ahead[pair] < ahead[other]), when=now)
        for to in self.pairs:
            for pair in self.pairs:
                earlier = [
                    may_accept[to][other] & (ahead[other] < ahead[pair]) for other in self.pairs if other != pair
                ]
                first = may_accept[to][pair] & ~Cat(earlier).any()
                claim(m, "queue-first", accepted[to][pair] == first)
                claim(m, "queue-first", accepted[to][pair], when=first)
                other_is_served = a.takes[to] & (a.source[to] != pair) & may_accept[to][pair]
                before = at(ahead, a.source[to]) < ahead[pair]
                claim(
                    m, "queue-wait", before & self._accepted_requests(to), when=other_is_served & (self.watched == pair)
                )

    def _accepted_requests(self, output_pair: int) -> Value:
        """Return whether the packet that an output pair accepts requests it."""
        return at([self._requests(pair, output_pair) for pair in self.pairs], self.allocator.source[output_pair])

    def _assume_it_stays(self, m: Module, pair: int, joined: Signal) -> None:
        """Assume that a queued request does not change until served."""
        a = self.allocator
        what = Cat(
            self._bit_of(a.valid, pair), self._bit_of(a.drop, pair), a.output[pair], a.outgoing_vl[pair], a.sizes[pair]
        )
        was = Signal(len(what), name=f"was_{pair}")
        m.d.sync += was.eq(what)
        m.d.comb += [Assume(~joined | (what == was)), Assume(a.sizes[pair] > 0)]
