"""Studies of papers: figures and bounds, interruption, resuming, stored summaries."""

from __future__ import annotations

import os
import signal
import sys
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.children import assert_ended, started
from tests.cli.pages import assert_whole
from tests.conftest import ROOT, Called, assert_refused, call, call_apart
from tests.study.made_runs import dies_once_then_runs
from vlane.schedulers.table_files import read_tables
from vlane.sim_top.output.curves import Chart, Curve
from vlane.sim_top.output.pictures import new_figure
from vlane.sim_top.studies import by_name, page
from vlane.sim_top.studies.figures import Bound, Figure, at_most, within
from vlane.sim_top.studies.paper_study import Case
from vlane.sim_top.studies.sitting import missing_runs
from vlane.sim_top.studies.study_dtable_cases import LOADS, NETWORKS, ONE_FLIT, ONE_MESSAGE, PARTS, READINGS, cases
from vlane.sim_top.studies.summary import Summary
from vlane.sim_top.study import study_runs
from vlane.study.traffic import class_loads

_RUNS = 8
"""Number of runs of the tiny study: two networks, two loads, two seeds."""


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(by_name.STUDIES, "tiny", "tests.study.tiny_study")


def tiny(out: Path, *options: str | Path) -> Called:
    return call("study", "tiny", "--out", out, "--json", *options)


def rows_of(out: Path) -> pl.DataFrame:
    """Return a summary's rows without run time and model."""
    return pl.read_parquet(out / "summary.parquet").drop("seconds", "model")


def made(out: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in (out / "runs").iterdir()}


def run_count(rows: pl.DataFrame) -> int:
    assert not rows.select("point", "load", "seed", "sl").is_duplicated().any()
    return rows.select("point", "load", "seed").n_unique()


def test_a_figure_holds_if_its_mean_lies_within_the_bound() -> None:
    """A figure holds if its mean lies within the bound, ends included.

    A figure without measurement or without a bound has no verdict.
    """
    bound = within(200.0, 0.1)

    assert [bound.holds(value) for value in (179.9, 180.0, 200.0, 220.0, 220.1)] == [False, True, True, True, False]
    assert (at_most(1, "").holds(1.0), at_most(1, "").holds(1.01)) == (True, False)
    figure = Figure("f", "ns", 200.0, [170.0, 191.0], bound)
    assert (figure.ours, figure.holds, figure.verdict) == (180.5, True, "holds")
    assert Figure("f", "ns", 200.0, [], bound).holds is None
    assert Figure("f", "ns", None, [1.0], Bound(None, None, "none", "")).holds is None
    assert figure.document() == {
        "name": "f",
        "unit": "ns",
        "published": 200.0,
        "ours": 180.5,
        "min": 170.0,
        "max": 191.0,
        "seeds": 2,
        "bound": "±10 %",
        "low": 180.0,
        "high": 220.0,
        "why": bound.why,
        "holds": True,
    }


def test_study_reports_figures_and_writes_summary_page_and_picture(tmp_path: Path) -> None:
    """A study reports its figures and writes summary, page and picture, with exit status 0."""
    called = tiny(tmp_path)

    assert called.status == 0, called.err
    told = called.json()
    assert {"study", "part", "quick", "figures", "holds", "runs", "runs_wanted", "seconds"} <= set(told)
    assert (told["runs"], told["runs_wanted"], told["holds"]) == (_RUNS, _RUNS, True)
    assert [figure["holds"] for figure in told["figures"]] == [True, None]
    rows = rows_of(tmp_path)
    assert (run_count(rows), len(rows)) == (_RUNS, 2 * _RUNS)
    assert set(rows["room"]) == {"small", "large"}
    assert [Path(page).name for page in told["pages"]] == ["study.png", "study.html"]
    assert_whole(tmp_path / "study.html")
    assert f"{_RUNS} of {_RUNS}: room=large, load 0.5, seed 2" in called.err
    quick = tiny(tmp_path / "quick", "--quick").json()
    assert (quick["runs"], quick["quick"]) == (_RUNS // 2, True)


@pytest.mark.parametrize(
    ("numbers", "panels", "names"),
    [
        ({"a": 0, "b": 1}, 4, ["a", "b"]),
        ({"a": 0, "b": 1}, 3, []),
        ({"a": 0, "b": 0}, 4, []),
        ({chr(97 + number): number for number in range(11)}, 4, []),
    ],
)
def test_curves_are_named_once_where_a_look_is_one_name_s(
    numbers: dict[str, int], panels: int, names: list[str]
) -> None:
    """With four or more panels and consistent styles, curves are named once in a common legend.

    Otherwise, each panel has its own legend.
    """
    charts = [Chart("", "", "", [Curve(name, number) for name, number in numbers.items()])] * panels
    figure = new_figure()
    axes = [figure.add_subplot(1, panels, place + 1) for place in range(panels)]

    page._legends(figure, axes, charts)

    assert [text.get_text() for legend in figure.legends for text in legend.get_texts()] == names
    assert [axis.get_legend() is None for axis in axes] == [bool(names)] * panels


def test_panels_of_other_looks_name_their_own_curves() -> None:
    """Given panels with different styles for one curve, each panel has its own legend."""
    figure, charts = new_figure(), [Chart("", "", "", [Curve("a", number)]) for number in (0, 0, 0, 1)]
    axes = [figure.add_subplot(2, 2, place + 1) for place in range(4)]

    page._legends(figure, axes, charts)

    assert figure.legends == []
    assert all(axis.get_legend() for axis in axes)


def test_a_figure_outside_its_bound_is_exit_status_1(tmp_path: Path) -> None:
    """Given a figure outside its bound, the exit status is 1 and the output is complete."""
    called = tiny(tmp_path, "--part", "wrong")

    assert called.status == 1
    assert (called.json()["holds"], called.json()["figures"][0]["holds"]) == (False, False)
    shown = call("study", "tiny", "--out", tmp_path, "--part", "wrong", "--resume")
    assert shown.status == 1
    assert {"DOES", "NOT", "HOLD"} <= set(shown.out.split())  # however narrow the table is
    assert "0 of 1 measured figures are within their bounds, 1 figures were not measured" in shown.out


def test_set_changes_every_case(tmp_path: Path) -> None:
    """``--set`` changes the runs of all cases. The loads and seeds of the cases cannot be set."""
    one = tiny(tmp_path / "one")
    other = tiny(tmp_path / "other", "--set", "link.flight_cycles=9")

    assert {one.status, other.status} <= {0, 1}
    assert other.json()["runs"] == one.json()["runs"]
    digests = [set(rows_of(tmp_path / name)["digest"]) for name in ("one", "other")]
    assert not digests[0] & digests[1]
    assert_refused(call("study", "tiny", "--set", "run.seeds=[1]"), "--set run.seeds", "--only")
    assert_refused(call("study", "e2cm", "--set", "run.cycles=1"), "--set", "no study file")


def test_study_resumes_from_a_summary_only(tmp_path: Path) -> None:
    """A study resumes from only a copied summary, without repeating runs."""
    first = tiny(tmp_path / "one", "--only", "room=small", "--only", "seed=1,2").json()
    file = tmp_path / "kept.parquet"
    file.write_bytes((tmp_path / "one" / "summary.parquet").read_bytes())

    again = tiny(tmp_path / "two", "--resume", "--summary", file, "--only", "room=small")

    assert (first["runs"], again.json()["runs"], again.json()["runs_wanted"]) == (_RUNS // 2, _RUNS // 2, _RUNS)
    assert again.json()["figures"] == first["figures"]
    assert not (tmp_path / "two" / "runs").exists()
    assert file.read_bytes() == (tmp_path / "one" / "summary.parquet").read_bytes()
    whole = tiny(tmp_path / "two", "--resume", "--summary", file)
    assert whole.json()["runs"] == _RUNS
    assert len(made(tmp_path / "two")) == _RUNS // 2


def test_runs_that_only_the_folder_has_are_taken_and_counted_once(tmp_path: Path) -> None:
    """Runs found only in the folder are added to the summary once."""
    tiny(tmp_path)
    before, kept = rows_of(tmp_path), made(tmp_path)
    (tmp_path / "summary.parquet").unlink()

    called = tiny(tmp_path, "--resume")

    assert called.json()["runs"] == _RUNS
    assert made(tmp_path) == kept
    assert rows_of(tmp_path).equals(before)


def test_a_killed_worker_loses_nothing_and_nothing_counts_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a killed worker, its run is repeated and the summary equals an undisturbed study's."""
    tiny(tmp_path / "one", "--quick")
    monkeypatch.setenv("VLANE_TEST_MARK", str(tmp_path / "mark"))
    monkeypatch.setattr(study_runs, "_one", dies_once_then_runs)

    called = tiny(tmp_path / "two", "--quick", "--jobs", "2")
    monkeypatch.undo()

    assert called.status == 0, called.err
    assert (tmp_path / "mark").exists()
    assert run_count(rows_of(tmp_path / "two")) == _RUNS // 2
    assert rows_of(tmp_path / "two").equals(rows_of(tmp_path / "one"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("jobs", "number"), [pytest.param("1", signal.SIGINT, marks=pytest.mark.long), ("2", signal.SIGTERM)]
)
def test_interrupted_study_resumes(jobs: str, number: signal.Signals, tmp_path: Path) -> None:
    """An interrupted study exits with the signal's status and resumes without repeating runs."""
    code = (
        "import sys\nfrom vlane.sim_top.studies import by_name\nfrom vlane.sim_top.cli.main import main\n"
        "if __name__ == '__main__':\n    by_name.STUDIES['tiny'] = 'tests.study.tiny_study'\n    main()\n"
    )
    script = tmp_path / "run.py"
    script.write_text(code)
    words = [sys.executable, str(script), "study", "tiny", "--part", "slow", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with started([*words, "--jobs", jobs], cwd=ROOT, env=environment) as running:
        assert running.stderr is not None
        first = next(line for line in running.stderr if line.startswith("1 of 8: "))
        running.send_signal(number)
        rest = running.stderr.read().splitlines()
        assert running.wait(60) == 128 + number, rest
        assert_ended(running.pid)

    assert first
    assert rest[-1].endswith(f"of 8 runs are stored in {tmp_path}/out/summary.parquet; continue with --resume")
    finished = run_count(rows_of(tmp_path / "out"))
    assert 1 <= finished < _RUNS
    assert rest[-1] == f"vlane: interrupted; {rest[-1].removeprefix('vlane: interrupted; ')}"
    kept = made(tmp_path / "out")
    again = tiny(tmp_path / "out", "--part", "slow", "--resume")
    assert again.json()["runs"] == run_count(rows_of(tmp_path / "out")) == _RUNS
    assert {name: made(tmp_path / "out")[name] for name in kept} == kept
    assert again.err.count(" of ") == _RUNS - finished


def with_model(file: Path, change: Any) -> None:
    change(pl.read_parquet(file).with_columns(pl.lit("0" * 16).alias("model"))).write_parquet(file)


def test_runs_of_another_golden_are_taken_if_one_of_them_comes_out_the_same(tmp_path: Path) -> None:
    """Given runs of another golden version, one per network is repeated, and equal runs are accepted."""
    tiny(tmp_path, "--only", "seed=1")
    with_model(tmp_path / "summary.parquet", lambda rows: rows)

    called = tiny(tmp_path / "two", "--resume", "--summary", tmp_path / "summary.parquet")

    assert called.json()["runs"] == _RUNS
    assert len(made(tmp_path / "two")) == 2 + _RUNS // 2
    assert pl.read_parquet(tmp_path / "summary.parquet")["model"].n_unique() == 1


def test_runs_of_a_golden_that_makes_others_are_made_again(tmp_path: Path) -> None:
    """Given a golden version with different results, the runs of the affected case are repeated."""
    tiny(tmp_path, "--only", "seed=1")
    right = rows_of(tmp_path)
    is_small = pl.col("room") == "small"
    spoilt = pl.when(is_small).then(pl.lit("f" * 16)).otherwise(pl.col("digest")).alias("digest")
    with_model(tmp_path / "summary.parquet", lambda rows: rows.with_columns(spoilt))

    called = tiny(tmp_path, "--resume")

    assert "repeating 2 runs of small: results of the current golden differ" in called.err
    assert rows_of(tmp_path).filter(pl.col("seed") == 1).equals(right)
    assert run_count(rows_of(tmp_path)) == _RUNS


def test_all_cases_of_a_seed_come_before_the_next_seed() -> None:
    """All cases of a seed are made before the next seed, and shared runs are made once."""
    one = cases("main", quick=True)
    missing = missing_runs(one, Summary(("network", "switch", "variant")))

    assert [seed for _, seed, _ in missing] == sorted(seed for case in one for seed in case.seeds)
    assert len(missing_runs([*one, *one], Summary(("network", "switch", "variant")))) == len(missing)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["nothing"], ["NAME", "dtable"]),
        (["tiny", "--part", "mian"], ["--part", "did you mean main?"]),
        (["tiny", "--only", "rooms=small"], ["--only", "room"]),
        (["tiny", "--only", "room=smal"], ["--only room", "large, small", "smal"]),
        (["tiny", "--only", "seed=9"], ["--only seed", "1, 2", "9"]),
        (["tiny", "--only", "load"], ["--only", "COLUMN=VALUE", "load"]),
        (["tiny", "--jobs", "2", "--scheduler", "tcp://127.0.0.1:1"], ["--jobs", "cannot be used with --scheduler"]),
        (["tiny", "--scheduler", "tcp://127.0.0.1:1"], ["--scheduler", "no dask scheduler answers"]),
        (["tiny", "--summary", "README.md"], ["README.md", "--summary", "is not a Parquet file"]),
        (["tiny", "--out", "README.md"], ["--out", "README.md"]),
    ],
    ids=lambda value: " ".join(value) if "tiny" in value or "nothing" in value else "",
)
def test_bad_options_are_one_line(options: list[str], words: list[str], tmp_path: Path) -> None:
    """Given bad options, the command prints one line, exits with 2 and runs nothing."""
    out = [] if "--out" in options else ["--out", tmp_path / "out"]
    assert_refused(call("study", *options, *out), *words)
    assert not (tmp_path / "out" / "runs").exists()


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda rows: pl.concat([rows, rows]), "contains a run twice"),
        (lambda rows: rows.drop("room"), "column room"),
        (lambda rows: rows.with_columns(pl.col("accepted").cast(pl.Float64)), "column accepted"),
    ],
)
def test_damaged_summary_is_refused_and_kept(harm: Any, words: str, tmp_path: Path) -> None:
    """Given a damaged summary, the study is refused and the file is unchanged."""
    file = tmp_path / "summary.parquet"
    tiny(tmp_path, "--quick")
    harm(pl.read_parquet(file)).write_parquet(file)
    before = file.read_bytes()

    assert_refused(call("study", "tiny", "--out", tmp_path, "--resume"), str(file), "--summary", words)
    assert file.read_bytes() == before


def _runs(listed: list[Case]) -> int:
    return sum(len(case.loads) * len(case.seeds) for case in listed)


def test_the_deficit_table_study_is_that_of_the_paper() -> None:
    """The Deficit Table study has the paper's loads, shares, networks, seeds and weights."""
    every = cases("main", quick=False)
    main = [case for case in every if case.labels["variant"] == "main"]

    assert (len(LOADS), LOADS[0], LOADS[-1], 0.7 in LOADS) == (16, 0.5735, 0.9935, True)
    assert (_runs(main), _runs(every)) == (2 * 16 * (3 * 30 + 5), 2 * (16 + 2 * 3) * (3 * 30 + 5))
    hosts = {"tree43": 64, "tree242": 576, "torus88": 512, "torus888": 2048}
    assert set(NETWORKS) == set(hosts) == {case.labels["network"] for case in main}
    model = main[0].study.study
    for load in LOADS:
        assert sum(class_loads(model.traffic, load)) == pytest.approx(load)
    assert class_loads(model.traffic, 0.5735) == pytest.approx([0.01, 0.016, 0.23, 0.28, *[0.0125] * 3])
    assert class_loads(model.traffic, 0.9935) == pytest.approx([0.01, 0.016, 0.23, 0.28, *[0.1525] * 3])
    assert model.link.clock.cycle_ns == 5.12
    entries = read_tables(main[0].study.base / str(model.scheduler.table)).sections["dtable"].entries
    weights = [sum(entry.weight for entry in entries if entry.sl == sl) for sl in range(7)]
    assert weights == [101, 176, 322, 375, 43, 39, 17]


def test_readings_of_one_flit_differ_from_the_main_case_as_the_page_says() -> None:
    """Both readings have 8 cycles of flight and crossbar flits.

    With one message per visit, each weight is one message of its level.
    """
    listed = {case.labels["variant"]: case for case in cases("main", quick=True) if case.labels["network"] == "torus88"}

    assert set(listed) == set(READINGS)
    for name in (ONE_FLIT, ONE_MESSAGE):
        study = listed[name].study.study
        assert (study.switch.crossbar, study.link.flight_cycles, study.network.lmc) == ("flits", 8, 2)
    visits = listed[ONE_MESSAGE].study
    entries = read_tables(visits.base / str(visits.study.scheduler.table)).sections["dtable"].entries
    blocks = {each.sl: -(-size // 64) for each in visits.study.traffic if isinstance(size := each.bytes, int)}
    assert all(entry.weight == blocks[entry.sl] for entry in entries)
    usual = read_tables(visits.base / "tree43_dtable.toml").sections["dtable"].entries
    assert [entry.sl for entry in entries] == [entry.sl for entry in usual]


def test_readings_of_a_figure_do_not_change_its_verdict() -> None:
    """Given values under another reading, the document lists them with their own verdict next to the figure's."""
    figure = Figure("latency", "ns", 100.0, (300.0,), within(100.0, 0.1), {"one_flit": (95.0, 97.0), "other": ()})

    document = figure.document()

    assert (document["ours"], document["holds"]) == (300.0, False)
    assert document["readings"]["one_flit"] == {"ours": 96.0, "min": 95.0, "max": 97.0, "seeds": 2, "holds": True}
    assert document["readings"]["other"]["ours"] is None
    assert figure.mean_of("other") is None


def test_every_case_of_every_part_is_a_study_of_its_own() -> None:
    """Every case of every part is a valid study with labels and digest of its own."""
    for part, quick in product(PARTS, (False, True)):
        listed = cases(part, quick=quick)
        assert len({case.digest for case in listed}) == len(listed)
        assert len({tuple(case.labels.values()) for case in listed}) == len(listed)
        assert all(set(case.loads) <= set(LOADS) for case in listed)


_MAKES_ITS_CASES = "packet-size"
"""Study whose cases take minutes, because a million connections request admission."""
SUMMARIES = pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, marks=[pytest.mark.long] * (file.stem == _MAKES_ITS_CASES), id=file.stem)
        for file in sorted((ROOT / "docs" / "studies" / "data").glob("*.parquet"))
    ],
)


@SUMMARIES
def test_a_summary_that_is_kept_is_small_and_of_cases_that_there_are(file: Path) -> None:
    """A stored summary is under 1 MB and contains only existing cases."""
    study = by_name.study_by_name(file.stem)
    known = {case.digest[:16] for part in study.parts for case in study.cases(part, False)}

    assert file.stat().st_size < 1_000_000
    assert set(pl.read_parquet(file)["point"]) <= known


@SUMMARIES
@pytest.mark.slow
@pytest.mark.long
def test_runs_of_a_summary_that_is_kept_are_taken(file: Path, tmp_path: Path) -> None:
    """Runs of a stored summary are accepted without being repeated."""
    study, rows = by_name.study_by_name(file.stem), pl.read_parquet(file)
    parts = ((part, case) for part in study.parts for case in study.cases(part, False))
    part, case = next(each for each in parts if each[1].digest[:16] == rows["point"][0])
    chosen = [f"{name}={value}" for name, value in (*case.labels.items(), ("seed", 1), ("load", rows["load"][0]))]
    copy = tmp_path / file.name
    copy.write_bytes(file.read_bytes())
    asked = [
        "--part",
        part,
        "--resume",
        "--summary",
        copy,
        "--out",
        tmp_path,
        "--json",
        *(f"--only={each}" for each in chosen),
    ]
    of_part = rows.filter(pl.col("point").is_in([each.digest[:16] for each in study.cases(part, False)]))
    assert call("study", file.stem, *asked).json()["runs"] == run_count(of_part)
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
@pytest.mark.long
def test_quick_deficit_table_study_measures_all_figures(tmp_path: Path) -> None:
    """The quick Deficit Table study measures every figure.

    Omni-Path's NC latency is below InfiniBand's in every network.
    """
    called = call_apart("study", "dtable", "--quick", "--jobs", "2", "--out", tmp_path, "--json")

    figures = called.json()["figures"]
    assert all(figure["ours"] is not None for figure in figures)
    below = [figure["holds"] for figure in figures if figure["name"].endswith("OPA below IB")]
    assert below == [True] * 4
    assert_whole(tmp_path / "study.html")
