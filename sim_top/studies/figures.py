"""Figures of a study: measured and published values, with a bound on the measured value and its justification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean
from typing import Any


@dataclass(frozen=True)
class Bound:
    """Accepted range of a figure.

    Parameters
    ----------
    low, high : float or None
        Least and greatest accepted value; ``None`` for no limit.
    words : str
        Range as text.
    why : str
        Justification of the bound.
    """

    low: float | None
    high: float | None
    words: str
    why: str

    def holds(self, value: float) -> bool:
        """Return whether a value is in the range.

        Examples
        --------
        >>> within(100.0, 0.1).holds(91.0), at_most(1.0, "").holds(1.5)
        (True, False)
        """
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


def within(published: float, part: float, why: str = "default bound") -> Bound:
    """Return the bound of a relative deviation ``part`` to either side of the published value.

    Examples
    --------
    >>> bound = within(200.0, 0.15)
    >>> round(bound.low, 6), round(bound.high, 6), bound.words
    (170.0, 230.0, '±15 %')
    """
    room = abs(published) * part
    return Bound(published - room, published + room, f"±{100 * part:g} %", why)


def at_least(low: float, why: str) -> Bound:
    """Return the bound of all values from ``low``."""
    return Bound(low, None, f"at least {low:g}", why)


def at_most(high: float, why: str) -> Bound:
    """Return the bound of all values up to ``high``."""
    return Bound(None, high, f"at most {high:g}", why)


@dataclass(frozen=True)
class Figure:
    """Published figure with its measured values.

    Parameters
    ----------
    name : str
        Name, unique in the study.
    unit : str
        Unit of all values; empty for a ratio.
    published : float or None
        Published value; ``None`` if the paper gives only a description.
    values : sequence of float
        Measured values, one per seed; empty if the required runs are missing.
    bound : Bound
        Bound on the mean of the measured values.
    readings : mapping of str to sequence of float
        Measured values under other readings of the paper, by name of the reading. They have no influence on the
        verdict.

    Examples
    --------
    >>> figure = Figure("NC latency", "ns", 100.0, (95.0, 101.0), within(100.0, 0.1))
    >>> figure.ours, figure.holds
    (98.0, True)
    >>> Figure("NC latency", "ns", 100.0, (), within(100.0, 0.1)).holds is None
    True
    """

    name: str
    unit: str
    published: float | None
    values: Sequence[float]
    bound: Bound
    readings: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def ours(self) -> float | None:
        """Mean of the measured values over seeds, or ``None`` without runs."""
        return fmean(self.values) if self.values else None

    def mean_of(self, reading: str) -> float | None:
        """Return the mean of the values of another reading, or ``None`` without runs."""
        values = self.readings.get(reading)
        return fmean(values) if values else None

    @property
    def holds(self) -> bool | None:
        """Whether the mean is within the bound, or ``None`` without runs or bound."""
        is_bound = self.bound.low is not None or self.bound.high is not None
        return self.bound.holds(fmean(self.values)) if self.values and is_bound else None

    @property
    def verdict(self) -> str:
        """Verdict as text."""
        if not self.values:
            return "not measured"
        return {None: "", True: "holds", False: "DOES NOT HOLD"}[self.holds]

    def document(self) -> dict[str, Any]:
        """Return the figure as a JSON document."""
        bound = asdict(self.bound)
        readings = {name: replace(self, values=values, readings={}) for name, values in self.readings.items()}
        others = {"readings": {name: each.measured() for name, each in readings.items()}} if readings else {}
        return {
            "name": self.name,
            "unit": self.unit,
            "published": self.published,
            **self.measured(),
            "bound": bound["words"],
            "low": bound["low"],
            "high": bound["high"],
            "why": bound["why"],
            **others,
        }

    def measured(self) -> dict[str, Any]:
        """Return the measured values as a JSON document: mean, range, number of seeds, and whether the bound holds."""
        return {
            "ours": self.ours,
            "min": min(self.values, default=None),
            "max": max(self.values, default=None),
            "seeds": len(self.values),
            "holds": self.holds,
        }
