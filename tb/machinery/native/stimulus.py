"""Base of all stimuli: phases of traffic for a golden block, row by row, with counts of rules and crosses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.rule import Rule
from vlane.tb.machinery.native.crosses import Cross, Crosses, Event, EventLog, new_event_log
from vlane.tb.machinery.native.rows import Field, Words

Layout = Mapping[str, Field]
Counts = NDArray[np.int64]

JUDGED_FROM_CYCLES = 1_000_000
"""Default length of a run, in cycles, from which on every rule and cross must have occurred."""

Qualify = Callable[..., "Stimulus"]
"""Function that returns the stimulus qualifying an instance, of exactly ``cycles`` cycles.

Arguments are (parameters, cycles=, seed=, inputs=, outputs=). A scheduler also accepts ``writes``: the table to program
instead of random ones.
"""


class Stretch(Protocol):
    """Interface of a phase of a stimulus. ``wild`` phases contain inputs that the contract forbids."""

    @property
    def cycles(self) -> int:
        """Length in cycles."""
        ...

    @property
    def wild(self) -> bool:
        """Whether the phase contains forbidden inputs. Its rules are then counted separately."""
        ...

    @property
    def name(self) -> str:
        """Name in reports and crosses."""
        ...


class Stimulus(ABC):
    """Base of all stimuli: a golden block, models of its neighbours, and phases of traffic.

    Parameters
    ----------
    phases : sequence of Stretch
        Phases, in the order in which they run.
    rules : sequence of Rule
        Rules to count.

    Attributes
    ----------
    applicable : frozenset of str
        Rules that this plan must reach; empty unless the plan sets it.
    crosses : Crosses or None
        Crosses that this plan must reach; ``None`` before ``watch``.
    judged_from_cycles : int
        Shortest run, in cycles, that must reach all applicable rules and crosses.
    happened : EventLog
        Rules that occurred in each cycle of the current batch.
    audit : dict of str to int
        Additional counts of the run; may be empty.
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
        self.happened: EventLog = new_event_log(len(rules), 0)

    def watch(
        self,
        crosses: Iterable[Cross],
        events: Mapping[str, Event],
        *,
        inputs: Layout,
        outputs: Layout,
        judged_from_cycles: int = 0,
    ) -> None:
        """Start to count crosses. A cross with a rule that does not apply need not be reached."""
        self.crosses = Crosses(crosses, events, rules=self._names, inputs=inputs, outputs=outputs)
        self.judged_from_cycles = judged_from_cycles or self.judged_from_cycles

    @property
    def cycles(self) -> int:
        """Length of the whole plan in cycles."""
        return sum(phase.cycles for phase in self.phases)

    @property
    @abstractmethod
    def decisions(self) -> int:
        """Number of decisions, look-ups or transfers so far."""

    def rule_counts(self) -> dict[str, int]:
        """Return the count of each rule so far, without wild phases."""
        return dict(zip(self._names, map(int, self._counts), strict=True))

    def cross_counts(self) -> dict[str, int]:
        """Return the count so far of each cross that must be reached."""
        if self.crosses is None:
            return {}
        return self.crosses.counts(self.applicable, forbidden_inputs=any(phase.wild for phase in self.phases))

    @abstractmethod
    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        """Fill all rows with cycles of phase ``index``, and ``happened`` with the rules of each cycle."""

    def _enter(self, index: int) -> None:  # noqa: B027 - most stimuli need no preparation
        """Prepare the first cycle of phase ``index``."""

    def fill(self, rows: Words, expected: Words) -> int:
        """Fill rows from the start and return the number filled, or 0 at the end of the plan.

        A batch ends with its phase.
        """
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
            self.happened = new_event_log(len(counts), len(rows))
        np.copyto(self.happened.before, counts)
        self._run(self._phase, rows[:count], expected[:count], counts)
        if self.crosses is not None:
            self.crosses.count(
                rows[:count],
                expected[:count],
                self.happened.words[:count],
                phase=phase.name,
                forbidden_inputs=phase.wild,
            )
        self._done += count
        return count

    def record(self, input_words: int, output_words: int) -> tuple[Words, Words]:
        """Return the rows of the whole plan and the expected outputs, with the given numbers of words per row."""
        rows = np.zeros((self.cycles, input_words), np.uint64)
        expected = np.zeros((self.cycles, output_words), np.uint64)
        done = 0
        while filled := self.fill(rows[done:], expected[done:]):
            done += filled
        return rows, expected


def cut(phases: Sequence[Any], cycles: int) -> tuple[Any, ...]:
    """Return phases of exactly ``cycles`` cycles in total, by shortening or extending the last phase."""
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
    """Return the first phases, of ``cycles`` cycles in total.

    ``rest(cycles)`` returns the phase that replaces a phase which would be cut.
    """
    kept: list[Any] = []
    left = cycles
    for phase in phases:
        if left <= 0:
            break
        kept.append(phase if phase.cycles <= left else rest(left))
        left -= kept[-1].cycles
    return tuple(kept)
