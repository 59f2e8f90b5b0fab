"""Plain switches with a crossbar port per VL: IBS-P1 to IBS-P4 of ``docs/ib_switch.md``."""

from __future__ import annotations

from vlane.golden.plain.link import Egress, Sizes, round_robin
from vlane.golden.plain.network import CrossbarPort, Grant, Input, Switch, Tables


class PerVLSwitch(Switch):
    """A switch in which every (input, VL) and every (output, VL) is a crossbar port (IBS-P1 to IBS-P4)."""

    def __init__(self, number: int, tables: Tables, sizes: Sizes, inputs: list[Input], outputs: list[Egress]) -> None:
        assert sizes.are_static, "a crossbar port per VL and buffers that lanes share"
        super().__init__(number, tables, sizes, inputs, outputs)
        self.pairs = len(inputs) * sizes.lanes
        self.last_pair: dict[tuple[int, int], int] = {}

    def decide(self, now: int) -> list[Grant]:
        """Return the packets granted now: all drops (IBS-P4), and one for each (output, VL) (IBS-P1, IBS-P2)."""
        granted: list[Grant] = []
        candidates: dict[tuple[int, int], dict[int, Grant]] = {}
        for candidate in self.firsts(now):
            if not self.can_cross(now, candidate):
                continue
            if candidate.output is None:
                granted.append(candidate)
            else:
                candidates.setdefault((candidate.output, candidate.out_lane), {})[self._pair(candidate)] = candidate
        for target, by_pair in candidates.items():
            turn = round_robin(self.last_pair.get(target, self.pairs - 1), self.pairs)
            granted.append(next(by_pair[pair] for pair in turn if pair in by_pair))
        return granted

    def ports(self, candidate: Grant) -> list[CrossbarPort]:
        """Return the crossbar ports of a packet: (input, VL), and (output, VL) unless it is dropped."""
        output: list[CrossbarPort] = (
            [] if candidate.output is None else [("output", candidate.output, candidate.out_lane)]
        )
        return [("input", candidate.port, candidate.lane), *output]

    def move_pointers(self, grant: Grant) -> None:
        """Move the round-robin pointer of an (output, VL) after a grant (IBS-P2)."""
        if grant.output is not None:
            self.last_pair[grant.output, grant.out_lane] = self._pair(grant)

    def _pair(self, candidate: Grant) -> int:
        """Return the number of an (input, VL) pair: by input, then by incoming VL (IBS-P2)."""
        return candidate.port * self.sizes.lanes + candidate.lane
