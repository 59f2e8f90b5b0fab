"""Pictures of congestion control over time, and of the parameters that hold.

    python bench/congestion_pictures.py [--out DIR] [--summary FILE]

``congestion_course.png``: a hot spot that begins and ends on the study's 4-ary 3-tree, without and with congestion
control: what the hot host and the others receive, what the hot output's buffer holds, the CCTIs of the contributors'
flows. ``congestion_map.png``: what the hot link carries and what the victims get, by CCTI_Increase and CCTI_Timer, of
the study's part ``map``: points that keep both targets are framed.
"""

from __future__ import annotations

import argparse
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from vlane.golden.network.cores import start_network
from vlane.golden.network.meters import APART, PARTS
from vlane.sim_top.output.pictures import colour, new_figure, styled, write_png
from vlane.sim_top.scenario.world import make_network, make_world
from vlane.sim_top.studies.study_congestion_cases import (
    CYCLES_A_MS,
    HOT_USED,
    INCREASES,
    TIMERS,
    VICTIMS_KEEP,
    cases,
    grid_variant,
    scenario_of,
)

_STYLE = {"font.size": 9, "savefig.dpi": 80}
_SCENARIO, _SHOWN = "tree43", {"none": "no congestion control", "cc": "congestion control"}
_BEGINS, _ENDS, _LAST, _STEP = 100_000, 500_000, 800_000, 5_000
_PACKETS = 1 << 18
_FLITS, _HOT = 1, 0
"""A column of the meters' totals; the hot host."""


class _Course(NamedTuple):
    """Events of a run, by step."""

    hot: NDArray[np.float64]
    others: NDArray[np.float64]
    queue: NDArray[np.int64]
    ccti: NDArray[np.int64]


def main() -> None:
    """Draw both pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/img"))
    parser.add_argument("--summary", type=Path, default=Path("docs/studies/data/congestion.parquet"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with styled(_STYLE):
        draw_courses(given.out / "congestion_course.png")
        draw_map(given.summary, given.out / "congestion_map.png")


def draw_courses(file: Path) -> None:
    """Draw a hot spot from before its beginning to after its end, without and with congestion control."""
    figure = new_figure(figsize=(9, 7.5), layout="constrained")
    axes: Any = figure.subplots(4, len(_SHOWN), sharex=True, sharey="row")
    times = (np.arange(_LAST // _STEP) + 0.5) * _STEP / CYCLES_A_MS
    for column, (control, name) in enumerate(_SHOWN.items()):
        course = _course(control)
        rows = (course.hot, course.others, course.queue)
        words = ("hot host receives,\nflits a cycle", "others receive,\nflits a cycle", "hot output holds,\nblocks")
        for row, (values, label) in enumerate(zip(rows, words, strict=True)):
            axes[row, column].plot(times, values, color=colour(row), linewidth=0.9)
            axes[row, 0].set_ylabel(label)
        axes[0, column].set_title(name)
        if course.ccti.size:
            axes[3, column].fill_between(
                times, course.ccti.min(axis=1), course.ccti.max(axis=1), color=colour(3), alpha=0.3, linewidth=0
            )
            axes[3, column].plot(times, course.ccti.mean(axis=1), color=colour(3), linewidth=0.9)
        axes[3, 0].set_ylabel("CCTI of contributors,\nmean, least to most")
        axes[3, column].set_xlabel("ms")
        for each in axes[:, column]:
            for edge in (_BEGINS, _ENDS):
                each.axvline(edge / CYCLES_A_MS, color="black", linewidth=0.6, linestyle=":")
    figure.suptitle(f"{scenario_of(_SCENARIO).words}, between the dotted lines; one seed", fontsize=9)
    write_png(figure, file)


def _course(control: str) -> _Course:
    scenario = scenario_of(_SCENARIO)
    case = next(each for each in cases("main", quick=False) if [*each.labels.values()] == [_SCENARIO, control, ""])
    changes = {"traffic.1.active_cycles": [_BEGINS, _ENDS], "run.cycles": _LAST, "run.warm_up_cycles": 0}
    study = case.study.with_(changes)
    world = make_world(study.study, study.base)
    network = start_network(make_network(world, load=case.loads[0], seed=1), cores=1)
    network.grow(_PACKETS)
    switch, port = world.topology.hosts[_HOT]
    received, queue, ccti = [], [], []
    for step in range(_LAST // _STEP):
        network.run_to((step + 1) * _STEP, deque())
        net, _ = network.whole()
        totals = net.meters.total[:, _FLITS]
        received.append((int(totals[APART:].sum()), int(totals[:APART].sum())))
        end = (switch << net.switches.inputs.port_bits) + port
        queue.append(int(net.out_ports.buffer.lane["blocks"][end].sum()))
        if control == "cc":
            flow = net.pacing.sources.flow
            to_hot = (flow["known"] != 0) & (flow["dlid"] == world.routes.lids[_HOT, 0])
            ccti.append(np.where(to_hot, flow["ccti"], 0).max(axis=1)[list(scenario.contributors)])
    rates = np.diff(np.array([(0, 0), *received]), axis=0) / _STEP
    return _Course(rates[:, 0], rates[:, 1], np.array(queue), np.array(ccti))


def draw_map(summary: Path, file: Path) -> None:
    """Draw the hot link's use, the victims' share and how much the hot link's use varies, by increase and timer."""
    grid = [grid_variant(increase, timer) for increase in INCREASES for timer in TIMERS]
    rows = pl.read_parquet(summary).filter(pl.col("scenario") == _SCENARIO, pl.col("seed") == 1)
    rows = rows.filter(pl.col("cycles").is_in(rows.filter(pl.col("variant").is_in(grid))["cycles"].unique()))
    free = _accepted(rows.filter(pl.col("control") == "free", pl.col("variant") == ""), is_hot=False)
    hosts = scenario_of(_SCENARIO).hosts
    tables = np.full((3, len(INCREASES), len(TIMERS)), np.nan)
    for row, increase in enumerate(INCREASES):
        for column, timer in enumerate(TIMERS):
            point = rows.filter(pl.col("variant") == grid_variant(increase, timer))
            if point.is_empty():
                continue
            parts = np.zeros(PARTS)
            for values in point.filter(pl.col("sl") >= APART)["accepted_parts"]:
                parts += np.array(values)
            used, others = _accepted(point, is_hot=True) * hosts, _accepted(point, is_hot=False)
            tables[:, row, column] = used, others / free, parts.std() / parts.mean()
    figure = new_figure(figsize=(9.6, 3.4), layout="constrained")
    names = (
        "hot link used",
        "victims over those\nwithout hot spot",
        "deviation over mean of\nwhat the hot host receives",
    )
    for place, (name, table) in enumerate(zip(names, tables, strict=True)):
        axes = figure.add_subplot(1, 3, place + 1)
        axes.imshow(table, cmap="viridis" if place < 2 else "viridis_r", aspect="auto")
        for row in range(len(INCREASES)):
            for column in range(len(TIMERS)):
                axes.text(
                    column,
                    row,
                    f"{table[row, column]:.3f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75},
                )
        for row, column in zip(*np.nonzero((tables[0] >= HOT_USED) & (tables[1] >= VICTIMS_KEEP)), strict=True):
            axes.add_patch(Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, fill=False, edgecolor="red", lw=2))
        axes.set_xticks(range(len(TIMERS)), [str(timer) for timer in TIMERS])
        axes.set_yticks(range(len(INCREASES)), [str(increase) for increase in INCREASES])
        axes.set_xlabel("CCTI_Timer, units of 1.024 us")
        axes.set_ylabel("CCTI_Increase")
        axes.set_title(name, fontsize=9)
    write_png(figure, file)


def _accepted(rows: pl.DataFrame, *, is_hot: bool) -> float:
    which = pl.col("sl") >= APART if is_hot else pl.col("sl") < APART
    return float(rows.filter(which)["accepted"].cast(pl.Float64).sum())


if __name__ == "__main__":
    main()
