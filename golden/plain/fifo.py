"""Plain switches with a request queue at every output: IBS-Q1 to IBS-Q3 of ``docs/ib_switch.md``.

The queues replace the two-stage allocation of IBS-2 to IBS-4 and the round robin of IBS-10.
"""

from __future__ import annotations

from typing import NamedTuple

from vlane.golden.plain.link import Egress, Sizes
from vlane.golden.plain.network import Grant, Input, Switch, Tables


class Request(NamedTuple):
    """A first packet that waits for its output: the cycle in which the request joined, and the requested grant."""

    joined: int
    wish: Grant


class FifoSwitch(Switch):
    """A switch with a request queue at every output (IBS-Q1 to IBS-Q3)."""

    def __init__(self, number: int, tables: Tables, sizes: Sizes, inputs: list[Input], outputs: list[Egress]) -> None:
        super().__init__(number, tables, sizes, inputs, outputs)
        self.requests: list[list[Request]] = [[] for _ in outputs]
        self.granted_in: dict[tuple[int, int], int] = {}

    def join(self, now: int) -> None:
        """Append the requests of this cycle, by input, then by incoming VL (IBS-Q1).

        Packets to be dropped make no request.
        """
        waiting = {(wish.port, wish.lane) for queue in self.requests for _, wish in queue}
        for wish in self.firsts(now):
            if wish.output is not None and (wish.port, wish.lane) not in waiting:
                takes_part_from, _ = self.inputs[wish.port].heads[wish.lane][0]
                after_the_one_before = self.granted_in.get((wish.port, wish.lane), -1) + 1
                assert now == max(takes_part_from, after_the_one_before), "a request that joins late"
                self.requests[wish.output].append(Request(now, wish))
        self._check_requests(now)

    def decide(self, now: int) -> list[Grant]:
        """Return the packets granted in this cycle: drops first, then output by output (IBS-Q2, IBS-Q3)."""
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
        """Start to move a packet from the next cycle on and remove its request from the queue."""
        if grant.output is not None:
            queue = self.requests[grant.output]
            queue.remove(next(request for request in queue if request.wish == grant))
        self.granted_in[grant.port, grant.lane] = now
        super().grant(now, grant)  # it also moves round-robin pointers, which request queues do not use

    def _check_requests(self, now: int) -> None:
        """Assert that the queues hold one request for each first packet with an output, in the order of IBS-Q1."""
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
