"""``vlane simulate``: runs of a network study, stored and plotted."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from vlane.documents.toml_text import split_values
from vlane.errors import InputError, misplaced
from vlane.golden.network.division import MOST_PARTS
from vlane.paths import build_dir
from vlane.rates import rate_of
from vlane.sim_top.cli.options import AsJson, Changes, PluginFiles, RateOption, changes_of, key_and_text, load_plugins
from vlane.sim_top.cli.simulate_tables import MOST_ROWS, print_details, print_summary
from vlane.sim_top.cli.verbs import App, CheckFailedError, tell_why
from vlane.sim_top.output.console import emit_json, note, say, screen
from vlane.sim_top.output.interrupts import Interrupted
from vlane.sim_top.scenario.congestion_settings import marking_remark
from vlane.sim_top.study.result_frames import MadeRun
from vlane.sim_top.study.run_progress import RunProgress
from vlane.sim_top.study.run_store import RESULTS, links_of_run, refuse_other_files
from vlane.sim_top.study.simulate import StuckError
from vlane.sim_top.study.study_runs import run_sweep, shown_run
from vlane.sim_top.study.sweep import RATE, Sweep, make_sweep
from vlane.sim_top.study.table_effect import effect_remark
from vlane.sim_top.study.times import timed_document
from vlane.sim_top.study.workers import Cluster, WorkerLostError
from vlane.study.file import StudyFile, read_study_file, shown_changes

app = App()


@app.command(epilog="Example: vlane simulate sim_top/configs/tree43_ib.toml --sweep buffers.blocks=256,1792 --jobs 2")
def simulate(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file (TOML).")],
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Number of concurrent runs.")] = 1,
    cores: Annotated[int, typer.Option(min=1, max=MOST_PARTS, help="Number of cores that share each run.")] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Dask scheduler, tcp://HOST:PORT, whose workers make the runs."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of results. [default: build/studies/NAME]")
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Extend runs until half of each mean's 95 % interval is at most this share of it (run.precision).",
        ),
    ] = None,
    rate: RateOption = None,
    changes: Changes = None,
    sweeps: Annotated[
        list[str] | None,
        typer.Option("--sweep", metavar="K=V,V,...", help="Run each value of a key; if repeated, all combinations."),
    ] = None,
    zips: Annotated[
        list[str] | None,
        typer.Option("--zip", metavar="K=V,V,...", help="Values of a key, paired in order with other --zip values."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Reuse finished runs of the folder.")] = False,  # noqa: FBT002
    trace: Annotated[  # noqa: FBT002
        bool, typer.Option("--trace", help="Write a table of all packets sent by NICs (Parquet).")
    ] = False,
    plugin: PluginFiles = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Also print a row per run and level.")] = False,  # noqa: FBT002
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Run every load and seed of a study. Exit status 1 if a network deadlocks or a run's process dies twice."""
    start = time.perf_counter()
    load_plugins(plugin)
    axes, zipped = _axes(sweeps or [], "--sweep"), _axes(zips or [], "--zip")
    asked = _asked(read_study_file(study), changes or [], {**axes, **zipped}, precision, rate)
    sweep = make_sweep(asked, axes, zipped=zipped)
    folder = out or build_dir("studies", study.stem)
    if scheduler and jobs > 1:
        raise misplaced("--jobs", "with --scheduler: its workers set the number of concurrent runs")
    if out is not None:
        refuse_other_files(out)
    cluster = Cluster(scheduler) if scheduler else None
    finished: list[MadeRun] = []
    progress = RunProgress(sweep, jobs)

    def told(run: MadeRun, count: int, whole: int) -> None:
        finished.append(run)
        note(progress.words(run, count, whole))

    try:
        with asked.refusals():
            runs = run_sweep(
                sweep, folder, jobs=jobs, resume=resume, trace=trace, told=told, cluster=cluster, cores=cores
            )
            pictures = _pictures(runs, folder, study.stem, sweep)
    except StuckError as error:
        raise CheckFailedError(f"STUCK at {error}") from None
    except WorkerLostError as error:
        raise CheckFailedError(
            f"the run of {error} was tried twice, and both processes died; {_kept(sweep, folder, len(finished))}"
        ) from None
    except Interrupted as stop:
        tell_why(f"interrupted; {_kept(sweep, folder, len(finished))}")
        raise typer.Exit(stop.status) from None
    remarks = _remarks(runs, sweep)
    seconds, clocks = time.perf_counter() - start, {run.clock for run in runs}
    clock = clocks.pop() if len(clocks) == 1 else None
    if as_json:
        emit_json(
            {
                "study": str(study),
                "runs": [_document(each) for each in runs],
                "cycle_ns": clock and clock.cycle_ns,  # none if it is swept: each run has its own
                "rate_gbps": clock and clock.rate_gbps,
                "seconds": round(seconds, 3),
                "remarks": remarks,
                "results": str(folder / RESULTS),
                "pictures": [str(picture) for picture in pictures],
            }
        )
        return
    is_replay = not sweep.points[0].world.study.traffic
    print_summary(runs, is_replay=is_replay, most=None if verbose else MOST_ROWS)
    if verbose:
        print_details(runs, is_replay=is_replay)
    for remark in remarks:
        say(remark, style="yellow")
    for file in (folder / RESULTS, *pictures):
        screen.print(str(file), markup=False, soft_wrap=True)


def _asked(
    study: StudyFile, words: list[str], swept: Collection[str], precision: float | None, rate: str | None
) -> StudyFile:
    """Return the study with the changes of the command line. A swept key cannot also be set."""
    changes = changes_of(words)
    for key in changes:
        if key in swept:
            raise misplaced(f"--set {key}", f"with --sweep {key}")
    for option, key, given in (("--precision", "run.precision", precision), ("--rate", RATE, rate)):
        if given is not None and key in {*changes, *swept}:
            raise misplaced(option, f"with {key} in --set or --sweep")
    if precision is not None:
        if not study.study.traffic:
            raise misplaced("--precision", "without [[traffic]]")
        if not 0 < precision < 1:
            raise InputError("--precision", "above 0 and below 1", precision)
        changes["run.precision"] = precision
    if rate is not None:
        changes[RATE] = rate_of(rate, "--rate")
    return study.with_(changes) if changes else study


def _axes(words: list[str], option: str) -> dict[str, list[Any]]:
    """Return the values of each swept key."""
    axes: dict[str, list[Any]] = {}
    for word in words:
        key, text = key_and_text(word, option)
        if key in axes:
            raise InputError(
                f"{option} {key}", "given once", "twice", problem="is given twice: list all values in one option"
            )
        axes[key] = split_values(text, f"{option} {key}")
    return axes


def _pictures(runs: list[MadeRun], folder: Path, title: str, sweep: Sweep) -> list[Path]:
    """Draw a replay, or curves over several loads, and write the page. Return the written files, none for a sweep.

    A single load has no curves. Pictures and pages of earlier runs that do not apply to these runs are removed.
    """
    world, picture, page = sweep.points[0].world, folder / "study.png", folder / "study.html"
    if len(sweep.points) > 1:
        picture.unlink(missing_ok=True)
        page.unlink(missing_ok=True)
        return []
    from vlane.sim_top.plots.study_page import write_study_page  # noqa: PLC0415 - what is refused needs no page

    made, results = [], [run.result for run in runs]
    if world.study.traffic and len(world.study.run.loads) == 1:
        picture.unlink(missing_ok=True)
    else:
        from vlane.sim_top.plots.plot_study import write_picture  # noqa: PLC0415 - drawing takes a second to load

        made.append(write_picture(results, folder, title=title, study=world.study))
    links = [(run.result.load, links_of_run(folder, run.key)) for run in runs]
    return [*made, write_study_page(page, world, results, links, title=title)]


def _remarks(runs: list[MadeRun], sweep: Sweep) -> list[str]:
    """Return remarks about settings that had no effect in a point of a sweep, and about warm-ups that are too short."""
    remarks = [*_warm_up_remarks(runs, sweep), *_table_remarks(runs, sweep)]
    for point in sweep.points:
        counts = [run.result.congestion for run in runs if run.parameters == point.parameters]
        marked = [each.marked for each in counts if each is not None]
        if point.world.congestion is not None and marked:
            remark = marking_remark(point.world.study, point.world.congestion, marked)
            which = f"{shown_changes(point.parameters)}: " if point.parameters else ""
            remarks += [f"congestion control: {which}{remark}"] if remark else []
    return remarks


def _warm_up_remarks(runs: list[MadeRun], sweep: Sweep) -> Iterator[str]:
    """Yield a remark for each point of a sweep with levels whose window begins in the warm-up."""
    for point in sweep.points:
        run, made = point.world.study.run, [each for each in runs if each.parameters == point.parameters]
        cold = [(each, level) for each in made for level in each.result.per_sl if not level.warmed_up]
        if cold:
            levels = sum(len(each.result.per_sl) for each in made)
            yield (
                f"warm-up: cannot tell saturation and intervals of {len(cold)} of {levels} levels, such as SL "
                f"{cold[0][1].sl} of {shown_run(cold[0][0].key)}: the window begins in the warm-up; raise "
                f"run.warm_up_cycles ({run.warm_up_cycles:,}) or run.cycles ({run.cycles:,})"
            )


def _table_remarks(runs: list[MadeRun], sweep: Sweep) -> Iterator[str]:
    """Yield a remark for each point of a sweep whose tables have no choice at backlogged ports."""
    for point in sweep.points:
        levels = [level for run in runs if run.parameters == point.parameters for level in run.result.per_sl]
        busy = [level.table_contested_share for level in levels if level.table_measured_share is not None]
        remark = effect_remark(point.world, [share for share in busy if share is not None])
        if remark:
            yield f"{shown_changes(point.parameters)}: {remark}" if point.parameters else remark


def _kept(sweep: Sweep, folder: Path, finished: int) -> str:
    return f"{finished} of {sweep.run_count} runs are stored in {folder}; continue with --resume"


def _document(run: MadeRun) -> dict[str, Any]:
    """Return the JSON document of a run, without its time series."""
    clock = {"cycle_ns": run.clock.cycle_ns, "rate_gbps": run.clock.rate_gbps}
    document = {"parameters": dict(run.parameters), **clock, **asdict(run.result)}
    document["per_sl"] = [level.document() for level in run.result.per_sl]
    for level in document["per_sl"]:
        del level["offered_parts"], level["accepted_parts"]
    return timed_document(document, run.clock)
