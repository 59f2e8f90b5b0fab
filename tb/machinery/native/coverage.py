"""Functional coverage of a lockstep run: rules and crosses, judged if the run is long enough."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vlane.tb.machinery.native.stimulus import Stimulus


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of a run: the rules and crosses that its stimulus must reach, and their counts.

    Parameters
    ----------
    counts : dict of str to int
        Number of occurrences of each rule.
    applicable : list of str
        Rules that the stimulus must reach.
    crosses : dict of str to int
        Number of occurrences of each cross that the stimulus must reach.
    judged_from_cycles : int
        Shortest run, in cycles, that is judged.
    judged : bool
        Whether the run is judged: long enough, and without a difference or a planted fault.
    """

    counts: dict[str, int]
    applicable: list[str]
    crosses: dict[str, int]
    judged_from_cycles: int
    judged: bool

    @property
    def missing(self) -> list[str]:
        """Names of the applicable rules, then of the crosses, that did not occur."""
        rules = [name for name in self.applicable if not self.counts.get(name)]
        return rules + [name for name, count in self.crosses.items() if not count]

    @property
    def failed(self) -> bool:
        """Whether the run is long enough to be judged and misses a rule or cross."""
        return self.judged and bool(self.missing)

    def words(self) -> str:
        """Return a summary of the counts, such as "22 of 22 applicable rules happened", or "" if nothing applies."""
        said = [
            f"{sum(map(bool, happened))} of {len(happened)} {noun}"
            for noun, happened in (
                ("applicable rules", [self.counts.get(name, 0) for name in self.applicable]),
                ("crosses", list(self.crosses.values())),
            )
            if happened
        ]
        return f"{' and '.join(said)} happened" if said else ""

    def verdict(self) -> str:
        """Return the missing rules and crosses and their consequence, or "" if none is missing."""
        if not self.missing:
            return ""
        names = ", ".join(self.missing)
        if self.judged:
            return f"MISSING: {names}"
        return (
            f"not in this run, which is too short to be judged (fewer than {self.judged_from_cycles:,} cycles): {names}"
        )

    def document(self) -> dict[str, Any]:
        """Return the fields of a JSON document."""
        return {
            "rules": {n: {"count": count, "applies": n in self.applicable} for n, count in self.counts.items()},
            "crosses": self.crosses,
            "missing": self.missing,
            "judged": self.judged,
            "judged_from_cycles": self.judged_from_cycles,
        }


def coverage_of(
    stimulus: Stimulus,
    cycles: int,
    *,
    complete: bool,
    counts: dict[str, int] | None = None,
    crosses: dict[str, int] | None = None,
) -> Coverage:
    """Return the coverage of a run.

    Parameters
    ----------
    stimulus : Stimulus
        Stimulus of the run, or an equal one if ``counts`` and ``crosses`` are given.
    cycles : int
        Number of cycles compared.
    complete : bool
        Whether the run was completed, without a planted fault.
    counts, crosses : dict of str to int, optional
        Counts of another process.
    """
    order: Iterable[str] = (rule.name for rule in stimulus.rules)
    return Coverage(
        stimulus.rule_counts() if counts is None else counts,
        [name for name in order if name in stimulus.applicable],
        stimulus.cross_counts() if crosses is None else crosses,
        stimulus.judged_from_cycles,
        complete and cycles >= stimulus.judged_from_cycles,
    )
