"""Points of a study's curves: results of each service level at each load, over all seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Protocol, TypeVar

from vlane.rates import LinkClock, shown_ns
from vlane.sim_top.study.simulate import PerSL, RunResult
from vlane.sim_top.study.steady import half_width

SATURATED = "hollow: saturated; backlog and latency grow without bound"
UNDECIDED = "half filled: undecided, the run is too short"
BANDS = {True: "bands: 95 % over seeds", False: "bands: 95 % of the run"}
"""Legend texts of bands: over seeds, or from single runs."""


@dataclass(frozen=True)
class Measure:
    """Quantity shown in a panel.

    Parameters
    ----------
    name : str
        Label, with unit.
    value : callable
        Accessor of the value of a level of a run; ``None`` without a value.
    ci95 : callable
        Accessor of half the width of the value's 95 % interval in that run; ``None`` without an interval.
    is_latency : bool
        Whether the measure is a latency, which saturated levels lack.
    """

    name: str
    value: Callable[[PerSL], float | None]
    ci95: Callable[[PerSL], float | None]
    is_latency: bool = True

    @property
    def unit(self) -> str:
        """Unit of the values."""
        return "cycles" if self.is_latency else "flits per cycle and host"


MEASURES = (
    Measure("mean latency (cycles)", lambda it: it.latency_mean_cycles, lambda it: it.latency_ci95_cycles),
    Measure("99th percentile of latency (cycles)", lambda it: it.latency_p99_cycles, lambda _: None),
    Measure("accepted load (flits per cycle and host)", lambda it: it.accepted, lambda _: None, is_latency=False),
    Measure(
        "growth of the backlog (flits per cycle and host)",
        lambda it: it.backlog_growth,
        lambda it: it.backlog_growth_ci95,
        is_latency=False,
    ),
)
"""Measures of the panels, in order."""


@dataclass(frozen=True)
class Point:
    """Result of a level at a load.

    Parameters
    ----------
    load : float
        Offered load, sum of all levels.
    value : float or None
        Mean over seeds; ``None`` if no seed has a value, or for latencies of saturated levels.
    ci95 : float or None
        Half the width of the 95 % interval: over seeds, or the run's own with one seed.
    levels : tuple of PerSL
        Results of the level, one per seed.
    """

    load: float
    value: float | None
    ci95: float | None
    levels: tuple[PerSL, ...]

    @property
    def saturated(self) -> bool:
        """Whether the level is saturated with any seed."""
        return any(level.saturated for level in self.levels)

    @property
    def decided(self) -> bool:
        """Whether the level is steady with every seed, or saturated with any."""
        return self.saturated or all(level.decided for level in self.levels)


class Judged(Protocol):
    """Interface of a point of any curve: its value, and whether it is saturated."""

    @property
    def value(self) -> float | None:
        """Value, ``None`` if there is none."""

    @property
    def saturated(self) -> bool:
        """Whether the point is saturated."""

    @property
    def decided(self) -> bool:
        """Whether saturation is decided."""


P = TypeVar("P", bound=Judged)


def points_of(runs: list[RunResult], measure: Measure) -> dict[int, list[Point]]:
    """Return one point per load, in order, by SL."""
    found: dict[int, dict[float, list[PerSL]]] = {}
    for run in runs:
        for level in run.per_sl:
            found.setdefault(level.sl, {}).setdefault(run.load, []).append(level)
    return {
        sl: [_point(measure, load, by_load[load]) for load in sorted(by_load)] for sl, by_load in sorted(found.items())
    }


def _point(measure: Measure, load: float, levels: list[PerSL]) -> Point:
    values = [value for value in map(measure.value, levels) if value is not None]
    is_none = not values or (measure.is_latency and any(level.saturated for level in levels))
    ci95 = half_width([float(value) for value in values]) if len(levels) > 1 else measure.ci95(levels[0])
    return Point(load, None if is_none else fmean(values), None if is_none else ci95, tuple(levels))


def joined(points: Iterable[P], *, is_latency: bool) -> Iterator[list[P]]:
    """Yield runs of neighbouring points that a line may join. Latencies are joined only for steady levels."""

    def may_join(point: P) -> bool:
        return point.value is not None and (not is_latency or (point.decided and not point.saturated))

    for may, stretch in groupby(points, may_join):
        if may:
            yield list(stretch)


def band(stretch: list[Point], measure: Measure) -> tuple[list[float], list[float], list[float], list[float]]:
    """Return loads, values, and lower and upper ends of the intervals. Latencies are at least 1."""
    loads, values = [it.load for it in stretch], [it.value or 0.0 for it in stretch]
    widths = [it.ci95 or 0.0 for it in stretch]
    low = [value - width for value, width in zip(values, widths, strict=True)]
    high = [value + width for value, width in zip(values, widths, strict=True)]
    return loads, values, [max(1.0, it) for it in low] if measure.is_latency else low, high


def strip_places(by_sl: dict[int, list[Point]]) -> dict[int, list[float]]:
    """Return the x positions of marks of saturated levels by SL: side by side at their load."""
    loads = sorted({it.load for points in by_sl.values() for it in points})
    step = (loads[-1] - loads[0]) / 45 or 0.01
    places: dict[int, list[float]] = {}
    for load in loads:
        full = [sl for sl, points in by_sl.items() if any(it.load == load and it.saturated for it in points)]
        for number, sl in enumerate(full):
            places.setdefault(sl, []).append(load + (number - (len(full) - 1) / 2) * step)
    return places


def words_of(sl: int, point: Point, clock: LinkClock) -> list[str]:
    """Return the tooltip of a point, as lines."""
    levels, lines = point.levels, [f"SL {sl} at load {point.load:g}"]
    if len(levels) > 1:
        lines.append(f"means over {len(levels)} seeds")
    offered, accepted = fmean(it.offered for it in levels), fmean(it.accepted for it in levels)
    lines.append(f"offered {offered:.4f}, accepted {accepted:.4f}: {clock.gbps(accepted):.2f} Gb/s")
    for measure in MEASURES:
        it = _point(measure, point.load, list(levels))
        if it.value is not None and not measure.name.startswith("accepted"):
            width = "" if it.ci95 is None else f" ± {it.ci95:.2g}"
            lines.append(f"{measure.name}: {it.value:.{1 if measure.is_latency else 4}f}{width}")
            if measure.is_latency:
                lines[-1] += f", {shown_ns(clock.ns(it.value))}"
    if point.saturated:
        lines.append("saturated: the latency grows as long as the run lasts")
    elif not point.decided:
        lines.append("saturation undecided: the run is too short")
    return lines
