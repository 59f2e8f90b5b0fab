"""Plain switches with a queue of requests at every output, from ``docs/ib_switch.md`` (IBS-Q1 to IBS-Q3) alone."""

from __future__ import annotations

from typing import NamedTuple

from vlane.golden.plain.link import Egress, Sizes
from vlane.golden.plain.network import Grant, Input, Switch, Tables


class Request(NamedTuple):
    """A first packet that waits for its output: the cycle in which it joined, and what it would be granted."""

    joined: int
    wish: Grant


class FifoSwitch(Switch):
    """A switch with a queue of requests at every output (IBS-Q1 to IBS-Q3), not two stages (IBS-2 to IBS-4, IBS-10)."""

    def __init__(self, number: int, tables: Tables, sizes: Sizes, inputs: list[Input], outputs: list[Egress]) -> None:
        super().__init__(number, tables, sizes, inputs, outputs)
        self.requests: list[list[Request]] = [[] for _ in outputs]
        self.granted_in: dict[tuple[int, int], int] = {}

    def join(self, now: int) -> None:
        """Append the requests of this cycle: by input, then by incoming VL (IBS-Q1). A packet that drops has none."""
        waiting = {(wish.port, wish.lane) for queue in self.requests for _, wish in queue}
        for wish in self.firsts(now):
            if wish.output is not None and (wish.port, wish.lane) not in waiting:
                takes_part_from, _ = self.inputs[wish.port].heads[wish.lane][0]
                after_the_one_before = self.granted_in.get((wish.port, wish.lane), -1) + 1
                assert now == max(takes_part_from, after_the_one_before), "a request that joins late"
                self.requests[wish.output].append(Request(now, wish))
        self._check_requests(now)

    def decide(self, now: int) -> list[Grant]:
        """Return the packets granted in this cycle: those that drop, then output by output (IBS-Q2, IBS-Q3)."""
        granted: dict[int, Grant] = {}
        for wish in self.firsts(now):
            if wish.output is None and self.is_free(now, wish):
                granted.setdefault(wish.port, wish)
        for output, queue in enumerate(self.requests):
            for _, wish in queue:
                if wish.port in granted or not self.is_free(now, wish):
                    continue
                if self.outputs[output].room.fits(wish.out_lane, wish.packet.blocks):
                    granted[wish.port] = wish
                    break
        return list(granted.values())

    def grant(self, now: int, grant: Grant) -> None:
        """Begin to cross from the next cycle on; the request leaves its queue, the others keep their places."""
        if grant.output is not None:
            queue = self.requests[grant.output]
            queue.remove(next(request for request in queue if request.wish == grant))
        self.granted_in[grant.port, grant.lane] = now
        super().grant(now, grant)  # the turns that it keeps are of no use here

    def _check_requests(self, now: int) -> None:
        """Check that every first packet with an output waits there, once, and nothing else; in the order of IBS-Q1."""
        for output, queue in enumerate(self.requests):
            assert all(wish.output == output for _, wish in queue), "a request for another output"
            places = [(joined, wish.port, wish.lane) for joined, wish in queue]
            assert places == sorted(places), "requests out of order"
            assert all(joined <= now for joined, _, _ in places), "a request from the future"
        waiting = [(wish.port, wish.lane) for queue in self.requests for _, wish in queue]
        assert len(waiting) == len(set(waiting)), "two requests of one VL of an input"
        wishes = {wish for queue in self.requests for _, wish in queue}
        firsts = {wish for wish in self.firsts(now) if wish.output is not None}
        assert wishes == firsts, "requests that are not those of the first packets"
