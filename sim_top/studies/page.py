"""Page and picture of a study: figures next to the published ones, panels, cases (``docs/pages.md``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from vlane.sim_top.output.curves import Chart, drawn
from vlane.sim_top.output.page import Column, Page, Section, Table, Verdict, write
from vlane.sim_top.output.pictures import look, new_figure, styled, write_png
from vlane.sim_top.studies.figures import Figure
from vlane.sim_top.studies.paper_study import PaperStudy

_ACROSS = 4
_WIDTH, _HEIGHT = 5.2, 3.8
_SETTINGS = {"font.size": 9, "savefig.dpi": 80}
_NAMES = 10
"""Largest number of curve names that fit on a line above four panels."""


@dataclass(frozen=True)
class Outcome:
    """Results of a study.

    Parameters
    ----------
    study : PaperStudy
        The study.
    part : str
        Part of the study.
    length : str
        ``in full`` or ``quick``.
    figures : sequence of Figure
        Figures of the part.
    charts : sequence of Chart
        Panels of the part.
    rows : DataFrame
        Rows of the finished runs of the part's cases.
    wanted : int
        Number of runs of the cases, finished or not.
    """

    study: PaperStudy
    part: str
    length: str
    figures: Sequence[Figure]
    charts: Sequence[Chart]
    rows: pl.DataFrame
    wanted: int

    @property
    def runs(self) -> int:
        """Number of finished runs."""
        return self.rows.select("point", "load", "seed").n_unique()

    @property
    def holds(self) -> bool | None:
        """Whether every measured figure is within its bound, or ``None`` if none was measured."""
        told = [figure.holds for figure in self.figures if figure.holds is not None]
        return all(told) if told else None


def write_pages(outcome: Outcome, folder: Path) -> list[Path]:
    """Write ``study.html``, and ``study.png`` if there are panels, and return the files.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    page, picture = folder / "study.html", folder / "study.png"
    sections = [Section("Figures", [_figures(outcome.figures)])]
    if outcome.charts:
        study = outcome.study
        sections.append(Section("Curves", [drawn(outcome.charts, caption=study.caption, notes=list(study.notes))]))
    sections.append(Section("Cases", [_cases(outcome)]))
    write(Page(outcome.study.title, sections, [_verdict(outcome)], _facts(outcome)), page, option="--out")
    return [_picture(outcome, picture), page] if outcome.charts else [page]


def _verdict(outcome: Outcome) -> Verdict:
    told = [figure for figure in outcome.figures if figure.holds is not None]
    failed = [figure.name for figure in told if not figure.holds]
    without = sum(not figure.values for figure in outcome.figures)
    detail = f"{without} figures were not measured." if without else ""
    if not told:
        return Verdict("warn", "No figure with a bound was measured.", detail)
    words = f"{len(told) - len(failed)} of {len(told)} measured figures are within their bounds."
    return Verdict("bad" if failed else "good", words, detail)


def _facts(outcome: Outcome) -> list[tuple[str, str]]:
    of_run = outcome.rows.unique(["point", "load", "seed"])
    cycles = of_run["cycles"].unique().sort().to_list()
    return [
        *outcome.study.about,
        ("Part", f"{outcome.part}: {outcome.study.parts[outcome.part]}; {outcome.length}"),
        ("Runs", f"{outcome.runs:,} of {outcome.wanted:,} finished"),
        ("Cycles per run", " or ".join(f"{count:,}" for count in cycles)),
        ("CPU time", f"{float(of_run['seconds'].sum() or 0) / 3600:.2f} h"),
    ]


def readings_of(figures: Sequence[Figure]) -> list[str]:
    """Return the names of the other readings that any figure has, in order."""
    return list(dict.fromkeys(name for each in figures for name in each.readings))


def _figures(figures: Sequence[Figure]) -> Table:
    readings = readings_of(figures)
    columns = [
        Column("figure", is_number=False),
        Column("unit", is_number=False),
        Column("published"),
        Column("measured"),
        *(Column(name) for name in readings),
        Column("least"),
        Column("greatest"),
        Column("seeds"),
        Column("bound", is_number=False),
        Column("holds", is_number=False),
        Column("justification of the bound", is_number=False),
    ]
    rows = [
        [
            each.name,
            each.unit,
            each.published,
            each.ours,
            *(each.mean_of(name) for name in readings),
            min(each.values, default=None),
            max(each.values, default=None),
            len(each.values),
            each.bound.words,
            each.verdict,
            each.bound.why,
        ]
        for each in figures
    ]
    return Table("Published and measured figures: mean, least and greatest over seeds", columns, rows)


def _cases(outcome: Outcome) -> Table:
    labels = list(outcome.study.columns)
    of_run = outcome.rows.unique(["point", "load", "seed"])
    links = [pl.col("link_utilisation_max").max()] if "link_utilisation_max" in of_run.columns else []
    of_case = (
        of_run.group_by(labels)
        .agg(
            pl.col("seed").n_unique().alias("seeds"),
            pl.col("load").n_unique().alias("loads"),
            pl.len().alias("runs"),
            pl.col("cycles").max(),
            *links,
            pl.col("seconds").cast(pl.Float64).sum(),
        )
        .sort(labels)
    )
    columns = [
        *(Column(label, is_number=False) for label in labels),
        Column("seeds"),
        Column("loads"),
        Column("runs"),
        Column("cycles"),
        *(Column("busiest link (flits per cycle)", form=".3f") for _ in links),
        Column("CPU seconds", form=",.0f"),
    ]
    return Table("Runs by case", columns, of_case.rows())


def _picture(outcome: Outcome, file: Path) -> Path:
    down = -(-len(outcome.charts) // _ACROSS)
    across = min(_ACROSS, len(outcome.charts))
    with styled(_SETTINGS):
        figure = new_figure(figsize=(_WIDTH * across, _HEIGHT * down), layout="constrained")
        panels = [figure.add_subplot(down, across, place + 1) for place in range(len(outcome.charts))]
        for panel, chart in zip(panels, outcome.charts, strict=True):
            _panel(panel, chart)
        _legends(figure, panels, outcome.charts)
        write_png(figure, file)
    return file


def _panel(at: Any, chart: Chart) -> None:
    for curve in chart.curves:
        style = look(curve.number)
        for band in curve.bands:
            x, low, high = zip(*band, strict=True)
            at.fill_between(x, low, high, color=style["color"], alpha=0.15, linewidth=0)
        for line in curve.lines:
            at.plot(*zip(*line, strict=True), color=style["color"], linestyle=":" if curve.dotted else "-")
        for fill in ("full", "none"):
            marks = [(mark.x, mark.y) for mark in curve.marks if mark.fill == fill and mark.y is not None]
            if marks:
                face = style["color"] if fill == "full" else "none"
                at.plot(
                    *zip(*marks, strict=True),
                    linestyle="",
                    marker=style["marker"],
                    markersize=4,
                    color=style["color"],
                    markerfacecolor=face,
                )
    at.set(title=chart.title, xlabel=chart.x_name, ylabel=chart.y_name)
    if chart.is_logarithmic:
        at.set_yscale("log")
    if chart.words:
        at.set_xticks(range(len(chart.words)), chart.words, rotation=60)
    at.grid(visible=True, alpha=0.3)


def _legends(figure: Any, panels: Sequence[Any], charts: Sequence[Chart]) -> None:
    """Add legends: one above four or more panels whose curves have equal names, otherwise one per panel."""
    looks = [{curve.name: curve.number for curve in chart.curves} for chart in charts]
    together = {name: number for each in looks for name, number in each.items()}
    is_alike = all(each.items() <= together.items() for each in looks)
    is_clear = len({tuple(look(number).values()) for number in together.values()}) == len(together) <= _NAMES
    if is_alike and is_clear and len(panels) >= _ACROSS:
        figure.legend(handles=_named(panels[0], together), loc="outside upper center", ncols=len(together))
        return
    for panel, each in zip(panels, looks, strict=True):
        panel.legend(handles=_named(panel, each), fontsize=7)


def _named(panel: Any, numbers: Mapping[str, int]) -> list[Any]:
    return [panel.plot([], [], label=name, **look(number))[0] for name, number in numbers.items()]
