"""Picture of a study: results of each service level against offered load, or over time for a replay."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlane.rates import LinkClock
from vlane.shown import harmless
from vlane.sim_top.output.pictures import look, new_figure, write_png
from vlane.sim_top.plots.plot_replay import replay_picture
from vlane.sim_top.plots.study_points import (
    BANDS,
    MEASURES,
    SATURATED,
    UNDECIDED,
    Measure,
    Point,
    band,
    joined,
    points_of,
    strip_places,
)
from vlane.sim_top.study.simulate import RunResult
from vlane.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOAD = "offered load, sum of SLs (flits per cycle and host)"
_STRIP = 0.86
"""Fraction of a latency panel below the strip for saturated levels."""
_COLUMNS = 2


def write_picture(runs: list[RunResult], folder: Path, *, title: str, study: Study) -> Path:
    """Write ``study.png``: curves against load, or latency bars and time series for a replay."""
    picture, name = folder / "study.png", harmless(title)
    if study.traffic:
        drawn = _picture(runs, name, study.link.clock)
    else:
        drawn = replay_picture(runs, name, study.run.warm_up_cycles)
    write_png(drawn, picture)
    return picture


def _marks(points: list[Point]) -> list[str]:
    """Return the legend entries for the kinds of marks and bands in use."""
    said = [SATURATED] * any(it.saturated for it in points) + [UNDECIDED] * any(not it.decided for it in points)
    return [*said, BANDS[any(len(it.levels) > 1 for it in points)]]


def _picture(runs: list[RunResult], title: str, clock: LinkClock) -> Figure:
    figure = new_figure(figsize=(11, 8.6), layout="constrained")
    from matplotlib.lines import Line2D  # noqa: PLC0415 - new_figure imported matplotlib without a settings file

    panels = figure.subplots(-(-len(MEASURES) // _COLUMNS), _COLUMNS).flatten()
    for axes, measure in zip(panels, MEASURES, strict=True):
        curves = points_of(runs, measure)
        for number, (sl, points) in enumerate(curves.items()):
            _draw_level(axes, points, measure, number, f"SL {sl}")
        axes.set_xlabel(_LOAD)
        axes.set_ylabel(measure.name)
        axes.grid(visible=True, alpha=0.3)
        if measure.is_latency:
            _draw_strip(axes, curves)
        axes.set_xlim(*_ends(curves))
        _draw_units(axes, measure, clock)
    points = [it for level in points_of(runs, MEASURES[0]).values() for it in level]
    marks: list[Any] = panels[2].get_legend_handles_labels()[0]
    panels[2].legend(handles=marks, frameon=False, loc="upper left")
    styles: dict[str, Any] = {SATURATED: "none", UNDECIDED: "left"}
    keys = [
        Line2D(
            [],
            [],
            linestyle="none",
            marker="o",
            color="#444444",
            fillstyle=styles[said],
            markerfacecoloralt="white",
            label=said,
        )
        for said in _marks(points)
        if said in styles
    ]
    bands = Line2D([], [], linewidth=7, color="#444444", alpha=0.25, label=_marks(points)[-1])
    figure.legend(handles=[*keys, bands], loc="outside lower center", ncols=1, frameon=False, fontsize="small")
    figure.suptitle(title, parse_math=False)
    return figure


def _ends(curves: dict[int, list[Point]]) -> tuple[float, float]:
    """Return the ends of the x axis: all loads, with a margin."""
    loads = sorted({it.load for points in curves.values() for it in points})
    margin = 0.06 * (loads[-1] - loads[0]) or 0.1 * loads[0]
    return loads[0] - margin, loads[-1] + margin


def _draw_level(axes: Axes, points: list[Point], measure: Measure, number: int, label: str) -> None:
    kept = [it for it in points if it.value is not None]
    marked: dict[str, Any] = {"markersize": 5, **look(number)}
    axes.plot([], [], label=label, linewidth=1.4, **marked)
    for stretch in joined(points, is_latency=measure.is_latency):
        loads, values, low, high = band(stretch, measure)
        axes.plot(loads, values, linewidth=1.4, color=marked["color"])
        axes.fill_between(loads, low, high, color=marked["color"], alpha=0.25, linewidth=0)
    for it in kept:
        fill = "none" if it.saturated else "full" if it.decided else "left"
        width = it.ci95 if not it.decided else None
        axes.errorbar(
            [it.load],
            [it.value or 0.0],
            yerr=width,
            linestyle="none",
            fillstyle=fill,
            markerfacecoloralt="white",
            capsize=2,
            **marked,
        )


def _draw_units(axes: Axes, measure: Measure, clock: LinkClock) -> None:
    """Add a right axis: nanoseconds for latencies, Gb/s for rates."""
    unit, name = (clock.cycle_ns, "ns") if measure.is_latency else (clock.rate_gbps, "Gb/s per host")
    functions: Any = (lambda value: value * unit, lambda value: value / unit)
    right = axes.secondary_yaxis("right", functions=functions)
    right.set_ylabel(name)
    if measure.is_latency:
        low, high = axes.get_ylim()
        ticks = _round_ticks(low * unit, min(high, 2 * max(axes.get_yticks(), default=high)) * unit)
        right.set_yticks(ticks, [f"{tick:.4g}" for tick in ticks])
        right.minorticks_off()


def _round_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten within a range, or the range's ends if there are fewer than two."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    return inside if len(inside) > 1 else [low, high]


def _draw_strip(axes: Axes, curves: dict[int, list[Point]]) -> None:
    """Make a latency panel logarithmic, with a strip at its upper edge for saturated levels."""
    from matplotlib.lines import Line2D  # noqa: PLC0415
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    axes.set_yscale("log")
    ticks = _round_ticks(*axes.get_ylim())
    low, high = (math.log10(limit) for limit in axes.get_ylim())
    axes.set_yticks(ticks, [f"{tick:.4g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(10**low, 10**high)
    places = strip_places(curves)
    if not places:
        return
    axes.set_ylim(10**low, 10 ** (low + (high - low) / _STRIP))
    middle, across = (1 + _STRIP) / 2, axes.get_xaxis_transform()
    strip = Rectangle((0, _STRIP), 1, 1 - _STRIP, transform=axes.transAxes, color="#000000", alpha=0.07, linewidth=0)
    axes.add_artist(strip)
    words = axes.text(0.02, middle, "saturated (no latency):", transform=axes.transAxes, va="center", fontsize="small")
    words.set_in_layout(False)
    for number, sl in enumerate(curves):
        for place in places.get(sl, []):
            mark = Line2D(
                [place], [middle], transform=across, linestyle="none", fillstyle="none", markersize=6, **look(number)
            )
            mark.set_in_layout(False)
            axes.add_artist(mark)
