"""Folders of results that run again elsewhere, ranges of seeds, and sweeps of values that change together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import vlane.plugins
from tests.conftest import STUDY, assert_refused, call
from vlane import InputError, Study

PLUGIN = """import vlane

@vlane.pattern("backwards")
def backwards(host: int, topology: vlane.Topology) -> int:
    return len(topology.hosts) - 1 - host
"""
SHORT = STUDY.replace("loads = [0.2, 0.5]", "loads = [0.3]").replace("seeds = [1, 2]", 'seeds = "1..2"')


def forget_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start with an empty plug-in registry, like another machine."""
    monkeypatch.setattr(vlane.plugins, "_registered", {})
    monkeypatch.setattr(vlane.plugins, "_loaded", {})


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a moved folder of results whose study, table, list of traffic and plug-in are gone."""
    forget_plugins(monkeypatch)
    home = tmp_path / "home"
    (home / "studies").mkdir(parents=True)
    (home / "table.toml").write_text("[vlarb]\nlimit_of_high_priority = 0\nhigh = []\nlow = [[0, 3], [1, 9]]\n")
    (home / "studies" / "pairs.csv").write_text("source,destination\n0,1\n1,0\n")
    plugin, study = home / "backwards.py", home / "studies" / "my.toml"
    plugin.write_text(PLUGIN)
    study.write_text(
        SHORT.replace("share = 0.5\n\n", 'share = 0.5\npattern = "list"\nfile = "pairs.csv"\n\n').replace(
            "bytes = [64, 512]", 'bytes = [64, 512]\npattern = "backwards"'
        )
        + '\n[scheduler]\nname = "vlarb"\ntable = "../table.toml"\n'
    )
    words = ["--plugin", plugin, "--set", "buffers.blocks=48", "--zip", "link.flight_cycles=1,2"]
    done = call("simulate", study, "--out", home / "out", *words, "--zip", "run.stuck_cycles=5000,6000", "--trace")
    assert done.status == 0, done.err
    shutil.move(home / "out", tmp_path / "moved")
    shutil.rmtree(home)
    forget_plugins(monkeypatch)
    return tmp_path / "moved"


def test_moved_folder_runs_again(made: Path, tmp_path: Path) -> None:
    """A moved folder makes its runs again with equal deliveries, without the files that the study named."""
    done = call("rerun", made, "--with-plugins", "--out", tmp_path / "again", "--json")

    assert done.status == 0, done.err
    document = done.json()
    assert (document["ok"], document["runs"], document["different"]) == (True, 4, [])
    one, other = (pl.read_parquet(folder / "results.parquet") for folder in (made, tmp_path / "again"))
    assert one["run_digest"].n_unique() > 1
    timed = ["run_seconds", "run_flit_hops_per_second", "run_peak_mib"]
    assert one.drop(timed).equals(other.drop(timed))
    record = json.loads((made / "record.json").read_text())
    assert {"command", "vlane", "commit", "source", "python", "libraries", "system", "host", "date"} <= set(record)
    assert "../table.toml" not in (made / "inputs" / "my.toml").read_text()


def test_plugins_of_a_folder_run_only_on_request(made: Path, tmp_path: Path) -> None:
    """Without ``--with-plugins`` the folder's code is not executed, and the message names the file."""
    called = call("rerun", made, "--out", tmp_path / "again")

    assert_refused(called, "--with-plugins", "backwards.py", "read the code")
    assert not (tmp_path / "again").exists()


def test_other_deliveries_are_reported(made: Path, tmp_path: Path) -> None:
    """Given a changed input, the command names the runs that differ and exits with status 1."""
    file = made / "inputs" / "pairs.csv"
    file.write_text("source,destination\n0,2\n1,0\n")
    done = call("rerun", made, "--with-plugins", "--out", tmp_path / "again", "--json")

    assert done.status == 1
    assert len(done.json()["different"]) == 4


def test_folder_without_a_record_is_refused(tmp_path: Path) -> None:
    """A folder that ``vlane simulate`` did not write is refused in one line."""
    assert_refused(call("rerun", tmp_path), "record.json", "was not written by vlane simulate")


def test_seeds_may_be_a_range(study: Path) -> None:
    """Ranges of seeds work in files, in ``--set``, in sweeps and next to numbers."""
    study.write_text(SHORT)
    read = Study.read(study)
    assert read.model.run.seeds == [1, 2]
    assert read.with_({"run.seeds": "5..7"}).model.run.seeds == [5, 6, 7]
    assert read.with_({"run.seeds": [1, "5..6"]}).model.run.seeds == [1, 5, 6]
    done = call("simulate", study, "--out", study.parent / "out", "--set", "run.seeds=3..5", "--json")
    assert [run["seed"] for run in done.json()["runs"]] == [3, 4, 5]


@pytest.mark.parametrize("seeds", ["5..3", "1..", "a..b", "1..2000000", "-1..2", ["1..3", 2]])
def test_bad_range_of_seeds_is_refused(seeds: object, study: Path) -> None:
    """A range that is reversed, open, too long or repeats a seed is refused with its key."""
    with pytest.raises(InputError) as refused:
        Study.read(study).with_({"run.seeds": seeds})

    assert str(refused.value).startswith("run.seeds")


def test_zipped_values_change_together(study: Path) -> None:
    """Zipped values give one point per step, combined with swept values."""
    study.write_text(SHORT)
    zipped = {"buffers.blocks": [48, 64], "link.flight_cycles": [1, 3]}
    results = Study.read(study).with_({"run.seeds": [1]}).run(sweep={"traffic.0.burst": [1, 2]}, zipped=zipped)

    assert results.parameters == ["traffic.0.burst", "buffers.blocks", "link.flight_cycles"]
    points = results.runs.select(results.parameters).rows()
    assert points == [(1, 48, 1), (1, 64, 3), (2, 48, 1), (2, 64, 3)]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--zip", "buffers.blocks=48,64", "--zip", "link.flight_cycles=1"], "the numbers of values differ"),
        (["--zip", "buffers.blocks=48,64", "--sweep", "buffers.blocks=48,64"], "the key is also in the sweep"),
        (["--zip", "run.seeds=1,2"], "loads and seeds are runs of each point"),
    ],
)
def test_bad_zip_is_refused(words: list[str], told: str, study: Path) -> None:
    """Zipped values of unequal number, of a swept key or of seeds are refused."""
    assert_refused(call("simulate", study, "--out", study.parent / "out", *words), told)
