"""Plain switches with a request queue at every output: IBS-Q1 to IBS-Q3 of ``docs/ib_switch.md``.

The queues replace the two-stage allocation of IBS-2 to IBS-4 and the round robin of IBS-10.
"""

from __future__ import annotations

from typing import NamedTuple

from vlane.golden.plain.link import Egress, Sizes
from vlane.golden.plain.network import Grant, Input, Switch, Tables


class Request(NamedTuple):
    """A first packet that waits for its output: the cycle in which the request joined, and the requested grant."""

    joined_cycle: int
    candidate: Grant


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
        waiting = {(candidate.port, candidate.lane) for queue in self.requests for _, candidate in queue}
        for candidate in self.firsts(now):
            if candidate.output is not None and (candidate.port, candidate.lane) not in waiting:
                takes_part_from, _ = self.inputs[candidate.port].heads[candidate.lane][0]
                after_the_one_before = self.granted_in.get((candidate.port, candidate.lane), -1) + 1
                assert now == max(takes_part_from, after_the_one_before), "a request that joins late"
                self.requests[candidate.output].append(Request(now, candidate))
        self._check_requests(now)

    def decide(self, now: int) -> list[Grant]:
        """Return the packets granted in this cycle: drops first, then output by output (IBS-Q2, IBS-Q3)."""
        granted: dict[int, Grant] = {}
        for candidate in self.firsts(now):
            if candidate.output is None and self.is_free(now, candidate):
                granted.setdefault(candidate.port, candidate)
        for output, queue in enumerate(self.requests):
            for _, candidate in queue:
                if candidate.port in granted or not self.is_free(now, candidate):
                    continue
                if self.outputs[output].room.fits(candidate.out_lane, candidate.packet.blocks):
                    granted[candidate.port] = candidate
                    break
        return list(granted.values())

    def grant(self, now: int, grant: Grant) -> None:
        """Start to move a packet from the next cycle on and remove its request from the queue."""
        if grant.output is not None:
            queue = self.requests[grant.output]
            queue.remove(next(request for request in queue if request.candidate == grant))
        self.granted_in[grant.port, grant.lane] = now
        super().grant(now, grant)  # it also moves round-robin pointers, which request queues do not use

    def _check_requests(self, now: int) -> None:
        """Assert that the queues hold one request for each first packet with an output, in the order of IBS-Q1."""
        for output, queue in enumerate(self.requests):
            assert all(candidate.output == output for _, candidate in queue), "a request for another output"
            places = [(joined, candidate.port, candidate.lane) for joined, candidate in queue]
            assert places == sorted(places), "requests out of order"
            assert all(joined <= now for joined, _, _ in places), "a request from the future"
        waiting = [(candidate.port, candidate.lane) for queue in self.requests for _, candidate in queue]
        assert len(waiting) == len(set(waiting)), "two requests of one VL of an input"
        candidates = {candidate for queue in self.requests for _, candidate in queue}
        firsts = {candidate for candidate in self.firsts(now) if candidate.output is not None}
        assert candidates == firsts, "requests that are not those of the first packets"
