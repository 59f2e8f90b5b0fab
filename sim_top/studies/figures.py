"""Figures of a study: ours beside the published ones, the bound that ours must keep, and why it is that bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any


@dataclass(frozen=True)
class Bound:
    """Where a figure must lie.

    Parameters
    ----------
    low, high : float or None
        Least and greatest value, both allowed; ``None`` where there is none.
    words : str
        The same for people.
    why : str
        Why it is this bound.
    """

    low: float | None
    high: float | None
    words: str
    why: str

    def holds(self, value: float) -> bool:
        """Tell whether a value lies there.

        Examples
        --------
        >>> within(100.0, 0.1).holds(91.0), at_most(1.0, "").holds(1.5)
        (True, False)
        """
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


def within(published: float, part: float, why: str = "as all figures, unless another bound is given") -> Bound:
    """Return the bound of a part of the published value to either side.

    Examples
    --------
    >>> bound = within(200.0, 0.15)
    >>> round(bound.low, 6), round(bound.high, 6), bound.words
    (170.0, 230.0, '±15 %')
    """
    room = abs(published) * part
    return Bound(published - room, published + room, f"±{100 * part:g} %", why)


def at_least(low: float, why: str) -> Bound:
    """Return the bound of all values from one on."""
    return Bound(low, None, f"at least {low:g}", why)


def at_most(high: float, why: str) -> Bound:
    """Return the bound of all values up to one."""
    return Bound(None, high, f"at most {high:g}", why)


@dataclass(frozen=True)
class Figure:
    """A figure of a paper and what ours is.

    Parameters
    ----------
    name : str
        What it is; no two of a study have the same.
    unit : str
        Of all its values; empty for a ratio.
    published : float or None
        The paper's; ``None`` if it gives words only.
    values : sequence of float
        Ours, of each seed; empty if the runs that it needs were not made.
    bound : Bound
        Of the mean of ours.

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

    @property
    def ours(self) -> float | None:
        """The mean over seeds; ``None`` without runs."""
        return fmean(self.values) if self.values else None

    @property
    def holds(self) -> bool | None:
        """Whether the mean lies within the bound; ``None`` without runs, and if there is no bound."""
        is_bound = self.bound.low is not None or self.bound.high is not None
        return self.bound.holds(fmean(self.values)) if self.values and is_bound else None

    @property
    def verdict(self) -> str:
        """The same in words."""
        if not self.values:
            return "not measured"
        return {None: "", True: "holds", False: "DOES NOT HOLD"}[self.holds]

    def document(self) -> dict[str, Any]:
        """Return it as ``--json`` shows it."""
        bound = asdict(self.bound)
        return {
            "name": self.name,
            "unit": self.unit,
            "published": self.published,
            "ours": self.ours,
            "min": min(self.values, default=None),
            "max": max(self.values, default=None),
            "seeds": len(self.values),
            "bound": bound["words"],
            "low": bound["low"],
            "high": bound["high"],
            "why": bound["why"],
            "holds": self.holds,
        }
