"""``vlane rerun``: the runs of a results folder, made again from the folder alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vlane.errors import InputError
from vlane.paths import build_dir
from vlane.sim_top.cli.options import AsJson
from vlane.sim_top.cli.verbs import App, CheckFailedError, tell_why
from vlane.sim_top.output.console import emit_json, note, say
from vlane.sim_top.output.interrupts import Interrupted
from vlane.sim_top.study.record import read_record
from vlane.sim_top.study.result_frames import MadeRun, read_table
from vlane.sim_top.study.simulate import StuckError
from vlane.sim_top.study.study_runs import model_digest, run_sweep, shown_run
from vlane.sim_top.study.sweep import make_sweep
from vlane.sim_top.study.workers import WorkerLostError

app = App()

_SHOWN = 5


@app.command(epilog="Example: vlane rerun build/studies/tree43_ib --out /tmp/again")
def rerun(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of results of vlane simulate.")],
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Number of concurrent runs.")] = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of results. [default: build/studies/NAME-rerun]")
    ] = None,
    with_plugins: Annotated[  # noqa: FBT002
        bool, typer.Option("--with-plugins", help="Execute the plug-in files of the folder.")
    ] = False,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Run the study of a results folder again, from the folder alone, and compare all deliveries.

    Exit status 1 if the deliveries of a run differ, a network deadlocks or a run's process dies twice.
    """
    recorded = read_record(folder, with_plugins=with_plugins)
    before = read_table(folder / "runs.parquet")
    command = recorded.command
    again = out or build_dir("studies", f"{folder.resolve().name}-rerun")
    if again.resolve() == folder.resolve():
        raise InputError("--out", "another folder than FOLDER", str(again))
    if recorded.source != model_digest():
        note(f"the folder was made by another source of vlane: {recorded.shown}")
    with command.study.refusals():
        sweep = make_sweep(command.study, command.axes, zipped=command.zipped)
        keys = [key for point in sweep.points for key in point.runs()]
        if len(keys) != len(before):
            problem = f": the record has {len(keys)} runs, runs.parquet {len(before)}; repeat the command of the record"
            raise InputError("runs.parquet", f"{len(keys)} runs", len(before), source=str(folder), problem=problem)
        runs = _made(sweep, again, jobs=jobs, trace=recorded.trace)
    compared = list(zip(keys, runs, before["digest"].to_list(), strict=True))
    different = [shown_run(key) for key, run, digest in compared if run.result.digest != digest]
    document = {
        "ok": not different,
        "runs": len(runs),
        "different": different,
        "recorded": recorded.shown,
        "results": str(again),
    }
    if as_json:
        emit_json(document)
    else:
        _print(document)
    raise typer.Exit(1 if different else 0)


def _made(sweep: Any, out: Path, *, jobs: int, trace: bool) -> list[MadeRun]:
    def told(run: MadeRun, finished: int, whole: int) -> None:
        note(f"{finished} of {whole}: {shown_run(run.key)}")

    try:
        return run_sweep(sweep, out, jobs=jobs, resume=False, trace=trace, told=told)
    except StuckError as error:
        raise CheckFailedError(f"STUCK at {error}") from None
    except WorkerLostError as error:
        raise CheckFailedError(f"two processes died during the run of {error}") from None
    except Interrupted as stop:
        tell_why("interrupted")
        raise typer.Exit(stop.status) from None


def _print(document: dict[str, Any]) -> None:
    different, runs = document["different"], document["runs"]
    say(f"recorded by {document['recorded']}")
    if different:
        more = f", and {len(different) - _SHOWN} more" if len(different) > _SHOWN else ""
        words = f"{len(different)} of {runs} runs have other deliveries: {'; '.join(different[:_SHOWN])}{more}"
        say(words, style="red")
    else:
        say(f"{runs} of {runs} runs have equal deliveries in equal cycles", style="green")
    say(document["results"])
