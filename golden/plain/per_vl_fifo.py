"""Plain switches with a crossbar port per VL and request queues: IBS-PQ1, IBS-PQ2, IBS-P3, IBS-P4.

The rules are in ``docs/ib_switch.md``.
"""

from __future__ import annotations

from vlane.golden.plain.link import Egress, Sizes
from vlane.golden.plain.network import CrossbarPort, Grant, Input, Switch, Tables

Pair = tuple[int, int]
"""A (port, VL) pair."""


class PerVLFifoSwitch(Switch):
    """A switch in which every (output, VL) has a request queue (IBS-PQ1, IBS-PQ2, IBS-P3, IBS-P4)."""

    def __init__(self, number: int, tables: Tables, sizes: Sizes, inputs: list[Input], outputs: list[Egress]) -> None:
        assert sizes.are_static, "a crossbar port per VL and buffers that lanes share"
        super().__init__(number, tables, sizes, inputs, outputs)
        self.queues: dict[Pair, list[Pair]] = {}
        self.joined: dict[Pair, int] = {}
        self.granted_in: dict[Pair, int] = {}

    def join(self, now: int) -> None:
        """Append the requests of this cycle, by input, then by incoming VL (IBS-PQ1).

        Packets to be dropped make no request.
        """
        for candidate in self.firsts(now):
            pair = (candidate.port, candidate.lane)
            if candidate.output is None or pair in self.joined:
                continue
            takes_part_from, _ = self.inputs[candidate.port].heads[candidate.lane][0]
            assert now == max(takes_part_from, self.granted_in.get(pair, -1) + 1), "a request that joins late"
            self.joined[pair] = now
            self.queues.setdefault((candidate.output, candidate.out_lane), []).append(pair)
        for queue in self.queues.values():
            order = [(self.joined[pair], *pair) for pair in queue]
            assert order == sorted(order), "requests out of order"

    def decide(self, now: int) -> list[Grant]:
        """Return the packets granted now: all drops (IBS-P4), and one for each (output, VL) (IBS-PQ2)."""
        candidates = {(candidate.port, candidate.lane): candidate for candidate in self.firsts(now)}
        granted = [
            candidate for candidate in candidates.values() if candidate.output is None and self.is_free(now, candidate)
        ]
        waiting = [pair for queue in self.queues.values() for pair in queue]
        assert sorted(waiting) == sorted(pair for pair, candidate in candidates.items() if candidate.output is not None)
        for queue in self.queues.values():
            for pair in queue:
                if self._may_cross(now, candidates[pair]):
                    granted.append(candidates[pair])
                    break
        return granted

    def grant(self, now: int, grant: Grant) -> None:
        """Start to move a packet from the next cycle on and remove its request from the queue."""
        pair = (grant.port, grant.lane)
        if grant.output is not None:
            self.queues[grant.output, grant.out_lane].remove(pair)
            del self.joined[pair]
        self.granted_in[pair] = now
        super().grant(now, grant)  # it also moves round-robin pointers, which request queues do not use

    def ports(self, candidate: Grant) -> list[CrossbarPort]:
        """Return the crossbar ports of a packet: (input, VL), and (output, VL) unless it is dropped."""
        output: list[CrossbarPort] = (
            [] if candidate.output is None else [("output", candidate.output, candidate.out_lane)]
        )
        return [("input", candidate.port, candidate.lane), *output]

    def _may_cross(self, now: int, candidate: Grant) -> bool:
        assert candidate.output is not None
        room = self.outputs[candidate.output].room
        return self.is_free(now, candidate) and room.fits(candidate.out_lane, candidate.packet.blocks)
