"""Soak records: no repetition of recorded runs, totals, current or outdated RTL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, assert_refused, call
from vlane.sim_top.cosim import soak_records
from vlane.sim_top.cosim.soak import SWITCHES, points_of
from vlane.sim_top.cosim.soak_records import SoakRecord, add_records, read_records, rtl_of

_KEPT = {"rtl": "0" * 16, "day": "2026-01-31"}
ROUND_ROBIN = ("soak", "rr", "--cycles", "9000")


@pytest.mark.slow
def test_recorded_instances_are_skipped_and_summed(tmp_path: Path) -> None:
    """Recorded instances are not run again, and totals add up over several sittings."""
    file = tmp_path / "new" / "soak.jsonl"
    first = call(*ROUND_ROBIN, "--points", "2", "--record", file)
    second = call(*ROUND_ROBIN, "--points", "3", "--record", file)
    third = call(*ROUND_ROBIN, "--points", "1", "--full-size", "--record", file, "--json")

    assert [called.status for called in (first, second, third)] == [0, 0, 0], second.err
    assert (first.err.count("agrees"), second.err.count("agrees"), second.err.count("already recorded")) == (2, 1, 2)
    assert third.json()["failures"] == []
    added = call("evidence", file, "--json")
    assert added.status == 0, added.err
    (total,) = added.json()["blocks"]
    assert (total["block"], total["form"]) == ("rr", "")
    assert (total["cycles"], total["present_cycles"], total["full_size_cycles"]) == (36_000, 36_000, 9_000)
    assert (total["instances"], total["shapes"]) == (4, 4)
    shown = call("evidence", file).out
    assert all(cell in shown for cell in ("0.036", "0.009"))


@pytest.mark.slow
def test_records_of_other_rtl_count_as_such_and_are_made_again(tmp_path: Path) -> None:
    """Records of changed RTL count as outdated, and the instances are run again."""
    file = tmp_path / "soak.jsonl"
    (point,) = points_of("rr", count=1, cycles=9000, seed=1, wanted={}, full_size=False)
    add_records(file, SoakRecord.of(point, rtl="0" * 16))

    (total,) = call("evidence", file, "--json").json()["blocks"]
    again = call(*ROUND_ROBIN, "--points", "1", "--record", file)

    assert (total["cycles"], total["present_cycles"]) == (9000, 0)
    assert "agrees" in again.err
    assert [record.rtl for record in read_records(file)] == ["0" * 16, rtl_of("rr", point.parameters)]


@pytest.mark.parametrize("parameters", [{"gone": 1}, {"data_vls": "many"}, {"data_vls": 0}])
def test_records_of_instances_that_are_no_more_are_not_of_today(tmp_path: Path, parameters: dict[str, Any]) -> None:
    """Records with parameters that no longer exist count as outdated."""
    file = tmp_path / "soak.jsonl"
    (point,) = points_of("rr", count=1, cycles=9000, seed=1, wanted={}, full_size=False)
    record = SoakRecord.of(point, rtl=rtl_of("rr", point.parameters))
    add_records(file, record, record.model_copy(update={"parameters": record.parameters | parameters}))

    (total,) = call("evidence", file, "--json").json()["blocks"]

    assert (total["cycles"], total["present_cycles"]) == (18_000, 9_000)


def test_mismatches_are_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "soak.jsonl"
    monkeypatch.setattr(
        "vlane.sim_top.cli.block_verbs.soak.run_point", lambda _: "cycle 3: grant: golden 1, hardware 2"
    )

    called = call(*ROUND_ROBIN, "--points", "2", "--record", file, "--json")

    assert called.status == 1
    assert len(called.json()["failures"]) == 2
    assert read_records(file) == ()


def test_full_size_requires_the_largest_parameters() -> None:
    given = [
        SoakRecord.of(next(points_of("vlarb", count=1, cycles=1, seed=1, wanted=wanted, full_size=full)), rtl="0" * 16)
        for wanted, full in (({}, True), ({"entries": 3}, True), ({}, False))
    ]

    assert [record.full_size for record in given] == [True, False, False]


@pytest.mark.parametrize("block", ["vlarb", *SWITCHES])
def test_more_points_begin_with_the_same_ones(block: str) -> None:
    """A soak with more points starts with the same points, so no instance is repeated."""
    few, many = (list(points_of(block, count=n, cycles=5, seed=3, wanted={}, full_size=False)) for n in (2, 5))

    assert many[:2] == few
    assert len({point.seed for point in many}) > 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nothing", "record: not a JSON object with unique keys"),
        ("[]", "soak.jsonl:2: content must be a section"),
        ('{"block": 3}', "soak.jsonl:2: block must be text, not 3"),
        ('{"blok": "rr"}', "soak.jsonl:2: blok: unknown key"),
        ("{}", "soak.jsonl:2: block is missing"),
        (
            json.dumps({"block": "rrr", "parameters": {}, "full_size": False, "cycles": 1, "seed": 1, **_KEPT}),
            "soak.jsonl:2: BLOCK must be one of",
        ),
    ],
)
def test_lines_that_are_no_records_are_refused(tmp_path: Path, line: str, words: str) -> None:
    """Given an invalid record, the error names its line before anything is run."""
    file = tmp_path / "soak.jsonl"
    (point,) = points_of("rr", count=1, cycles=9000, seed=1, wanted={}, full_size=False)
    add_records(file, SoakRecord.of(point, rtl="0" * 16))
    with file.open("a") as out:
        out.write(f"{line}\n")

    assert_refused(call("evidence", file), words)
    assert_refused(call(*ROUND_ROBIN, "--points", "1", "--record", file), words)


def test_files_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    assert_refused(call("evidence", tmp_path / "none"), "FILE: no such file")
    assert_refused(call("evidence", tmp_path), "record file cannot be read: Is a directory")
    (tmp_path / "file").touch()
    unwritable = tmp_path / "file" / "soak.jsonl"
    assert_refused(call(*ROUND_ROBIN, "--points", "1", "--record", unwritable), "record file cannot be written")


def test_a_record_is_one_line_of_json(tmp_path: Path) -> None:
    """A record is a single line of JSON, so concurrent sittings can append."""
    file = tmp_path / "soak.jsonl"
    (point,) = points_of("rr", count=1, cycles=9000, seed=1, wanted={}, full_size=False)
    record = SoakRecord.of(point, rtl="0" * 16)
    add_records(file, record)
    add_records(file, record)

    lines = file.read_text().splitlines()
    assert [json.loads(line)["block"] for line in lines] == ["rr", "rr"]
    assert soak_records.read_records(file) == (record, record)


def test_table_of_the_page_equals_the_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of ``docs/evidence.md`` shows the totals of the stored records."""
    monkeypatch.setattr(soak_records, "rtl_of", lambda *_: "")  # computing the current RTL's digests takes minutes
    page = (ROOT / "docs" / "evidence.md").read_text()
    rows = page.partition("| block | form | millions of cycles |")[2].partition("\n\n")[0].splitlines()[2:]
    shown = [tuple(cell.strip(" `") for cell in row.strip("|").split("|")) for row in rows]

    records = soak_records.totals(read_records(ROOT / "docs" / "evidence" / "soak.jsonl"))

    assert sorted(shown) == sorted(
        (
            each.block,
            each.form.replace("_", " "),
            f"{each.cycles / 1e6:,.6g}",
            f"{each.full_size_cycles / 1e6:g}",
            str(each.instances),
            str(each.seeds),
            str(each.shapes),
        )
        for each in records
    )
