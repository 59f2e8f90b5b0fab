"""``vlane study``: a paper's study, with its figures next to the published ones."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from vlane.documents.files import usable_folder
from vlane.errors import InputError, misplaced, unknown_word
from vlane.extras import require_extra
from vlane.paths import build_dir
from vlane.sim_top.cli.options import AsJson, Changes, changes_of
from vlane.sim_top.cli.plot import asked_rows
from vlane.sim_top.cli.verbs import App, CheckFailedError, tell_why
from vlane.sim_top.output.console import emit_json, note, say, screen, table
from vlane.sim_top.output.interrupts import Interrupted
from vlane.sim_top.studies.by_name import STUDIES, study_by_name
from vlane.sim_top.studies.figures import Figure
from vlane.sim_top.studies.measured import Measured
from vlane.sim_top.studies.page import Outcome, readings_of, write_pages
from vlane.sim_top.studies.paper_study import Case, NetworkCase, PaperStudy
from vlane.sim_top.studies.sitting import Runner, missing_runs, sit
from vlane.sim_top.studies.summary import Summary
from vlane.sim_top.study.simulate import StuckError
from vlane.sim_top.study.sweep import LISTS
from vlane.sim_top.study.workers import Cluster, WorkerLostError
from vlane.study.file import shown_changes, shown_value

app = App()


@app.command(epilog="Example: vlane study dtable --quick")
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"Study: {', '.join(STUDIES)}.")],
    quick: Annotated[  # noqa: FBT002
        bool, typer.Option("--quick", help="Make fewer and shorter runs: minutes instead of hours.")
    ] = False,
    part: Annotated[
        str | None, typer.Option(metavar="PART", help="Part of the study. [default: the first part]")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="COLUMN=V[,V]",
            help="Make only these runs, such as network=tree43 or seed=1,2; repeatable.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Number of concurrent runs.")] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Dask scheduler, tcp://HOST:PORT, whose workers make the runs."),
    ] = None,
    changes: Changes = None,
    resume: Annotated[bool, typer.Option("--resume", help="Reuse finished runs of the summary.")] = False,  # noqa: FBT002
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of results. [default: build/studies/NAME]")
    ] = None,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table of finished runs. [default: DIR/summary.parquet]")
    ] = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Run a paper's study and compare its figures with the published ones.

    Exit status 1 if a measured figure is outside its bound, a network deadlocks or a run's process dies twice.
    """
    start = time.perf_counter()
    made = study_by_name(name)
    part = part or next(iter(made.parts))
    if part not in made.parts:
        raise unknown_word("--part", list(made.parts), part)
    if scheduler and jobs > 1:
        raise misplaced("--jobs", "with --scheduler: its workers set the number of concurrent runs")
    if scheduler:
        require_extra("scale")
    changed = changes_of(changes or [])
    cases = [_changed(case, changed) for case in made.cases(part, quick)] if changed else made.cases(part, quick)
    chosen = _chosen(cases, only or [])
    if summary:
        usable_folder(summary.parent, option="--summary")
    if changed:
        note(f"changed study ({shown_changes(changed)}): the bounds are those of the unchanged study")
    ending = f"-{hashlib.sha256(repr(sorted(changed.items())).encode()).hexdigest()[:8]}" if changed else ""
    default = build_dir("studies", f"{name}{'-quick' * quick}{ending}")
    folder = usable_folder(out or default, option="--out")
    file = summary or folder / "summary.parquet"
    own = made.own_runs.schema if made.own_runs else None
    kept = Summary.read(file, made.columns, made.level_of, measures=made.measures, own=own)
    runner = Runner(folder, jobs, resume, note, note, (lambda: Cluster(scheduler)) if scheduler else None)
    missing = sum(len(loads) for _, _, loads in missing_runs(chosen, kept)) if resume else None

    def words() -> str:
        wanted = len({(case.digest, load, seed) for case in chosen for load in case.loads for seed in case.seeds})
        left = sum(len(loads) for _, _, loads in missing_runs(chosen, kept))
        return f"{wanted - left} of {wanted} runs are stored in {file}; continue with --resume"

    if missing:
        note(f"{missing} runs are missing")
    try:
        sit(made, chosen, kept, file, runner)
        outcome = _outcome(made, part, cases, kept, quick=quick)
        pages = write_pages(outcome, folder)
    except StuckError as error:
        raise CheckFailedError(f"STUCK at {error}") from None
    except WorkerLostError as error:
        raise CheckFailedError(f"two processes died during the run of {error}; {words()}") from None
    except Interrupted as stop:
        tell_why(f"interrupted; {words()}")
        raise typer.Exit(stop.status) from None
    seconds = time.perf_counter() - start
    if as_json:
        emit_json(_document(outcome, quick=quick, seconds=seconds, file=file, pages=pages))
    else:
        _print(outcome)
        for each in (file, *pages):
            screen.print(str(each), markup=False, soft_wrap=True)
    raise typer.Exit(1 if outcome.holds is False else 0)


def _changed(case: Case, changes: Mapping[str, Any]) -> Case:
    """Return a case with changed keys of its study.

    Raises
    ------
    InputError
        If the runs are not those of a study file, the key is that of loads or seeds, or the changed study is rejected.
    """
    for key in changes:
        if key.startswith(LISTS):
            raise misplaced(f"--set {key}", "with vlane study, whose cases have their own; choose runs with --only")
    if not isinstance(case, NetworkCase):
        raise misplaced("--set", "with a study whose runs have no study file")
    return replace(case, study=case.study.with_(changes))


def _chosen(cases: Sequence[Case], words: list[str]) -> list[Case]:
    """Return the cases reduced to the selected labels, loads and seeds."""
    chosen = list(cases)
    for column, values in asked_rows(words, "--only").items():
        option = f"--only {column}"
        if column == "load":
            _check_known(option, sorted({load for case in cases for load in case.loads}), values)
            chosen = [replace(case, loads=[load for load in case.loads if load in values]) for case in chosen]
            continue
        if column == "seed":
            _check_known(option, sorted({seed for case in cases for seed in case.seeds}), values)
            chosen = [replace(case, seeds=[seed for seed in case.seeds if seed in values]) for case in chosen]
            continue
        if column not in cases[0].labels:
            raise unknown_word("--only", ["load", "seed", *cases[0].labels], column)
        asked = [str(value) for value in values]  # a label may be a number, such as a network's
        _check_known(option, sorted({case.labels[column] for case in cases}, key=lambda word: (len(word), word)), asked)
        chosen = [case for case in chosen if case.labels[column] in asked]
    return [case for case in chosen if case.loads and case.seeds]


def _check_known(option: str, known: Sequence[Any], values: Sequence[Any]) -> None:
    for value in values:
        if value not in known:
            raise InputError(option, f"one of {', '.join(map(shown_value, known))}", value)


def _outcome(made: PaperStudy, part: str, cases: Sequence[Case], kept: Summary, *, quick: bool) -> Outcome:
    wanted = {(case.digest, load, seed) for case in cases for load in case.loads for seed in case.seeds}
    rows = kept.rows(sorted(wanted))
    measured = Measured(rows, cases[0].clock)
    length = "quick" if quick else "in full"
    return Outcome(made, part, length, made.figures(part, measured), made.charts(part, measured), rows, len(wanted))


def _document(outcome: Outcome, *, quick: bool, seconds: float, file: Path, pages: Sequence[Path]) -> dict[str, Any]:
    return {
        "study": outcome.study.name,
        "part": outcome.part,
        "quick": quick,
        "figures": [figure.document() for figure in outcome.figures],
        "holds": outcome.holds,
        "runs": outcome.runs,
        "runs_wanted": outcome.wanted,
        "seconds": round(seconds, 3),
        "summary": str(file),
        "pages": [str(page) for page in pages],
    }


def _print(outcome: Outcome) -> None:
    readings = readings_of(outcome.figures)
    rows = [_row(figure, readings) for figure in outcome.figures]
    others = [f">{name}" for name in readings]
    columns = ["figure", ">published", ">measured", *others, ">least", ">greatest", ">seeds", "bound", "verdict"]
    screen.print(table(f"{outcome.study.title}; {outcome.part}, {outcome.length}", columns, rows))
    told = [figure.holds for figure in outcome.figures if figure.holds is not None]
    without = sum(not figure.values for figure in outcome.figures)
    words = f"{sum(told)} of {len(told)} measured figures are within their bounds, {without} figures were not measured"
    style = {None: "yellow", True: "green", False: "red"}[outcome.holds]
    say(f"{words}; {outcome.runs:,} of {outcome.wanted:,} runs", style=style)
    for name in readings:
        under = [replace(each, values=each.readings.get(name, ())).holds for each in outcome.figures]
        known = [holds for holds in under if holds is not None]
        say(f"{name}: {sum(known)} of {len(known)} measured figures are within their bounds")


def _row(figure: Figure, readings: Sequence[str]) -> list[str]:
    least, greatest = min(figure.values, default=None), max(figure.values, default=None)
    unit = f" ({figure.unit})" if figure.unit else ""
    others = [figure.mean_of(name) for name in readings]
    values = (figure.published, figure.ours, *others, least, greatest)
    numbers = ["" if value is None else f"{value:,.4g}" for value in values]
    return [f"{figure.name}{unit}", *numbers, str(len(figure.values)), figure.bound.words, figure.verdict]
