"""``vlane plot``: plots of any column of a study's results against any other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vlane.documents.toml_text import split_values
from vlane.errors import InputError, misplaced, unknown_word
from vlane.sim_top.cli.options import AsJson
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.output.console import emit_json, note, screen
from vlane.sim_top.plots.curves import curves_of
from vlane.sim_top.plots.plot_curves import write_curves
from vlane.sim_top.study.result_frames import read_table
from vlane.sim_top.study.run_store import RESULTS

_TABLES = ("results", "links", "flows", "histograms", "levels_over_time", "links_over_time", "runs")

app = App()


@app.command(epilog="Example: vlane plot build/studies/tree43_ib --x load --y accepted --by sl --out accepted.png")
def plot(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder of results, or a Parquet file.")],
    x: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the x axis.")] = "load",
    y: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the y axis.")] = "latency_mean_cycles",
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Column with one curve per value; repeatable. [default: all varying parameters]"
        ),
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=V[,V]", help="Use only rows with these values; repeatable.")
    ] = None,
    table: Annotated[
        str, typer.Option(metavar="TABLE", help=f"Table of the folder: {', '.join(_TABLES)}.")
    ] = "results",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Picture or page to write (.png, .svg, .html). [default: RESULTS/plot.png]"),
    ] = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Draw one column of results against another: means over seeds, 95 % intervals."""
    if table not in _TABLES:
        raise unknown_word("--table", _TABLES, table)
    is_folder = results.is_dir()
    if not is_folder and table != "results":
        raise misplaced("--table", "with a Parquet file: name a folder of results")
    file = results / (RESULTS if table == "results" else f"{table}.parquet") if is_folder else results
    frame = read_table(file)
    rows = asked_rows(where or [], "--where")
    curves = curves_of(frame, x=x, y=y, by=by, where=rows, option="--")
    picture = write_curves(curves, out or file.parent / "plot.png")
    if curves.averaged:
        note(f"means over {', '.join(curves.averaged)} (--by draws a curve for each value, --where selects values)")
    if as_json:
        emit_json(
            {
                "picture": str(picture),
                "x": x,
                "y": y,
                "averaged": list(curves.averaged),
                "curves": [curve.document(curves) for curve in curves.curves],
            }
        )
        return
    screen.print(str(picture), markup=False, soft_wrap=True)


def asked_rows(words: list[str], option: str) -> dict[str, list[Any]]:
    """Return the values by column that the words of an option select.

    Raises
    ------
    InputError
        If a word is not ``COLUMN=VALUE``, or a column is given twice; names the option.
    """
    rows: dict[str, list[Any]] = {}
    for word in words:
        column, equals, text = word.partition("=")
        if not equals:
            raise InputError(option, "COLUMN=VALUE, such as sl=0", word)
        if column in rows:
            problem = "is given twice: list all values in one option"
            raise InputError(f"{option} {column}", "given once", "twice", problem=problem)
        rows[column] = split_values(text, f"{option} {column}")
    return rows
