"""Studies with a model of their own: runs are kept only in the summary, even after interruptions."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.pages import assert_whole
from tests.conftest import Called, assert_refused, call
from tests.study.tiny_own_study import HARM, HARM_SEED, MADE, SCHEMA, STUDY
from vlane.sim_top.cli import study as verb
from vlane.sim_top.studies import by_name, sitting
from vlane.sim_top.studies.paper_study import NOTES, RowsOfRun
from vlane.sim_top.studies.summary import Summary
from vlane.sim_top.study.workers import Task

_RUNS = 6
"""Number of runs of the walks study: two cases, three seeds."""
_COMMON = ["point", "load", "seed", "model", "digest", "cycles", "seconds"]


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder in which each run leaves a file."""
    folder = tmp_path / "made"
    folder.mkdir()
    monkeypatch.setenv(MADE, str(folder))
    for name in ("tiny", "walks"):
        monkeypatch.setitem(
            by_name.STUDIES, name, "tests.study.tiny_study" if name == "tiny" else "tests.study.tiny_own_study"
        )
    return folder


def walks(out: Path, *options: str | Path) -> Called:
    return call("study", "walks", "--out", out, "--json", *options)


def table(out: Path) -> pl.DataFrame:
    return pl.read_parquet(out / "summary.parquet")


def rows_of(out: Path) -> pl.DataFrame:
    """Return a summary's rows without run time and model."""
    return table(out).drop("seconds", "model")


def taken(made: Path) -> list[str]:
    """Return the runs made since the last call, as steps and seed."""
    files = sorted(made.glob("*-*"))
    for file in files:
        file.unlink()
    return ["-".join(file.name.split("-")[:2]) for file in files]


def test_runs_are_made_by_the_function_of_the_study_and_kept_by_the_summary(tmp_path: Path, made: Path) -> None:
    """Runs are made by the study's function, and the summary has its columns and no folder of runs."""
    called = walks(tmp_path)

    assert called.status == 0, called.err
    told = called.json()
    assert (told["runs"], told["runs_wanted"], told["holds"]) == (_RUNS, _RUNS, True)
    assert taken(made) == ["3-1", "3-2", "3-3", "30-1", "30-2", "30-3"]
    rows = table(tmp_path)
    assert rows.columns == ["walk", *_COMMON, *SCHEMA]
    assert {name: rows.schema[name] for name in SCHEMA} == SCHEMA
    assert rows.select("walk", "seed", "group").rows() == [
        (walk, seed, group) for walk in ("long", "short") for seed in (1, 2, 3) for group in (0, 1)
    ]
    assert set(rows.select("walk", "cycles").rows()) == {("long", 30), ("short", 3)}
    assert not (tmp_path / "runs").exists()
    assert f"1 of {_RUNS}: walk=short, load 0.5, seed 1, " in called.err
    assert " left\n" in called.err
    page = (tmp_path / "study.html").read_text()
    assert_whole(tmp_path / "study.html")
    assert STUDY.caption in page
    assert STUDY.notes[0] in page
    assert NOTES[0] not in page


def test_runs_in_the_summary_are_not_repeated(tmp_path: Path, made: Path) -> None:
    """With ``--resume``, only runs missing from the summary are made. Without it, all are made."""
    walks(tmp_path, "--only", "seed=1")
    assert taken(made) == ["3-1", "30-1"]

    assert walks(tmp_path, "--resume").json()["runs"] == _RUNS
    assert taken(made) == ["3-2", "3-3", "30-2", "30-3"]
    before = (tmp_path / "summary.parquet").read_bytes()
    assert walks(tmp_path, "--resume").json()["holds"] is True
    assert taken(made) == []
    assert (tmp_path / "summary.parquet").read_bytes() == before
    walks(tmp_path)
    assert len(taken(made)) == _RUNS


def test_processes_make_the_same_runs(tmp_path: Path, made: Path) -> None:
    """Two worker processes make the runs that one process makes."""
    walks(tmp_path / "one")
    taken(made)

    assert walks(tmp_path / "two", "--jobs", "2").status == 0
    makers = {int(file.name.split("-")[2]) for file in made.iterdir()}
    assert len(makers) == 2
    assert os.getpid() not in makers
    assert rows_of(tmp_path / "two").equals(rows_of(tmp_path / "one"))


def test_cluster_makes_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``--scheduler``, a cluster makes the runs and is closed after the last."""
    seen: list[str] = []

    class Here:
        """Stand-in for a cluster, running tasks in this process."""

        def __init__(self, address: str) -> None:
            seen.append(address)

        def made(self, tasks: Sequence[Task[Any]]) -> Generator[Any]:
            try:
                for task in tasks:
                    seen.append(task.name)
                    yield task.make()
            finally:
                seen.append("closed")

    monkeypatch.setattr(verb, "Cluster", Here)
    assert walks(tmp_path, "--scheduler", "tcp://there:1", "--only", "walk=short").json()["runs"] == _RUNS // 2
    assert seen == ["tcp://there:1", *(f"walk=short, load 0.5, seed {seed}" for seed in (1, 2, 3)), "closed"]
    walks(tmp_path, "--scheduler", "tcp://there:1", "--only", "walk=short", "--resume")
    assert len(seen) == 5


def _of_another_golden(file: Path, change: pl.Expr) -> None:
    pl.read_parquet(file).with_columns(pl.lit("0" * 16).alias("model"), change).write_parquet(file)


@pytest.mark.parametrize("is_same", [True, False], ids=["same", "others"])
def test_runs_of_another_golden_are_taken_if_one_of_them_comes_out_the_same(
    tmp_path: Path,
    made: Path,
    is_same: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Runs of another golden version are kept if one repeated run per case has an equal digest.

    If the digest differs, all runs of the case are repeated and the command reports it. Complete cases are not checked.
    """
    walks(tmp_path)
    right, file, model = rows_of(tmp_path), tmp_path / "summary.parquet", table(tmp_path)["model"][0]
    is_long = pl.col("walk") == "long"
    digest = pl.when(is_long & (not is_same)).then(pl.lit("f" * 16)).otherwise(pl.col("digest")).alias("digest")
    left = table(tmp_path).filter((pl.col("seed") < 3) | (pl.col("walk") == "short"))
    left.with_columns(pl.lit("0" * 16).alias("model"), digest).write_parquet(file)
    taken(made)

    called = walks(tmp_path, "--resume")

    again = taken(made)
    assert len(again) == (2 if is_same else 3)
    assert {"30-3"} < set(again) <= {"30-1", "30-2", "30-3"}
    assert rows_of(tmp_path).equals(right)
    assert set(table(tmp_path).filter(is_long)["model"]) == {model}
    assert set(table(tmp_path).filter(~is_long)["model"]) == {"0" * 16}  # which lacks nothing
    assert ("repeating 2 runs of long: results of the current golden differ" in called.err) is not is_same


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_that_fails_leaves_the_finished_ones_in_the_summary(
    jobs: str, tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a failing run, the finished runs remain in the summary and are not repeated."""
    monkeypatch.setenv(HARM, "fails")
    with pytest.raises(ArithmeticError, match="fails"):
        walks(tmp_path, "--jobs", jobs)
    finished = table(tmp_path).select("walk", "seed").unique()
    assert set(finished["seed"]) == {HARM_SEED - 1}
    assert len(finished) == 2 or jobs == "2"
    taken(made)
    monkeypatch.delenv(HARM)

    assert walks(tmp_path, "--resume").json()["runs"] == _RUNS
    assert len(taken(made)) == _RUNS - len(finished)


@pytest.mark.usefixtures("default_signals")
def test_interrupted_sitting_reports_kept_runs(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted study exits with the signal's status and reports the kept runs in one line."""
    monkeypatch.setenv(HARM, "interrupted")

    called = walks(tmp_path)

    assert called.status == 128 + signal.SIGTERM
    words = f"2 of {_RUNS} runs are stored in {tmp_path}/summary.parquet; continue with --resume"
    assert json.loads(called.err.splitlines()[-1])["message"] == f"interrupted; {words}"
    assert taken(made) == ["3-1", "3-2", "30-1"]
    monkeypatch.delenv(HARM)
    assert walks(tmp_path, "--resume").json()["runs"] == _RUNS
    assert taken(made) == ["3-2", "3-3", "30-2", "30-3"]


def test_the_run_of_a_process_that_died_is_made_again(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a worker that dies once, its run is repeated and appears once in the summary."""
    monkeypatch.setenv(HARM, "dies once")

    assert walks(tmp_path, "--jobs", "2").json()["runs"] == _RUNS
    assert len(taken(made)) == _RUNS + 1
    assert len(table(tmp_path)) == 2 * _RUNS


@pytest.mark.parametrize(("seconds", "writings"), [(-1.0, _RUNS), (1000.0, 1)])
def test_the_summary_is_written_now_and_then_and_at_the_end(
    seconds: float, writings: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The summary is written at intervals and at the end, so a kill loses only recent runs."""
    lengths: list[int] = []
    write = Summary.write

    def counted(summary: Summary, file: Path) -> None:
        lengths.append(len(summary))
        write(summary, file)

    monkeypatch.setattr(Summary, "write", counted)
    monkeypatch.setattr(sitting, "_WRITE_SECONDS", seconds)
    walks(tmp_path)
    assert lengths == list(range(_RUNS - writings + 1, _RUNS + 1))


@pytest.mark.parametrize(
    ("name", "other"), [("walks", Summary(STUDY.columns)), ("tiny", Summary(("room",), own=SCHEMA))]
)
def test_a_summary_of_runs_of_another_kind_is_refused_and_stays(name: str, other: Summary, tmp_path: Path) -> None:
    """Given a summary of another kind of study, the command is refused and the file is unchanged."""
    file = tmp_path / "summary.parquet"
    other.write(file)
    before = file.read_bytes()

    assert_refused(call("study", name, "--resume", "--out", tmp_path, "--summary", file), "--summary", "column")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "one row or more"),
        ([{"group": 0}, {"group": 0}], "a group of its own"),
        ([{"place": 1.0}], "a group of its own"),
        ([{"group": 0, "plaice": 1.0}], "plaice"),
    ],
)
def test_rows_that_a_summary_cannot_keep_are_refused(rows: list[dict[str, Any]], words: str) -> None:
    """Given invalid rows of a run, the summary raises an error and stays unchanged."""
    summary, run = Summary(STUDY.columns, own=SCHEMA), ("0" * 64, 0.5, 1)

    with pytest.raises(ValueError, match=words):
        summary.add_rows(run, {"walk": "short"}, RowsOfRun("0" * 16, 3, 0.1, rows), model="0" * 16)
    assert run not in summary
    summary.add_rows(run, {"walk": "short"}, RowsOfRun("0" * 16, 3, 0.1, [{"group": 0}]), model="0" * 16)
    assert summary.rows([run])["place"].to_list() == [None]
