"""Worker processes of a study: failures, interruption, a dask cluster."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.children import assert_ended, started
from tests.conftest import ROOT, STUDY, call
from tests.study.made_runs import dies_until, fails, twice
from vlane.golden.compiler import kernel
from vlane.golden.network.cores import start_network
from vlane.sim_top.cli import simulate as cli_simulate
from vlane.sim_top.scenario.world import make_network, make_world
from vlane.sim_top.study.simulate import simulate
from vlane.sim_top.study.workers import Task, WorkerLostError, made_by_processes
from vlane.study.model import read_study

_TASKS = [(0.5, seed) for seed in range(4)]


def tasks_of(make: Any, given: list[tuple[float, int]] = _TASKS) -> list[Task[float]]:
    """Return tasks that call a function with a load and a seed."""
    return [Task(f"load {load!r}, seed {seed}", partial(make, load, seed)) for load, seed in given]


@pytest.mark.parametrize("deaths", [0, 1])
def test_the_run_of_a_killed_process_is_made_again_and_every_run_once(deaths: int, tmp_path: Path) -> None:
    """Given a worker killed once, its run is repeated and each result is returned once."""
    made = list(made_by_processes(tasks_of(partial(dies_until, tmp_path, deaths)), 2))

    assert sorted(made) == [twice(*task) for task in _TASKS]
    assert len(list(tmp_path.iterdir())) == deaths


def test_second_death_of_a_run_is_reported_after_the_results(tmp_path: Path) -> None:
    """Given a run whose worker dies twice, finished results are returned first and the run is named."""
    made = []
    with pytest.raises(WorkerLostError, match=r"^load 0\.5, seed 1$"):
        made.extend(made_by_processes(tasks_of(partial(dies_until, tmp_path, 9)), 2))

    assert len(list(tmp_path.iterdir())) == 2


def test_unpicklable_exception_is_reported() -> None:
    """Given an unpicklable exception, the text is reported."""
    with pytest.raises(RuntimeError, match=r"_NoPickleError.*[01] and 7"):
        list(made_by_processes(tasks_of(fails, [(0.0, 7), (1.0, 7)]), 2))


def test_run_lost_twice_is_reported_in_one_line(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a run lost twice, one line reports the kept runs and ``--resume``, with exit status 1."""

    def lost(*_: object, **__: object) -> None:
        raise WorkerLostError("load 0.5, seed 1")

    monkeypatch.setattr(cli_simulate, "run_sweep", lost)

    called = call("simulate", study, "--out", tmp_path / "out")

    assert called.status == 1
    assert called.err == (
        "vlane: the run of load 0.5, seed 1 was tried twice, and both processes died; "
        f"0 of 4 runs are stored in {tmp_path}/out; continue with --resume\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("jobs", "number", "ignored"),
    [
        ("2", signal.SIGINT, ()),
        ("2", signal.SIGTERM, (signal.SIGINT,)),
        pytest.param("1", signal.SIGINT, (), marks=pytest.mark.long),
        pytest.param("1", signal.SIGTERM, (signal.SIGINT,), marks=pytest.mark.long),
        pytest.param("2", signal.SIGTERM, (), marks=pytest.mark.long),
        pytest.param("2", signal.SIGHUP, (), marks=pytest.mark.long),
    ],
)
def test_interrupted_is_one_line_and_the_rest_is_made_later(
    jobs: str, number: signal.Signals, ignored: tuple[signal.Signals, ...], study: Path, tmp_path: Path
) -> None:
    """Given a signal, the study reports its finished runs in one line and ``--resume`` accepts them.

    If SIGINT is ignored at the start, as for background jobs of a shell, it interrupts nothing.
    """
    study.write_text(STUDY.replace("cycles = 3000", "cycles = 150000"))
    words = [sys.executable, "-m", "vlane", "simulate", str(study), "--out", str(tmp_path / "out"), "--jobs", jobs]
    with started(words, ignored=ignored, cwd=ROOT) as running:
        assert running.stderr is not None
        first = next(line for line in running.stderr if not line.startswith("compiling"))
        for each in (*ignored, number):
            os.killpg(running.pid, each)
        rest = running.stderr.read().splitlines()
        assert running.wait(60) == 128 + number
        assert_ended(running.pid)

    assert first.startswith("1 of 4: load 0.2, seed ")
    assert [line for line in rest if " of 4: " not in line] == rest[-1:]
    assert rest[-1].startswith("vlane: interrupted; ")
    assert rest[-1].endswith(f"of 4 runs are stored in {tmp_path}/out; continue with --resume")
    kept = {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "runs").glob("*.json")}
    assert kept
    assert not list((tmp_path / "out").rglob("*.part"))
    assert call("simulate", study, "--out", tmp_path / "out", "--resume").status == 0
    assert kept == {file: file.stat().st_mtime_ns for file in kept}


@contextlib.contextmanager
def taken(port: int) -> Iterator[None]:
    """Occupy a TCP port, unless another process does."""
    with socket.socket() as held:
        with contextlib.suppress(OSError):
            held.bind(("", port))
            held.listen()
        yield


@pytest.mark.slow
def test_runs_on_a_cluster_are_the_same(study: Path, tmp_path: Path) -> None:
    """Runs on a dask cluster equal local runs, and their files are written locally."""
    import distributed  # noqa: PLC0415 - it takes a second, and one test needs it

    here = call("simulate", study, "--out", tmp_path / "here", "--json")
    free = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    with (
        taken(8787),  # in case another test's cluster does not hold it
        mock.patch.dict(os.environ),  # the cluster sets variables for its workers
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", processes=True, scheduler_kwargs=free
        ) as cluster,
    ):
        there = call("simulate", study, "--out", tmp_path / "there", "--scheduler", cluster.scheduler_address, "--json")

    assert there.status == 0, there.err
    assert [run["digest"] for run in there.json()["runs"]] == [run["digest"] for run in here.json()["runs"]]
    names = [sorted(file.name for file in (tmp_path / name / "runs").iterdir()) for name in ("here", "there")]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "nonsense", "tcp://127.0.0.1", "tcp://127.0.0.1:123456", "tcp://[bad:1"]
)
def test_no_scheduler_there_is_one_line(address: str, study: Path, tmp_path: Path) -> None:
    """Given an address without a dask scheduler, one line reports it and nothing is run."""
    called = call("simulate", study, "--out", tmp_path / "out", "--scheduler", address)

    assert called.status == 2
    assert called.err.strip().splitlines() == [
        f"vlane: --scheduler: no dask scheduler answers at {address} (expected tcp://HOST:PORT)"
    ]
    assert not (tmp_path / "out").exists()


def test_a_cluster_without_dask_is_one_line(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without dask, ``--scheduler`` reports the command that installs it.

    ``--jobs`` together with ``--scheduler`` is refused.
    """
    monkeypatch.setitem(sys.modules, "distributed", None)
    given = ("simulate", study, "--out", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:1")

    alone, with_jobs = call(*given), call(*given, "--jobs", "2")

    assert alone.status == with_jobs.status == 2
    assert "pip install 'vlane[scale]'" in alone.err
    assert "--jobs cannot be used with --scheduler" in with_jobs.err
    assert not (tmp_path / "out").exists()


def test_warm_network_needs_no_further_kernel(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After ``warm`` a run loads no kernel, so processes of a study never compile the same kernel at the same time."""
    world, load, loaded = make_world(read_study(study), study.parent), kernel.load, list[str]()

    def noted(function: Any, *given: Any, **options: Any) -> Any:
        loaded.append(function.__qualname__)
        return load(function, *given, **options)

    modules = [module for name, module in sys.modules.items() if name.startswith("vlane.golden.")]
    for each in {each for module in modules for each in vars(module).values() if isinstance(each, kernel.Kernel)}:
        monkeypatch.setattr(each, "_compiled", {})
        monkeypatch.setattr(each, "_last", None)
    monkeypatch.setattr(kernel, "load", noted)
    start_network(make_network(world, load=0.2, seed=1)).warm()
    before = list(loaded)
    simulate(world, load=0.2, seed=1)

    assert "run" in before
    assert loaded == before
