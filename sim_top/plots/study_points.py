"""Points of a study's curves: what each service level did at each load, over all seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Protocol, TypeVar

from vlane.rates import LinkClock, shown_ns
from vlane.sim_top.study.simulate import PerSL, RunResult
from vlane.sim_top.study.steady import half_width

SATURATED = "hollow: saturated; what waits grows on and on, and so does the latency"
UNDECIDED = "half filled: the run is too short to tell whether the level is saturated"
BANDS = {True: "bands: 95 % over seeds", False: "bands: 95 % of the run"}
"""What is said of marks and of bands, over seeds or not."""


@dataclass(frozen=True)
class Measure:
    """What a panel shows.

    Parameters
    ----------
    name : str
        With its unit.
    value : callable
        Of a level of a run; None if it has none.
    ci95 : callable
        Half the width of the value's 95 % interval in that run; None if it has none.
    is_latency : bool
        A saturated level has none.
    """

    name: str
    value: Callable[[PerSL], float | None]
    ci95: Callable[[PerSL], float | None]
    is_latency: bool = True

    @property
    def unit(self) -> str:
        """Unit of its values."""
        return "cycles" if self.is_latency else "flits per cycle and host"


MEASURES = (
    Measure("mean latency (cycles)", lambda it: it.latency_mean_cycles, lambda it: it.latency_ci95_cycles),
    Measure("99th percentile of latency (cycles)", lambda it: it.latency_p99, lambda _: None),
    Measure("accepted load (flits per cycle and host)", lambda it: it.accepted, lambda _: None, is_latency=False),
    Measure(
        "growth of what waits (flits per cycle and host)",
        lambda it: it.backlog_growth,
        lambda it: it.backlog_growth_ci95,
        is_latency=False,
    ),
)
"""The panels, in order."""


@dataclass(frozen=True)
class Point:
    """A level at a load.

    Parameters
    ----------
    load : float
        Offered, of all levels.
    value : float or None
        Mean over seeds; None if no seed has one, or for a latency that is none.
    ci95 : float or None
        Half the width of its 95 % interval: over seeds, or with one seed the run's own.
    levels : tuple of PerSL
        What the level did with each seed.
    """

    load: float
    value: float | None
    ci95: float | None
    levels: tuple[PerSL, ...]

    @property
    def saturated(self) -> bool:
        """Whether the level is, with any seed."""
        return any(level.saturated for level in self.levels)

    @property
    def decided(self) -> bool:
        """Whether it is steady with every seed, or saturated with any."""
        return self.saturated or all(level.decided for level in self.levels)


class Judged(Protocol):
    """A point of any curve: a value, if it has one, and whether what it is about is saturated, as far as is known."""

    @property
    def value(self) -> float | None:
        """The value."""

    @property
    def saturated(self) -> bool:
        """Whether it is."""

    @property
    def decided(self) -> bool:
        """Whether that is known."""


P = TypeVar("P", bound=Judged)


def points_of(runs: list[RunResult], measure: Measure) -> dict[int, list[Point]]:
    """Return by SL a point for each load, in order."""
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
    """Yield stretches of neighbouring points that a line may join; of latencies those of steady levels only."""

    def may_join(point: P) -> bool:
        return point.value is not None and (not is_latency or (point.decided and not point.saturated))

    for may, stretch in groupby(points, may_join):
        if may:
            yield list(stretch)


def band(stretch: list[Point], measure: Measure) -> tuple[list[float], list[float], list[float], list[float]]:
    """Return loads, values, and the lower and upper ends of the intervals; a latency is 1 or more."""
    loads, values = [it.load for it in stretch], [it.value or 0.0 for it in stretch]
    widths = [it.ci95 or 0.0 for it in stretch]
    low = [value - width for value, width in zip(values, widths, strict=True)]
    high = [value + width for value, width in zip(values, widths, strict=True)]
    return loads, values, [max(1.0, it) for it in low] if measure.is_latency else low, high


def strip_places(by_sl: dict[int, list[Point]]) -> dict[int, list[float]]:
    """Return by SL where the marks of saturated levels are: side by side at their load."""
    loads = sorted({it.load for points in by_sl.values() for it in points})
    step = (loads[-1] - loads[0]) / 45 or 0.01
    places: dict[int, list[float]] = {}
    for load in loads:
        full = [sl for sl, points in by_sl.items() if any(it.load == load and it.saturated for it in points)]
        for number, sl in enumerate(full):
            places.setdefault(sl, []).append(load + (number - (len(full) - 1) / 2) * step)
    return places


def words_of(sl: int, point: Point, clock: LinkClock) -> list[str]:
    """Return what is known of a point, in lines."""
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
        lines.append("saturated: it has no latency, which grows for as long as the run lasts")
    elif not point.decided:
        lines.append("the run is too short to tell whether it is saturated")
    return lines
