"""Stimulus of the look-up tables: random look-ups and writes, often of the same entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.random_bits import seeded
from vlane.golden.engine.rule import Rule
from vlane.tb.machinery.native.packing import elements
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus


@dataclass(frozen=True, slots=True)
class LookupPhase:
    """A phase of look-ups. Probabilities are in 1/256 per cycle.

    Parameters
    ----------
    cycles : int
        Length in cycles.
    write : int
        Probability of a write.
    near : int
        Probability that a write addresses the entry that is looked up in the same cycle.
    reset : int
        Probability of a reset, in 1/65536.
    wild : bool
        Whether the rules of this phase are counted separately.
    name : str
        Name of the phase in reports.
    """

    cycles: int
    write: int
    near: int = 0
    reset: int = 0
    wild: bool = False
    name: str = ""


def lookup_phases(cycles: int) -> tuple[LookupPhase, ...]:
    """Return phases of ``cycles`` cycles in total: unwritten tables, tables under writes, and resets."""
    part = cycles // 8
    return (
        LookupPhase(part, 0, name="as after power-on"),
        LookupPhase(3 * part, 256, near=64, name="written all the time"),
        LookupPhase(part, 40, near=128, reset=64, name="written now and then, with resets"),
        LookupPhase(part, 128, near=128, reset=1024, name="many resets"),
        LookupPhase(cycles - 6 * part, 2, name="mostly read"),
    )


class TableStimulus(Stimulus):
    """Base of the stimuli of the tables. A subclass runs its golden look-ups.

    Parameters
    ----------
    phases : sequence of LookupPhase
        Phases, in the order in which they run.
    rules : tuple of Rule
        Rules to count.
    given, wanted : list of (str, int)
        Ports in the subclass's order, with their numbers of elements.
    seed : int
        Seed of the random choices; equal arguments give equal rows.
    inputs, outputs : mapping
        Position of every port in a row.
    """

    def __init__(
        self,
        phases: tuple[LookupPhase, ...],
        rules: tuple[Rule, ...],
        *,
        given: list[tuple[str, int]],
        wanted: list[tuple[str, int]],
        seed: int,
        inputs: Layout,
        outputs: Layout,
    ) -> None:
        super().__init__(phases, rules)
        self._given, self._wanted = elements(inputs, given), elements(outputs, wanted)
        self._bits = seeded(seed)
        self._lookups = np.zeros(1, np.int64)
        self.applicable = frozenset(rule.name for rule in rules)

    @property
    def decisions(self) -> int:
        """Number of look-ups so far."""
        return int(self._lookups[0])

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase: LookupPhase = self.phases[index]
        chances = np.array([phase.write, phase.near, phase.reset], np.int64)
        self._cycles(chances, rows, expected, rules)

    def _cycles(self, chances: NDArray[np.int64], rows: Words, expected: Words, rules: Counts) -> None:
        """Run the golden look-ups once per row."""
        raise NotImplementedError
