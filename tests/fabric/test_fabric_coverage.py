"""Coverage of a check: each class of findings counts the elements that were checked without an assumption."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BAD, DATA, assert_refused, call
from tests.fabric.fabrics import torus, tree, write_capture
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import FabricReport, check_fabric
from vlane.fabric.coverage import Coverage
from vlane.fabric.finding import ABOUT_CAPTURE, CODES
from vlane.fabric.verdict import counts, verdict


def checked(folder: Path) -> FabricReport:
    return check_fabric(load_fabric(folder, partial=True))


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Return a capture that lacks nothing: a tree of four switches with four hosts."""
    return write_capture(tmp_path / "whole", tree(2, 2), without=("smpquery-sl2vl.txt",))


def without(folder: Path, file: str, pattern: str) -> None:
    """Remove the blocks of a dump that a pattern describes."""
    text = (folder / file).read_text()
    left = re.sub(pattern, "", text, flags=re.DOTALL)
    assert left != text
    (folder / file).write_text(left)


def test_whole_capture_is_checked_in_full(whole: Path) -> None:
    """Given a capture that lacks nothing, every class is checked for every element, and a strict check passes."""
    report = checked(whole)

    assert report.not_checked == ()
    assert set(report.coverage) == set(CODES) - ABOUT_CAPTURE
    assert all(each.is_full and each.present for each in report.coverage.values())
    classes = len(report.coverage)
    extent = f"{classes} of {classes} finding classes in full, 12 of 12 pairs"
    assert verdict(report, ok=True) == f"holds as far as checked ({extent})"
    assert counts(report)[:3] == ["0 credit loops", "0 unreachable pairs", "0 unserved lanes"]
    assert call("fabric", "check", whole, "--strict").status == 0


S1 = "Switch 0x0000000000200001,.*?-\\n\\n"
MISSING = [
    # file, pattern of the removed block, pairs, ports in use, cabled ports with lists, SL2VL rows
    ("opensm-sl2vl.dump", S1, (2, 12), None, None, (20, 32)),
    ("opensm-lfts.dump", r"Unicast lids \[0-8\] of switch Lid 2 .*?dumped\n", (2, 12), None, None, None),
    ("smpquery-vlarb.txt", r"\$ smpquery vlarb 2 1\n.*?(?=\$)", None, (15, 16), (15, 16), None),
    ("smpquery-portinfo.txt", r"\$ smpquery portinfo 2 1\n.*?(?=\$)", None, (15, 16), None, None),
    ("path-sl.csv", r"\n5,6,[^\n]*", (11, 12), None, None, None),
]


@pytest.mark.parametrize(
    ("file", "pattern", "pairs", "ports", "lists", "rows"), MISSING, ids=[each[0] for each in MISSING]
)
def test_missing_elements_are_not_checked(
    file: str, pattern: str, pairs: Any, ports: Any, lists: Any, rows: Any, whole: Path
) -> None:
    """Given a file without one element, exactly the pairs, ports and rows that need it count as not checked."""
    full = checked(whole).coverage
    without(whole, file, pattern)

    report = checked(whole)

    for code, expected in (
        ("CREDIT_LOOP", pairs),
        ("UNREACHABLE", pairs),
        ("VLARB_DIFFERS", lists),
        ("SL2VL_DIFFERS", rows),
    ):
        assert report.coverage[code][1:] == (expected or full[code][1:]), code
    if ports:
        assert report.coverage["VL_UNSERVED"][1:] == ports
    else:
        assert not report.coverage["VL_UNSERVED"].is_full
    assert report.ok
    assert "NOT_CHECKED" in {finding.code for finding in report.warnings}
    plain, strict = call("fabric", "check", whole), call("fabric", "check", whole, "--strict")
    assert (plain.status, strict.status) == (0, 1)
    assert plain.out.startswith("whole: holds as far as checked (")
    if pairs:
        assert f"0 credit loops ({pairs[0]} of {pairs[1]} pairs checked)" in plain.out


def test_rows_of_one_switch_of_a_torus_are_missed(capture_copy: Any) -> None:
    """Given torus-2QoS without one switch's SL2VL rows, the pairs through the switch are not checked."""
    folder = capture_copy("torus44_2qos")
    (folder / "smpquery-sl2vl.txt").unlink()
    full = checked(folder)
    without(folder, "opensm-sl2vl.dump", r'Switch 0x[0-9a-f]+, base LID \d+, "T1_1"\n.*?-\n\n')

    report = checked(folder)

    assert full.coverage["CREDIT_LOOP"] == ("pairs", 992, 992)
    assert 500 < report.coverage["CREDIT_LOOP"].checked < 992
    assert report.coverage["UNREACHABLE"] == report.coverage["CREDIT_LOOP"]
    missing = next(each for each in report.missing if "SL2VL rows in use are missing" in each.what)
    assert {"CREDIT_LOOP", "UNREACHABLE", "VL_UNSERVED"} <= set(missing.codes)
    assert {port.guid for port in missing.ports} == {0x200005}


def test_switch_without_a_table_hides_no_lost_pair(whole: Path) -> None:
    """Given one forwarding table missing and a hole in another, the hole is an error, and unknown pairs are none."""
    file = whole / "opensm-lfts.dump"
    without(whole, file.name, r"Unicast lids \[0-8\] of switch Lid 2 .*?dumped\n")
    file.write_text(re.sub(r"0x0006 \d+ #", "0x0006 255 #", file.read_text(), count=1))

    report = checked(whole)

    assert not report.ok
    assert {(pair.dlid, "has no entry" in pair.reason) for pair in report.unreachable} == {(6, True)}
    assert any("forwarding tables of 1 of 4 switches: S1" in each.what for each in report.missing)


def test_loop_that_was_found_is_no_loop_that_was_not_checked() -> None:
    """Given a credit loop in a capture with assumed SLs, the headline counts the loop and the assumptions."""
    report = checked(DATA / BAD)

    assert counts(report)[0] == "1 credit loop (990 of 992 pairs rest on assumptions)"
    assert "not checked" not in counts(report)[0]
    assert verdict(report, ok=report.ok).startswith("fails as far as checked (")


def test_found_loop_says_that_its_lanes_are_assumed(tmp_path: Path) -> None:
    """Given a torus with dimension order, its loop is certain with SL2VL rows and SLs, and assumed without."""
    ring = torus((4,), 1)
    sure = checked(write_capture(tmp_path / "sure", ring, row=lambda *_: 0))
    assumed = checked(write_capture(tmp_path / "assumed", ring, row=lambda *_: 0, without=("path-sl.csv",)))

    messages = [next(f.message for f in report.warnings if f.code == "CREDIT_LOOP") for report in (sure, assumed)]
    assert [message.endswith("packets is assumed)") for message in messages] == [False, True]
    assert [len(report.loops) > 0 for report in (sure, assumed)] == [True, True]


def test_rows_that_an_engine_computes_are_not_compared() -> None:
    """Given torus-2QoS, the switches' SL2VL rows are not compared with the option, which is said."""
    report = checked(DATA / "torus44_2qos")

    assert report.coverage["SL2VL_DIFFERS"] == ("SL2VL rows between cabled ports", 32, 512)
    assert any("torus-2QoS" in each.what and each.codes == ("SL2VL_MASKED", "SL2VL_DIFFERS") for each in report.missing)


def test_coverage_is_shown_with_separators() -> None:
    """Given large numbers, they are grouped."""
    assert str(Coverage("pairs", 63_992_000, 63_992_000)) == "63,992,000 of 63,992,000 pairs"


def test_nagios_gets_a_line_and_a_status(whole: Path, capture_copy: Any) -> None:
    """Given each outcome, Nagios gets OK, WARNING, CRITICAL or UNKNOWN with its status, and performance data."""
    lash, bad = DATA / "torus44_lash", DATA / BAD
    results = [call("fabric", "check", folder, "--format", "nagios") for folder in (whole, lash, bad, Path("/none"))]

    assert [result.status for result in results] == [0, 1, 2, 3]
    assert [result.out.split(" - ")[0] for result in results] == [
        "FABRIC OK",
        "FABRIC WARNING",
        "FABRIC CRITICAL",
        "FABRIC UNKNOWN",
    ]
    assert all(result.out.count("\n") == 1 and result.err == "" for result in results)
    assert results[0].out.endswith("| loops=0;;0 unreachable=0;;0 unserved=0;;0 warnings=0;0 pairs_checked=12;;;0;12\n")
    assert "CREDIT_LOOP" in results[2].out
    folder = capture_copy("two_switch")
    (folder / "ibnetdiscover.txt").write_text("garbage\n")
    (folder / "opensm-subnet.lst").unlink()
    assert call("fabric", "check", folder, "--format", "nagios").status == 3


LINE = re.compile(r'vlane_fabric_\w+\{(\w+="(?:[^"\\]|\\.)*",?)+\} \d+|# (HELP|TYPE) vlane_fabric_\w+ .+')


def test_prometheus_gets_text_exposition(capture_copy: Any) -> None:
    """Given a fabric with quotes in its name, every line is valid, and every code has a sample."""
    folder = capture_copy("two_switch").rename(capture_copy("torus44_lash").parent / 'a"b\\c')

    result, bad = (
        call("fabric", "check", folder, "--format", "prometheus"),
        call("fabric", "check", DATA / BAD, "--format", "prometheus"),
    )

    assert (result.status, bad.status) == (0, 1)
    assert all(LINE.fullmatch(line) for line in result.out.splitlines())
    assert 'vlane_fabric_ok{fabric="a\\"b\\\\c"} 1' in result.out
    assert f'vlane_fabric_credit_loops{{fabric="{BAD}"}} 1' in bad.out
    assert all(f'code="{code}"' in result.out for code in CODES)
    assert f'vlane_fabric_elements_checked{{fabric="{BAD}",code="CREDIT_LOOP",element="pairs"}} 2' in bad.out


def test_forms_are_checked() -> None:
    """Given an unknown form, or two forms, the command refuses them."""
    assert_refused(call("fabric", "check", DATA / "two_switch", "--format", "nagois"), "--format", "nagios")
    assert_refused(call("fabric", "check", DATA / "two_switch", "--json", "--format", "nagios"), "--json")
    as_json = call("fabric", "check", DATA / "two_switch", "--format", "json")
    assert as_json.out == call("fabric", "check", DATA / "two_switch", "--json").out


RING, TREE = torus((4,), 1), tree(2, 2)


@pytest.mark.parametrize(
    ("plan", "lanes", "loop", "unreachable", "unserved"),
    [
        (TREE, "0 1 2 3 0 1 2 3 0 1 2 3 0 1 2 3", True, True, True),
        (TREE, "0 1 2 3 15 15 15 15 15 15 15 15 15 15 15 15", True, False, True),
        (TREE, "0 1 2 3 0 1 2 3 0 7 2 3 0 1 2 3", True, True, False),
        (TREE, "15 1 2 3 0 1 2 3 0 1 2 3 0 1 2 3", False, False, False),
        (RING, "0 1 2 3 0 1 2 3 0 1 2 3 0 1 2 3", False, True, True),
    ],
    ids=["lanes", "SLs dropped", "lane not served", "SL 0 dropped", "links form a ring"],
)
def test_missing_path_sls_hide_only_results_that_differ_between_sls(
    plan: Any, lanes: str, loop: Any, unreachable: Any, unserved: Any, tmp_path: Path
) -> None:
    """Given no path SLs, a class is checked in full exactly if its result is the same for every SL."""
    folder = write_capture(tmp_path / "levels", plan, without=("path-sl.csv", "smpquery-sl2vl.txt"))
    file = folder / "opensm-sl2vl.dump"
    rows = re.sub(
        r"(: )(\d+ +){16}", lambda found: found[1] + "".join(f"{vl:<3}" for vl in lanes.split()), file.read_text()
    )
    file.write_text(rows)

    report = checked(folder)

    missing = next(each for each in report.missing if "no path SLs" in each.what)
    for code, holds in (("CREDIT_LOOP", loop), ("UNREACHABLE", unreachable), ("VL_UNSERVED", unserved)):
        assert report.coverage[code].is_full is holds, code
        assert (code not in missing.codes) is holds, code
    dropped = "SL2VL rows in use drop SL 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15;"
    assert (dropped in missing.instead) is (lanes.count("15") == 12)
    assert "NOT_CHECKED" in {finding.code for finding in report.warnings}
    assert not report.spotless
    pairs = report.coverage["CREDIT_LOOP"].present
    assert f"{pairs if loop and unreachable else 0} of {pairs} pairs)" in verdict(report, ok=report.ok)


def test_folder_without_path_sls_and_rows_is_followed_on_assumptions(tmp_path: Path) -> None:
    """Given neither path SLs nor SL2VL rows, the headline says that the followed pairs rest on assumptions."""
    files = ("path-sl.csv", "smpquery-sl2vl.txt", "opensm-sl2vl.dump")

    report = checked(write_capture(tmp_path / "bare", TREE, without=files))

    assert counts(report)[0] == "0 credit loops (12 of 12 pairs rest on assumptions)"
    assert {"CREDIT_LOOP", "UNREACHABLE", "VL_UNSERVED"} <= set(report.not_checked)


def test_long_lists_of_classes_are_shortened_in_text_only(tmp_path: Path) -> None:
    """Given no options, the message names six classes and their number, and ``missing`` names all."""
    report = checked(write_capture(tmp_path / "bare", TREE, without=("opensm.conf",)))

    (part,) = report.missing
    (finding,) = [each for each in report.warnings if each.code == "NOT_CHECKED"]
    assert len(part.codes) > 20
    assert f"and {len(part.codes) - 6} others, see --json (" in finding.message
    assert all(code in finding.message for code in part.codes[:6])
    assert part.codes[6] not in finding.message
