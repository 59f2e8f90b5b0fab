"""Store of a study's runs: complete files, one study per folder, one writer at a time."""

from __future__ import annotations

import hashlib
import json
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.children import started
from tests.conftest import STUDY, assert_refused, call
from vlane.errors import InputError
from vlane.sim_top.study import study_runs
from vlane.sim_top.study.run_store import RunKey, RunStore, StudyId

SHORT = STUDY.replace("cycles = 3000", "cycles = 700").replace("seeds = [1, 2]", "seeds = [1]")
_STUDY = StudyId(name="small", file="small.toml", digest="d1")


def _store(folder: Path, *, study: StudyId = _STUDY, model: str = "m1") -> RunStore:
    return RunStore(folder, study, version="1", model=model)


def _result(load: float, seed: int) -> dict[str, Any]:
    return {"load": load, "seed": seed, "digest": f"{load}/{seed}"}


def _tables(load: float) -> dict[str, pl.DataFrame]:
    return {"links": pl.DataFrame({"vl": [load] * 5000}), "trace": pl.DataFrame({"cycle": [load, 2 * load]})}


def _fill(folder: Path) -> None:
    with _store(folder) as store:
        for load in (0.2, 0.20000001):
            store.keep(RunKey(load, 1), _result(load, 1), _tables(load))
        store.keep_results(pl.DataFrame({"sl": [0, 1]}), pl.DataFrame({"seed": [1]}), {})


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("loads = [0.2, 0.5]", "loads = [0.2, 0.5, 0.20]", ["run.loads.2: 0.2 is repeated"]),
        ("loads = [0.2, 0.5]", "loads = [1, 1.0]", ["run.loads.1: 1.0 is repeated"]),
        ("seeds = [1, 2]", "seeds = [1, 2, 1]", ["run.seeds.2: 1 is repeated"]),
        ("seeds = [1, 2]", "seeds = [1, 4294967297]", ["run.seeds.1", "below 4294967296", "4294967297"]),
    ],
)
def test_a_run_that_would_be_made_twice_is_refused(old: str, new: str, words: list[str], study: Path) -> None:
    """Given equal loads or seeds in a study, the run is refused, however the numbers are written.

    Seeds count modulo 2**32.
    """
    study.write_text(STUDY.replace(old, new))

    assert_refused(call("simulate", study, "--out", study.parent / "out"), "small.toml", *words)
    assert not (study.parent / "out").exists()


def test_similar_loads_have_separate_files_in_the_manifest(study: Path) -> None:
    """Loads that differ slightly have separate files, and the manifest lists digests, rows and SHA-256."""
    study.write_text(SHORT.replace("[0.2, 0.5]", "[0.2, 0.20000001]"))
    out = study.parent / "out"

    called = call("simulate", study, "--out", out, "--json")

    assert called.status == 0, called.err
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["study"]["name"], manifest["study"]["file"], manifest["vlane"]) == ("small", "small.toml", "0.1.0")
    named = [each["name"] for run in manifest["runs"] for each in run["files"]]
    assert sorted(named) == sorted(f"runs/{file.name}" for file in (out / "runs").iterdir())
    assert "runs/load0.20000001-seed1.json" in named
    assert [(run["load"], run["seed"], run["digest"]) for run in manifest["runs"]] == [
        (run["load"], run["seed"], run["digest"]) for run in called.json()["runs"]
    ]
    for each in [manifest["results"], *(each for run in manifest["runs"] for each in run["files"])]:
        assert hashlib.sha256((out / each["name"]).read_bytes()).hexdigest() == each["sha256"]
        if each["name"].endswith(".parquet"):
            assert len(pl.read_parquet(out / each["name"])) == each["rows"] > 0
    assert set(pl.read_parquet(out / "results.parquet")["load"]) == {0.2, 0.20000001}


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def _spoil(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _take_anothers(file: Path) -> None:
    file.write_bytes(file.with_name(file.name.replace("0.2", "0.20000001")).read_bytes())


@pytest.mark.parametrize("harm", [_cut, _spoil, Path.unlink, _take_anothers])
@pytest.mark.parametrize("name", ["load0.2-seed1.json", "load0.2-seed1.links.parquet", "load0.2-seed1.trace.parquet"])
def test_modified_run_is_rejected(harm: Any, name: str, tmp_path: Path) -> None:
    """Given a truncated, modified, missing or exchanged file, its run is rejected with the reason.

    The other run is still accepted.
    """
    _fill(tmp_path)
    file = tmp_path / "runs" / name

    harm(file)

    with _store(tmp_path) as store:
        document, why = store.whole(RunKey(0.2, 1), ["links"])
        assert store.whole(RunKey(0.20000001, 1), ["links"]) == (_result(0.20000001, 1), "")
        assert store.whole(RunKey(0.3, 1), ["links"]) == (None, "")
    assert document is None
    assert name in why


def test_a_manifest_that_was_changed_too_does_not_make_one_run_another(tmp_path: Path) -> None:
    """A file of another run is rejected even if the manifest's checksum was changed to match."""
    _fill(tmp_path)
    file = tmp_path / "manifest.json"
    manifest = json.loads(file.read_text())
    content = (tmp_path / "runs" / "load0.20000001-seed1.json").read_bytes()
    (tmp_path / "runs" / "load0.2-seed1.json").write_bytes(content)
    manifest["runs"][0]["files"][2]["sha256"] = hashlib.sha256(content).hexdigest()
    file.write_text(json.dumps(manifest))

    with _store(tmp_path) as store:
        assert store.whole(RunKey(0.2, 1), []) == (None, "runs/load0.2-seed1.json belongs to another run")


def test_damaged_run_is_repeated_and_reported(study: Path) -> None:
    """With ``--resume``, only the run with a damaged file is repeated, and the command reports it."""
    study.write_text(SHORT)
    out = study.parent / "out"
    first = call("simulate", study, "--out", out, "--json").json()["runs"]
    _cut(out / "runs" / "load0.5-seed1.links.parquet")
    times = {file.name: file.stat().st_mtime_ns for file in (out / "runs").iterdir()}

    again = call("simulate", study, "--out", out, "--json", "--resume")

    assert [run["digest"] for run in again.json()["runs"]] == [run["digest"] for run in first]
    assert "repeating load 0.5, seed 1: runs/load0.5-seed1.links.parquet was changed after it was written" in again.err
    fresh = {file.name for file in (out / "runs").iterdir() if file.stat().st_mtime_ns != times[file.name]}
    assert fresh == {"load0.5-seed1.json", "load0.5-seed1.links.parquet"}
    assert call("simulate", study, "--out", out, "--resume").err.count("made again") == 0


def test_a_study_that_gains_a_load_keeps_its_runs_and_one_that_changes_is_refused(study: Path) -> None:
    """A study with an added load keeps its runs. Any different change is refused."""
    out = study.parent / "out"
    study.write_text(SHORT.replace("[0.2, 0.5]", "[0.2]"))
    call("simulate", study, "--out", out)
    kept = (out / "runs" / "load0.2-seed1.json").stat().st_mtime_ns

    study.write_text(SHORT)
    assert call("simulate", study, "--out", out, "--resume").status == 0
    assert (out / "runs" / "load0.2-seed1.json").stat().st_mtime_ns == kept
    held = {file: file.read_bytes() for file in sorted(out.rglob("*")) if file.is_file()}
    study.write_text(SHORT.replace("cycles = 700", "cycles = 701"))

    for options in ([], ["--resume"]):
        assert_refused(
            call("simulate", study, "--out", out, *options),
            str(out),
            "--out",
            "the folder holds runs of",
            "remove this one",
            "small.toml in an earlier version",
        )
    assert {file: file.read_bytes() for file in sorted(out.rglob("*")) if file.is_file()} == held


def test_made_again_without_resume_a_run_is_replaced_whole(tmp_path: Path) -> None:
    """Without ``--resume``, a run's files are replaced completely and other runs stay."""
    _fill(tmp_path)

    with _store(tmp_path) as store:
        store.keep(RunKey(0.2, 1), _result(0.2, 1), {"links": _tables(0.2)["links"]})

    names = sorted(file.name for file in (tmp_path / "runs").iterdir())
    assert names == [
        "load0.2-seed1.json",
        "load0.2-seed1.links.parquet",
        "load0.20000001-seed1.json",
        "load0.20000001-seed1.links.parquet",
        "load0.20000001-seed1.trace.parquet",
    ]
    with _store(tmp_path) as store:
        assert store.whole(RunKey(0.2, 1), ["links"])[0] == _result(0.2, 1)
        assert store.whole(RunKey(0.2, 1), ["trace"]) == (None, "runs/load0.2-seed1.trace.parquet was not written")
        assert store.whole(RunKey(0.20000001, 1), ["trace"])[0] is not None


def test_runs_of_another_model_are_removed(tmp_path: Path) -> None:
    """Runs of another model are removed, and files unknown to the manifest stay."""
    _fill(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")

    with _store(tmp_path, model="m2") as store:
        assert store.removed == 2
        assert store.whole(RunKey(0.2, 1), []) == (None, "")

    assert sorted(file.name for file in tmp_path.rglob("*")) == [".lock", "manifest.json", "notes.txt", "runs"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), "the folder holds runs without a manifest"),
        (lambda folder: _cut(folder / "manifest.json"), "a damaged manifest.json"),
        (lambda folder: (folder / "manifest.json").write_text("{}"), "a damaged manifest.json"),
        (
            lambda folder: (folder / "manifest.json").write_text(
                (folder / "manifest.json")
                .read_text()
                .replace('"runs/load0.2-seed1.json"', '"runs/../../precious.json"')
            ),
            "a damaged manifest.json",
        ),
    ],
    ids=["none", "cut", "empty", "names_a_file_elsewhere"],
)
def test_runs_without_a_manifest_are_refused(change: Any, words: str, tmp_path: Path) -> None:
    """Given runs without a valid manifest, the folder is refused and nothing is removed."""
    _fill(tmp_path)
    change(tmp_path)
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(InputError, match=words), _store(tmp_path, model="m2"):
        pass

    assert sorted(tmp_path.rglob("*")) == before


def test_two_writers_exclude_each_other_and_a_dead_one_lets_go(study: Path, tmp_path: Path) -> None:
    """While another process holds the folder, a study is refused. A killed process releases it."""
    study.write_text(SHORT)
    out = tmp_path / "out"
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom vlane.sim_top.study.run_store import RunStore, StudyId\n"
        "with RunStore(Path(sys.argv[1]), StudyId(name='', file='', digest=''), version='', model=''):\n"
        "    print('held', flush=True)\n    time.sleep(600)\n"
    )
    with started([sys.executable, "-c", code, str(out)], stderr=None) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        while_held = call("simulate", study, "--out", out)

    assert_refused(while_held, str(out), "--out", "another vlane process is writing")
    assert call("simulate", study, "--out", out).status == 0


def test_killed_before_its_first_run_is_kept_a_study_begins_again(tmp_path: Path) -> None:
    """Files left by a process killed before its first complete run are overwritten."""
    with _store(tmp_path):
        (tmp_path / "runs" / "load0.2-seed1.links.parquet").write_bytes(b"half")

    with _store(tmp_path) as store:
        assert store.whole(RunKey(0.2, 1), []) == (None, "")
        store.keep(RunKey(0.2, 1), _result(0.2, 1), _tables(0.2))
        assert store.whole(RunKey(0.2, 1), ["links"])[0] == _result(0.2, 1)


@contextmanager
def _files_no_longer_than(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_that_cannot_be_written_whole_is_not_there_at_all(tmp_path: Path) -> None:
    """Given a file that cannot be written completely, it is named and no partial file is left."""
    _fill(tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    large = pl.DataFrame({"vl": [value * value % 9973 for value in range(50_000)]})

    with (
        _store(tmp_path) as store,
        _files_no_longer_than(20_000),
        pytest.raises(InputError, match=r"runs/load0\.2-seed1\.links\.parquet: --out: cannot write the file"),
    ):
        store.keep(RunKey(0.2, 1), _result(0.2, 1), {"links": large})

    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


@pytest.mark.slow
def test_files_of_the_study_belong_to_its_digest(study: Path) -> None:
    """The content of a table file is part of the study's digest."""
    (study.parent / "t.toml").write_text("[dtable]\nentries = [[0, 4], [1, 4]]\n")
    study.write_text(SHORT + '[scheduler]\nname = "dtable"\ntable = "t.toml"\n')
    out = study.parent / "out"
    assert call("simulate", study, "--out", out).status == 0
    (study.parent / "t.toml").write_text("[dtable]\nentries = [[0, 4], [1, 5]]\n")

    assert_refused(call("simulate", study, "--out", out), "small.toml in an earlier version")


def test_the_digest_of_the_model_is_of_all_that_makes_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's digest covers golden's sources."""
    before = study_runs.model_digest()
    study_runs.model_digest.cache_clear()
    monkeypatch.setattr(study_runs, "source_digest", lambda: "another")

    assert len(before) == 64
    after = study_runs.model_digest()
    study_runs.model_digest.cache_clear()
    assert after != before
