"""``vlane simulate``: runs of a network study, kept and drawn."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from vlane.sim_top.cli_options import AsJson
from vlane.sim_top.console import emit_json, note, screen, table
from vlane.sim_top.plot_study import write_plots
from vlane.sim_top.simulate import RunResult, StuckError, run_study
from vlane.sim_top.workers import Cluster
from vlane.sim_top.world import make_world

from vlane.errors import InputError
from vlane.paths import build_dir
from vlane.study import read_study

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(epilog="Example: vlane simulate sim_top/configs/tree43_ib.toml --jobs 2")(simulate)


def simulate(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file (TOML).")],
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Runs at a time.")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A dask scheduler, tcp://HOST:PORT, whose workers run.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for results; build/studies/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Take finished runs as they are.")] = False,  # noqa: FBT002
    trace: Annotated[bool, typer.Option("--trace", help="Write every delivery (Parquet).")] = False,  # noqa: FBT002
    as_json: AsJson = False,  # noqa: FBT002
    seed: Annotated[int, typer.Option(help="Has no effect: seeds are in the study.")] = 0,  # noqa: ARG001
) -> None:
    """Run every load and seed of a study. Exit status 1 if a network gets stuck."""
    start = time.perf_counter()
    world = make_world(read_study(study), study.parent)
    folder = out or build_dir("studies", study.stem)
    if scheduler and jobs > 1:
        raise InputError("--jobs", "left out beside --scheduler, whose workers are as many as they are", jobs)
    cluster = Cluster(scheduler) if scheduler else None
    try:
        runs = run_study(world, folder, jobs=jobs, resume=resume, trace=trace, told=_told, cluster=cluster)
    except StuckError as error:
        screen.print(f"STUCK at {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1) from None
    pictures = write_plots(runs, folder, title=study.stem)
    seconds = time.perf_counter() - start
    if as_json:
        emit_json(
            {
                "study": str(study),
                "runs": [asdict(each) for each in runs],
                "cycle_ns": world.study.link.cycle_ns,
                "seconds": round(seconds, 3),
                "results": str(folder / "results.parquet"),
                "pictures": [str(picture) for picture in pictures],
            }
        )
        return
    _print(runs)
    for file in (folder / "results.parquet", *pictures):
        screen.print(str(file), markup=False, soft_wrap=True)


def _told(run: RunResult, finished: int, whole: int) -> None:
    speed = f"{run.flit_hops_per_second / 1e6:.1f} million flit-hops a second"
    note(f"{finished} of {whole}: load {run.load:g}, seed {run.seed}, {speed}")


def _print(runs: list[RunResult]) -> None:
    rows = [
        [
            f"{run.load:g}", str(run.seed), str(level.sl), f"{level.offered:.4f}", f"{level.accepted:.4f}",
            _shown(level.latency_mean_cycles, ".1f"), _shown(level.latency_ci95_cycles, ".1f"),
            _shown(level.latency_p50, "d"), _shown(level.latency_p99, "d"), _shown(level.latency_max, "d"),
            "yes" if run.saturated else "",
        ]
        for run in runs for level in run.per_sl
    ]  # fmt: skip
    columns = [">load", ">seed", ">SL", ">offered", ">accepted", ">mean latency", ">± 95 %", ">p50", ">p99", ">longest"]
    screen.print(table("flits per cycle and host; cycles", [*columns, "saturated"], rows))


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
