"""Plain switches that allocate in several passes, from ``docs/ib_switch.md`` (IBS-I1, IBS-I2) alone."""

from __future__ import annotations

from tests.plain_link import Egress, Sizes, round_robin
from tests.plain_network import Grant, Input, Switch, Tables

__all__ = ["FasterSwitch", "faster"]


class FasterSwitch(Switch):
    """A switch whose refused inputs ask again in the same cycle, ``iterations`` passes in all (IBS-I1, IBS-I2)."""

    iterations = 1

    def __init__(self, number: int, tables: Tables, sizes: Sizes, inputs: list[Input], outputs: list[Egress]) -> None:
        super().__init__(number, tables, sizes, inputs, outputs)
        self.granted_first: list[Grant] = []

    def decide(self, now: int) -> list[Grant]:
        """Return the packets granted in all passes of a cycle."""
        granted: list[Grant] = []
        for number in range(self.iterations):
            granted += self._granted_among_the_others(now, granted)
            if number == 0:
                self.granted_first = granted.copy()
        return granted

    def _granted_among_the_others(self, now: int, granted: list[Grant]) -> list[Grant]:
        """Return what one pass grants, by inputs and outputs that have nothing yet (IBS-I1)."""
        inputs = {grant.port for grant in granted}
        outputs = {grant.output for grant in granted if grant.output is not None}
        wishes: dict[int | None, list[Grant]] = {}
        for port in set(range(len(self.inputs))) - inputs:
            for wish in self.candidates(port, now):
                if wish.output not in outputs:
                    wishes.setdefault(wish.output, []).append(wish)
                    break
        chosen = wishes.pop(None, [])
        for output, wanting in wishes.items():
            assert output is not None
            turns = list(round_robin(self.last_input[output], len(self.inputs)))
            chosen.append(min(wanting, key=lambda wish: turns.index(wish.port)))
        return chosen

    def move_pointers(self, grant: Grant) -> None:
        """Let the turns go on after a grant of the first pass, and no other (IBS-I2)."""
        if grant in self.granted_first:
            super().move_pointers(grant)


def faster(iterations: int = 1) -> type[Switch]:
    """Return the switch that makes so many passes."""

    class Chosen(FasterSwitch):
        pass

    Chosen.iterations = iterations
    return Chosen
