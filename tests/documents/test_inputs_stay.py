"""Protection of input files from a command's output, and refusal of meaningless arguments."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT, assert_refused, call

PLAN = ROOT / "sim_top" / "configs" / "dtable_plan.toml"
FABRIC = ROOT / "tests" / "data" / "two_switch"
FOREIGN = ROOT / "docs" / "examples" / "foreign_arbiters"
RECORDS = ROOT / "docs" / "evidence" / "soak.jsonl"
OTHER = "is also an input; choose another file"


def test_a_plan_does_not_replace_its_request(tmp_path: Path) -> None:
    """A plan never replaces its own request, whether named directly, by a link or by another path.

    A request may be the output of a command that reads another file.
    """
    request, link = tmp_path / "plan.toml", tmp_path / "link.toml"
    shutil.copy(PLAN, request)
    link.symlink_to(request)
    before = request.read_text()
    for out in (request, link, tmp_path / "." / "plan.toml"):
        assert_refused(call("dtable", "plan", request, "--out", out), "--out", OTHER)
    assert request.read_text() == before
    assert call("dtable", "plan", PLAN, "--out", request).status == 0
    assert request.read_text() != before


def test_departures_do_not_replace_arrivals_or_table(tmp_path: Path) -> None:
    table, arrivals = tmp_path / "table.toml", tmp_path / "arrivals.csv"
    assert call("dtable", "plan", PLAN, "--out", table).status == 0
    arrivals.write_text("cycle,vl,bytes\n0,0,64\n")
    words = ("egress", "--scheduler", "dtable", "--table", table, "--arrivals", arrivals, "--model", "golden")
    kept = {file: file.read_text() for file in (table, arrivals)}
    for file in kept:
        assert_refused(call(*words, "--departures", file), "--departures", OTHER)
    assert {file: file.read_text() for file in kept} == kept


@pytest.mark.slow
def test_a_wave_does_not_replace_a_design(tmp_path: Path) -> None:
    """A wave file never replaces the design or its map."""
    design, mapped = (tmp_path / f"rr_arb.{suffix}" for suffix in ("sv", "toml"))
    for file in (design, mapped):
        shutil.copy(FOREIGN / file.name, file)
    words = ("cosim", "rr", "--dut", design, "--top", "rr_arb", "--map", mapped, "--cycles", "1000", "--waves")
    for file in (design, mapped):
        assert_refused(call(*words, file), "--waves", OTHER)
        assert file.read_bytes() == (FOREIGN / file.name).read_bytes()
    assert call(*words, tmp_path / "rr.vcd").status == 0


def test_fabric_is_not_written_into_another_fabrics_folder(tmp_path: Path) -> None:
    folder = tmp_path / "fabric"
    shutil.copytree(FABRIC, folder)
    kept = {file.name: file.read_bytes() for file in folder.iterdir()}
    words = ("voqsw", "--topology", "irregular:4", "--sls", "8", "--vls", "8", "--out")
    assert_refused(call(*words, folder), "--out", "of another fabric")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == kept
    fresh = tmp_path / "fresh"
    for _ in range(2):
        assert call(*words, fresh).status == 0
    assert call("fabric", "show", fresh).status == 0


def test_runs_are_not_put_among_other_files(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    called = call("simulate", ROOT / "sim_top" / "configs" / "dumbbell_fifo.toml", "--out", tmp_path)
    assert_refused(called, "the folder holds other files, such as mine.txt", "mine.txt")
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_plans_do_not_replace_edge_lists_or_connections(tmp_path: Path) -> None:
    """Plans never replace edge lists or connection files in the output folder, whatever their names."""
    configs = ROOT / "sim_top" / "configs"
    edges, listed, study = (tmp_path / name for name in ("ibnetdiscover.txt", "path-sl.csv", "study.toml"))
    shutil.copy(configs / "edges_updown.txt", edges)
    listed.write_text("source,destination\n0,1\n1,0\n")
    study.write_text(
        f'[network]\ntopology = "edges"\nfile = "{configs}/edges_updown.txt"\n'
        '[[traffic]]\npattern = "list"\nfile = "path-sl.csv"\n[run]\nloads = [0.1]\ncycles = 20000\n'
    )
    kept = {file: file.read_bytes() for file in tmp_path.iterdir()}
    assert_refused(call("voqsw", "--topology", f"edges:{edges}", "--out", tmp_path), "--out", OTHER)
    assert_refused(call("voqsw", "--study", study, "--out", tmp_path, "--sls", "4", "--vls", "4"), "--out", OTHER)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == kept


def test_a_folder_of_runs_without_a_study_is_no_folder_of_a_study(tmp_path: Path) -> None:
    """Given a folder with unrelated files in place of a study's folder, ``simulate`` is refused."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "study.html").write_text("mine")
    study = ROOT / "sim_top" / "configs" / "fabric_rtl.toml"
    assert_refused(call("simulate", study, "--out", tmp_path), "--out", "study.html")
    assert_refused(call("simulate", study, "--out", tmp_path / "o\udcff"), "--out", "UTF-8")
    assert (tmp_path / "study.html").read_text() == "mine"


def test_a_study_that_is_refused_makes_no_folder(tmp_path: Path) -> None:
    """Given an unknown case or unusable summary, ``study`` is refused before any run.

    No output folder is created.
    """
    file = tmp_path / "file"
    file.write_text("")
    words = ("study", "dtable", "--quick", "--out", tmp_path / "out")
    assert_refused(call(*words, "--only", "network=foo"), "--only network", "foo")
    assert not (tmp_path / "out").exists()
    assert_refused(call(*words, "--summary", file / "summary.parquet"), "--summary")


@pytest.mark.slow
def test_a_record_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    """Given the same soak record on two days, totals count its cycles once."""
    line = next(line for line in RECORDS.read_text().splitlines() if '"credit_ib"' in line)
    file = tmp_path / "twice.jsonl"
    file.write_text(f"{line}\n{line.replace(json.loads(line)['day'], '2026-01-01')}\n")
    (total,) = call("evidence", file, "--json").json()["blocks"]
    assert (total["cycles"], total["instances"]) == (json.loads(line)["cycles"], 1)


@pytest.mark.parametrize(
    ("changes", "words"), [({"cycles": True}, "cycles"), ({"cycles": 10**30}, "cycles"), ({"seed": 1.5}, "seed")]
)
def test_record_with_impossible_values_is_refused(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    record = json.loads(RECORDS.read_text().splitlines()[0]) | changes
    file = tmp_path / "records.jsonl"
    file.write_text(json.dumps(record) + "\n")
    assert_refused(call("evidence", file), f"{file}:1:", words)


def test_a_key_of_a_record_is_given_once_and_records_are_text(tmp_path: Path) -> None:
    """Given a record with a duplicate key, or bytes that are not UTF-8, the file is refused."""
    file = tmp_path / "records.jsonl"
    file.write_text(RECORDS.read_text().splitlines()[0][:-1] + ',"seed":3}\n')
    assert_refused(call("evidence", file), f"{file}:1:", "not a JSON object")
    file.write_bytes(b"\xc8\n")
    assert_refused(call("evidence", file), "is not UTF-8 text: byte 0xc8")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("cosim", "rr", "--plugin", "nope.py"), "--plugin applies only to `vlane cosim network`"),
        (("cosim", "rr", "--param", "requesters=3", "--param", "requesters=4"), "--param requesters is given twice"),
        (("area", "rr:"), "BLOCK must be NAME or NAME:K=V,K=V, not rr:"),
        (("area", "rr", "--seeds", "9999999999"), "--seeds must be 0 to 1000"),
        (("area", "rr", "--sweep", "requesters=2,2"), "distinct values"),
        (("area", "rr", "--sweep", "requesters=2,3", "--plot", "p.foo"), "ending in .png"),
        (("cosim", "rr", "--rate", "1_0"), "--rate"),
        (("voqsw", "--topology", "irregular:4", "--aside-sls", ",".join(map(str, range(16)))), "--aside-sls"),
        (("voqsw", "--topology", "irregular:4", "--aside-vls", ",".join(map(str, range(15)))), "--aside-vls"),
        (("voqsw", "--topology", "irregular:99999999"), "switches times ports must be at most 65536, not 799999992"),
        (("voqsw", "--topology", "torus:3x" + 5000 * "9"), "numbers must have at most 18 digits"),
        (("voqsw", "--topology", "torus:3x3,99999999"), "numbers up to 65536, not torus:3x3,99999999"),
        (("voqsw", "--topology", "irregular:1"), "switches must be at least 2, not 1"),
    ],
)
def test_meaningless_arguments_are_refused(words: tuple[str, ...], told: str) -> None:
    """Given arguments without meaning for a command, one line names the argument and the fix."""
    assert_refused(call(*words), told)
