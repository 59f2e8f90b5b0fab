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
from vlane.sim_top.study.result_frames import read_table
from vlane.sim_top.study.run_store import RESULTS

__all__ = ["Comparison", "Results"]

_FILES = {
    "levels": RESULTS,
    "links": "links.parquet",
    "flows": "flows.parquet",
    "histograms": "histograms.parquet",
    "runs": "runs.parquet",
}


@dataclass(frozen=True)
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
        return cls(**{"runs": _runs_of(levels), **more})

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
                table.write_parquet(content)
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
        for name in ("runs", "links", "flows", "histograms"):
            table: pl.DataFrame = getattr(self, name)
            kept[name] = chosen(table, {key: value for key, value in values.items() if key in table.columns})
        return Results(**kept)

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
            Columns.
        by : str or sequence of str, optional
            Column with one curve per value; if omitted, one curve per combination of parameters, load and SL that
            varies.
        where : mapping of str to object, optional
            Values of columns by which rows are selected; a list selects several values.
        out : str or Path, optional
            File whose name ends in ``.png``, ``.svg`` or ``.html``.
        table : str
            ``levels``, ``links``, ``flows``, ``histograms`` or ``runs``.

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


def _runs_of(levels: pl.DataFrame) -> pl.DataFrame:
    """Return one row per run, from the ``run_`` columns of the table of levels."""
    key = levels.columns[: levels.columns.index("seed") + 1]
    own = [name for name in levels.columns if name.startswith("run_")]
    names = {name: name.removeprefix("run_") for name in own}
    return levels.select(*key, *own).unique(subset=key, maintain_order=True).rename(names)
