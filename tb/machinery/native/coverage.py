"""What a lockstep must have shown: rules and crosses that apply, if it is long enough to be judged by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vlane.tb.machinery.native.stimulus import Stimulus


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a run showed of what its stimulus is meant to show.

    Parameters
    ----------
    counts : dict of str to int
        How often each rule happened.
    applicable : list of str
        Rules that the stimulus is meant to show.
    crosses : dict of str to int
        Crosses that the stimulus is meant to show, and how often each happened.
    judged_from_cycles : int
        A run of fewer cycles is not judged.
    judged : bool
        Whether the run was long enough, and ended without a difference or a planted fault.
    """

    counts: dict[str, int]
    applicable: list[str]
    crosses: dict[str, int]
    judged_from_cycles: int
    judged: bool

    @property
    def missing(self) -> list[str]:
        """Rules, then crosses, that did not happen."""
        rules = [name for name in self.applicable if not self.counts.get(name)]
        return rules + [name for name, count in self.crosses.items() if not count]

    @property
    def failed(self) -> bool:
        """Whether a run that is judged did not show everything."""
        return self.judged and bool(self.missing)

    def words(self) -> str:
        """Return how many happened; empty if nothing applies."""
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
        """Return what did not happen and what that means; empty if everything did."""
        if not self.missing:
            return ""
        names = ", ".join(self.missing)
        if self.judged:
            return f"MISSING: {names}"
        return f"not in this run, which is not judged (it would be from {self.judged_from_cycles:,} cycles): {names}"

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
    """Return what a run of so many cycles showed.

    Parameters
    ----------
    stimulus : Stimulus
        What was run, or an equal one if ``counts`` and ``crosses`` are given.
    cycles : int
        Compared.
    complete : bool
        Whether the run went to its end, without a planted fault.
    counts, crosses : dict of str to int, optional
        What another process counted.
    """
    order: Iterable[str] = (rule.name for rule in stimulus.rules)
    return Coverage(
        stimulus.rule_counts() if counts is None else counts,
        [name for name in order if name in stimulus.applicable],
        stimulus.cross_counts() if crosses is None else crosses,
        stimulus.judged_from_cycles,
        complete and cycles >= stimulus.judged_from_cycles,
    )
