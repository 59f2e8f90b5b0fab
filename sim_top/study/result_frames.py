"""Tables of a study's runs: one row per run, or per run and service level, after the columns that identify runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import polars as pl

from vlane.documents.toml_text import toml_value
from vlane.errors import InputError, missing_value
from vlane.rates import LinkClock
from vlane.sim_top.study.run_store import RunKey, traced_runs
from vlane.sim_top.study.simulate import PerSL, RunResult
from vlane.sim_top.study.times import timed_document, timed_types


@dataclass(frozen=True)
class MadeRun:
    """Finished run of a study.

    Parameters
    ----------
    key : RunKey
        Identity of the run.
    result : RunResult
        Result of the run.
    clock : LinkClock
        Clock of the links.
    """

    key: RunKey
    result: RunResult
    clock: LinkClock

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Changes of the study, by dotted key, empty for the unchanged study."""
        return self.key.parameters


def parameter_columns(points: Sequence[Mapping[str, Any]]) -> dict[str, pl.Series]:
    """Return one column per parameter of a study's points, with its own type if all values share one.

    Mixed whole numbers and fractions become fractions; lists, sections and mixed types become TOML text.

    Examples
    --------
    >>> columns = parameter_columns([{"a": 1, "b": [2]}, {"a": 0.5, "b": "x"}])
    >>> {name: column.to_list() for name, column in columns.items()}
    {'a': [1.0, 0.5], 'b': ['[2]', 'x']}
    """
    return {key: pl.Series(key, _alike([point[key] for point in points]), strict=True) for key in points[0]}


def _alike(values: list[Any]) -> list[Any]:
    types = {type(value) for value in values if value is not None}
    if types <= {int, float} and len(types) == 2:
        return [None if value is None else float(value) for value in values]
    if len(types) <= 1 and types <= {int, float, bool, str}:
        return values
    return [value if value is None or isinstance(value, str) else toml_value(value) for value in values]


def run_frame(runs: list[MadeRun], columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Return one row per run: parameters, load, seed and results, including times and Gb/s."""
    rows = [timed_document(_of_run(run.result), run.clock) for run in runs]
    return pl.DataFrame([*columns.values(), *pl.DataFrame(rows, schema=timed_types(_types(_RUN, "")))])


def level_frame(runs: list[MadeRun], columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Return one row per run and service level, with the run's parameters and results (``run_...``)."""
    rows: list[dict[str, Any]] = []
    places: list[int] = []
    for place, run in enumerate(runs):
        of_run = {f"run_{name}": value for name, value in _of_run(run.result).items() if name not in {"load", "seed"}}
        which = {"load": run.result.load, "seed": run.result.seed}
        rows += [timed_document({**which, **level.document(), **of_run}, run.clock) for level in run.result.per_sl]
        places += [place] * len(run.result.per_sl)
    schema = {"load": pl.Float64, "seed": pl.Int64, **_types(_LEVEL, ""), **_types(_RUN[2:], "run_")}
    frame = pl.DataFrame(rows, schema=timed_types(schema))
    return pl.DataFrame([*(column.gather(places) for column in columns.values()), *frame])


_TYPES = {
    "bool": pl.Boolean,
    "int": pl.Int64,
    "float": pl.Float64,
    "str": pl.String,
    "list[float]": pl.List(pl.Float64),
}
_APART = ("per_sl", "deadlines", "congestion", "messages")
"""Fields of a run's result that are not columns of the table of runs."""
_LEVEL = [(each.name, str(each.type)) for each in fields(PerSL)]
_RUN = [(each.name, str(each.type)) for each in fields(RunResult) if each.name not in _APART]
"""Names and types of the fields of a level and of a run; a run begins with load and seed."""


def _types(said: list[tuple[str, str]], prefix: str) -> dict[str, Any]:
    """Return the types of columns, independent of the values of a study's runs."""
    return {f"{prefix}{name}": _TYPES[kind.removesuffix(" | None")] for name, kind in said}


def _of_run(result: RunResult) -> dict[str, Any]:
    of_run = asdict(result)
    for name in _APART:
        del of_run[name]
    return {"load": of_run.pop("load"), "seed": of_run.pop("seed"), **of_run}


def trace_frame(folder: Path, parameters: Sequence[str]) -> pl.DataFrame | None:
    """Return the packets of a folder's traced runs, after parameters, load and seed. ``None`` without traced runs.

    Raises
    ------
    InputError
        If the manifest or a trace cannot be read.
    """
    found = traced_runs(folder, parameters)
    if not found:
        return None
    points = [{**key.parameters, "load": key.load, "seed": key.seed} for key, _ in found]
    which = pl.DataFrame(parameter_columns(points)).select(*parameters, "load", "seed")
    frames = []
    for row, (_, file) in enumerate(found):
        try:
            trace = pl.read_parquet(file)
        except (OSError, pl.exceptions.PolarsError) as error:
            reason = str(error).splitlines()[0]
            raise InputError("trace", "a Parquet file", reason, source=str(file), problem=f": {reason}") from None
        frames.append(which.slice(row, 1).join(trace, how="cross", maintain_order="right", suffix="_of_packet"))
    return pl.concat(frames)


def read_table(file: Path) -> pl.DataFrame:
    """Return a table of results.

    Raises
    ------
    InputError
        If the file cannot be read, or is not a Parquet file with the columns ``load`` and ``seed``.
    """
    must = "a folder of results or a Parquet file"
    try:
        with file.open("rb") as content:
            table = pl.read_parquet(content)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or 'unreadable'}"
        raise InputError("results", must, problem, source=str(file), problem=problem) from None
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            "results", must, reason, source=str(file), problem=f"are not a Parquet file: {reason}"
        ) from None
    missing = [name for name in ("load", "seed") if name not in table.columns]
    if missing:
        raise missing_value(f"column {missing[0]}", "the file is not a table of results", source=str(file))
    return table
