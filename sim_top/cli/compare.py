"""``vlane compare``: differences between two results of studies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vlane.sim_top.cli.options import AsJson
from vlane.sim_top.cli.plot import asked_rows
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.output.console import emit_json, say, screen, table
from vlane.sim_top.plots.compare import DIFFERENT, EQUAL, PERHAPS, Comparison, compare_levels
from vlane.sim_top.plots.curves import chosen
from vlane.sim_top.study.result_frames import read_table
from vlane.sim_top.study.run_store import RESULTS
from vlane.study.file import shown_value

app = App()


@app.command(epilog="Example: vlane compare build/studies/before build/studies/after")
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Folder of results, or a Parquet file.")],
    second: Annotated[
        Path, typer.Argument(metavar="B", help="Second folder or file; may be A with other rows selected.")
    ],
    where_first: Annotated[
        list[str] | None,
        typer.Option("--first", metavar="COLUMN=V[,V]", help="Use only the rows of A with these values; repeatable."),
    ] = None,
    where_second: Annotated[
        list[str] | None,
        typer.Option("--second", metavar="COLUMN=V[,V]", help="Use only the rows of B with these values; repeatable."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also list equal columns.")] = False,  # noqa: FBT002
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Compare the runs that are in both results. Exit status 1 if a difference is statistically significant."""
    tables = [
        chosen(read_table(path / RESULTS if path.is_dir() else path), asked_rows(words or [], option), option=option)
        for path, words, option in ((first, where_first, "--first"), (second, where_second, "--second"))
    ]
    found = compare_levels(*tables)
    if as_json:
        emit_json(
            {
                "ok": found.ok,
                "runs": found.runs,
                "equal_runs": found.equal_runs,
                "only_first": found.only_first,
                "only_second": found.only_second,
                "compared": {key: list(both) for key, both in found.compared.items()},
                "differences": found.differences.to_dicts(),
            }
        )
    else:
        _print(found, every=every)
    raise typer.Exit(0 if found.ok else 1)


def _print(found: Comparison, *, every: bool) -> None:
    for name, (one, other) in found.compared.items():
        if one != other:
            say(f"{name}: {shown_value(one)} in the first, {shown_value(other)} in the second")
    rows = [row for row in found.differences.to_dicts() if every or row["verdict"] != EQUAL]
    if rows:
        keys = [name for name in rows[0] if name not in _OF_DIFFERENCE]
        shown = [
            [
                *(shown_value(row[key]) for key in keys),
                row["column"],
                *(_number(row[name]) for name in _NUMBERS),
                row["verdict"],
            ]
            for row in rows
        ]
        columns = [*(f">{key}" for key in keys), "column", ">first", ">second", ">difference", ">± 95 %", "verdict"]
        screen.print(table("second minus first, means over seeds", columns, shown))
    counts = [f"{found.runs} runs in both, {found.equal_runs} of them with identical deliveries"]
    counts += [
        f"{count} only in the {which}"
        for count, which in ((found.only_first, "first"), (found.only_second, "second"))
        if count
    ]
    say(", ".join(counts))
    different, perhaps = (sum(row["verdict"] == verdict for row in rows) for verdict in (DIFFERENT, PERHAPS))
    if different:
        say(f"{different} differences are significant", style="red")
    elif found.runs == found.equal_runs:
        say("equal", style="green")
    else:
        say("no difference is significant", style="green")
    if perhaps:
        say(f"{perhaps} differences are undecided: run more seeds or longer", style="yellow")


_NUMBERS = ("first", "second", "difference", "ci95")
_OF_DIFFERENCE = {"column", "seeds", "verdict", *_NUMBERS}


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"
