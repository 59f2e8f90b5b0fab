"""Base of all stimuli: phases of traffic at a golden block, row by row; rules and crosses are counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.rule import Rule
from vlane.tb.machinery.native.crosses import Cross, Crosses, Event, Happened, room_for
from vlane.tb.machinery.native.rows import Field, Words

Layout = Mapping[str, Field]
Counts = NDArray[np.int64]

JUDGED_FROM_CYCLES = 1_000_000
"""Shortest run that must show everything, where a block's crosses do not say less."""

Qualify = Callable[..., "Stimulus"]
"""Creates the stimulus that qualifies an instance: (parameters, cycles=, seed=, inputs=, outputs=), of exactly that
many cycles. A scheduler may be given ``writes`` too: the table that is programmed instead of random ones."""


class Stretch(Protocol):
    """A phase of a stimulus; ``wild`` phases contain inputs that the contract forbids."""

    @property
    def cycles(self) -> int:
        """Length."""
        ...

    @property
    def wild(self) -> bool:
        """Whether the rules of this phase are counted separately."""
        ...

    @property
    def name(self) -> str:
        """For reports and crosses."""
        ...


class Stimulus(ABC):
    """A source of rows for the lockstep: golden, the models at its ports, and a plan of phases.

    Parameters
    ----------
    phases : sequence of Stretch
        Phases, in the order in which they run.
    rules : sequence of Rule
        Rules that are counted.

    Attributes
    ----------
    applicable : frozenset of str
        Rules that this plan must show; empty unless the author of the plan sets it.
    crosses : Crosses or None
        What must happen together; none unless ``watch`` is called.
    judged_from_cycles : int
        A run of fewer cycles need not show everything that applies.
    happened : Happened
        Room for the rules of each cycle of a batch.
    audit : dict of str to int
        Further counts of the run; empty if there are none.
    """

    def __init__(self, phases: Sequence[Any], rules: Sequence[Rule]) -> None:
        self.phases, self.rules = tuple(phases), tuple(rules)
        self.applicable: frozenset[str] = frozenset()
        self.audit: dict[str, int] = {}
        self._names = [rule.name for rule in rules]
        self._counts = np.zeros(len(rules), np.int64)
        self._apart = np.zeros(len(rules), np.int64)
        self._phase, self._done = 0, 0
        self.crosses: Crosses | None = None
        self.judged_from_cycles = JUDGED_FROM_CYCLES
        self.happened: Happened = room_for(len(rules), 0)

    def watch(
        self,
        crosses: Iterable[Cross],
        events: Mapping[str, Event],
        *,
        inputs: Layout,
        outputs: Layout,
        judged_from_cycles: int = 0,
    ) -> None:
        """Count crosses from now on; those with a rule that does not apply are left out of what must be seen."""
        self.crosses = Crosses(crosses, events, rules=self._names, inputs=inputs, outputs=outputs)
        self.judged_from_cycles = judged_from_cycles or self.judged_from_cycles

    @property
    def cycles(self) -> int:
        """Cycles of the whole plan."""
        return sum(phase.cycles for phase in self.phases)

    @property
    @abstractmethod
    def decisions(self) -> int:
        """Decisions, look-ups or transfers so far."""

    def rule_counts(self) -> dict[str, int]:
        """Return how often each rule happened so far, not counting wild phases."""
        return dict(zip(self._names, map(int, self._counts), strict=True))

    def cross_counts(self) -> dict[str, int]:
        """Return how often each cross that must be seen happened so far."""
        if self.crosses is None:
            return {}
        return self.crosses.counts(self.applicable, wild=any(phase.wild for phase in self.phases))

    @abstractmethod
    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        """Fill all rows with cycles of phase ``index``, and ``happened`` with the rules of each."""

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
        counts = self._apart if phase.wild else self._counts
        if len(self.happened.words) < count:
            self.happened = room_for(len(counts), len(rows))
        np.copyto(self.happened.before, counts)
        self._run(self._phase, rows[:count], expected[:count], counts)
        if self.crosses is not None:
            self.crosses.count(
                rows[:count], expected[:count], self.happened.words[:count], phase=phase.name, wild=phase.wild
            )
        self._done += count
        return count

    def record(self, input_words: int, output_words: int) -> tuple[Words, Words]:
        """Return the rows of the whole plan and the expected outputs; rows have that many words."""
        rows = np.zeros((self.cycles, input_words), np.uint64)
        expected = np.zeros((self.cycles, output_words), np.uint64)
        done = 0
        while filled := self.fill(rows[done:], expected[done:]):
            done += filled
        return rows, expected


def cut(phases: Sequence[Any], cycles: int) -> tuple[Any, ...]:
    """Return phases with exactly that many cycles in all; the last one is shortened or extended."""
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
