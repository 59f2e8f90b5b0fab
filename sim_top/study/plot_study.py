"""Pictures of a study: what each service level got against offered load, or over the time of a replay."""

from __future__ import annotations

import html
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plotly import graph_objects
from plotly.subplots import make_subplots
from vlane.sim_top.output.pictures import colour, look, new_figure, write_png
from vlane.sim_top.study.plot_replay import replay_page, replay_picture
from vlane.sim_top.study.simulate import RunResult
from vlane.sim_top.study.study_points import MEASURES, Measure, Point, joined, points_of, words_of

from vlane.files import write_whole
from vlane.shown import harmless
from vlane.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["write_plots"]

_LOAD = "offered load, all levels (flits per cycle and host)"
_SATURATED = "hollow: saturated; what waits grows on and on, and so does the latency"
_UNDECIDED = "half filled: the run is too short to tell whether the level is saturated"
_BANDS = {True: "bands: 95 % over seeds", False: "bands: 95 % of the run"}
_STRIP = 0.86
"""Share of a panel of latencies below the strip of those that are none."""
_COLUMNS = 2
_SYMBOLS = ("circle", "square", "triangle-up", "triangle-down", "diamond", "cross", "x", "star")


def write_plots(runs: list[RunResult], folder: Path, *, title: str, study: Study) -> list[Path]:
    """Write ``study.png`` and ``study.html``: curves against load, or, of a replay without load, bars and time."""
    picture, page = folder / "study.png", folder / "study.html"
    name = harmless(title)
    if study.traffic:
        drawn, shown = _picture(runs, name), _page(runs, name)
    else:
        drawn, shown = (make(runs, name, study.run.warm_up_cycles) for make in (replay_picture, replay_page))
    write_png(drawn, picture)
    write_whole(page, shown.to_html(include_plotlyjs=True, full_html=True), option="--out")
    return [picture, page]


def _marks(points: list[Point]) -> list[str]:
    """Return what is to be said of the marks that there are."""
    said = [_SATURATED] * any(it.saturated for it in points) + [_UNDECIDED] * any(not it.decided for it in points)
    return [*said, _BANDS[any(len(it.levels) > 1 for it in points)]]


def _places(curves: dict[int, list[Point]]) -> dict[int, list[float]]:
    """Return by SL where marks of saturated levels are: side by side at their load."""
    loads = sorted({it.load for points in curves.values() for it in points})
    step = (loads[-1] - loads[0]) / 45 or 0.01
    places: dict[int, list[float]] = {}
    for load in loads:
        full = [sl for sl, points in curves.items() if any(it.load == load and it.saturated for it in points)]
        for number, sl in enumerate(full):
            places.setdefault(sl, []).append(load + (number - (len(full) - 1) / 2) * step)
    return places


def _picture(runs: list[RunResult], title: str) -> Figure:
    figure = new_figure(figsize=(11, 8.6), layout="constrained")
    from matplotlib.lines import Line2D  # noqa: PLC0415 - imported first by the figure, without a file of settings

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
    points = [it for level in points_of(runs, MEASURES[0]).values() for it in level]
    marks: list[Any] = panels[2].get_legend_handles_labels()[0]
    panels[2].legend(handles=marks, frameon=False, loc="upper left")
    styles: dict[str, Any] = {_SATURATED: "none", _UNDECIDED: "left"}
    keys = [
        Line2D(
            [], [], linestyle="none", marker="o", color="#444444", fillstyle=styles[said], markerfacecoloralt="white",
            label=said,
        )
        for said in _marks(points) if said in styles
    ]  # fmt: skip
    bands = Line2D([], [], linewidth=7, color="#444444", alpha=0.25, label=_marks(points)[-1])
    figure.legend(handles=[*keys, bands], loc="outside lower center", ncols=1, frameon=False, fontsize="small")
    figure.suptitle(title, parse_math=False)
    return figure


def _draw_level(axes: Axes, points: list[Point], measure: Measure, number: int, label: str) -> None:
    kept = [it for it in points if it.value is not None]
    marked: dict[str, Any] = {"markersize": 5, **look(number)}
    axes.plot([], [], label=label, linewidth=1.4, **marked)
    for stretch in joined(points, is_latency=measure.is_latency):
        loads, values, low, high = _band(stretch, measure)
        axes.plot(loads, values, linewidth=1.4, color=marked["color"])
        axes.fill_between(loads, low, high, color=marked["color"], alpha=0.25, linewidth=0)
    for it in kept:
        fill = "none" if it.saturated else "full" if it.decided else "left"
        width = it.ci95 if not it.decided else None
        axes.errorbar(
            [it.load], [it.value or 0.0], yerr=width, linestyle="none", fillstyle=fill,
            markerfacecoloralt="white", capsize=2, **marked,
        )  # fmt: skip


def _band(stretch: list[Point], measure: Measure) -> tuple[list[float], list[float], list[float], list[float]]:
    """Return loads, values, and the lower and upper ends of the intervals; a latency is 1 or more."""
    loads, values = [it.load for it in stretch], [it.value or 0.0 for it in stretch]
    widths = [it.ci95 or 0.0 for it in stretch]
    low = [value - width for value, width in zip(values, widths, strict=True)]
    high = [value + width for value, width in zip(values, widths, strict=True)]
    return loads, values, [max(1.0, it) for it in low] if measure.is_latency else low, high


def _draw_strip(axes: Axes, curves: dict[int, list[Point]]) -> None:
    """Make a panel of latencies logarithmic, with a strip at its upper edge for levels that have none."""
    from matplotlib.lines import Line2D  # noqa: PLC0415
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    axes.set_yscale("log")
    low, high = (math.log10(limit) for limit in axes.get_ylim())
    ticks = [digit * 10.0**power for power in range(math.floor(low), math.ceil(high)) for digit in (1, 2, 5)]
    ticks = [tick for tick in ticks if low <= math.log10(tick) <= high]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(10**low, 10**high)
    places = _places(curves)
    if not places:
        return
    axes.set_ylim(10**low, 10 ** (low + (high - low) / _STRIP))
    middle, across = (1 + _STRIP) / 2, axes.get_xaxis_transform()
    strip = Rectangle((0, _STRIP), 1, 1 - _STRIP, transform=axes.transAxes, color="#000000", alpha=0.07, linewidth=0)
    axes.add_artist(strip)
    words = axes.text(0.02, middle, "saturated, no latency:", transform=axes.transAxes, va="center", fontsize="small")
    words.set_in_layout(False)
    for number, sl in enumerate(curves):
        for place in places.get(sl, []):
            mark = Line2D(
                [place], [middle], transform=across, linestyle="none", fillstyle="none", markersize=6, **look(number)
            )
            mark.set_in_layout(False)
            axes.add_artist(mark)


def _page(runs: list[RunResult], title: str) -> graph_objects.Figure:
    rows = -(-len(MEASURES) // _COLUMNS)
    figure = make_subplots(rows=rows, cols=_COLUMNS, subplot_titles=[it.name for it in MEASURES], vertical_spacing=0.12)
    for place, measure in enumerate(MEASURES):
        at: dict[str, Any] = {"row": place // _COLUMNS + 1, "col": place % _COLUMNS + 1}
        curves = points_of(runs, measure)
        values = [it.value for points in curves.values() for it in points if it.value]
        top = 3 * max(values, default=1.0)
        places = _places(curves)
        for number, (sl, points) in enumerate(curves.items()):
            for trace in _traces(sl, points, measure, number, top, places.get(sl, [])):
                figure.add_trace(trace.update(showlegend=bool(trace.showlegend) and place == 0), **at)
        figure.update_xaxes(title_text=_LOAD, **at)
        if measure.is_latency:
            figure.update_yaxes(type="log", dtick="D2", **at)
            if places:
                figure.add_trace(_words_at(min(it.load for points in curves.values() for it in points), top), **at)
    points = [it for level in points_of(runs, MEASURES[0]).values() for it in level]
    said = "; ".join(_marks(points)).replace("half filled", "with a dot")
    figure.update_layout(
        title={"text": f"{html.escape(title)}<br><sup>{said}</sup>"},
        template="plotly_white",
        height=900,
        hovermode="closest",
    )
    return figure


def _words_at(load: float, height: float) -> graph_objects.Scatter:
    """Return words before the marks of levels that have no latency."""
    return graph_objects.Scatter(
        x=[load], y=[height], mode="text", text=["saturated, no latency:"], textposition="middle right",
        hoverinfo="skip", showlegend=False,
    )  # fmt: skip


def _traces(
    sl: int, points: list[Point], measure: Measure, number: int, top: float, places: list[float]
) -> list[graph_objects.Scatter]:
    """Return a level's band, its lines, and its marks, one for each point."""
    shade, group = colour(number), {"legendgroup": str(sl), "name": f"SL {sl}"}
    made = []
    for stretch in joined(points, is_latency=measure.is_latency):
        loads, values, low, high = _band(stretch, measure)
        made.append(
            graph_objects.Scatter(
                x=loads + loads[::-1], y=high + low[::-1], fill="toself", fillcolor=shade, opacity=0.25, mode="lines",
                line={"width": 0}, hoverinfo="skip", showlegend=False, **group,
            )
        )  # fmt: skip
        made.append(
            graph_objects.Scatter(
                x=loads, y=values, mode="lines", line={"color": shade}, hoverinfo="skip", showlegend=False, **group
            )
        )
    for it in points:
        if it.value is not None and not it.decided:
            loads, _, low, high = _band([it], measure)
            bar = {"x": loads * 2, "y": low + high, "mode": "lines", "line": {"color": shade, "width": 1}}
            made.append(graph_objects.Scatter(**bar, hoverinfo="skip", showlegend=False, **group))
    symbol, ends = _SYMBOLS[number % len(_SYMBOLS)], {True: "-open", False: "-open-dot"}
    at_edge = iter(places)
    kept = [it for it in points if it.value is not None or (measure.is_latency and it.saturated)]
    made.append(
        graph_objects.Scatter(
            x=[it.load if it.value is not None else next(at_edge) for it in kept],
            y=[it.value if it.value is not None else top for it in kept],
            mode="markers", marker={"size": 9, "color": shade, "symbol": [
                symbol + (ends[it.saturated] if it.saturated or not it.decided else "") for it in kept
            ]},
            text=["<br>".join(words_of(sl, it)) for it in kept], hoverinfo="text", showlegend=True, **group,
        )
    )  # fmt: skip
    return made
