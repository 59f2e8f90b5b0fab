"""Comparison of two tables of results: runs are matched, and differences get intervals and verdicts.

``docs/results.md`` describes the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import Any

import polars as pl

from vlane.errors import InputError, missing_value
from vlane.sim_top.study.steady import LATENCY_FREEDOM
from vlane.sim_top.study.students_t import students_t
from vlane.study.file import shown_value

MEASURES = (
    "offered",
    "accepted",
    "latency_mean_cycles",
    "latency_p50_cycles",
    "latency_p99_cycles",
    "backlog_growth",
    "saturated",
)
"""Compared columns."""
DIFFERENT, PERHAPS, NOISE, EQUAL, UNSURE = "different", "perhaps different", "within noise", "equal", "undecided"
_CONFIDENCE = 0.95
_RESOLUTION = 1 / 32
"""Relative resolution of percentiles, which come from a histogram."""
_OWN = {"latency_mean_cycles": ("latency_ci95_cycles", LATENCY_FREEDOM), "backlog_growth": ("backlog_growth_ci95", 38)}
"""Columns with an interval from a single run: its column and degrees of freedom."""
_PARTS = {"offered": "offered_parts", "accepted": "accepted_parts"}


@dataclass(frozen=True)
class Comparison:
    """Differences between two results.

    Parameters
    ----------
    differences : DataFrame
        One row per place (varying parameters, load, SL) and column: ``first``, ``second``, ``difference`` (second minus
        first), ``ci95`` (half the width of its 95 % interval, null without an interval), ``seeds`` and ``verdict``.
    runs, equal_runs : int
        Number of runs in both results, and number of them with identical deliveries in identical cycles.
    only_first : int
        Number of runs that only the first result has.
    only_second : int
        Number of runs that only the second result has.
    compared : dict of str to tuple
        Parameters that have one value in each result, with both values; ``None`` where a result lacks the parameter.
    """

    differences: pl.DataFrame
    runs: int
    equal_runs: int
    only_first: int
    only_second: int
    compared: dict[str, tuple[Any, Any]]

    @property
    def differs(self) -> bool:
        """Whether any difference is significant."""
        return DIFFERENT in self.differences["verdict"]

    @property
    def ok(self) -> bool:
        """Whether no difference is significant."""
        return not self.differs


@dataclass(frozen=True)
class _Side:
    """Rows of one result at one place, by seed."""

    rows: dict[int, dict[str, Any]]

    def values(self, column: str, seeds: list[int]) -> list[float | None]:
        return [None if self.rows[seed][column] is None else float(self.rows[seed][column]) for seed in seeds]


def compare_levels(first: pl.DataFrame, second: pl.DataFrame) -> Comparison:
    """Return the differences between two tables of levels.

    Raises
    ------
    InputError
        If a table is not a table of levels, a parameter varies in one and is missing in the other, or no run is in
        both.
    """
    tables = (first, second)
    for table in tables:
        missing = [name for name in ("load", "seed", "sl", "run_digest", *MEASURES) if name not in table.columns]
        if missing:
            raise missing_value(f"column {missing[0]}", "the file is not a results.parquet")
    varying, compared = _parameters(first, second)
    keys = [*varying, "load"]
    sides = [_by_run(table, keys) for table in tables]
    common = [run for run in sides[0] if run in sides[1]]
    if not common:
        problem = "have no run in common (equal parameters, load and seed)"
        raise InputError("results", "with common runs", "none", problem=problem)
    equal = [run for run in common if _digest(sides[0][run]) == _digest(sides[1][run])]
    found = []
    for place in dict.fromkeys(run[:-1] for run in common):
        seeds = [run[-1] for run in common if run[:-1] == place]
        levels = sorted({sl for side in sides for seed in seeds for sl in side[*place, seed]})
        is_equal = all((*place, seed) in equal for seed in seeds)
        for sl in levels:
            one, other = (_Side({seed: side[*place, seed].get(sl, _NOTHING) for seed in seeds}) for side in sides)
            which = {**dict(zip(keys, place, strict=True)), "sl": sl}
            found += [{**which, **_difference(one, other, seeds, name, is_equal=is_equal)} for name in MEASURES]
    judged = _judged(found)
    schema = {
        "column": pl.String,
        "first": pl.Float64,
        "second": pl.Float64,
        "difference": pl.Float64,
        "ci95": pl.Float64,
        "seeds": pl.Int64,
        "verdict": pl.String,
    }
    frame = pl.DataFrame(judged, infer_schema_length=None).cast(schema)  # type: ignore[arg-type]  # types by name
    return Comparison(
        frame, len(common), len(equal), len(sides[0]) - len(common), len(sides[1]) - len(common), compared
    )


_NOTHING = {**dict.fromkeys(MEASURES), "offered": 0.0, "accepted": 0.0, "saturated": False, "decided": True}
"""Row of a level without packets in a run."""


def _parameters(first: pl.DataFrame, second: pl.DataFrame) -> tuple[list[str], dict[str, tuple[Any, Any]]]:
    """Return the parameters by which runs are matched, and those with one value in each table."""
    names = [table.columns[: table.columns.index("load")] for table in (first, second)]
    varying, compared = [], {}
    for name in dict.fromkeys([*names[0], *names[1]]):
        values = [
            table[name].unique(maintain_order=True).to_list() if name in own else [None]
            for table, own in zip((first, second), names, strict=True)
        ]
        if max(map(len, values)) == 1:
            compared[name] = (values[0][0], values[1][0])
        elif name in names[0] and name in names[1]:
            varying.append(name)
        else:
            several = values[0] if name in names[0] else values[1]
            got = ", ".join(map(shown_value, several))
            problem = f"has several values ({got}) but is missing in the other results; select one value"
            raise InputError(f"parameter {name}", "a single value", got, problem=problem)
    return varying, compared


def _by_run(table: pl.DataFrame, keys: list[str]) -> dict[tuple[Any, ...], dict[int, dict[str, Any]]]:
    """Return the levels of each run, by place and seed."""
    wanted = {*keys, "seed", "sl", "decided", "run_digest", *MEASURES, *_PARTS.values()}
    wanted |= {own for own, _ in _OWN.values()}
    runs: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = {}
    for row in table.select(name for name in table.columns if name in wanted).to_dicts():
        run = (*(row[key] for key in keys), row["seed"])
        levels = runs.setdefault(run, {})
        if row["sl"] in levels:
            got = f"load {row['load']:g}, seed {run[-1]}"
            problem = f"contain several runs with {got}; select one"
            raise InputError("results", "one run for each load and seed", got, problem=problem)
        levels[row["sl"]] = row
    return runs


def _digest(levels: dict[int, dict[str, Any]]) -> str:
    return str(next(iter(levels.values()))["run_digest"])


def _difference(first: _Side, second: _Side, seeds: list[int], column: str, *, is_equal: bool) -> dict[str, Any]:
    """Return means, difference, standard error and degrees of freedom. Latencies of saturated levels have none."""
    of_both = [first.values(column, seeds), second.values(column, seeds)]
    pairs = [(one, other) for one, other in zip(*of_both, strict=True) if one is not None and other is not None]
    grown = any(side.rows[seed]["saturated"] for side in (first, second) for seed in seeds)
    made: dict[str, Any] = {"column": column, "first": None, "second": None, "difference": None, "seeds": len(pairs)}
    if not pairs or (grown and column.startswith("latency_")):
        return {**made, "is_equal": is_equal}
    means = fmean(one for one, _ in pairs), fmean(other for _, other in pairs)
    made |= {"first": means[0], "second": means[1], "difference": means[1] - means[0], "is_equal": is_equal}
    if column == "saturated":
        return {**made, "is_certain": _is_unanimous(first) and _is_unanimous(second) and means[0] != means[1]}
    if len(pairs) == 1:
        return {**made, "error": _own(first, second, seeds, column)}
    # Percentiles are bins of a histogram: if seeds differ by the same number of bins, their spread is 0,
    # and the bin width bounds the error.
    resolution = _RESOLUTION * max(map(abs, means)) if column.startswith("latency_p") else 0.0
    return {**made, "error": _paired(pairs, resolution)}


def _is_unanimous(side: _Side) -> bool:
    """Return whether all seeds are decided and agree on saturation."""
    said = {(row["saturated"], row["decided"]) for row in side.rows.values()}
    return len(said) == 1 and all(decided for _, decided in said)


def _paired(pairs: list[tuple[float, float]], resolution: float) -> tuple[float, int]:
    """Return standard error and degrees of freedom of the mean difference, with runs of a seed paired."""
    spread = max(stdev(other - one for one, other in pairs), resolution)
    return spread / sqrt(len(pairs)), len(pairs) - 1


def _own(first: _Side, second: _Side, seeds: list[int], column: str) -> tuple[float, int] | None:
    """Return standard error and degrees of freedom of single runs, from their intervals or batches, or ``None``."""
    errors = []
    for side in (first, second):
        row = next(side.rows[seed] for seed in seeds)
        if column in _OWN:
            name, freedom = _OWN[column]
            width = row.get(name)
            errors.append((None if width is None else width / students_t(freedom, _CONFIDENCE), freedom))
        elif column in _PARTS and row.get(_PARTS[column]):
            parts = row[_PARTS[column]]
            batches = [fmean(pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
            errors.append((stdev(batches) / sqrt(len(batches)), len(batches) - 1))
        else:
            return None
    if any(error is None for error, _ in errors):
        return None
    return sqrt(sum(float(error or 0) ** 2 for error, _ in errors)), min(freedom for _, freedom in errors)


def _judged(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add intervals and verdicts to the rows. The probability of any false verdict is at most 5 % (Bonferroni)."""
    counted = sum(1 for row in found if row.get("error") is not None and not row["is_equal"])
    strict = 1 - (1 - _CONFIDENCE) / max(1, counted)
    return [_verdict(row, strict) for row in found]


def _verdict(row: dict[str, Any], strict: float) -> dict[str, Any]:
    is_equal, error = row.pop("is_equal"), row.pop("error", None)
    is_certain = row.pop("is_certain", False)
    width = None if error is None else error[0] * students_t(error[1], _CONFIDENCE)
    if is_equal or row["difference"] == 0:
        verdict = EQUAL
    elif is_certain:
        verdict = DIFFERENT
    elif error is None or width is None:
        verdict = UNSURE
    else:
        surely = abs(row["difference"]) > error[0] * students_t(error[1], strict)
        verdict = DIFFERENT if surely else NOISE if abs(row["difference"]) <= width else PERHAPS
    return {**row, "ci95": width, "verdict": verdict}
