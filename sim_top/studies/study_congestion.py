"""Congestion study: hot spots and the effect of InfiniBand's congestion control (``docs/studies/congestion.md``)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from vlane.golden.network.meters import APART
from vlane.golden.network.meters import PARTS as COURSE
from vlane.sim_top.output.curves import Chart, Curve
from vlane.sim_top.studies.figures import Bound, Figure, at_least, at_most, within
from vlane.sim_top.studies.measured import Measured
from vlane.sim_top.studies.paper_study import PaperStudy
from vlane.sim_top.studies.study_congestion_cases import (
    COLUMNS,
    CONTROLS,
    CYCLES_A_MS,
    HOT_USED,
    INCREASES,
    MOVING,
    PARTS,
    SETTINGS,
    SPEED_1,
    TIMERS,
    VICTIMS_KEEP,
    cases,
    grid_variant,
    measured_cycles,
    scenario_of,
)
from vlane.study.file import shown_changes

_NAMES = {
    "free": "no hot spot",
    "none": "nothing",
    "cc": "congestion control",
    "own_vl": "a VL for the hot spot",
    "voqsw": "VOQsw, 4 VLs",
}
_OURS = Bound(None, None, "none", "reported without a bound")
_TARGET = "the target of this study; no figure of the paper"
_COUNTS = at_most(0.8, "a scenario in which the hot spot costs the victims less than 20 % does not count")


class _Case:
    """Measurements of a scenario under one control, by seed."""

    def __init__(self, rows: pl.DataFrame, scenario: str, control: str, variant: str) -> None:
        self.scenario, self.variant = scenario_of(scenario), variant
        labels = {"scenario": scenario, "control": control, "variant": variant}
        self.rows = rows.filter(*(pl.col(name) == text for name, text in labels.items()))

    def victims(self) -> dict[int, float]:
        """Return the rate received by all hosts except the hot hosts, in flits per cycle."""
        return self._sum(pl.col("sl") < APART)

    def hot(self) -> dict[int, float]:
        """Return the rate received by the hot hosts, in flits per cycle."""
        return self._sum(pl.col("sl") >= APART)

    def _sum(self, which: pl.Expr) -> dict[int, float]:
        total = pl.col("accepted").filter(which).cast(pl.Float64).sum() * self.scenario.hosts
        return self._by_seed(self.rows.group_by("seed").agg(total.alias("value")))

    def first(self, column: str, which: pl.Expr | None = None) -> dict[int, float]:
        """Return, by seed, the first non-null value of a column."""
        rows = self.rows if which is None else self.rows.filter(which)
        rows = rows.filter(pl.col(column).is_not_null())
        return self._by_seed(rows.group_by("seed", maintain_order=True).agg(pl.col(column).first().alias("value")))

    @staticmethod
    def _by_seed(rows: pl.DataFrame) -> dict[int, float]:
        return {int(seed): float(value) for seed, value in rows.sort("seed").select("seed", "value").iter_rows()}

    def course(self, which: pl.Expr) -> list[float]:
        """Return the flits per cycle in each fortieth of the measurement window, for the first seed."""
        rows = self.rows.filter(pl.col("seed") == pl.col("seed").min()).filter(which)
        parts = rows["accepted_parts"].drop_nulls().to_list()
        return [self.scenario.hosts * sum(values) for values in zip(*parts, strict=True)]


def _over(one: dict[int, float], other: dict[int, float]) -> list[float]:
    """Return ratios for the seeds in both."""
    return [one[seed] / other[seed] for seed in sorted(one.keys() & other.keys()) if other[seed]]


def _figures(part: str, measured: Measured) -> list[Figure]:
    keys = measured.rows.select("scenario", "variant").unique().sort("scenario", "variant").rows()
    found: list[Figure] = []
    for scenario, variant in keys:
        found += _of_scenario(part, measured.rows, scenario, variant)
    return found


def _of_scenario(part: str, rows: pl.DataFrame, name: str, variant: str) -> Iterator[Figure]:
    base = "" if part == "map" else SPEED_1 if variant.startswith(SPEED_1) else variant
    free, none = (_Case(rows, name, control, base) for control in ("free", "none"))
    cc, words = _Case(rows, name, "cc", variant), ", ".join(filter(None, (scenario_of(name).words, variant)))
    bounded = part == "main"
    if not scenario_of(name).hot:
        yield from _of_uniform(none, cc, words)
        return
    for control in CONTROLS[1:]:
        case = _Case(rows, name, control, variant)
        is_ours = control == "cc" and bounded
        title = f"{words}: {_NAMES[control]}"
        if case.rows.is_empty():
            continue
        target = at_least(HOT_USED, _TARGET) if is_ours and name != MOVING else _OURS
        yield Figure(f"hot link used, {title}", "", None, list(case.hot().values()), target)
        if free.rows.height:
            ratio = _over(case.victims(), free.victims())
            bound = _COUNTS if control == "none" and bounded else at_least(VICTIMS_KEEP, _TARGET) if is_ours else _OURS
            yield Figure(f"victims over those without hot spot, {title}", "", None, ratio, bound)
        fair = case.first("fairness", pl.col("sl") >= APART)
        parking = name == "parking_lot" and bounded
        bound = {"cc": at_least(0.95, _TARGET), "none": within(0.73, 0.1, "Jain's index of 1/8, 1/8, 1/4, 1/2")}.get(
            control, _OURS
        )
        yield Figure(f"Jain's index of contributors, {title}", "", None, [*fair.values()], bound if parking else _OURS)
    yield Figure(f"CNPs of all packets of hosts, {words}", "", None, list(cc.first("cnp_share").values()), _OURS)
    yield Figure(f"BECNs lost for want of an entry, {words}", "", None, list(cc.first("lost").values()), _OURS)


def _of_uniform(none: _Case, cc: _Case, words: str) -> Iterator[Figure]:
    load = none.scenario.victim_load
    share = at_most(0.001, _TARGET) if load < 1 else _OURS
    yield Figure(f"CNPs of all packets of hosts, {words}", "", None, list(cc.first("cnp_share").values()), share)
    ratio = _over(cc.victims(), none.victims())
    bound = within(1.0, 0.03, _TARGET) if load == 1 else _OURS
    yield Figure(f"throughput with congestion control over that without, {words}", "", None, ratio, bound)


def _charts(part: str, measured: Measured) -> list[Chart]:
    return _map_charts(measured) if part == "map" else _courses(measured)


def _map_charts(measured: Measured) -> list[Chart]:
    free = _Case(measured.rows, "tree43", "free", "").victims()
    hot, victims = [], []
    for number, increase in enumerate(INCREASES):
        found = [(timer, _Case(measured.rows, "tree43", "cc", grid_variant(increase, timer))) for timer in TIMERS]
        lines = [(timer, [*case.hot().values()], _over(case.victims(), free)) for timer, case in found]
        name = f"CCTI_Increase {increase}"
        hot.append(Curve(name, number, [[(timer, used[0]) for timer, used, _ in lines if used]]))
        victims.append(Curve(name, number, [[(timer, over[0]) for timer, _, over in lines if over]]))
    return [
        Chart("hot link used", "CCTI_Timer, units of 1.024 us", "flits per cycle", hot),
        Chart("victims over those without hot spot", "CCTI_Timer, units of 1.024 us", "", victims),
    ]


def _courses(measured: Measured) -> list[Chart]:
    charts = []
    for scenario, variant in measured.rows.select("scenario", "variant").unique().sort("scenario", "variant").rows():
        words = " ".join(filter(None, (scenario, variant)))
        for title, which in (("hot hosts", pl.col("sl") >= APART), ("others", pl.col("sl") < APART)):
            curves = []
            for number, control in enumerate(CONTROLS):
                case = _Case(measured.rows, scenario, control, variant)
                course = case.course(which)
                if not course:
                    continue
                step = measured_cycles(case.scenario, variant, int(case.rows["cycles"][0])) / COURSE / CYCLES_A_MS
                line = [((place + 0.5) * step, value) for place, value in enumerate(course)]
                curves.append(Curve(_NAMES[control], number, [line]))
            if curves:
                charts.append(Chart(f"{title}, {words}", "ms after the warm-up", "flits per cycle, all hosts", curves))
    return charts


STUDY = PaperStudy(
    name="congestion",
    title="Hot spots under InfiniBand's congestion control",
    columns=COLUMNS,
    parts=PARTS,
    cases=cases,
    figures=_figures,
    charts=_charts,
    about=(
        ("switch", "crossbar of speed 2 with round-robin allocation; buffers of 256 blocks, divided equally among VLs"),
        ("packets", "2048 bytes, links of 100 Gb/s"),
        ("settings", "Threshold 2, Marking_Rate 0, CCTI_Limit 127, geometric CCT; " + shown_changes(SETTINGS)),
    ),
    measures=("congestion",),
)
