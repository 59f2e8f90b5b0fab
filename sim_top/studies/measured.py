"""Measurements of a study, selected by case, load and level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce

import polars as pl

from vlane.rates import LinkClock

_CLOSE = 1e-9
"""Largest difference between equal loads."""


@dataclass(frozen=True)
class _Case:
    """Rows of one case."""

    rows: pl.DataFrame

    @cached_property
    def saturated(self) -> set[tuple[float, int]]:
        """Loads and levels that were saturated with any seed, cached because every mark of a picture needs them."""
        return set(self.rows.filter(pl.col("saturated")).select("load", "sl").unique().iter_rows())


@dataclass(frozen=True)
class Measured:
    """Finished runs of a study's cases.

    Parameters
    ----------
    rows : DataFrame
        Columns of a summary (``docs/study.md``), one row per run and service level.
    clock : LinkClock
        Clock of all cases.
    """

    rows: pl.DataFrame
    clock: LinkClock
    _cases: dict[tuple[tuple[str, str], ...], _Case] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def values(self, column: str, *, load: float, sl: int, labels: Mapping[str, str]) -> dict[int, float]:
        """Return a column's values by seed for one case, load and level. Missing runs are omitted.

        Examples
        --------
        >>> rows = pl.DataFrame({"switch": ["ib"], "load": [0.5], "seed": [1], "sl": [0], "accepted": [0.25]})
        >>> measured = Measured(rows, LinkClock(100.0))
        >>> measured.values("accepted", load=0.5, sl=0, labels={"switch": "ib"})
        {1: 0.25}
        """
        found = self._of_case(labels).rows.filter((pl.col("load") - load).abs() < _CLOSE, sl=sl)
        found = found.filter(pl.col(column).is_not_null())
        return {int(seed): float(value) for seed, value in found.select("seed", column).iter_rows()}

    def curve(self, column: str, *, sl: int, labels: Mapping[str, str]) -> list[tuple[float, float, float, float]]:
        """Return (load, mean, least, greatest) over seeds for each load, in ascending order."""
        found = self._of_case(labels).rows.filter(pl.col("sl") == sl, pl.col(column).is_not_null())
        value = pl.col(column).cast(pl.Float64)
        shown = found.group_by("load").agg(
            value.mean().alias("mean"), value.min().alias("min"), value.max().alias("max")
        )
        return [tuple(row) for row in shown.sort("load").iter_rows()]

    def saturated(self, *, load: float, sl: int, labels: Mapping[str, str]) -> bool:
        """Return whether a level was saturated with any seed."""
        return any(of == sl and abs(each - load) < _CLOSE for each, of in self._of_case(labels).saturated)

    def ns(self, cycles: Mapping[int, float]) -> dict[int, float]:
        """Return values in ns from values in cycles."""
        return {seed: self.clock.ns(value) for seed, value in cycles.items()}

    def _of_case(self, labels: Mapping[str, str]) -> _Case:
        case = tuple(labels.items())
        if case not in self._cases:
            rows = reduce(lambda found, label: found.filter(pl.col(label[0]) == label[1]), case, self.rows)
            self._cases[case] = _Case(rows)
        return self._cases[case]
