"""Results of a study: tables with one column per parameter, to read, save, compare and draw."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from vlane.documents.files import usable_folder, write_whole
from vlane.errors import InputError
from vlane.sim_top.plots.compare import Comparison, compare_levels
from vlane.sim_top.plots.curves import chosen, curves_of
from vlane.sim_top.study.result_frames import read_table, trace_frame
from vlane.sim_top.study.run_store import RESULTS
from vlane.sim_top.study.times import unit_metadata

__all__ = ["Comparison", "Results"]

_FILES = {
    "levels": RESULTS,
    "links": "links.parquet",
    "flows": "flows.parquet",
    "histograms": "histograms.parquet",
    "levels_over_time": "levels_over_time.parquet",
    "links_over_time": "links_over_time.parquet",
    "runs": "runs.parquet",
}


@dataclass(frozen=True, repr=False)
class Results:
    """Measurements of a study's runs (``docs/results.md`` lists the columns).

    Every table begins with one column per parameter, named by its dotted key, then ``load`` and ``seed``.

    Parameters
    ----------
    levels : DataFrame
        One row per run and service level.
    runs : DataFrame
        One row per run.
    links : DataFrame
        One row per run, sending end and VL; without columns if only ``results.parquet`` was read.
    flows : DataFrame
        One row per run, source, destination and SL; without columns unless the study measures flows.
    histograms : DataFrame
        One row per run and latency bin with packets; without columns unless the study measures histograms.
    levels_over_time : DataFrame
        One row per run, interval and service level; without columns unless ``measure.every`` is set.
    links_over_time : DataFrame
        One row per run, interval, link and VL; without columns unless ``measure.every`` is set.
    folder : Path or None
        Folder that the tables were read from.

    Examples
    --------
    >>> from vlane import Study
    >>> study = Study.from_dict({
    ...     "network": {"topology": "tree", "k": 2, "n": 2},
    ...     "traffic": [{"sl": 0}],
    ...     "run": {"loads": [0.2], "cycles": 2000, "warm_up_cycles": 500},
    ... })
    >>> results = study.run(sweep={"buffers.blocks": [64, 128]})
    >>> results.parameters, results.levels["buffers.blocks"].to_list(), results.runs["cycles"].to_list()
    (['buffers.blocks'], [64, 128], [2000, 2000])
    >>> first, second = (results.where({"buffers.blocks": blocks}) for blocks in (64, 128))
    >>> comparison = first.compare(second)
    >>> comparison.runs, comparison.ok
    (1, True)
    >>> results.plot(x="buffers.blocks", y="accepted").axes[0].get_xlabel()
    'buffers.blocks'
    """

    levels: pl.DataFrame
    runs: pl.DataFrame
    links: pl.DataFrame = field(default_factory=pl.DataFrame)
    flows: pl.DataFrame = field(default_factory=pl.DataFrame)
    histograms: pl.DataFrame = field(default_factory=pl.DataFrame)
    levels_over_time: pl.DataFrame = field(default_factory=pl.DataFrame)
    links_over_time: pl.DataFrame = field(default_factory=pl.DataFrame)
    folder: Path | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        key = self.runs.select(*self.parameters, "load", "seed")
        lines = [f"<Results of {len(key)} run{'s' * (len(key) != 1)}", *(_values(key[name]) for name in key.columns)]
        for name in _FILES:
            table: pl.DataFrame = getattr(self, name)
            if table.width:
                lines.append(f"{name}: {len(table):,} rows, {table.width} columns")
        kept = lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], "..."]
        return "\n  ".join(each if len(each) <= _WIDTH else f"{each[: _WIDTH - 3]}..." for each in kept) + ">"

    @classmethod
    def read(cls, path: str | Path) -> Results:
        """Return the results in a folder of ``vlane simulate`` or ``Study.run``, or in a single ``results.parquet``.

        Raises
        ------
        InputError
            If the file is missing or not a table of results.
        """
        given = Path(path)
        if not given.is_dir():
            levels = read_table(given)
            return cls(levels, _runs_of(levels))
        levels = read_table(given / RESULTS)
        more = {name: read_table(given / file) for name, file in _FILES.items() if (given / file).is_file()}
        return cls(**{"runs": _runs_of(levels), **more}, folder=given)

    @property
    def parameters(self) -> list[str]:
        """Names of the columns that identify a point of a sweep."""
        return self.levels.columns[: self.levels.columns.index("load")]

    def save(self, folder: str | Path) -> Path:
        """Write the tables as Parquet files into a folder and return it. Each file is written atomically.

        Raises
        ------
        InputError
            If a file cannot be written.
        """
        place = usable_folder(Path(folder), option="folder")
        for name, file in _FILES.items():
            table: pl.DataFrame = getattr(self, name)
            if table.width:
                content = io.BytesIO()
                table.write_parquet(content, metadata=unit_metadata(table.columns))
                write_whole(place / file, content.getvalue(), option="folder")
        return place

    def where(self, values: Mapping[str, Any]) -> Results:
        """Return the rows with the given values. A column that a table lacks does not filter that table.

        Raises
        ------
        InputError
            If the table of levels lacks a column, or no row is left.
        """
        if not isinstance(values, Mapping):
            raise InputError("values", "a mapping of columns to values", f"{values!r}")
        kept = {"levels": chosen(self.levels, values)}
        for name in _FILES:
            if name == "levels":
                continue
            table: pl.DataFrame = getattr(self, name)
            kept[name] = chosen(table, {key: value for key, value in values.items() if key in table.columns})
        return Results(**kept, folder=self.folder)

    def traces(self) -> pl.DataFrame:
        """Return the packets of all runs that were traced: the columns of a run's trace after those of the run.

        Raises
        ------
        InputError
            If no run of a folder was traced (``trace=True``, ``vlane simulate --trace``), or a trace cannot be read.
        """
        found = None if self.folder is None else trace_frame(self.folder, self.parameters)
        if found is None:
            problem = ": no run was traced; run with trace=True and out=FOLDER, or vlane simulate --trace"
            raise InputError("traces", "of traced runs", "none", problem=problem)
        key = [*self.parameters, "load", "seed"]
        return self.runs.select(key).join(found, on=key, nulls_equal=True, maintain_order="left_right")

    def compare(self, other: Results) -> Comparison:
        """Return the differences between these and other results, over the runs in both (``docs/results.md``).

        Raises
        ------
        InputError
            If they have no run in common.
        """
        if not isinstance(other, Results):
            raise InputError("other", "a vlane.Results", f"{other!r}")
        return compare_levels(self.levels, other.levels)

    def plot(
        self,
        *,
        x: str = "load",
        y: str = "latency_mean_cycles",
        by: str | Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
        table: str = "levels",
    ) -> Any:
        """Draw one column against another. Return matplotlib's figure, or the path of the file if ``out`` is given.

        Parameters
        ----------
        x, y : str
            Columns of the horizontal and of the vertical axis.
        by : str or sequence of str, optional
            Column with one curve per value; if omitted, one curve per combination of parameters, load and SL that
            varies.
        where : mapping of str to object, optional
            Values of columns by which rows are selected; a list selects several values.
        out : str or Path, optional
            File whose name ends in ``.png``, ``.svg`` or ``.html``.
        table : str
            ``levels``, ``links``, ``flows``, ``histograms``, ``levels_over_time``, ``links_over_time`` or ``runs``.

        Raises
        ------
        InputError
            If a column is unknown or not numeric, or no row is left.
        """
        from vlane.sim_top.plots.plot_curves import curve_figure, write_curves  # noqa: PLC0415 - it takes a second

        if table not in _FILES:
            raise InputError("table", f"one of {', '.join(_FILES)}", table)
        names = None if by is None else [by] if isinstance(by, str) else list(by)
        curves = curves_of(getattr(self, table), x=x, y=y, by=names, where=where or {})
        return curve_figure(curves) if out is None else write_curves(curves, Path(out))


_WIDTH, _MOST_LINES = 76, 12


def _values(column: pl.Series) -> str:
    """Return the name of a column with its values, or with their number and extremes."""
    values = column.unique(maintain_order=True).to_list()
    if len(values) <= 6:
        return f"{column.name}: {', '.join(map(str, values))}"
    return f"{column.name}: {len(values)} values, {column.min()!s} to {column.max()!s}"


def _runs_of(levels: pl.DataFrame) -> pl.DataFrame:
    """Return one row per run, from the ``run_`` columns of the table of levels."""
    key = levels.columns[: levels.columns.index("seed") + 1]
    own = [name for name in levels.columns if name.startswith("run_")]
    names = {name: name.removeprefix("run_") for name in own}
    return levels.select(*key, *own).unique(subset=key, maintain_order=True).rename(names)
