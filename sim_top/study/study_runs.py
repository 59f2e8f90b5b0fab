"""The runs of a study: which are made, which are taken as they were kept, and what they are told apart by."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter, ValidationError
from vlane.golden.engine.kernel import source_digest
from vlane.sim_top.output.console import note
from vlane.sim_top.study.faults import check_faults
from vlane.sim_top.study.path_checks import check_world
from vlane.sim_top.study.run_store import RunStore, StudyId
from vlane.sim_top.study.simulate import RunResult, simulate, tables_of
from vlane.sim_top.study.times import timed_frame
from vlane.sim_top.study.workers import Cluster, made_by_processes
from vlane.sim_top.study.world import World

import vlane
from vlane.errors import InputError
from vlane.packet_trace import trace_remarks
from vlane.plugins import digest_of
from vlane.study_model import plugins_named

__all__ = ["run_study"]


def run_study(
    world: World,
    out: Path,
    *,
    file: str = "",
    jobs: int,
    resume: bool,
    trace: bool,
    told: Callable[[RunResult, int, int], None],
    cluster: Cluster | None = None,
) -> list[RunResult]:
    """Make all runs of a study, and keep each as it finishes; return them by load and seed.

    Parameters
    ----------
    world : World
        The study's; it is checked first.
    out : Path
        Folder for ``manifest.json``, ``results.parquet``, and ``runs/`` with the files of each run.
    file : str
        The study's, for people who read the manifest.
    jobs : int
        Runs at a time, each in a process of its own if more than 1.
    resume : bool
        Whether finished runs of the same study are taken as they are.
    trace : bool
        Whether each run writes its packets.
    told : callable
        Called with (result, runs finished, runs in all).
    cluster : Cluster, optional
        Makes the runs instead of processes here.

    Raises
    ------
    InputError
        If the study's tables are refused, or the folder cannot be used or holds runs of another study.
    StuckError
        If nothing moves for ``stuck_cycles``.
    WorkerLostError
        If two processes ended while they made the same run.
    """
    check_world(world)
    check_faults(world)
    wanted = [(load, seed) for load in world.study.run.loads for seed in world.study.run.seeds]
    done: dict[tuple[float, int], RunResult] = {}
    study = StudyId(name=Path(file).stem, file=file, digest=_study_digest(world))
    with RunStore(out, study, version=vlane.__version__, model=_model_digest(world)) as store:
        if store.removed:
            note(f"{store.removed} runs that another version or source of vlane made are removed")
        for remark in trace_remarks(world.replayed, cycles=world.study.run.cycles):
            note(remark)
        for load, seed in wanted if resume else []:
            kept = _kept(store, load, seed, tables_of(world, trace=trace))
            if kept:
                done[load, seed] = kept
                told(kept, len(done), len(wanted))
        missing = [each for each in wanted if each not in done]
        make = partial(_one, world, trace)
        making = cluster.made(make, missing) if cluster else made_by_processes(make, missing, jobs)
        with contextlib.closing(making):
            for result, tables in making:
                store.keep(asdict(result), tables)
                done[result.load, result.seed] = result
                told(result, len(done), len(wanted))
        results = [done[each] for each in wanted]
        store.keep_results(timed_frame(_frame(results), world.study.link.clock))
    return results


def _one(world: World, trace: bool, load: float, seed: int) -> tuple[RunResult, dict[str, pl.DataFrame]]:  # noqa: FBT001 - partial
    return simulate(world, load=load, seed=seed, trace=trace)


def _kept(store: RunStore, load: float, seed: int, tables: list[str]) -> RunResult | None:
    """Return a run that is there and whole; say of one that is there and is not."""
    document, why = store.whole(load, seed, tables)
    if document is not None:
        try:
            made = TypeAdapter(RunResult).validate_python(document)
        except ValidationError:
            made = None
        if made is not None and asdict(made) == document:
            return made
        why = "its result is of another form"
    if why:
        note(f"load {load!r}, seed {seed} is made again: {why}")
    return None


def _study_digest(world: World) -> str:
    """Return what tells a study from others: all of it but loads, seeds and the rate, and the files that it names."""
    study = world.study
    left_out = {"run": {"loads", "seeds"}, "link": {"rate_gbps"}}  # a run is in cycles, whatever they are in time
    digest = hashlib.sha256(study.model_dump_json(exclude=left_out).encode())
    named = (study.scheduler.table, getattr(study.network, "file", None), study.trace and study.trace.file)
    folder = getattr(study.network, "folder", None)
    files = [world.base / name for name in named if name]
    files += sorted(each for each in (world.base / folder).rglob("*") if each.is_file()) if folder else []
    for file in files:
        digest.update(_content_digest(file))
    return digest.hexdigest()


def _content_digest(file: Path) -> bytes:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").digest()
    except OSError as error:
        raise InputError("file", "readable", error.strerror or "unreadable", source=str(file)) from None


def _model_digest(world: World) -> str:
    """Return a digest of all sources that decide what a run is and what is said of it, the study's plug-ins too."""
    digest = hashlib.sha256((source_digest() + digest_of(plugins_named(world.study))).encode())
    own = Path(__file__).resolve().parent.parent
    for file in (*sorted(own.rglob("*.py")), *sorted(Path(vlane.__file__).resolve().parent.rglob("*.py"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _frame(results: list[RunResult]) -> pl.DataFrame:
    """Return a row per run and service level."""
    rows: list[dict[str, Any]] = []
    for result in results:
        whole = {f"run_{name}": value for name, value in asdict(result).items() if name != "per_sl"}
        rows += [{**whole, **asdict(each)} for each in result.per_sl]
    return pl.DataFrame(rows, infer_schema_length=None)
