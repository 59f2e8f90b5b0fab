"""What is done to a plain network while it runs, from "Faults" of ``docs/network.md`` and IBS-C6 alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple


class Span(NamedTuple):
    """So many cycles from one on in which a switch's port is stalled or loses FCPs; ports from 0."""

    cycle: int
    cycles: int
    switch: int
    port: int

    def covers(self, now: int) -> bool:
        """Tell whether a cycle is one of them."""
        return self.cycle <= now < self.cycle + self.cycles


class Rewrite(NamedTuple):
    """A write of a switch's forwarding table: for heads that arrive in this cycle or later; 255 for no port."""

    cycle: int
    switch: int
    lid: int
    port: int


class Swap(NamedTuple):
    """Another table that a switch's port has from its first free cycle on; ``new_serve`` makes a scheduler with it."""

    cycle: int
    switch: int
    port: int
    new_serve: Callable[[], Any]


@dataclass(frozen=True)
class Faults:
    """Links that stall, FCPs that are lost, forwarding tables that are written, tables that are swapped."""

    stalls: tuple[Span, ...] = ()
    losses: tuple[Span, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    swaps: tuple[Swap, ...] = ()

    def stalls_of(self, switch: int, port: int) -> tuple[Span, ...]:
        """Return the stalls of a port's outgoing link."""
        return tuple(each for each in self.stalls if (each.switch, each.port) == (switch, port))

    def losses_of(self, switch: int, port: int) -> tuple[Span, ...]:
        """Return when the FCPs that a port sends are lost."""
        return tuple(each for each in self.losses if (each.switch, each.port) == (switch, port))

    def swaps_of(self, switch: int, port: int) -> list[Swap]:
        """Return the swaps of a port's tables, by cycle."""
        swaps = [each for each in self.swaps if (each.switch, each.port) == (switch, port)]
        return sorted(swaps, key=lambda each: each.cycle)

    def port_of(self, table: int, switch: int, lid: int, arrived: int) -> int:
        """Return the port that a LID has for a head that arrived in a cycle; ``table`` is what was there at first."""
        written = [each for each in self.rewrites if (each.switch, each.lid) == (switch, lid)]
        before = [each for each in written if each.cycle <= arrived]
        return max(before, key=lambda each: each.cycle).port if before else table
