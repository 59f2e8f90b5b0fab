"""Sweeps over study keys: checks before runs, one folder, one table of each kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vlane
from tests.conftest import ROOT, STUDY, assert_refused, call
from vlane.documents.toml_text import parse_value, split_values, toml_document, toml_value
from vlane.errors import InputError
from vlane.sim_top.study import study_runs
from vlane.sim_top.study.simulate import StuckError
from vlane.study.file import read_study_file, study_of
from vlane.study.model import read_study

SHORT = STUDY.replace("cycles = 3000", "cycles = 700").replace("seeds = [1, 2]", "seeds = [1]")
SWEEP = ("--sweep", "buffers.blocks=64,128", "--sweep", "traffic.1.pattern=uniform,others", "--set", "run.loads=[0.2]")
TIMES = ("run_seconds", "run_flit_hops_per_second", "run_peak_mib", "seconds", "flit_hops_per_second", "peak_mib")

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "buffers.blocks": st.integers(-2, 200),
    "network.k": st.integers(0, 5),
    "network.routing": st.sampled_from(["dmodk", "updown", "dor"]),
    "run.loads": st.lists(st.sampled_from([0.1, 0.5, 1, 1.5]), max_size=3),
    "run.cycles": st.sampled_from([100, 501, 9000, 2.5]),
    "run.precision": st.sampled_from([0.1, 1, "no"]),
    "traffic.1.share": st.sampled_from([0.5, 0.4]),
    "traffic.0.bytes": st.sampled_from([64, [64, 128], [128, 64], "all"]),
    "scheduler.parameters.form": st.sampled_from(["free", 3, 0.5]),
    "link.data_vls": st.integers(0, 17),
    "switch.kind": st.sampled_from(["ib", "opa", "op"]),
    "measure.flows": st.booleans(),
    "stall": st.just([{"cycle": 5, "cycles": 3, "switch": 0, "port": 1}]),
    "bufers.blocks": st.just(1),
}


@given(
    st.dictionaries(st.sampled_from(sorted(VALUES)), st.none(), min_size=1, max_size=4).flatmap(
        lambda keys: st.fixed_dictionaries({key: VALUES[key] for key in keys})
    )
)
def test_a_changed_study_is_the_study_of_the_changed_file(tmp_path_factory: Any, changes: dict[str, Any]) -> None:
    """A study changed in Python is accepted or refused like a file with the same change."""
    file = tmp_path_factory.mktemp("changed") / "study.toml"
    file.write_text(STUDY)
    read = read_study_file(file)
    content = json.loads(json.dumps(read.document.content))
    for key, value in changes.items():
        at: Any = content
        *sections, last = key.split(".")
        for part in sections:
            at = at[int(part)] if isinstance(at, list) else at.setdefault(part, {})
        at[last] = value
    file.write_text(toml_document(content))

    def outcome(make: Any) -> Any:
        try:
            return make()
        except InputError as error:
            return error.field.partition(" with ")[0], error.must, error.got, error.meant

    assert outcome(lambda: read.with_(changes).study) == outcome(lambda: read_study(file))


def test_a_study_is_saved_as_a_file_that_reads_the_same(tmp_path: Path) -> None:
    """Every shipped study, and one with unusual names, is saved as an equal file."""
    for shipped in sorted((ROOT / "sim_top" / "configs").glob("*_*.toml")):
        if "[network]" in shipped.read_text():
            study = vlane.Study.read(shipped)
            assert vlane.Study.read(study.save(tmp_path / shipped.name)).model == study.model
    odd = study_of(
        {
            "network": {"topology": "edges", "file": 'a "b"\\\t\x7fé.txt'},
            "traffic": [{"sl": 0}],
            "scheduler": {"parameters": {"a b": True}},
            "run": {"loads": [1e-9]},
        },
        tmp_path,
    )
    file = tmp_path / "odd.toml"
    file.write_text(toml_document(odd.document.content))
    assert read_study(file) == odd.study


def test_a_change_leaves_the_study_that_is_changed_as_it_was(study: Path) -> None:
    """Changing a study leaves the original unchanged, and later changes override earlier ones."""
    first = read_study_file(study)
    loads = [0.3]

    second = first.with_({"run.loads": loads, "traffic.0.sl": 2})
    loads.append(9.0)
    third = second.with_({"run.loads.0": 0.4}).with_({"traffic": [{"sl": 3}]})

    assert first.study == read_study(study)
    assert second.study.run.loads == [0.3]
    assert third.study.run.loads == [0.4]
    assert second.study.traffic[0].sl == 2
    assert dict(third.changes) == {"run.loads": [0.3], "run.loads.0": 0.4, "traffic": [{"sl": 3}]}
    assert third.with_({"run.loads": None, "run": first.document.content["run"]}).study.run == first.study.run


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2.5,true", [1, 2.5, True]),
        ("[1, 2],[3]", [[1, 2], [3]]),
        ('"a,b",c', ["a,b", "c"]),
        ('"a\\",b",c', ['a",b', "c"]),
        ("'a\\',b", ["a\\", "b"]),
        ("{a = 1, b = [2, 3]},x", [{"a": 1, "b": [2, 3]}, "x"]),
        ("True, yes , 0x10", ["True", "yes", 16]),
        ("1\nb = 2", ["1\nb = 2"]),
        ("# no,1e3", ["# no", 1000.0]),
    ],
)
def test_values_of_an_option_are_those_of_a_file(text: str, values: list[Any]) -> None:
    """Values of an option are parsed as TOML, and text that is no TOML value is a word.

    Commas within brackets and quotes do not separate values.
    """
    assert split_values(text, "x") == values
    for value in values:
        assert parse_value(toml_value(value), "x") == value


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sweep", "buffers.blocks=64,8"], ["buffers.blocks", "at least 9", "8"]),
        (
            ["--sweep", "buffers.blocks=64,64"],
            ["sweep buffers.blocks", "buffers.blocks=64 gives the same study as an earlier point"],
        ),
        (
            ["--sweep", "buffers.blocks=64,1792", "--sweep", "scheduler.name=rr,rr"],
            ["scheduler.name=rr gives the same study as an earlier point"],
        ),
        (["--sweep", "buffers.blocks=64,,8"], ["--sweep buffers.blocks needs a value"]),
        (["--sweep", "buffers.blocks"], ["--sweep", "KEY=VALUE", "buffers.blocks"]),
        (["--sweep", "buffers.blocks=1", "--sweep", "buffers.blocks=2"], ["buffers.blocks is given twice"]),
        (["--set", "buffers.blocks=1", "--set", "buffers.blocks=2"], ["buffers.blocks is given twice"]),
        (["--sweep", "run.loads=0.2,0.2"], ["run.loads.1: 0.2 is repeated"]),
        (["--sweep", "run.loads.0=0.2,0.3"], ["run.loads.0: sweep the whole list run.loads instead"]),
        (
            ["--set", "traffic.0.share=0.4"],
            ["small.toml:", "traffic with traffic.0.share=0.4", "the sum of the shares is 0.9"],
        ),
        (["--set", "traffic.7.share=0.4"], ["traffic.7.share: 7 is not an index of traffic, which has indices 0 to 1"]),
        (["--sweep", "bufers.blocks=1"], ["bufers: unknown key", "did you mean buffers?"]),
        (["--sweep", "network.k=2,2.5"], ["network.k", "a whole number", "2.5"]),
        (["--sweep", "scheduler.name=rr,drr"], ["scheduler.table with scheduler.name=drr is missing"]),
        (["--set", "scheduler.name=drr", "--set", "scheduler.table=no.toml"], ["no.toml", "cannot be read"]),
        (["--set", "buffers.blocks=[1"], ["--set buffers.blocks", "a valid TOML value", "[1"]),
        (["--set", "buffers blocks=1"], ["key must be a dotted key", "buffers blocks"]),
        (["--set", "run=3"], ["run", "a section", "3"]),
        (["--set", "run.cycles=nan"], ["run.cycles", "a whole number", "nan"]),
        (
            [
                "--sweep",
                f"run.stuck_cycles={','.join(map(str, range(1000, 1102)))}",
                "--sweep",
                f"link.flight_cycles={','.join(['1'] * 100)}",
            ],
            ["points exceed the limit of 10000", "10200"],
        ),
    ],
)
def test_a_bad_point_is_refused_before_anything_runs(options: list[str], words: list[str], study: Path) -> None:
    """Given an invalid point of a sweep, one line names key and value before any run."""
    study.write_text(SHORT)

    assert_refused(call("simulate", study, "--out", study.parent / "out", *options), *words)
    assert not (study.parent / "out").exists()


def columns_of(heading: str) -> list[str]:
    """Return the columns documented under a heading of ``docs/results.md``, in order."""
    text = (ROOT / "docs" / "results.md").read_text().split(f"### {heading}\n")[1].split("\n#")[0]
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    return [name.strip("` ") for row in rows for name in row.split("|")[1].split(",")]


def test_a_sweep_over_two_keys_gives_one_table_with_the_documented_columns(study: Path) -> None:
    """A sweep over two keys writes tables with the documented columns and a row per combination.

    Swept parameters are the first columns.
    """
    study.write_text(SHORT + "\n[measure]\nflows = true\n")
    out = study.parent / "out"

    done = call("simulate", study, "--out", out, *SWEEP, "--json")

    assert done.status == 0, done.err
    swept = ["buffers.blocks", "traffic.1.pattern"]
    for name in ("results", "runs", "links", "flows"):
        table = pl.read_parquet(out / f"{name}.parquet")
        assert table.columns[:2] == swept
        assert sorted(table.columns[2:]) == sorted(columns_of(f"{name}.parquet")), name
        assert table.columns[2:4] == ["load", "seed"]
        assert table.select(swept).unique().height == 4
    levels = pl.read_parquet(out / "results.parquet")
    assert levels["buffers.blocks"].dtype == pl.Int64
    assert levels.select([*swept, "sl"]).rows() == [
        (blocks, pattern, sl) for blocks in (64, 128) for pattern in ("uniform", "others") for sl in (0, 1)
    ]
    runs = done.json()["runs"]
    assert [run["parameters"] for run in runs] == [
        {"buffers.blocks": blocks, "traffic.1.pattern": pattern}
        for blocks in (64, 128)
        for pattern in ("uniform", "others")
    ]
    assert pl.read_parquet(out / "runs.parquet")["digest"].to_list() == [run["digest"] for run in runs]
    manifest = json.loads((out / "manifest.json").read_text())
    assert len({run["point"] for run in manifest["runs"]}) == 4
    assert {each["name"] for each in manifest["tables"]} == {"runs.parquet", "links.parquet", "flows.parquet"}
    assert not list(out.glob("study.*")) + list(out.glob(".*.part"))


def test_points_are_added_and_resumed_next_to_plain_runs(study: Path) -> None:
    """Points can be added and resumed in a study's folder, next to runs without parameters.

    Changing the study itself is refused.
    """
    study.write_text(SHORT.replace("[0.2, 0.5]", "[0.2]"))
    out = study.parent / "out"

    def made(*options: str) -> set[str]:
        before = {file: file.stat().st_mtime_ns for file in (out / "runs").glob("*.json")}
        called = call("simulate", study, "--out", out, "--resume", *options)
        assert called.status == 0, called.err
        return {file.name for file in (out / "runs").glob("*.json") if file.stat().st_mtime_ns != before.get(file)}

    assert made() == {"load0.2-seed1.json"}
    (first,) = made("--set", "buffers.blocks=128")
    assert first.endswith("-load0.2-seed1.json")
    (second,) = made("--sweep", "buffers.blocks=128,256")
    assert second != first
    assert made("--sweep", "buffers.blocks=128,256") == set()
    assert made() == set()
    assert pl.read_parquet(out / "results.parquet").columns[0] == "load"
    study.write_text(SHORT.replace("[0.2, 0.5]", "[0.2]").replace("blocks = 64", "blocks = 66"))
    assert_refused(
        call("simulate", study, "--out", out, "--resume", "--set", "buffers.blocks=128"), "in an earlier version"
    )


def test_a_joined_table_that_is_no_longer_measured_goes(study: Path) -> None:
    """A table that the latest run does not measure is removed from the folder."""
    study.write_text(SHORT.replace("[0.2, 0.5]", "[0.2]"))
    out = study.parent / "out"
    call("simulate", study, "--out", out, "--set", "measure.flows=true")
    assert (out / "flows.parquet").exists()

    assert call("simulate", study, "--out", out).status == 0

    assert not (out / "flows.parquet").exists()
    assert pl.read_parquet(out / "links.parquet").columns[0] == "load"


def timeless(table: pl.DataFrame) -> pl.DataFrame:
    return table.drop(TIMES, strict=False)


def test_runs_in_python_are_those_of_the_command(study: Path, tmp_path: Path) -> None:
    """Runs in Python give the tables of the command, and saved results read back equal."""
    study.write_text(SHORT)
    called = call("simulate", study, "--out", tmp_path / "out", *SWEEP)
    changed = vlane.Study.read(study).with_({"run.loads": [0.2]})
    sweep = {"buffers.blocks": [64, 128], "traffic.1.pattern": ["uniform", "others"]}

    results = changed.run(sweep=sweep)

    assert called.status == 0, called.err
    kept = vlane.Results.read(tmp_path / "out")
    for name in ("levels", "runs", "links"):
        assert timeless(getattr(results, name)).equals(timeless(getattr(kept, name))), name
    assert results.parameters == list(sweep)
    assert results.flows.is_empty()
    again = vlane.Results.read(results.save(tmp_path / "saved"))
    assert again.levels.equals(results.levels)
    alone = vlane.Results.read(tmp_path / "saved" / "results.parquet")
    assert alone.runs.equals(results.runs)
    assert results.compare(kept).ok
    assert results.compare(kept).equal_runs == 4
    assert results.where({"buffers.blocks": 64}).links["buffers.blocks"].unique().to_list() == [64]


def test_runs_without_packets_have_the_usual_columns(study: Path) -> None:
    """A run without packets has tables with the usual columns and types."""
    study.write_text(SHORT)
    some = vlane.Study.read(study).run()

    none = vlane.Study.read(study).with_({"run.loads": [1e-9]}).run()

    assert none.levels.is_empty()
    assert none.levels.schema == some.levels.schema
    assert none.runs.schema == some.runs.schema
    assert none.runs["flit_hops"].to_list() == [0]
    assert none.links["packets"].sum() == 0


@pytest.mark.slow
def test_a_sweep_does_not_depend_on_jobs(study: Path, tmp_path: Path) -> None:
    """The tables of a sweep do not depend on the number of processes."""
    study.write_text(SHORT)
    sweep = {"buffers.blocks": [64, 128]}

    one, two = (vlane.Study.read(study).run(sweep=sweep, jobs=jobs, out=tmp_path / f"{jobs}") for jobs in (1, 2))

    for name in ("levels", "runs", "links"):
        assert timeless(getattr(one, name)).equals(timeless(getattr(two, name))), name
    assert one.runs.height == 4


def test_a_point_that_gets_stuck_is_named(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a stuck run of a sweep, the error names its parameters, load and seed."""

    def stuck(*_: object, **__: object) -> None:
        raise StuckError("cycle 7: 2 packets and nothing moves")

    monkeypatch.setattr(study_runs, "simulate", stuck)
    study.write_text(SHORT)

    swept = call("simulate", study, "--out", tmp_path / "a", "--sweep", "buffers.blocks=64,128")
    plain = call("simulate", study, "--out", tmp_path / "b")

    said = "vlane: STUCK at cycle 7: 2 packets and nothing moves"
    assert (swept.status, plain.status) == (1, 1)
    assert swept.err == f"{said} (buffers.blocks=64, load 0.2, seed 1)\n"
    assert plain.err == f"{said}\n"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"jobs": 0}, "jobs must be a whole number, 1 to 256, not 0"),
        ({"jobs": True}, "jobs must be a whole number, 1 to 256, not true"),
        ({"sweep": [1]}, "sweep must be a mapping of keys to lists of values, not list"),
        ({"sweep": {"buffers.blocks": []}}, "sweep buffers.blocks: the list is empty"),
        ({"sweep": {"buffers.blocks": 64}}, "sweep buffers.blocks must be a list of values, not 64"),
        ({"sweep": {"buffers.blocks": "64"}}, "sweep buffers.blocks must be a list of values, not 64"),
        ({"sweep": {"buffers.blocks": [64, 8]}}, "buffers.blocks must be at least 9, the sum of minimum_blocks, not 8"),
        ({"sweep": {7: [1]}}, "key must be a dotted key"),
        ({"resume": True}, "out is missing: trace and resume need a folder"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "--scheduler: no dask scheduler answers at tcp://127.0.0.1:1"),
    ],
)
def test_bad_arguments_of_a_run_are_input_errors(wrong: dict[str, Any], words: str, study: Path) -> None:
    """Given bad arguments of ``Study.run``, an InputError is raised before any run."""
    with pytest.raises(InputError) as refused:
        vlane.Study.read(study).run(**wrong)

    assert str(refused.value).startswith(words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rate", "100", "--sweep", "link.rate_gbps=50,100"], "--rate cannot be used with link.rate_gbps in --set"),
        (["--rate", "100", "--set", "link.rate_gbps=50"], "--rate cannot be used with link.rate_gbps in --set"),
        (["--precision", "0.1", "--set", "run.precision=0.2"], "--precision cannot be used with run.precision in --"),
        (
            ["--set", "buffers.blocks=64", "--sweep", "buffers.blocks=32,64"],
            "--set buffers.blocks cannot be used with --sweep buffers.blocks",
        ),
    ],
)
def test_a_key_is_given_once(options: list[str], words: str, study: Path) -> None:
    """Given a key both as an option and by ``--set`` or ``--sweep``, the command is refused."""
    assert_refused(call("simulate", study, *options), words)


@pytest.mark.slow
def test_each_run_of_a_swept_rate_has_its_own_cycle(study: Path, tmp_path: Path) -> None:
    """Given a swept rate, each run reports its own cycle time and the document none."""
    study.write_text(SHORT.replace("[0.2, 0.5]", "[0.2]"))

    done = call("simulate", study, "--sweep", "link.rate_gbps=50,200", "--out", tmp_path / "out", "--json").json()

    assert done["cycle_ns"] is None
    assert done["rate_gbps"] is None
    assert [(run["rate_gbps"], run["cycle_ns"]) for run in done["runs"]] == [(50, 10.24), (200, 2.56)]
    assert done["runs"][0]["digest"] == done["runs"][1]["digest"]
