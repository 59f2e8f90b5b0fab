"""Pictures of a replay: latencies of each service level, and rates over time."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import TYPE_CHECKING

from vlane.golden.network.meters import PARTS
from vlane.sim_top.output.pictures import colour, new_figure
from vlane.sim_top.study.simulate import PerSL, RunResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LATENCIES: tuple[tuple[str, Callable[[PerSL], float | None]], ...] = (
    ("p50", lambda it: it.latency_p50_cycles),
    ("mean", lambda it: it.latency_mean_cycles),
    ("p99", lambda it: it.latency_p99_cycles),
    ("longest", lambda it: it.latency_max_cycles),
)
"""Displayed latencies of a level: name and accessor."""
_SHADES = ("#c4c4c4", "#949494", "#646464", "#343434")
"""Grey shades of the latencies; colours distinguish levels."""
_LATENCY, _TIME, _RATE = "latency (cycles)", "cycle", "flits per cycle and host"


def levels_of(runs: list[RunResult]) -> dict[int, list[PerSL]]:
    """Return the results of each SL, one per seed."""
    found: dict[int, list[PerSL]] = {}
    for run in runs:
        for level in run.per_sl:
            found.setdefault(level.sl, []).append(level)
    return dict(sorted(found.items()))


def heights(levels: dict[int, list[PerSL]], value: Callable[[PerSL], float | None]) -> list[float]:
    """Return the mean over seeds for each SL, 0 without values."""
    return [fmean([it for it in map(value, level) if it is not None] or [0.0]) for level in levels.values()]


def course(levels: list[PerSL], value: Callable[[PerSL], list[float]]) -> list[float]:
    """Return the mean over seeds of a time series. Its last value is repeated, as step plots need."""
    means = [fmean(column) for column in zip(*map(value, levels), strict=True)]
    return [*means, means[-1]]


def _borders(runs: list[RunResult], first: int) -> list[float]:
    return [first + number * (runs[0].cycles - first) / PARTS for number in range(PARTS + 1)]


def _name(sl: int, levels: list[PerSL]) -> str:
    if any(it.saturated for it in levels):
        return f"SL {sl}, backlog still growing"
    return f"SL {sl}"


def _title(runs: list[RunResult], title: str) -> str:
    packets = sum(level.packets for level in runs[0].per_sl)
    return f"{title}: replay, {packets:,} packets received in {runs[0].cycles:,} cycles"


def replay_picture(runs: list[RunResult], title: str, first: int) -> Figure:
    """Return a figure with bars of latencies by SL, and offered and accepted rates from cycle ``first`` on."""
    levels, borders = levels_of(runs), _borders(runs, first)
    figure = new_figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    width = 0.8 / len(LATENCIES)
    for number, (name, value) in enumerate(LATENCIES):
        places = [place + (number - (len(LATENCIES) - 1) / 2) * width for place in range(len(levels))]
        bars = left.bar(places, heights(levels, value), width * 0.92, label=name, color=_SHADES[number])
        left.bar_label(bars, fmt="%.0f", fontsize="small", padding=2)
    left.set_xticks(range(len(levels)), [_name(sl, level) for sl, level in levels.items()])
    left.set_ylabel(_LATENCY)
    left.margins(y=0.12)
    left.legend(frameon=False)
    for number, (sl, level) in enumerate(levels.items()):
        offered, accepted = (
            course(level, value) for value in (lambda it: it.offered_parts, lambda it: it.accepted_parts)
        )
        shade = colour(number)
        right.step(borders, offered, where="post", linestyle=":", color=shade, label=f"SL {sl} offered")
        right.step(borders, accepted, where="post", color=shade, label=f"SL {sl} accepted")
    right.set_xlabel(_TIME)
    right.set_ylabel(_RATE)
    right.legend(frameon=False)
    for axes in (left, right):
        axes.grid(visible=True, axis="y", alpha=0.3)
    figure.suptitle(_title(runs, title), parse_math=False)
    return figure
