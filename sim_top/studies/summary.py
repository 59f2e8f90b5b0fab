"""Summary of a study: a small table of all finished runs, from which a study can continue on any machine."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from vlane.documents.files import write_whole
from vlane.errors import InputError
from vlane.sim_top.studies.paper_study import RowsOfRun
from vlane.sim_top.study.result_frames import MadeRun
from vlane.sim_top.study.simulate import PerSL

OPTION = "--summary"
RunId = tuple[str, float, int]
"""Digest of the case, load and seed of a run."""
_POINT_DIGITS = 16
_OF_ALL = {
    "point": pl.String,
    "load": pl.Float64,
    "seed": pl.UInt32,
    "model": pl.String,
    "digest": pl.String,
    "cycles": pl.UInt64,
    "seconds": pl.Float32,
}
"""Columns of every study, after the labels."""
_TYPES = {
    "flit_hops": pl.UInt64,
    "link_utilisation_mean": pl.Float32,
    "link_utilisation_max": pl.Float32,
    "sl": pl.UInt8,
    "packets": pl.UInt64,
    "offered": pl.Float32,
    "accepted": pl.Float32,
    "latency_mean_cycles": pl.Float32,
    "latency_p50": pl.UInt64,
    "latency_p99": pl.UInt64,
    "latency_max": pl.UInt64,
    "mean_switches": pl.Float32,
    "saturated": pl.Boolean,
    "decided": pl.Boolean,
}
"""Further columns of network studies. Means of four bytes have seven exact digits, more than are ever shown."""
_DEADLINE_TYPES = {
    "connections": pl.UInt32,
    "largest": pl.Float64,
    "p999": pl.Float64,
    **dict.fromkeys(("within", "jitter", "best", "worst"), pl.List(pl.Float64)),
}
"""Columns of packets with deadlines; see ``OfDeadlines``."""
_CONGESTION_TYPES = {
    "fairness": pl.Float32,
    "marked": pl.UInt64,
    "cnps": pl.UInt64,
    "held": pl.UInt64,
    "lost": pl.UInt64,
    "cnp_share": pl.Float64,
    "accepted_parts": pl.List(pl.Float32),
}
"""Columns of congestion control (see ``OfCongestion`` and ``PerSL``); null without it."""
_MORE: dict[str, dict[str, Any]] = {"deadlines": _DEADLINE_TYPES, "congestion": _CONGESTION_TYPES}
"""Further columns by entry of ``PaperStudy.measures``."""


class Summary:
    """Table of finished runs.

    Parameters
    ----------
    columns : sequence of str
        Labels of the study's cases.
    level_of : callable or None
        Mapping from SLs to levels, as in ``PaperStudy``.
    measures : sequence of str
        Additional measurements, as in ``PaperStudy``.
    own : mapping of str to type or None
        Columns of a study with described runs, as in ``OwnRuns``; ``None`` for network studies.

    Attributes
    ----------
    is_changed : bool
        Whether the table has changed since it was last read or written.
    """

    def __init__(
        self,
        columns: Sequence[str],
        level_of: Callable[[int], int] | None = None,
        *,
        measures: Sequence[str] = (),
        own: Mapping[str, Any] | None = None,
    ) -> None:
        self.columns, self._level_of = tuple(columns), level_of
        more = {name: kind for each in measures for name, kind in _MORE[each].items()}
        of_rows = {**_TYPES, **more} if own is None else dict(own)
        self._schema: dict[str, Any] = {**dict.fromkeys(self.columns, pl.String), **_OF_ALL, **of_rows}
        self._own = tuple(own or ())
        self._row = self._own[0] if self._own else "sl"
        self._frames: dict[RunId, pl.DataFrame] = {}
        self.is_changed = False

    def __len__(self) -> int:
        return len(self._frames)

    def __contains__(self, run: RunId) -> bool:
        return self._shortened(run) in self._frames

    @staticmethod
    def _shortened(run: RunId) -> RunId:
        return run[0][:_POINT_DIGITS], run[1], run[2]

    def add(self, run: MadeRun, *, model: str) -> None:
        """Add a run, replacing an earlier one.

        Parameters
        ----------
        model : str
            Digest of the golden that made the run.
        """
        result, key = run.result, run.key
        own = {
            **{name: str(key.parameters[name]) for name in self.columns},
            "point": key.point[:_POINT_DIGITS],
            "load": result.load,
            "seed": result.seed,
            "model": model,
            "digest": result.digest,
            "cycles": result.cycles,
            "seconds": result.seconds,
            "flit_hops": result.flit_hops,
            "link_utilisation_mean": result.link_utilisation_mean,
            "link_utilisation_max": result.link_utilisation_max,
        }
        own |= (
            {}
            if result.congestion is None
            else {name: value for name, value in asdict(result.congestion).items() if name in _CONGESTION_TYPES}
        )
        deadlines = {each.sl: asdict(each) for each in result.deadlines}
        rows = [{**deadlines.get(level.sl, {}), **_of_level(level), **own} for level in self._levels(result.per_sl)]
        self._keep((key.point, result.load, result.seed), rows)

    def add_rows(self, run: RunId, labels: Mapping[str, str], made: RowsOfRun, *, model: str) -> None:
        """Add a described run, replacing an earlier one.

        Raises
        ------
        ValueError
            If a row has unknown columns, or the first column is not unique.
        """
        self._check_rows(made.rows)
        own = {
            **labels,
            "point": run[0][:_POINT_DIGITS],
            "load": run[1],
            "seed": run[2],
            "model": model,
            "digest": made.digest,
            "cycles": made.cycles,
            "seconds": made.seconds,
        }
        self._keep(run, [{**row, **own} for row in made.rows])

    def _check_rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        unknown = sorted({name for row in rows for name in row} - set(self._own))
        if unknown:
            raise ValueError(f"rows of the run have columns that the study lacks: {', '.join(unknown)}")
        named = [row.get(self._row) for row in rows]
        if not rows or None in named or len(set(named)) < len(named):
            raise ValueError(f"rows of the run need distinct values in column {self._row}, not {named}")

    def _keep(self, run: RunId, rows: Sequence[Mapping[str, Any]]) -> None:
        whole = [{name: row.get(name) for name in self._schema} for row in rows]
        self._frames[self._shortened(run)] = pl.DataFrame(whole, schema=self._schema)
        self.is_changed = True

    def _levels(self, per_sl: Sequence[PerSL]) -> list[PerSL]:
        """Return the summary's levels for the SLs of a run."""
        if self._level_of is None:
            return list(per_sl)
        levels: dict[int, list[PerSL]] = {}
        for each in per_sl:
            levels.setdefault(self._level_of(each.sl), []).append(each)
        return [_together(number, levels[number]) for number in sorted(levels)]

    def rows(self, runs: Iterable[RunId]) -> pl.DataFrame:
        """Return the rows of the given runs in the given order. Missing runs are omitted."""
        frames = [self._frames[run] for run in dict.fromkeys(map(self._shortened, runs)) if run in self._frames]
        return pl.concat(frames) if frames else pl.DataFrame(schema=self._schema)

    def models(self, point: str) -> dict[str, list[RunId]]:
        """Return the runs of a case by digest of the golden that made them."""
        found: dict[str, list[RunId]] = {}
        for run, frame in self._frames.items():
            if run[0] == point[:_POINT_DIGITS]:
                found.setdefault(str(frame["model"][0]), []).append(run)
        return found

    def seconds(self, run: RunId) -> float:
        """Return the CPU time of a run in the table."""
        return float(self._frames[self._shortened(run)]["seconds"][0])

    def digest(self, run: RunId) -> str:
        """Return the digest of the deliveries of a run in the table."""
        return str(self._frames[self._shortened(run)]["digest"][0])

    def take_over(self, runs: Iterable[RunId], *, model: str) -> None:
        """Attribute runs to another golden, which was verified to give equal results."""
        for run in map(self._shortened, runs):
            self._frames[run] = self._frames[run].with_columns(pl.lit(model).alias("model"))
            self.is_changed = True

    def drop(self, runs: Iterable[RunId]) -> None:
        """Remove runs."""
        for run in map(self._shortened, runs):
            self.is_changed |= self._frames.pop(run, None) is not None

    def relabel(self, point: str, labels: dict[str, str]) -> None:
        """Set the labels of a case's runs to its present labels."""
        for run, frame in self._frames.items():
            if run[0] == point[:_POINT_DIGITS] and any(frame[name][0] != text for name, text in labels.items()):
                self._frames[run] = frame.with_columns(pl.lit(text).alias(name) for name, text in labels.items())
                self.is_changed = True

    def write(self, file: Path) -> None:
        """Write the table atomically.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        frames = [self._frames[run] for run in sorted(self._frames)]
        whole = pl.concat(frames) if frames else pl.DataFrame(schema=self._schema)
        content = io.BytesIO()
        whole.sort(*self.columns, "load", "seed", self._row).write_parquet(
            content, compression="zstd", compression_level=19
        )
        write_whole(file, content.getvalue(), option=OPTION)
        self.is_changed = False

    @classmethod
    def read(
        cls,
        file: Path,
        columns: Sequence[str],
        level_of: Callable[[int], int] | None = None,
        *,
        measures: Sequence[str] = (),
        own: Mapping[str, Any] | None = None,
    ) -> Summary:
        """Return the table of a file, or an empty table if the file does not exist.

        Raises
        ------
        InputError
            If the file is not a summary of this study, or contains a run twice.
        """
        made = cls(columns, level_of, measures=measures, own=own)

        try:
            with file.open("rb") as content:
                whole = pl.read_parquet(content)
        except FileNotFoundError:
            return made
        except OSError as error:
            raise _unusable(file, f"cannot be read: {error.strerror or 'unreadable'}") from None
        except pl.exceptions.PolarsError as error:
            raise _unusable(file, f"is not a Parquet file: {str(error).splitlines()[0]}") from None
        narrow = {
            name: kind
            for name, kind in made._schema.items()
            if kind == pl.UInt64 and whole.schema.get(name) == pl.UInt32
        }
        whole = whole.cast(narrow)  # type: ignore[arg-type]
        if dict(whole.schema) != made._schema:
            wrong = sorted(set(whole.schema.items()) ^ set(made._schema.items()), key=str)[0][0]
            raise _unusable(file, f"is not a summary of this study (column {wrong} differs)")
        if whole.select("point", "load", "seed", made._row).is_duplicated().any():
            raise _unusable(file, "contains a run twice")
        for (point, load, seed), frame in whole.partition_by("point", "load", "seed", as_dict=True).items():
            made._frames[str(point), float(load), int(seed)] = frame
        return made


def _unusable(file: Path, why: str) -> InputError:
    problem = f": the file {why}; name another file or remove this one"
    return InputError(OPTION, "a summary of this study", why, source=str(file), problem=problem)


_WHOLE_CYCLES = ("latency_p50", "latency_p99", "latency_max")
"""Columns of latencies in whole cycles, named without their unit."""


def _of_level(level: PerSL) -> dict[str, Any]:
    """Return the fields of a level with percentiles in whole cycles."""
    fields = asdict(level)
    latencies = {name: fields[f"{name}_cycles"] for name in _WHOLE_CYCLES}
    return fields | {name: None if value is None else round(value) for name, value in latencies.items()}


def _together(number: int, levels: Sequence[PerSL]) -> PerSL:
    """Merge the results of several SLs into one level."""
    timed = [each for each in levels if each.latency_mean_cycles is not None]
    packets = sum(each.packets for each in timed)

    def mean(name: str) -> float | None:
        return sum(getattr(each, name) * each.packets for each in timed) / packets if packets else None

    return PerSL(
        number,
        sum(each.packets for each in levels),
        sum(each.offered for each in levels),
        sum(each.accepted for each in levels),
        any(each.saturated for each in levels),
        all(each.decided for each in levels),
        all(each.warmed_up for each in levels),
        sum(each.backlog_growth for each in levels),
        0.0,
        mean("latency_mean_cycles"),
        None,
        min((each.latency_min_cycles or 0 for each in timed), default=None),
        None,
        None,
        None,
        None,
        max((each.latency_max_cycles or 0 for each in timed), default=None),
        mean("mean_switches"),
        None,
        [],
        [],
    )
