"""Link rates by number and name, and results in ns and Gb/s."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import ROOT, STUDY, assert_refused, call
from vlane.errors import InputError
from vlane.rates import NAMED_RATES, LinkClock, rate_of, shown_ns
from vlane.sim_top.study.times import timed_document, timed_frame
from vlane.study.model import read_study

PLAN = ROOT / "sim_top" / "configs" / "dtable_plan.toml"


@pytest.mark.parametrize(
    ("name", "signalling", "data"),
    [
        ("SDR 1X", 2.5, 2),
        ("SDR 4X", 10, 8),
        ("DDR 4X", 20, 16),
        ("QDR 4X", 40, 32),
        ("QDR 12X", 120, 96),
        ("FDR10 4X", 41.25, 40),
        ("FDR 4X", 56.25, 54.545454),
        ("EDR 4X", 103.125, 100),
        ("EDR 12X", 309.375, 300),
        ("HDR 2X", 106.25, 100),
        ("HDR 4X", 212.5, 200),
        ("NDR 4X", 425, 400),
        ("XDR 1X", 212.5, 200),
        ("XDR 4X", 850, 800),
        ("OPA 100", 103.125, 100),
        ("OPA 400", 425, 400),
    ],
)
def test_named_rates_are_those_of_the_specification(name: str, signalling: float, data: float) -> None:
    """Named rates have the signalling and data rates of the specification."""
    rate = NAMED_RATES[name]

    assert rate.signalling_gbps == pytest.approx(signalling)
    assert rate.data_gbps == pytest.approx(data)
    assert rate_of(name) == rate.data_gbps


@pytest.mark.parametrize("written", ["4xEDR", "edr4x", " EDR 4X ", "EDR_4x", "edr-4X", "100", "1e2", 100, 100.0])
def test_rate_is_accepted_in_usual_spellings(written: object) -> None:
    """A rate is accepted in the usual spellings, including ibnetdiscover's."""
    assert rate_of(written) == 100


@pytest.mark.parametrize(
    ("written", "gbps"),
    [
        ("4xXDR", 800),
        ("XDR800", 800),
        ("XDR400", 400),
        ("NDR400", 400),
        ("HDR200", 200),
        ("CN5000", 400),
        ("opa400", 400),
    ],
)
def test_names_of_products_are_rates(written: str, gbps: float) -> None:
    """Given the name under which a link is sold, its data rate is taken."""
    assert rate_of(written) == gbps


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("EDR", "EDR 4X"),
        ("EDR 3X", "EDR 4X"),
        ("SDR 2X", "SDR 4X"),
        ("OPA 10", "OPA 100"),
        ("EDRR 4X", "EDR 4X"),
        ("ZDR 4X", ""),
        ("GDR 4X", ""),
        ("OPA 200", ""),
        ("CN6000", ""),
        ("fast", ""),
        ("", ""),
        ("nan", ""),
        ("inf", ""),
        ("1e400", ""),
        (0, ""),
        (-1, ""),
        (10**400, ""),
        (True, ""),
        (None, ""),
        ([100], ""),
        (float("nan"), ""),
    ],
)
def test_invalid_rate_is_refused(written: object, meant: str) -> None:
    """Given an invalid rate, the error names the valid range and the closest named rate."""
    with pytest.raises(InputError, match=r"rate_gbps must be 0\.001 to 1000000, in Gb/s, or a name") as refused:
        rate_of(written)

    assert refused.value.meant == meant


def test_times_are_shown_with_the_unit_that_suits() -> None:
    """Times are shown in the unit with the shortest number."""
    clock = LinkClock(rate_of("QDR 4X"), flit_bytes=16)

    assert clock.cycle_ns == 4.0
    assert (clock.ns(250), clock.gbps(0.25)) == (1000.0, 8.0)
    assert [shown_ns(clock.ns(cycles)) for cycles in (0, 1, 250, 10**6, 10**9)] == [
        "0 ns",
        "4 ns",
        "1 us",
        "4 ms",
        "4 s",
    ]


def test_documents_and_tables_get_the_same_times() -> None:
    """JSON documents and tables get equal values in ns and Gb/s for the same columns."""
    row: dict[str, Any] = {
        "latency_mean_cycles": 2.5,
        "latency_p99_cycles": 10,
        "offered": 0.5,
        "utilisation": 0.25,
        "waited_cycles": 4,
        "mean_queue_cycles": None,
        "run_cycles": 100,
        "run_accepted": 0.125,
        "packets": 3,
    }

    document = timed_document(row, LinkClock(100.0))
    frame = timed_frame(pl.LazyFrame([row]), LinkClock(100.0)).collect()

    assert frame.to_dicts() == [document]
    new = {name: value for name, value in document.items() if name not in row}
    assert new == pytest.approx(
        {
            "latency_mean_ns": 12.8,
            "latency_p99_ns": 51.2,
            "offered_gbps": 50.0,
            "gbps": 25.0,
            "waited_ns": 20.48,
            "mean_queue_ns": None,
            "run_simulated_ns": 512.0,
            "run_accepted_gbps": 12.5,
        }
    )
    assert list(document)[:2] == ["latency_mean_cycles", "latency_mean_ns"]


def test_a_study_shows_times_at_its_rate_or_at_that_of_the_command(study: Path, tmp_path: Path) -> None:
    """A study shows times at its own rate or at ``--rate``, and resumed runs are not made again."""
    text = STUDY.replace("[0.2, 0.5]", "[0.2]").replace("[1, 2]", "[1]")
    study.write_text(text.replace("[buffers]", '[link]\nrate_gbps = "QDR 4X"\n[buffers]'))

    one = call("simulate", study, "--out", tmp_path / "out", "--json")
    times = {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "runs").iterdir()}
    two = call("simulate", study, "--out", tmp_path / "out", "--json", "--resume", "--rate", "hdr4x")
    shown = call("simulate", study, "--out", tmp_path / "out", "--resume", "--rate", "64")

    assert one.status == two.status == shown.status == 0, one.err + two.err + shown.err
    assert times == {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "runs").iterdir()}
    slow, fast = one.json(), two.json()
    assert (slow["rate_gbps"], slow["cycle_ns"]) == (32, 16)
    assert (fast["rate_gbps"], fast["cycle_ns"]) == (200, 2.56)
    for known, level in ((slow, slow["runs"][0]["per_sl"][0]), (fast, fast["runs"][0]["per_sl"][0])):
        assert level["latency_mean_ns"] == pytest.approx(level["latency_mean_cycles"] * known["cycle_ns"])
        assert level["accepted_gbps"] == pytest.approx(level["accepted"] * known["rate_gbps"])
        assert level["latency_p99_ns"] == pytest.approx(level["latency_p99_cycles"] * known["cycle_ns"])
    table = pl.read_parquet(tmp_path / "out" / "results.parquet")
    assert table["latency_mean_ns"].to_list() == pytest.approx([each * 8 for each in table["latency_mean_cycles"]])
    assert table["run_simulated_ns"].to_list() == [24_000] * 2
    assert "a cycle is 8 ns, 1 flit per cycle is 64 Gb/s" in shown.out


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('rate_gbps = "EDR"', [":7", "link.rate_gbps", "0.001 to 1000000, in Gb/s, or a name", "did you mean EDR 4X?"]),
        ("rate_gbps = 0", [":7", "link.rate_gbps", "not 0"]),
        ("rate_gbps = true", [":7", "link.rate_gbps", "not true"]),
        ("rate_gbps = nan", [":7", "link.rate_gbps", "not nan"]),
        ("rate_gbps = [100]", [":7", "link.rate_gbps", "not [100]"]),
        ("bytes_per_second = 1e9", [":7", "link.bytes_per_second", "rate_gbps", "unknown"]),
    ],
)
def test_a_bad_rate_of_a_study_is_refused_with_its_line(written: str, words: list[str], study: Path) -> None:
    """Given an invalid or outdated rate key in a study, the error names its line."""
    study.write_text(STUDY.replace("[buffers]", f"[link]\n{written}\n[buffers]"))

    assert_refused(call("simulate", study, "--out", study.parent / "out"), str(study), *words)


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "STUDY"],
        ["cosim", "vlarb"],
        ["egress", "--table", "x", "--arrivals", "y"],
        ["dtable", "plan", PLAN],
    ],
    ids=["simulate", "cosim", "egress", "dtable"],
)
def test_a_bad_rate_of_a_command_is_refused(arguments: list[str | Path], study: Path) -> None:
    """Given an invalid ``--rate``, each command is refused before compilation."""
    given = [study if word == "STUDY" else word for word in arguments]

    assert_refused(call(*given, "--rate", "EDR 5X"), "--rate must be", "not EDR 5X", "did you mean EDR 4X?")


def test_a_study_without_a_rate_has_that_of_edr(study: Path) -> None:
    """A study without a rate uses EDR 4X, 100 Gb/s."""
    assert read_study(study).link.clock == LinkClock(100.0, 64)


def test_egress_reports_waits_in_ns_and_lanes_in_gbps(table: Path, tmp_path: Path) -> None:
    """With ``--rate``, ``egress`` reports waits in ns and lanes in Gb/s (5.12 ns per block at 100 Gb/s)."""
    file, out = tmp_path / "few.csv", tmp_path / "out.csv"
    file.write_text("cycle,vl,bytes\n10,2,65\n10,2,64\n10,15,129\n")
    given = ["egress", "--table", table, "--arrivals", file, "--rate", "EDR 4X", "--departures", out]

    done, shown = call(*given, "--list", "--json").json(), call(*given)

    assert (done["rate_gbps"], done["cycle_ns"]) == (100, 5.12)
    assert [each["ns"] for each in done["departures"]] == pytest.approx([51.2, 66.56, 76.8])
    lane, management = done["per_vl"]
    assert lane["max_wait_ns"] == pytest.approx(5 * 5.12)
    assert lane["mean_wait_ns"] == pytest.approx(4 * 5.12)
    window = done["window"]
    cycles = max(16, window["last_cycle"] + 1) - window["first_cycle"] if window else 6
    assert lane["gbps"] == pytest.approx(lane["window_bytes"] * 8 / (cycles * 5.12))
    assert out.read_text().splitlines()[:2] == ["cycle,vl,bytes,list,ns", "10,15,129,vl15,51.2"]
    assert "link of 100 Gb/s" in shown.out
    assert management["vl"] == 15


def test_egress_without_a_rate_is_in_cycles_only(table: Path, tmp_path: Path) -> None:
    """Without ``--rate``, ``egress`` reports cycles only."""
    file = tmp_path / "few.csv"
    file.write_text("cycle,vl,bytes\n10,2,65\n")

    done = call("egress", "--table", table, "--arrivals", file, "--json").json()

    assert done["rate_gbps"] is done["cycle_ns"] is None
    assert not any(name.endswith(("_ns", "gbps")) for name in done["per_vl"][0])


def test_plan_reports_bandwidths_in_gbps() -> None:
    """With ``--rate``, a plan reports bandwidths and bounds in Gb/s and keeps the same entries."""
    plain, done = (
        call("dtable", "plan", PLAN, "--json").json(),
        call("dtable", "plan", PLAN, "--rate", "HDR 4X", "--json").json(),
    )
    shown = call("dtable", "plan", PLAN, "--rate", "HDR 4X")

    levels = {level["name"]: level for level in done["sls"]}
    assert levels["VI"]["bandwidth_gbps"] == pytest.approx(60)
    assert levels["VI"]["phi_min_gbps"] == pytest.approx(200 * done["phi_min"]["VI"])
    assert levels["CL"]["phi_max_gbps"] == pytest.approx(75)
    assert "Gb/s of a link of 200 Gb/s" in shown.out
    assert not any("gbps" in name for level in plain["sls"] for name in level)
    assert plain["entries"] == done["entries"]
