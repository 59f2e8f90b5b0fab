"""Curves of any two columns of a table of results: means over seeds with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import polars as pl

from vlane.errors import InputError, unknown_word
from vlane.shown import harmless
from vlane.sim_top.study.steady import half_width
from vlane.study.file import shown_value

_MOST_CURVES = 40
_MOST = 1e300
"""Bound above all numbers in tables."""
_PLACE = "place of the word"
_KEYS = ("load", "seed", "sl")


@dataclass(frozen=True)
class CurvePoint:
    """Point of a curve.

    Parameters
    ----------
    x : float
        Horizontal value; the index of the word for text columns.
    value : float or None
        Mean over seeds; ``None`` without values, or for a latency of a saturated level.
    ci95 : float or None
        Half the width of the 95 % interval: over seeds, or the run's own with one seed.
    saturated, decided : bool
        Whether any seed is saturated, and whether saturation is decided for all seeds.
    seeds : int
        Number of seeds with a value.
    """

    x: float
    value: float | None
    ci95: float | None
    saturated: bool
    decided: bool
    seeds: int


@dataclass(frozen=True)
class Curve:
    """Points in order.

    Parameters
    ----------
    label : str
        Values that distinguish the curve; empty for a single curve.
    points : tuple of CurvePoint
        Points in order of x.
    """

    label: str
    points: tuple[CurvePoint, ...]

    def document(self, curves: Curves) -> dict[str, Any]:
        """Return the curve as a JSON document, with words for text columns."""
        points = [asdict(point) for point in self.points]
        for point in points if curves.words else []:
            point["x"] = curves.words[int(point["x"])]
        return {"label": self.label, "points": points}


@dataclass(frozen=True)
class Curves:
    """Curves to draw.

    Parameters
    ----------
    x, y : str
        Columns of the horizontal and of the vertical axis.
    words : tuple of str
        Labels of the horizontal positions for a text column.
    curves : tuple of Curve
        At least one curve.
    averaged : tuple of str
        Columns other than the seed over which values are averaged.
    is_latency : bool
        Whether saturated levels have no value.
    """

    x: str
    y: str
    words: tuple[str, ...]
    curves: tuple[Curve, ...]
    averaged: tuple[str, ...]
    is_latency: bool


def chosen(table: pl.DataFrame, where: Mapping[str, Any], *, option: str = "where") -> pl.DataFrame:
    """Return the rows with the given values. A list of values selects any of them.

    Raises
    ------
    InputError
        If a column is unknown, a value has the wrong type, or no row is left; names the option.
    """
    for column, given in where.items():
        if column not in table.columns:
            raise unknown_word(f"{option} column", table.columns, column)
        values = list(given) if isinstance(given, list | tuple) else [given]
        wanted = _of_type(table.schema[column], values, f"{option} {column}")
        kept = table.filter(pl.col(column).cast(wanted.dtype).is_in(wanted.implode()))
        if kept.is_empty():
            some = ", ".join(shown_value(value) for value in table[column].unique(maintain_order=True).head(8))
            got = ", ".join(map(shown_value, values))
            raise InputError(f"{option} {column}", f"a value of the results ({some})", got)
        table = kept
    return table


def _of_type(kind: Any, values: list[Any], name: str) -> pl.Series:
    """Return values in a type that is comparable with a column."""
    if kind == pl.String:
        return pl.Series([value if isinstance(value, str) else shown_value(value) for value in values])
    is_flag = kind == pl.Boolean
    if not is_flag and not kind.is_numeric():
        raise InputError(name, "a column of numbers, text or booleans", str(kind))
    for value in values:
        if not isinstance(value, int | float) or isinstance(value, bool) != is_flag:
            raise InputError(name, "true or false" if is_flag else "a number", value)
    if is_flag:
        return pl.Series(values)
    return pl.Series([float(value) if abs(value) < _MOST else float("nan") for value in values])


def curves_of(
    table: pl.DataFrame,
    *,
    x: str,
    y: str,
    by: Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    option: str = "",
) -> Curves:
    """Return the curves of one column against another.

    Parameters
    ----------
    table : DataFrame
        Results with one row per run and level, link or flow, or per run.
    x : str
        Column of the horizontal axis.
    y : str
        Column of the vertical axis, with numbers, or with booleans that count as 0 and 1.
    by : sequence of str, optional
        Columns whose value combinations get one curve each; by default all parameters, load and SL that vary. Rows of a
        curve that differ in anything else are averaged, first within each seed.
    where : mapping of str to object, optional
        Values that select rows.
    option : str
        Prefix of the argument names in errors.

    Raises
    ------
    InputError
        If a column is unknown or has the wrong type, no row is left, or there are too many curves.
    """
    if table.is_empty():
        raise InputError("results", "not empty", "empty", problem="contain no row")
    for name, column in (("x", x), ("y", y), *(("by", each) for each in by or ())):
        if column not in table.columns:
            raise unknown_word(f"{option}{name}", table.columns, column)
    kind = table.schema[y]
    if not kind.is_numeric() and kind != pl.Boolean:
        raise InputError(f"{option}y", "a column of numbers", f"{y} of type {kind}")
    if not (table.schema[x].is_numeric() or table.schema[x] in (pl.String, pl.Boolean)):
        raise InputError(f"{option}x", "a column of numbers or text", f"{x} of type {table.schema[x]}")
    table = chosen(table, where or {}, option=f"{option}where")
    keys = [name for name in _key_columns(table) if name != "seed"]
    split = list(by) if by is not None else [name for name in keys if name not in (x, y) and _varies(table, name)]
    split = list(dict.fromkeys(name for name in split if name != x))
    is_latency = y.startswith("latency_") and "saturated" in table.columns
    words: tuple[str, ...] = ()
    place = pl.col(x).cast(pl.Float64)
    if not table.schema[x].is_numeric():
        values = table[x].unique(maintain_order=True)
        words = tuple(_word(value) for value in values)
        places = pl.DataFrame({x: values, _PLACE: range(len(values))})
        table = table.join(places, on=x, nulls_equal=True, maintain_order="left")
        place = pl.col(_PLACE).cast(pl.Float64)
    averaged = _averaged(table, [name for name in keys if name not in (x, y, *split)], [*split, x])
    found = _per_seed(table, y, split, place, has_seed="seed" not in (x, *split))
    curves = []
    for split_by, rows in groupby(found, lambda row: tuple(row[f"by {name}"] for name in split)):
        words_of = zip(split, split_by, strict=True)
        label = harmless(", ".join(f"{_short(name)} {_word(value)}" for name, value in words_of))
        points = [_point(at, list(same), is_latency=is_latency) for at, same in groupby(rows, lambda row: row["x"])]
        curves.append(Curve(label, tuple(points)))
    if len(curves) > _MOST_CURVES:
        problem = f": {', '.join(split)} give {len(curves)} curves, the limit is {_MOST_CURVES}"
        problem += f"; select rows with {option}where"
        raise InputError(f"{option}by", f"at most {_MOST_CURVES} curves", len(curves), problem=problem)
    return Curves(x, y, words, tuple(curves), tuple(averaged), is_latency)


def _word(value: Any) -> str:
    return harmless(value if isinstance(value, str) else shown_value(value))


def _short(name: str) -> str:
    return "SL" if name == "sl" else name


def _key_columns(table: pl.DataFrame) -> list[str]:
    """Return the columns that identify runs and levels: parameters, load, seed, SL."""
    names = table.columns
    parameters = names[: names.index("load")] if "load" in names else []
    return [*parameters, *(name for name in _KEYS if name in names)]


def _varies(table: pl.DataFrame, name: str) -> bool:
    return table[name].n_unique() > 1


def _averaged(table: pl.DataFrame, names: list[str], within: list[str]) -> list[str]:
    """Return the columns that vary within a single point."""
    if not names:
        return []
    most = table.group_by(within).agg(pl.col(name).n_unique() for name in names).select(pl.col(names).max()).row(0)
    return [name for name, count in zip(names, most, strict=True) if count > 1]


def _per_seed(table: pl.DataFrame, y: str, split: list[str], place: pl.Expr, *, has_seed: bool) -> list[dict[str, Any]]:
    """Return one row per curve, x and seed, sorted, with the mean of its rows."""
    own = next((name for name in (y.replace("_mean", "_ci95"), f"{y}_ci95") if name != y and name in table.columns), "")
    has_verdict = "saturated" in table.columns and "decided" in table.columns
    whole = table.select(
        *(pl.col(name).alias(f"by {name}") for name in split),
        place.alias("x"),
        (pl.col("seed") if has_seed and "seed" in table.columns else pl.lit(0)).alias("seed"),
        pl.col(y).cast(pl.Float64).alias("value"),
        (pl.col(own) if own else pl.lit(None)).cast(pl.Float64).alias("own"),
        (pl.col("saturated") if has_verdict else pl.lit(value=False)).alias("saturated"),
        (pl.col("decided") if has_verdict else pl.lit(value=True)).alias("decided"),
    )
    order = [f"by {name}" for name in split] + ["x", "seed"]
    return (
        whole.group_by(order)
        .agg(
            pl.col("value").mean(),
            pl.col("own").first(),
            pl.col("saturated").any(),
            pl.col("decided").all(),
            pl.len().alias("rows"),
        )
        .sort(order, nulls_last=True)
        .to_dicts()
    )


def _point(x: float, seeds: list[dict[str, Any]], *, is_latency: bool) -> CurvePoint:
    values = [row["value"] for row in seeds if row["value"] is not None]
    saturated = any(row["saturated"] for row in seeds)
    decided = saturated or all(row["decided"] for row in seeds)
    if not values or (is_latency and saturated):
        return CurvePoint(x, None, None, saturated, decided, len(values))
    ci95 = half_width(values) if len(values) > 1 else seeds[0]["own"] if seeds[0]["rows"] == 1 else None
    return CurvePoint(x, sum(values) / len(values), ci95, saturated, decided, len(values))
