"""Pictures of a study: latency and accepted load against offered load, per service level."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from matplotlib.figure import Figure
from plotly import graph_objects
from plotly.subplots import make_subplots
from vlane.sim_top.pictures import colour, look, write_png
from vlane.sim_top.simulate import PerSL, RunResult

from vlane.files import write_whole

__all__ = ["write_plots"]

_HOLLOW = "hollow: saturated"
_Curve = tuple[list[float], list[float]]


def write_plots(runs: list[RunResult], folder: Path, *, title: str) -> list[Path]:
    """Write ``study.png`` and ``study.html``; seeds of a load are averaged, saturated loads have hollow marks."""
    latency = _curves(runs, lambda level: level.latency_mean_cycles)
    accepted = _curves(runs, lambda level: level.accepted)
    full = {run.load for run in runs if run.saturated}
    picture, page = folder / "study.png", folder / "study.html"
    _write_png(latency, accepted, full, picture, title)
    _write_html(latency, accepted, full, page, title)
    return [picture, page]


def _curves(runs: list[RunResult], value: Callable[[PerSL], float | None]) -> dict[int, _Curve]:
    """Return (loads, means over seeds) by SL."""
    points: dict[int, dict[float, list[float]]] = {}
    for run in runs:
        for level in run.per_sl:
            found = value(level)
            if found is not None:
                points.setdefault(level.sl, {}).setdefault(run.load, []).append(found)
    return {
        sl: (sorted(by_load), [fmean(by_load[load]) for load in sorted(by_load)])
        for sl, by_load in sorted(points.items())
    }


def _write_png(
    latency: dict[int, _Curve], accepted: dict[int, _Curve], full: set[float], file: Path, title: str
) -> None:
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes, curves, name in ((left, latency, "mean latency (cycles)"), (right, accepted, "accepted load")):
        for number, (sl, (loads, values)) in enumerate(curves.items()):
            marked = {"markersize": 4.5, **look(number)}
            axes.plot(loads, values, label=f"SL {sl}", linewidth=1.4, **marked)
            hollow = [(load, value) for load, value in zip(loads, values, strict=True) if load in full]
            if hollow:
                axes.plot(*zip(*hollow, strict=True), linestyle="none", markerfacecolor="white", **marked)
        axes.set_xlabel("offered load, all levels (flits per cycle and host)")
        axes.set_ylabel(name if axes is left else f"{name} (flits per cycle and host)")
        axes.grid(visible=True, alpha=0.3)
    if latency:
        left.set_yscale("log")
    if accepted:
        right.legend(frameon=False)
    figure.suptitle(f"{title} ({_HOLLOW})" if full else title)
    write_png(figure, file)


def _write_html(
    latency: dict[int, _Curve], accepted: dict[int, _Curve], full: set[float], file: Path, title: str
) -> None:
    figure = make_subplots(rows=1, cols=2, subplot_titles=("mean latency (cycles)", "accepted (flits/cycle/host)"))
    for column, curves in ((1, latency), (2, accepted)):
        for number, (sl, (loads, values)) in enumerate(curves.items()):
            shade = colour(number)
            line = graph_objects.Scatter(
                x=loads, y=values, name=f"SL {sl}", mode="lines+markers", legendgroup=str(sl), showlegend=column == 2,
                line={"color": shade},
                marker={"symbol": ["circle-open" if load in full else "circle" for load in loads], "size": 8},
            )  # fmt: skip
            figure.add_trace(line, row=1, col=column)
    figure.update_xaxes(title_text="offered load, all levels (flits per cycle and host)")
    figure.update_yaxes(type="log", row=1, col=1)
    figure.update_layout(title=f"{title} ({_HOLLOW})" if full else title, template="plotly_white")
    write_whole(file, figure.to_html(include_plotlyjs=True, full_html=True), option="--out")
