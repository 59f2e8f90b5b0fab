"""What every stimulus is: phases of traffic around a golden block, row by row, rules counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from vlane.golden.rule import Rule
from vlane.tb.model import Field, Words

__all__ = ["Counts", "Layout", "Qualify", "Stimulus", "Stretch", "cut", "cut_whole"]

Layout = Mapping[str, Field]
Counts = NDArray[np.int64]

Qualify = Callable[..., "Stimulus"]
"""Makes the stimulus that qualifies an instance: (parameters, cycles=, seed=, inputs=, outputs=), of exactly that many
cycles. A scheduler may be given ``writes`` too: the table that is programmed instead of random ones."""


class Stretch(Protocol):
    """A phase: whatever has a length; ``wild`` ones hold what the contract forbids."""

    @property
    def cycles(self) -> int:
        """Length."""
        ...

    @property
    def wild(self) -> bool:
        """Whether its rules are counted apart."""
        ...


class Stimulus(ABC):
    """A source of rows for the lockstep: golden, what surrounds it, and a plan of phases.

    Parameters
    ----------
    phases : sequence of Stretch
        Run in order.
    rules : sequence of Rule
        What is counted.

    Attributes
    ----------
    applicable : frozenset of str
        Rules that this plan is meant to show; none unless whoever made the plan says so.
    audit : dict of str to int
        What was counted beside the comparison; empty if nothing is.
    """

    def __init__(self, phases: Sequence[Any], rules: Sequence[Rule]) -> None:
        self.phases, self.rules = tuple(phases), tuple(rules)
        self.applicable: frozenset[str] = frozenset()
        self.audit: dict[str, int] = {}
        self._names = [rule.name for rule in rules]
        self._counts = np.zeros(len(rules), np.int64)
        self._apart = np.zeros(len(rules), np.int64)
        self._phase, self._done = 0, 0

    @property
    def cycles(self) -> int:
        """Cycles of the whole plan."""
        return sum(phase.cycles for phase in self.phases)

    @property
    @abstractmethod
    def decisions(self) -> int:
        """What was decided, looked up or moved so far."""

    def rule_counts(self) -> dict[str, int]:
        """Return how often each rule happened so far, wild phases apart."""
        return dict(zip(self._names, map(int, self._counts), strict=True))

    @abstractmethod
    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        """Fill all rows with cycles of phase ``index``."""

    def _enter(self, index: int) -> None:  # noqa: B027 - most stimuli need no preparation
        """Prepare the first cycle of phase ``index``."""

    def fill(self, rows: Words, expected: Words) -> int:
        """Fill rows from the start and return how many; 0 at the end of the plan. A phase ends a batch."""
        while self._phase < len(self.phases) and self._done == self.phases[self._phase].cycles:
            self._phase, self._done = self._phase + 1, 0
        if self._phase == len(self.phases):
            return 0
        phase = self.phases[self._phase]
        if self._done == 0:
            self._enter(self._phase)
        count = min(len(rows), phase.cycles - self._done)
        self._run(self._phase, rows[:count], expected[:count], self._apart if phase.wild else self._counts)
        self._done += count
        return count

    def record(self, input_words: int, output_words: int) -> tuple[Words, Words]:
        """Return the rows of the whole plan and what must come out, of rows so many words wide."""
        rows = np.zeros((self.cycles, input_words), np.uint64)
        expected = np.zeros((self.cycles, output_words), np.uint64)
        done = 0
        while filled := self.fill(rows[done:], expected[done:]):
            done += filled
        return rows, expected


def cut(phases: Sequence[Any], cycles: int) -> tuple[Any, ...]:
    """Return phases cut, or the last one stretched, to exactly that many cycles."""
    kept: list[Any] = []
    left = cycles
    for phase in phases:
        if left <= 0:
            break
        kept.append(replace(phase, cycles=min(phase.cycles, left)))
        left -= phase.cycles
    if left > 0:
        kept[-1] = replace(kept[-1], cycles=kept[-1].cycles + left)
    return tuple(kept)


def cut_whole(phases: Sequence[Any], cycles: int, rest: Callable[[int], Any]) -> tuple[Any, ...]:
    """Return the first phases, of that many cycles in all; for one that would be cut, ``rest(cycles)``."""
    kept: list[Any] = []
    left = cycles
    for phase in phases:
        if left <= 0:
            break
        kept.append(phase if phase.cycles <= left else rest(left))
        left -= kept[-1].cycles
    return tuple(kept)
