"""Runs of a study on a dask cluster."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import call


@pytest.mark.slow
def test_runs_on_a_cluster_are_the_same(study: Path, tmp_path: Path) -> None:
    """A dask scheduler's workers make the same runs; their files are written here; a run that fails is said."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed (the extra `scale`)")
    here = call("simulate", study, "--out", tmp_path / "here", "--json")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, processes=True
    ) as cluster:
        there = call("simulate", study, "--out", tmp_path / "there", "--scheduler", cluster.scheduler_address, "--json")

    assert there.status == 0, there.err
    assert [run["digest"] for run in there.json()["runs"]] == [run["digest"] for run in here.json()["runs"]]
    names = [sorted(file.name for file in (tmp_path / name / "runs").iterdir()) for name in ("here", "there")]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "nonsense", "tcp://127.0.0.1", "tcp://127.0.0.1:123456", "tcp://[bad:1"]
)
def test_no_scheduler_there_is_one_line(address: str, study: Path, tmp_path: Path) -> None:
    """Whoever is asked and does not answer, nothing is begun."""
    pytest.importorskip("distributed", reason="dask is not installed (the extra `scale`)")

    called = call("simulate", study, "--out", tmp_path / "out", "--scheduler", address)

    assert called.status == 2
    assert called.err.strip().splitlines() == [
        f"vlane: --scheduler must be the address of a dask scheduler that answers, tcp://HOST:PORT, not {address}"
    ]
    assert not (tmp_path / "out").exists()


def test_a_cluster_without_dask_is_one_line(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where dask is not installed, the command that installs it is named; beside it, jobs mean nothing."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    given = ("simulate", study, "--out", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:1")

    alone, with_jobs = call(*given), call(*given, "--jobs", "2")

    assert alone.status == with_jobs.status == 2
    assert "pip install 'vlane[scale]'" in alone.err
    assert "--jobs must be left out beside --scheduler" in with_jobs.err
    assert not (tmp_path / "out").exists()
