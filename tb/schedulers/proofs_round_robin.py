"""Proofs of round-robin selection within the cycle: the order, and the waiting time."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Module, Value

from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.schedulers.proofs_turns import Turns, at_most_one
from vlane.tb.tables.proofs_tables import at, constant


class RoundRobinProperties(Properties):
    """Check round-robin selection against a reference model of the turns, for one arbitrary waiting requester.

    Assumption: no requester is served in a cycle in which none is eligible.

    Parameters
    ----------
    turns : RoundRobin
        The component.
    """

    statements: ClassVar = {
        "turn-moves": "The search starts after the requester served last; after reset it starts at requester 0.",
        "turn": "The chosen requester is the first eligible one after the one served last; the latter is chosen only "
        "if no other is eligible.",
        "turn-one": "Exactly one requester is chosen when any is eligible, otherwise none.",
        "turn-wait": "A requester that stays eligible is served after at most as many others as there are other "
        "requesters.",
    }
    depth = 4

    def __init__(self, turns: Any) -> None:
        super().__init__()
        self.turns, self.m = turns, Module()
        self.watched = constant(self.m, "watched", 6, 0, turns.count - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.turns), self.watched]

    def elaborate(self, _platform: object) -> Module:
        m, t, claim = self.m, self.turns, self.claim
        m.submodules.turns = t
        account = Turns(m, "turns", list(t.eligible))
        m.d.comb += Assume(~t.served | t.eligible.any())
        served = t.chosen & t.served.replicate(t.count)
        account.serve(served)
        claim(m, "turn-moves", account.is_behind(t.behind))
        claim(m, "turn", t.chosen == account.expected, when=t.eligible.any())
        claim(m, "turn-one", (t.found == t.eligible.any()) & (t.chosen.any() == t.found) & at_most_one(t.chosen))
        passed, bounded = account.wait(self.watched, at(t.eligible, self.watched), served)
        claim(m, "turn-wait", bounded, when=passed != 0)
        return m
