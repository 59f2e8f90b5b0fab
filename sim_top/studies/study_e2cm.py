"""E2CM study: Ethernet congestion management in the slides' scenarios (``docs/studies/e2cm.md``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log2
from typing import Any

import polars as pl

from vlane.sim_top.output.curves import Chart, Curve, Mark
from vlane.sim_top.studies.e2cm_runs import SCHEMA
from vlane.sim_top.studies.e2cm_scenarios import SCENARIOS, scenario_named
from vlane.sim_top.studies.figures import Bound, Figure, at_least, at_most, within
from vlane.sim_top.studies.measured import Measured
from vlane.sim_top.studies.paper_study import OwnRuns, PaperStudy
from vlane.sim_top.studies.study_e2cm_cases import (
    COLUMNS,
    FLOWS,
    GAINS,
    MAPPED,
    PARTS,
    SCHEMES,
    SET_POINTS,
    TRAFFIC,
    VARIANTS,
    VARIED,
    cases,
    make,
    mapped,
)

_NAMES = {
    "none": "nothing",
    "ecm": "ECM",
    "e2cm": "E2CM",
    "continuous": "E2CM, all flows probed",
    "probing": "probing alone",
}
_FLOW_WORDS = {"drops": "drops", "pause": "PAUSE"}
_OURS = Bound(None, None, "none", "reported without a bound")
_MB = 125.0
"""MB/s per Gb/s."""
_TREES = {"tree16": (75.0, 66.7), "tree32": (155.0, 32.3)}
"""Max-min fair rates: cold traffic in Gb/s, and each flow to the hot port in Mb/s."""
_SAID = "the slides say so in words, without a number"
_FAIR = "max-min fair rate of the slides"
_TARGET = "the target of this study"


@dataclass(frozen=True)
class _Case:
    """Measurements of a scenario in one form, one row per group of flows and seed."""

    rows: pl.DataFrame
    scenario: str
    scheme: str
    flow: str
    traffic: str
    variant: str = ""

    @property
    def words(self) -> str:
        """Description of the case in figure names."""
        parts = [self.scenario, _NAMES[self.scheme], _FLOW_WORDS[self.flow], self.traffic, self.variant]
        return ", ".join(part for part in parts if part)

    def of_groups(self, which: pl.Expr) -> pl.DataFrame:
        """Return the rows of some groups."""
        labels = zip(COLUMNS, (self.scenario, self.scheme, self.flow, self.traffic, self.variant), strict=True)
        return self.rows.filter(*(pl.col(name) == text for name, text in labels)).filter(which)

    def of(self, which: pl.Expr, value: pl.Expr) -> list[float]:
        """Return a value of some groups by seed, omitting nulls."""
        found = self.of_groups(which).group_by("seed").agg(value.alias("value")).sort("seed")
        return [float(each) for each in found["value"].drop_nulls().to_list()]

    def farthest(self) -> list[float]:
        """Return, by seed, the largest relative deviation of a hot flow from its share."""
        return self.of(self.hot, pl.col("off").max().cast(pl.Float64))

    @property
    def hot(self) -> pl.Expr:
        """Selector of the groups of the hot spot."""
        groups = scenario_named(self.scenario).groups
        return pl.col("group").is_in([place for place, each in enumerate(groups) if each.is_hot])

    @property
    def cold(self) -> pl.Expr:
        """Selector of the last group: other flows, or the lukewarm flow."""
        return pl.col("group") == len(scenario_named(self.scenario).groups) - 1


def _figures(part: str, measured: Measured) -> list[Figure]:
    if part == "hardware":
        return [figure for row in measured.rows.iter_rows(named=True) for figure in _in_hardware(row)]
    if part != "main":
        found = [
            _Case(measured.rows, *labels) for labels in measured.rows.select(*COLUMNS).unique().sort(*COLUMNS).rows()
        ]
        return [figure for case in found for figure in _varied(case)]
    figures: list[Figure] = []
    for scenario in SCENARIOS:
        for traffic in TRAFFIC:
            of = {
                (scheme, flow): _Case(measured.rows, scenario, scheme, flow, traffic)
                for flow in FLOWS
                for scheme in SCHEMES
            }
            if any(case.farthest() for case in of.values()):
                for case in of.values():
                    figures += _of_case(case)
                figures += _together(of)
        figures += _of_bursts(measured.rows, scenario)
    return figures


def _in_hardware(row: dict[str, Any]) -> Iterator[Figure]:
    words = f"{row['name']}, {_NAMES[row['scheme']]}, {_FLOW_WORDS[row['flow_control']]}"
    yield Figure(f"decisions in hardware, {words}", "", None, [row["decided"]], at_least(1, "a block that decides"))
    equal = at_most(0, "hardware, golden with a clock and the network decide alike in every cycle")
    yield Figure(f"mismatches, {words}", "", None, [row["mismatches"]], equal)


def _of_case(case: _Case) -> Iterator[Figure]:
    """Yield the figures of one case: max-min fair rates, queues and drops."""
    is_managed, tree = case.scheme in ("e2cm", "continuous"), _TREES.get(case.scenario)
    if tree is not None:
        cold, each = tree
        kept = at_least(0.97 * cold, _TARGET) if is_managed and case.flow == "pause" else _OURS
        yield Figure(f"cold traffic while hot, {case.words}", "Gb/s", cold, case.of(case.cold, _only("rate")), kept)
        rate = case.of(case.hot, _only("rate") / _only("flows") * 1000)
        yield Figure(f"mean rate to the hot port, {case.words}", "Mb/s", each, rate, within(each, 0.1, _FAIR))
        yield Figure(
            f"Jain's index of flows to the hot port, {case.words}",
            "",
            None,
            case.of(case.hot, _only("fairness")),
            _OURS,
        )
    elif case.scenario == "mixed_in":
        first, others = case.of(pl.col("group") == 0, _only("rate") * _MB), case.hot & (pl.col("group") > 0)
        why = "62.5 and 9 times 6.25 MB/s leave 6.25 of 125 MB/s unused, which the first flow asks for: 68.75 is fair"
        yield Figure(f"node 11 to 1 as printed, {case.words}", "MB/s", 62.5, first, Bound(None, None, "none", why))
        yield Figure(f"node 11 to 1, {case.words}", "MB/s", 68.75, first, within(68.75, 0.1, _FAIR))
        rest = case.of(others, pl.col("rate").mean().cast(pl.Float64) * _MB)
        yield Figure(f"nodes 2 to 10 to 1, mean, {case.words}", "MB/s", 6.25, rest, within(6.25, 0.1, _FAIR))
    else:
        least = case.of(case.hot, pl.col("rate").min().cast(pl.Float64))
        most = case.of(case.hot, pl.col("rate").max().cast(pl.Float64))
        published, unit, times = (2.0, "Gb/s", 1.0) if case.scenario == "legacy" else (12.5, "MB/s", _MB)
        for word, values in (("least", least), ("greatest", most)):
            values = [value * times for value in values]
            yield Figure(
                f"{word} rate of a hot flow, {case.words}", unit, published, values, _fair_bound(case, published)
            )
    yield Figure(f"farthest hot flow from its share, {case.words}", "", None, case.farthest(), _OURS)
    queue = case.of(pl.col("group") == 0, _only("queue_mean"))
    controlled = at_most(150.0, "the hot queue stays below a memory's 150 KB: " + _SAID)
    yield Figure(f"mean hot queue, {case.words}", "KB", None, queue, controlled if is_managed and not tree else _OURS)
    drops = case.of(pl.lit(value=True), pl.col("dropped").sum().cast(pl.Float64))
    none = at_most(0, "PAUSE leaves room for what is under way")
    yield Figure(f"frames dropped, {case.words}", "", None, drops, none if case.flow == "pause" else _OURS)
    over = case.of(pl.col("group") == 0, pl.col("is_over").min().cast(pl.Float64))
    yield Figure(f"ran to its last frame, {case.words}", "", None, over, at_least(1, "as the slides' runs"))


def _only(column: str) -> pl.Expr:
    return pl.col(column).first().cast(pl.Float64)


def _fair_bound(case: _Case, published: float) -> Bound:
    """Return the bound on the rate of a flow that should get its max-min fair rate."""
    if case.scenario == "legacy" and case.scheme == "continuous":
        return within(published, 0.03, _TARGET)
    if case.scenario == "mixed_out" and case.scheme == "probing":
        return within(published, 0.05, "perfect bandwidth sharing, say the slides; " + _TARGET)
    if case.scenario == "legacy" and case.scheme == "probing":
        return within(published, 0.1, "probing alone is enough where few flows share a hot spot: " + _SAID)
    return _OURS


def _together(of: dict[tuple[str, str], _Case]) -> Iterator[Figure]:
    """Yield the figures behind the slides' conclusions about PAUSE and about probing all flows."""
    for scheme in ("e2cm", "continuous"):
        drops, pause = of[scheme, "drops"], of[scheme, "pause"]
        mean = [case.of(case.hot, _mean_time()) for case in (pause, drops)]
        longer = _over(*mean)
        yield Figure(
            f"completion time of hot flows, over that with drops, {pause.words}", "", None, longer, at_least(1, _SAID)
        )
        for case in (drops, pause):
            everything = pl.lit(value=True)
            whole = case.of(everything, pl.col("completed").sum() / pl.col("messages").sum())
            bound = at_least(1, "all flows are accounted for: " + _SAID) if case.flow == "pause" else _OURS
            yield Figure(f"messages completed, {case.words}", "", None, whole, bound)
    if of["e2cm", "pause"].scenario in ("legacy", "mixed_out"):
        for flow in FLOWS:
            less = _over(of["continuous", flow].farthest(), of["e2cm", flow].farthest())
            words = f"farthest hot flow, over that of E2CM, {of['continuous', flow].words}"
            yield Figure(words, "", None, less, at_most(1, "continuous probing improves E2CM: " + _SAID))


def _mean_time() -> pl.Expr:
    """Return the mean message completion time of some groups, as an expression."""
    return (pl.col("fct_mean").cast(pl.Float64) * pl.col("completed")).sum() / pl.col("completed").sum()


def _of_bursts(rows: pl.DataFrame, scenario: str) -> Iterator[Figure]:
    """Yield the effect of longer messages on cold traffic."""
    for flow in FLOWS:
        short, long = (_Case(rows, scenario, "continuous", flow, traffic) for traffic in TRAFFIC)
        ratio = _over(long.of(long.cold, _only("fct_mean")), short.of(short.cold, _only("fct_mean")))
        bound = within(1.0, 0.25, "of node 5 to 7 the slides say so in words") if scenario == "legacy" else _OURS
        if ratio:
            yield Figure(f"completion time of cold flows, bursty over Bernoulli, {long.words}", "", None, ratio, bound)


def _over(one: list[float], other: list[float]) -> list[float]:
    return [above / below for above, below in zip(one, other, strict=False) if below]


def _varied(case: _Case) -> Iterator[Figure]:
    yield Figure(f"farthest hot flow from its share, {case.words}", "", None, case.farthest(), _OURS)
    if case.scenario in _TREES:
        yield Figure(f"cold traffic while hot, {case.words}", "Gb/s", None, case.of(case.cold, _only("rate")), _OURS)
    queue = case.of(pl.col("group") == 0, _only("queue_mean"))
    yield Figure(f"mean hot queue, {case.words}", "KB", None, queue, _OURS)


def _charts(part: str, measured: Measured) -> list[Chart]:
    if part == "hardware":
        return []
    if part == "map":
        return [_map_chart(measured.rows, name) for name in MAPPED]
    if part == "sensitivity":
        return [_varied_chart(measured.rows, name, flow) for name in VARIED for flow in FLOWS]
    made = [chart for name in SCENARIOS for flow in FLOWS for chart in _courses(measured.rows, name, flow)]
    return [chart for chart in made if chart.curves]


def _courses(rows: pl.DataFrame, scenario: str, flow: str) -> Iterator[Chart]:
    """Yield time series of the hot queue and of rates, for the first seed and Bernoulli traffic."""
    words = f"{scenario}, {_FLOW_WORDS[flow]}"
    whole = {scheme: _Case(rows, scenario, scheme, flow, "bernoulli") for scheme in SCHEMES}
    queues = _curves((_NAMES[name], case, pl.col("group") == 0, "queue_course") for name, case in whole.items())
    yield Chart(f"hot queue, {words}", "ms", "KB", queues)
    if scenario in _TREES:
        cold = _curves((_NAMES[name], case, case.cold, "course") for name, case in whole.items())
        yield Chart(f"cold traffic, {words}", "ms", "Gb/s", cold)
        return
    scheme = "probing" if scenario == "mixed_out" else "continuous"
    groups = [(place, each) for place, each in enumerate(scenario_named(scenario).groups) if each.is_hot]
    flows = _curves((each.name, whole[scheme], pl.col("group") == place, "course") for place, each in groups[:8])
    yield Chart(f"{_NAMES[scheme]}, {words}", "ms", "Gb/s", flows)


def _curves(wanted: Iterator[tuple[str, _Case, pl.Expr, str]]) -> list[Curve]:
    found = []
    for number, (name, case, which, column) in enumerate(wanted):
        own = case.of_groups(which & (pl.col("seed") == 1))
        if own.is_empty() or own[column][0] is None:
            continue
        values, parts = own[column][0], round(float(own["sent_ms"][0]))
        step = parts / len(values)
        found.append(
            Curve(name, number, [[((place + 0.5) * step, float(value)) for place, value in enumerate(values)]])
        )
    return found


def _map_chart(rows: pl.DataFrame, scenario: str) -> Chart:
    curves = []
    for number, gain in enumerate(GAINS):
        found = [
            (float(point), _Case(rows, scenario, "probing", "pause", "bernoulli", mapped(gain, point)).farthest())
            for point in SET_POINTS
        ]
        line = [(log2(point), values[0]) for point, values in found if values]
        if line:
            curves.append(Curve(f"Gi {gain / 4096:.3g}", number, [line]))
    return Chart(f"farthest hot flow, {scenario}", "log2 of Qeq,flow in bytes", "fraction of the fair share", curves)


def _varied_chart(rows: pl.DataFrame, scenario: str, flow: str) -> Chart:
    curves = []
    for number, scheme in enumerate(("continuous", "probing")):
        marks = []
        for place, variant in enumerate(VARIANTS):
            values = _Case(rows, scenario, scheme, flow, "bernoulli", variant).farthest()
            if values:
                marks.append(Mark(place, values[0], "full", f"{_NAMES[scheme]}, {variant}: {values[0]:.3g}"))
        curves.append(Curve(_NAMES[scheme], number, marks=marks))
    words = f"farthest hot flow, {scenario}, {_FLOW_WORDS[flow]}"
    return Chart(words, "variant, in the order of the page", "fraction of the fair share", curves)


STUDY = PaperStudy(
    name="e2cm",
    title="Ethernet's congestion managers at the slides' scenarios",
    columns=COLUMNS,
    parts=PARTS,
    cases=cases,
    figures=_figures,
    charts=_charts,
    about=(
        ("Document", "E2CM updates, IEEE 802.1 interim, Geneva, May 2007"),
        ("settings", "W 2, Qeq 37.5 KB, Qeq,flow 3.75 KB, Gi 0.1, a sample and a probe every 75 KB, base delays given"),
    ),
    own_runs=OwnRuns(make, SCHEMA),
    caption="Time series of the first seed with messages of one frame",
    notes=("Each point is the mean over a fiftieth of the sending time.",),
)
