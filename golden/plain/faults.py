"""Faults and table changes of a plain network, from section "Faults" of ``docs/network.md`` (IBS-7, IBS-C6, VLA-16)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple


class Span(NamedTuple):
    """Cycles in which a switch port (from 0) is stalled or loses FCPs: ``cycles`` cycles from ``cycle`` on."""

    cycle: int
    cycles: int
    switch: int
    port: int

    def covers(self, now: int) -> bool:
        """Return whether a cycle lies in the span."""
        return self.cycle <= now < self.cycle + self.cycles


class Rewrite(NamedTuple):
    """A write of a forwarding entry, valid for heads that arrive in ``cycle`` or later. Port 255 is none."""

    cycle: int
    switch: int
    lid: int
    port: int


class Swap(NamedTuple):
    """A table exchange at a switch port in its first free cycle from ``cycle`` on.

    ``new_serve`` constructs a scheduler with the new table.
    """

    cycle: int
    switch: int
    port: int
    new_serve: Callable[[], Any]


@dataclass(frozen=True)
class Faults:
    """Stalled links, lost FCPs, rewritten forwarding entries and exchanged scheduler tables."""

    stalls: tuple[Span, ...] = ()
    losses: tuple[Span, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    swaps: tuple[Swap, ...] = ()

    def stalls_of(self, switch: int, port: int) -> tuple[Span, ...]:
        """Return the stalls of a port's outgoing link."""
        return tuple(each for each in self.stalls if (each.switch, each.port) == (switch, port))

    def losses_of(self, switch: int, port: int) -> tuple[Span, ...]:
        """Return the spans in which FCPs sent by a port are lost."""
        return tuple(each for each in self.losses if (each.switch, each.port) == (switch, port))

    def swaps_of(self, switch: int, port: int) -> list[Swap]:
        """Return the table exchanges of a port, sorted by cycle."""
        swaps = [each for each in self.swaps if (each.switch, each.port) == (switch, port)]
        return sorted(swaps, key=lambda each: each.cycle)

    def port_of(self, table: int, switch: int, lid: int, arrived: int) -> int:
        """Return the output port of a LID for a head that arrived in a cycle. ``table`` is the original entry."""
        written = [each for each in self.rewrites if (each.switch, each.lid) == (switch, lid)]
        before = [each for each in written if each.cycle <= arrived]
        return max(before, key=lambda each: each.cycle).port if before else table
