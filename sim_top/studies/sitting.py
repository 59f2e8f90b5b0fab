"""Sitting at a study: makes missing runs and adds each to the summary when it finishes.

Network runs use the runner of ``vlane simulate`` and ``vlane.Study.run``: a folder keeps the runs, the summary keeps
the data that the study needs. Other runs are kept only in the summary. Runs in the summary are not repeated.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from vlane.golden.engine.kernel import source_digest
from vlane.sim_top.scenario.world import World
from vlane.sim_top.studies.paper_study import Case, DescribedCase, NetworkCase, PaperStudy, RowsOfRun
from vlane.sim_top.studies.summary import RunId, Summary
from vlane.sim_top.study.progress import Progress
from vlane.sim_top.study.result_frames import MadeRun
from vlane.sim_top.study.run_store import RunKey, StudyId
from vlane.sim_top.study.study_runs import run_sweep, shown_run
from vlane.sim_top.study.sweep import Sweep, SweepPoint, make_sweep
from vlane.sim_top.study.workers import Cluster, Task, made_by_processes

_WRITE_SECONDS = 20.0
"""Interval between writes of the summary; newer runs are in the folder of runs."""


@dataclass(frozen=True)
class Runner:
    """Settings for making runs.

    Parameters
    ----------
    out : Path
        Folder of the runs.
    jobs : int
        Number of concurrent runs.
    resume : bool
        Whether to reuse finished runs of the summary and the folder.
    cluster : callable or None
        Returns the cluster that makes the runs instead of local processes.
    told : callable
        Receives a line for each run.
    remark : callable
        Receives other notable lines.
    """

    out: Path
    jobs: int
    resume: bool
    told: Callable[[str], None]
    remark: Callable[[str], None]
    cluster: Callable[[], Cluster] | None = None


@dataclass(frozen=True)
class _Portion(SweepPoint):
    """Some loads of a case with one seed."""

    keys: tuple[RunKey, ...] = ()

    def runs(self) -> list[RunKey]:
        return list(self.keys)


def missing_runs(cases: Sequence[Case], summary: Summary) -> list[tuple[Case, int, list[float]]]:
    """Return the runs that a summary lacks as (case, seed, loads), ordered by seed first.

    An interrupted study thus has about the same number of seeds for every case.
    """
    seeds = sorted({seed for case in cases for seed in case.seeds})
    found, seen = [], set[RunId]()
    for seed in seeds:
        for case in cases:
            wanted = [(case.digest, load, seed) for load in case.loads] if seed in case.seeds else []
            loads = [run[1] for run in wanted if run not in summary and run not in seen]
            seen.update(wanted)
            if loads:
                found.append((case, seed, loads))
    return found


def sit(study: PaperStudy, cases: Sequence[Case], summary: Summary, file: Path, runner: Runner) -> None:
    """Make the runs that a summary lacks, or all runs without ``resume``, and add them to the summary.

    If a case lacks runs and has runs made by another source of golden, one of those is repeated first. If its
    deliveries differ, all runs of that source are repeated.

    Parameters
    ----------
    study : PaperStudy
        Study of the cases.
    cases : sequence of Case
        Wanted cases.
    summary : Summary
        Summary with earlier runs.
    file : Path
        File to which the summary is written periodically and at the end, even after an error.
    runner : Runner
        Settings for making runs.

    Raises
    ------
    InputError
        If a case is rejected before anything runs, or the folder or summary is not usable.
    StuckError
        If no flit moves in a network.
    WorkerLostError
        If two processes died during the same run.
    """
    kind = _OwnSitting if study.own_runs else _NetworkSitting
    kind(study, summary, file, runner).go(cases)


class _Sitting:
    """Common part of sittings."""

    def __init__(self, study: PaperStudy, summary: Summary, file: Path, runner: Runner) -> None:
        self.study, self.summary, self.file, self.runner = study, summary, file, runner
        self.model = source_digest()
        self.written = time.monotonic()

    def go(self, cases: Sequence[Any]) -> None:
        for case in cases:
            self.summary.relabel(case.digest, dict(case.labels))
        resume = self.runner.resume
        missing = missing_runs(cases, self.summary if resume else Summary(self.study.columns))
        lacking = {case.digest: case for case, _, _ in missing}
        self._prepare(list(lacking.values()))
        try:
            for case in cases if resume else ():
                if case.digest in lacking:
                    self._look_again(case)
            self._make(missing_runs(cases, self.summary) if resume else missing)
        finally:
            if self.summary.is_changed:
                self.summary.write(self.file)

    def _prepare(self, cases: Sequence[Any]) -> None:
        """Reject cases that cannot run, before anything runs."""

    def _make(self, missing: Sequence[tuple[Any, int, list[float]]]) -> None:
        raise NotImplementedError

    def _look_again(self, case: Case) -> None:
        """Repeat one run of another golden, and discard that golden's runs of the case if the result differs."""
        for model, runs in self.summary.models(case.digest).items():
            if model == self.model:
                continue
            run = min(runs, key=self.summary.seconds)
            before = self.summary.digest(run)
            self._make([(case, run[2], [run[1]])])
            others = [each for each in runs if each != run]
            if self.summary.digest(run) == before:
                self.summary.take_over(others, model=self.model)
            else:
                self.runner.remark(
                    f"repeating {len(runs)} runs of {_shown(case)}: results of the current golden differ"
                )
                self.summary.drop(others)

    def _write_now_and_then(self) -> None:
        if time.monotonic() - self.written > _WRITE_SECONDS:
            self.summary.write(self.file)
            self.written = time.monotonic()

    def _told(self, count: int, whole: int, shown: str, seconds: float, left: str) -> None:
        words = f"; about {left} left" if left else ""
        self.runner.told(f"{count} of {whole}: {shown}, {seconds:.1f} s{words}")


class _NetworkSitting(_Sitting):
    """Sitting with network runs, made and kept like those of study files."""

    def __init__(self, study: PaperStudy, summary: Summary, file: Path, runner: Runner) -> None:
        super().__init__(study, summary, file, runner)
        self.id = StudyId(name=study.name, file=study.name, digest=hashlib.sha256(study.name.encode()).hexdigest())
        self.worlds: dict[str, World] = {}

    def _prepare(self, cases: Sequence[NetworkCase]) -> None:
        for case in cases:
            (point,) = make_sweep(case.study).points
            self.worlds[case.digest] = point.world

    def _make(self, missing: Sequence[tuple[NetworkCase, int, list[float]]]) -> None:
        if not missing:
            return
        work = [(case.digest, self._work(case, load)) for case, _, loads in missing for load in loads]
        progress = Progress(work, workers=self.runner.jobs)
        of_case = {case.digest: case for case, _, _ in missing}
        points = tuple(self._portion(case, seed, loads) for case, seed, loads in missing)
        runner = self.runner

        def told(run: MadeRun, count: int, whole: int) -> None:
            weight = self._work(of_case[run.key.point], run.key.load)
            left = progress.made(run.key.point, weight, seconds=run.result.seconds)
            self.summary.add(run, model=self.model)
            self._write_now_and_then()
            self._told(count, whole, shown_run(run.key), run.result.seconds, left)

        run_sweep(
            Sweep(self.id, points),
            runner.out,
            jobs=runner.jobs,
            resume=runner.resume,
            trace=False,
            told=told,
            cluster=runner.cluster() if runner.cluster else None,
            with_tables=False,
            remark=runner.remark,
        )

    def _portion(self, case: NetworkCase, seed: int, loads: Sequence[float]) -> _Portion:
        keys = tuple(RunKey(load, seed, case.digest, dict(case.labels)) for load in loads)
        return _Portion(self.worlds[case.digest], case.digest, case.labels, keys)

    def _work(self, case: NetworkCase, load: float) -> float:
        world = self.worlds[case.digest]
        return load * len(world.topology.hosts) * world.study.run.cycles


class _OwnSitting(_Sitting):
    """Sitting with runs from descriptions, kept only in the summary."""

    def _make(self, missing: Sequence[tuple[DescribedCase, int, list[float]]]) -> None:
        keys = [RunKey(load, seed, case.digest, dict(case.labels)) for case, seed, loads in missing for load in loads]
        of_case = {case.digest: case for case, _, _ in missing}
        progress = Progress([(key.point, of_case[key.point].work) for key in keys], workers=self.runner.jobs)
        make = self.study.own_runs.make  # type: ignore[union-attr]  # always set here
        tasks = [Task(shown_run(key), partial(_made, make, of_case[key.point].description, key)) for key in keys]
        cluster = self.runner.cluster() if self.runner.cluster and tasks else None
        with contextlib.closing(cluster.made(tasks) if cluster else made_by_processes(tasks, self.runner.jobs)) as runs:
            for count, (key, made) in enumerate(runs, 1):
                case = of_case[key.point]
                left = progress.made(key.point, case.work, seconds=made.seconds)
                self.summary.add_rows((key.point, key.load, key.seed), case.labels, made, model=self.model)
                self._write_now_and_then()
                self._told(count, len(keys), shown_run(key), made.seconds, left)


def _made(make: Callable[[Any, float, int], RowsOfRun], description: object, key: RunKey) -> tuple[RunKey, RowsOfRun]:
    return key, make(description, key.load, key.seed)


def _shown(case: Case) -> str:
    labels: Mapping[str, str] = case.labels
    return ", ".join(labels.values())
