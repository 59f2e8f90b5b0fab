"""Plain switches with several allocation passes or a faster crossbar: IBS-I1, IBS-I2, IBS-S1 to IBS-S3.

The rules are in ``docs/ib_switch.md``; all other rules are those of ``golden/plain/network.py``.
"""

from __future__ import annotations

from vlane.golden.plain.link import Egress, Packet, Sizes, round_robin
from vlane.golden.plain.network import CrossbarPort, Grant, Input, Switch, Tables


class FasterSwitch(Switch):
    """A switch with several allocation passes per cycle (``iterations``) or a faster crossbar (``speed``).

    Inputs that were refused request again in the next pass (IBS-I1, IBS-I2). Up to ``speed`` flits of a packet cross
    in a cycle, if they have arrived (IBS-S1, IBS-S2).
    """

    iterations = 1
    speed = 1

    def __init__(self, number: int, tables: Tables, sizes: Sizes, inputs: list[Input], outputs: list[Egress]) -> None:
        super().__init__(number, tables, sizes, inputs, outputs)
        self.granted_first: list[Grant] = []
        self.left: dict[Packet, int] = {}
        self.crossing_now: dict[Packet, int] = {}

    def decide(self, now: int) -> list[Grant]:
        """Return the packets granted in all passes of a cycle."""
        self.crossing_now = {
            grant.packet: self._flits_there(grant) for source in self.inputs for grant in source.crossing.values()
        }
        granted: list[Grant] = []
        for number in range(self.iterations):
            granted += self._granted_among_the_others(now, granted)
            if number == 0:
                self.granted_first = granted.copy()
        return granted

    def _granted_among_the_others(self, now: int, granted: list[Grant]) -> list[Grant]:
        """Return the grants of one pass, among inputs and outputs without a grant in this cycle (IBS-I1)."""
        inputs = {grant.port for grant in granted}
        outputs = {grant.output for grant in granted if grant.output is not None}
        candidates: dict[int | None, list[Grant]] = {}
        for port in set(range(len(self.inputs))) - inputs:
            for candidate in self.candidates(port, now):
                if candidate.output not in outputs:
                    candidates.setdefault(candidate.output, []).append(candidate)
                    break
        chosen = candidates.pop(None, [])
        for output, wanting in candidates.items():
            assert output is not None
            turns = list(round_robin(self.last_input[output], len(self.inputs)))
            chosen.append(min(wanting, key=lambda candidate: turns.index(candidate.port)))
        return chosen

    def is_free(self, now: int, candidate: Grant) -> bool:  # noqa: ARG002 - as the others'
        """Return whether the crossbar ports of a packet are idle or released in this cycle (IBS-S2)."""
        held: set[CrossbarPort] = set()
        for source in self.inputs:
            for grant in source.crossing.values():
                if self.left[grant.packet] > self.crossing_now.get(grant.packet, 0):
                    held.update(self.ports(grant))
        return held.isdisjoint(self.ports(candidate))

    def _flits_there(self, grant: Grant) -> int:
        """Return the number of flits of a packet that cross in this cycle, from the state at its start (IBS-S1)."""
        there = sum(flit.packet is grant.packet for flit in self.inputs[grant.port].buffer[grant.lane])
        return min(there, self.speed)

    def grant(self, now: int, grant: Grant) -> None:
        """Start to move a packet from the next cycle on."""
        super().grant(now, grant)
        self.left[grant.packet] = grant.packet.flits

    def move(self, now: int) -> None:
        """Move the flits that were present at the start of the cycle through the crossbar (IBS-S1)."""
        for source in self.inputs:
            for grant in list(source.crossing.values()):
                for _ in range(self.crossing_now[grant.packet]):
                    self.cross(now, grant)
                    self.left[grant.packet] -= 1

    def move_pointers(self, grant: Grant) -> None:
        """Advance the round-robin pointers for grants of the first pass only (IBS-I2)."""
        if grant in self.granted_first:
            super().move_pointers(grant)


def faster(iterations: int = 1, speed: int = 1) -> type[Switch]:
    """Return the switch class with the given number of passes and crossbar speed."""

    class Chosen(FasterSwitch):
        pass

    Chosen.iterations, Chosen.speed = iterations, speed
    return Chosen
