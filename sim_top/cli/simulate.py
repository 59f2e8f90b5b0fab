"""``vlane simulate``: runs of a network study, kept and drawn."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from vlane.sim_top.cli.options import AsJson, PluginFiles, RateOption, load_plugins
from vlane.sim_top.cli.verbs import App, CheckFailedError, tell_why
from vlane.sim_top.output.console import emit_json, note, screen, table
from vlane.sim_top.output.interrupts import Interrupted, interruptible
from vlane.sim_top.study.run_store import links_of_run
from vlane.sim_top.study.simulate import PerSL, RunResult, StuckError
from vlane.sim_top.study.study_runs import run_study
from vlane.sim_top.study.times import timed_document
from vlane.sim_top.study.workers import Cluster, WorkerLostError
from vlane.sim_top.study.world import World, make_world

from vlane.errors import InputError
from vlane.paths import build_dir
from vlane.rates import rate_of
from vlane.study import Study
from vlane.study_model import read_study
from vlane.study_refusals import refusals_of_study

__all__ = ["app"]


app = App()


@app.command(epilog="Example: vlane simulate sim_top/configs/tree43_ib.toml --jobs 2")
def simulate(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file (TOML).")],
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Runs at a time.")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A dask scheduler, tcp://HOST:PORT, whose workers run.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for results; build/studies/NAME.")] = None,
    precision: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Run on until means are sure to this share; run.precision.")
    ] = None,
    rate: RateOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Take finished runs as they are.")] = False,  # noqa: FBT002
    trace: Annotated[bool, typer.Option("--trace", help="Write every packet that left its NIC (Parquet).")] = False,  # noqa: FBT002
    plugin: PluginFiles = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Run every load and seed of a study. Exit status 1 if a network gets stuck or a run's process dies twice."""
    start = time.perf_counter()
    load_plugins(plugin)
    with refusals_of_study(study):
        world = make_world(_at_rate(_asked(read_study(study), precision), rate), study.parent)
    folder = out or build_dir("studies", study.stem)
    if scheduler and jobs > 1:
        raise InputError("--jobs", "left out beside --scheduler, whose workers are as many as they are", jobs)
    cluster = Cluster(scheduler) if scheduler else None
    finished: list[RunResult] = []

    def told(run: RunResult, count: int, whole: int) -> None:
        finished.append(run)
        _told(run, count, whole)

    try:
        with refusals_of_study(study), interruptible():
            runs = run_study(
                world, folder, file=study.name, jobs=jobs, resume=resume, trace=trace, told=told, cluster=cluster
            )
            pictures = _pictures(runs, folder, study.stem, world)
    except StuckError as error:
        raise CheckFailedError(f"STUCK at {error}") from None
    except WorkerLostError as error:
        raise CheckFailedError(
            f"two processes ended while they made the run of {error}; {_kept(world, folder, len(finished))}"
        ) from None
    except Interrupted as stop:
        tell_why(f"interrupted; {_kept(world, folder, len(finished))}")
        raise typer.Exit(stop.status) from None
    seconds, clock = time.perf_counter() - start, world.study.link.clock
    if as_json:
        emit_json(
            {
                "study": str(study),
                "runs": [timed_document(_document(each), clock) for each in runs],
                "cycle_ns": clock.cycle_ns,
                "rate_gbps": clock.rate_gbps,
                "seconds": round(seconds, 3),
                "results": str(folder / "results.parquet"),
                "pictures": [str(picture) for picture in pictures],
            }
        )
        return
    _print(runs, world.study)
    for file in (folder / "results.parquet", *pictures):
        screen.print(str(file), markup=False, soft_wrap=True)


def _pictures(runs: list[RunResult], folder: Path, title: str, world: World) -> list[Path]:
    """Draw a replay, or curves over several loads, and write the page; return the files.

    A single load has no curve: the picture that the folder holds of earlier runs is removed.
    """
    from vlane.sim_top.study.study_page import write_study_page  # noqa: PLC0415 - what is refused needs no page

    made = []
    if world.study.traffic and len(world.study.run.loads) == 1:
        (folder / "study.png").unlink(missing_ok=True)
    else:
        from vlane.sim_top.study.plot_study import write_picture  # noqa: PLC0415 - drawing takes a second to load

        made.append(write_picture(runs, folder, title=title, study=world.study))
    links = [(run.load, links_of_run(folder, run.load, run.seed)) for run in runs]
    return [*made, write_study_page(folder / "study.html", world, runs, links, title=title)]


def _kept(world: World, folder: Path, finished: int) -> str:
    whole = len(world.study.run.loads) * len(world.study.run.seeds)
    return f"{finished} of {whole} runs are kept in {folder}, --resume goes on from there"


def _told(run: RunResult, finished: int, whole: int) -> None:
    speed = f"{run.flit_hops_per_second / 1e6:.1f} million flit-hops a second"
    note(f"{finished} of {whole}: load {run.load!r}, seed {run.seed}, {speed}")


def _asked(study: Study, precision: float | None) -> Study:
    """Return a study with the precision of the command line, if there is one."""
    if precision is None:
        return study
    if not 0 < precision < 1 or not study.traffic:
        must = "above 0 and below 1" if study.traffic else "left out without traffic"
        raise InputError("--precision", must, precision)
    return study.model_copy(update={"run": study.run.model_copy(update={"precision": precision})})


def _at_rate(study: Study, rate: str | None) -> Study:
    """Return a study with the rate of the command line, if there is one."""
    if rate is None:
        return study
    return study.model_copy(update={"link": study.link.model_copy(update={"rate_gbps": rate_of(rate, "--rate")})})


def _document(run: RunResult) -> dict[str, Any]:
    """Return a run without its course over time."""
    document = asdict(run)
    for level in document["per_sl"]:
        del level["offered_parts"], level["accepted_parts"]
    return document


def _print(runs: list[RunResult], study: Study) -> None:
    with_precision = study.run.precision is not None
    rows = [
        [
            f"{run.load:g}" if study.traffic else "replay", str(run.seed), str(level.sl),
            f"{level.offered:.4f}", f"{level.accepted:.4f}",
            *_latencies(level), f"{level.backlog_growth:.4f}", f"{level.backlog_growth_ci95:.4f}",
            "yes" if level.saturated else "" if level.decided else "cannot tell",
            *[f"{run.cycles:,}", "" if level.precise or level.saturated else "not reached"] * with_precision,
        ]
        for run in runs for level in run.per_sl
    ]  # fmt: skip
    columns = [">load", ">seed", ">SL", ">offered", ">accepted", ">mean latency", ">± 95 %", ">p50", ">p99", ">longest"]
    more = [">run", "precision"] * with_precision
    columns += [">growth", ">± 95 %", "saturated", *more]
    screen.print(table("flits per cycle and host; cycles; growth of what waits", columns, rows))
    _print_times(runs, study)


def _print_times(runs: list[RunResult], study: Study) -> None:
    """Print the same rates and latencies in Gb/s and ns."""
    clock = study.link.clock
    rows = [
        [
            f"{run.load:g}" if study.traffic else "replay", str(run.seed), str(level.sl),
            f"{clock.gbps(level.offered):.2f}", f"{clock.gbps(level.accepted):.2f}", *_latencies(level, clock.cycle_ns),
        ]
        for run in runs for level in run.per_sl
    ]  # fmt: skip
    columns = [">load", ">seed", ">SL", ">offered", ">accepted", ">mean latency", ">± 95 %", ">p50", ">p99", ">longest"]
    title = f"Gb/s per host; ns, {clock.cycle_ns:g} to a cycle: links of {clock.rate_gbps:g} Gb/s"
    screen.print(table(title, columns, rows))


def _latencies(level: PerSL, unit: float = 1) -> list[str]:
    """Return mean, interval, p50, p99 and longest in cycles of so many units; a saturated level has none of its own."""
    if level.saturated:
        return ["grows", "", "", "", ""]
    means = [level.latency_mean_cycles, level.latency_ci95_cycles]
    ranks = [level.latency_p50, level.latency_p99, level.latency_max]
    return [*(_shown(each, ".1f", unit) for each in means), *(_shown(each, ".0f", unit) for each in ranks)]


def _shown(value: float | None, form: str, unit: float) -> str:
    return "" if value is None else format(value * unit, form)
