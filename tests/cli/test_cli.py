"""The command line as its users meet it: documents, exit statuses, one-line refusals."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.pages import assert_whole
from tests.conftest import BAD, DATA, GOOD, TABLE, assert_lint_clean, assert_refused, call, long_but
from vlane.golden.schedulers import vlarb as golden
from vlane.golden.schedulers.heads import Heads
from vlane.hdl.schedulers.vlarb import VLArb
from vlane.schedulers.vlarb import VLArbParameters
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim.wave import read_wave
from vlane.tb.machinery.native.model import component_ports


@pytest.mark.parametrize("name", [*GOOD, BAD])
def test_fabric_check_verdict(name: str) -> None:
    """One document on stdout; exit status 1 only for the fabric with a credit loop."""
    called = call("fabric", "check", DATA / name, "--json")

    report = called.json()
    assert called.status == (1 if name == BAD else 0)
    assert report["ok"] == (name != BAD)
    assert len(report["loops"]) == (1 if name == BAD else 0)
    assert report["unreachable"] == report["unserved_vls"] == []
    assert all(set(warning) == {"code", "severity", "where", "message"} for warning in report["warnings"])
    if name == BAD:
        assert [(link["from"], link["to"]) for link in report["loops"][0]] == [
            ("S5", "S3"),
            ("S3", "S2"),
            ("S2", "S0"),
            ("S0", "S5"),
        ]


def test_fabric_check_prints_the_loop() -> None:
    """A person sees the loop link by link."""
    called = call("fabric", "check", DATA / BAD)

    assert called.status == 1
    assert "S5 port 7 VL 0 -> S3 port 5 VL 0" in called.out
    assert "990 pairs have no path record" in called.out


def test_fabric_show_document() -> None:
    """The fields that scripts rely on."""
    shown = call("fabric", "show", DATA / "torus44_2qos", "--json").json()

    assert (shown["switches"], shown["hosts"], shown["links"], shown["data_vls"]) == (16, 32, 64, 8)
    assert shown["vlarb_tables"] == 2
    assert shown["path_sls"] == {"0": 752, "1": 112, "2": 112, "3": 16}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form"),
    [("irregular_s1", "exact"), ("two_switch", "exact"), ("torus44_2qos", "exact"), ("torus44_2qos", "line_rate")],
)
def test_cosim_of_a_fabric_shows_no_mismatch(name: str, form: str) -> None:
    """The main job, shorter: no mismatch, every applicable rule exercised, shares that are the weights'."""
    called = call("cosim", "vlarb", "--fabric", DATA / name, "--cycles", "400000", "--param", f"form={form}", "--json")

    done = called.json()
    assert called.status == 0
    assert (done["mismatches"], done["cycles"], done["engine"], done["simulator"]) == (
        0,
        400_000,
        "native",
        "verilator",
    )
    assert done["missing"] == []
    assert done["decisions"] > 50_000
    assert done["cycles_per_second"] > 0
    for entry in done["tables"]:
        high = [lane for lane in entry["lanes"] if lane["list"] == "high"]
        assert all(abs(lane["share_small"] - lane["weight_share"]) < 0.02 for lane in high)


@pytest.mark.slow
def test_planted_fault_fails_and_names_the_cycle() -> None:
    """A run that could not fail would prove nothing."""
    called = call("cosim", "vlarb", "--fabric", DATA / "two_switch", "--cycles", "100000", "--fault", "3", "--json")

    done = called.json()
    assert called.status == 1
    assert done["mismatches"] == 1
    assert done["mismatch"].startswith(f"cycle {done['mismatch_cycle']}: ")
    assert "golden" in done["mismatch"]
    assert "inputs" in done["mismatch"]
    assert done["seed"] == 1


@pytest.mark.slow
def test_page_pictures_and_wave_are_written(tmp_path: Path) -> None:
    """The wave holds the run: read back, its inputs give golden the outputs the hardware showed."""
    wave, page = tmp_path / "short.vcd", tmp_path / "page"
    called = call(
        "cosim",
        "vlarb",
        "--fabric",
        DATA / "two_switch",
        "--cycles",
        "60000",
        "--waves",
        wave,
        "--page",
        page,
        "--rate",
        "EDR 4X",
        "--json",
    )

    assert called.status == 0, called.err
    seen = assert_whole(page / "index.html")
    assert "Hardware and golden agree in every cycle" in seen.text
    assert len(seen.of("figure")) == 4
    lanes = [lane for table in called.json()["tables"] for lane in table["lanes"]]
    listed = next(table for table in seen.tables if "longest wait, cycles" in table[0])[1:]
    assert [float(row[-2].replace(",", "")) for row in listed] == [
        round(5.12 * it["longest_wait_cycles"], 1) for it in lanes
    ]
    assert [it["link_gbps"] for it in lanes] == [100 * it["link_share"] for it in lanes]
    assert sum(it["link_gbps"] for it in lanes) == pytest.approx(100 * len(called.json()["tables"]), rel=0.1)
    for name in ("service-0.png", "shares-0.png", "service-1.png", "shares-1.png"):
        assert (page / name).read_bytes().startswith(b"\x89PNG")
    ports = component_ports(VLArb(VLArbParameters(data_vls=8, entries=8, vl15=True)))
    given = read_wave(wave, tuple(port.name for port in ports if port.is_input), "vlarb")
    shown = read_wave(wave, tuple(port.name for port in ports if not port.is_input), "vlarb")
    state, rules = golden.make_state(data_vls=8, entries=8, vl15=True), np.zeros(golden.RULE_COUNT, np.int64)
    granted = 0
    for cycle in range(2000):
        i = {name: values[cycle] for name, values in given.items()}
        blocks = np.array([i["heads__blocks"] >> 7 * lane & 127 for lane in range(9)], np.int64)
        write = tuple(i[f"program__{field}"] for field in ("enable", "select", "index", "vl", "weight"))
        heads = Heads(i["heads__request"], i["heads__fits"], blocks, 0, blocks)
        lane, source, _ = golden.step(
            state, heads, bool(i["ready"]), bool(i["hold_data"]), write, bool(i["swap"]), rules
        )
        if i["rst"]:
            golden.reset(state)
        assert (golden.vl_of(state, lane), source) == (shown["vl"][cycle], shown["list"][cycle]), f"cycle {cycle}"
        granted += source != 0
    assert {len(values) for values in (*given.values(), *shown.values())} == {2000}
    assert granted > 100


@pytest.mark.slow
def test_cosim_with_cocotb_agrees() -> None:
    """The other engine runs the same plan and says the same."""
    common = ["cosim", "vlarb", "--fabric", DATA / "two_switch", "--cycles", "4000", "--json"]

    native, cocotb = call(*common).json(), call(*common, "--engine", "cocotb").json()

    assert cocotb["mismatches"] == native["mismatches"] == 0
    assert cocotb["engine"] == "cocotb"
    assert cocotb["decisions"] == native["decisions"]
    assert cocotb["rules"] == native["rules"]


def test_export_writes_verilog_and_its_ports(tmp_path: Path) -> None:
    """Every port has a meaning, and the Verilog has every port."""
    called = call("export", "vlarb", "--out", tmp_path, "--param", "data_vls=4", "--param", "entries=16", "--json")

    done = called.json()
    text = (tmp_path / "vlarb.v").read_text()
    assert [Path(file).name for file in done["files"]] == ["vlarb.v", "vlarb.md", "vlarb.core", "vlarb.vlt"]
    assert all(port["meaning"] for port in done["ports"])
    assert all(f" {port['name']};" in text for port in done["ports"])
    assert {p["name"]: p["bits"] for p in done["ports"]}["heads__request"] == 5


@pytest.mark.slow
@pytest.mark.parametrize("form", ["exact", "line_rate"])
@pytest.mark.parametrize("size", [(15, 64), (1, 1), (3, 5)])
def test_exported_verilog_is_lint_clean(size: tuple[int, int], form: str, tmp_path: Path) -> None:
    """Verilator -Wall with the one waiver file has nothing to say."""
    given = (f"data_vls={size[0]}", f"entries={size[1]}", f"form={form}")
    call("export", "vlarb", "--out", tmp_path, *(word for value in given for word in ("--param", value)))

    assert_lint_clean(tmp_path, "vlarb")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    long_but([name for name in BLOCKS if not name.endswith("switch")], [name for name in BLOCKS if name != "vlarb"]),
)
def test_every_block_exports_documented_and_lint_clean(name: str, tmp_path: Path) -> None:
    """Default sizes: every port has its meaning, and Verilator -Wall has nothing to say."""
    done = call("export", name, "--out", tmp_path, "--json").json()

    assert_lint_clean(tmp_path, name)
    assert [port["name"] for port in done["ports"] if not port["meaning"]] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but(["drr"], ["dtable", "drr", "scfq"]))
def test_table_file_runs_through_a_scheduler(name: str, tmp_path: Path) -> None:
    """The table of a file, its lanes owned by service levels, against golden."""
    file = tmp_path / "table.toml"
    file.write_text(
        "[dtable]\nentries = [[0, 70], [2, 66], [0, 80]]\n[drr]\nquantum = [70, 0, 80]\n[scfq]\nweight = [3, 0, 2]\n"
        "[sl2vl]\nrow = [0, 0, 1, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15]\n"
    )
    sizes = ["--param", "data_vls=3", "--param", "requesters=4"]

    called = call("cosim", name, "--table", file, *sizes, "--cycles", "20000", "--json")

    assert called.status == 0, called.err
    assert called.json()["mismatches"] == 0
    assert called.json()["decisions"] > 2000


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "dtable",
            "[dtable]\nentries = [[0, 1], [1, 1]]\n[sl2vl]\nrow = [0, 0" + ", 15" * 14 + "]",
            ["dtable.entries[1] SL", "names SL 1, which shares VL 0 with SL 0", "SL 1"],
        ),
        ("drr", "[drr]\nquantum = [1, 1]\n[sl2vl]\nrow = [0, 0" + ", 15" * 14 + "]", ["drr.quantum[1]", "shares VL 0"]),
        ("drr", "[scfq]\nweight = [1]", ["drr", "missing"]),
        ("drr", "[drr]\nquantum = [1, 2, 3, 4]", ["drr.quantum", "the instance allows 3 (requesters)"]),
        ("scfq", "[scfq]\nweight = [1, 1000]", ["scfq.weight[1]", "at most 170", "1000"]),
        ("dtable", "[dtable]\nentries = [[3, 1]]", ["dtable.entries[0] SL", "0 to 2", "3"]),
        ("dtable", "[dtable]\nentries = [[0, 1]]\nmore = 1", ["dtable.more", "unknown"]),
        ("dtable", "[dtable]\nentries = [[0, 1]]\n[sl2vl]\nrow = [0]", ["sl2vl.row", "16 numbers"]),
        ("rr", "", ["--table cannot be used with rr"]),
    ],
)
def test_table_that_does_not_fit_a_scheduler_is_refused(
    name: str, content: str, words: list[str], tmp_path: Path
) -> None:
    """One line names the file, the field, what it must be and what it was."""
    file = tmp_path / "table.toml"
    file.write_text(content)
    sizes = ["--param", "data_vls=3", "--param", "requesters=0"]

    assert_refused(call("cosim", name, "--table", file, *sizes, "--cycles", "2000"), *words)


@pytest.mark.slow
def test_audit_of_the_credits_is_reported() -> None:
    """A run that audits says so; a leak would be exit status 1."""
    called = call("cosim", "credit_ib", "--param", "data_vls=2", "--cycles", "200000", "--json")

    audit = called.json()["audit"]
    assert called.status == 0
    assert audit["overflows"] == audit["leaked_blocks"] == 0
    assert audit["audits"] > 3
    assert audit["lost"] > 500


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("limit_of", "bogus = 1\nlimit_of", ["vlarb.bogus", "unknown"]),
        ("[0, 32]", "[16, 32]", ["vlarb.high[0] VL", "0 to 15", "16"]),
        ("[0, 32]", "[0, 256]", ["vlarb.high[0] weight", "0 to 255", "256"]),
        ("[0, 32]", ", ".join(["[0, 1]"] * 64), ["vlarb.high", "at most 64 entries", "65"]),
        ("= 10", "= 300", ["vlarb.limit_of_high_priority", "0 to 255", "300"]),
        ("= 10", "= 1.5", ["vlarb.limit_of_high_priority", "1.5"]),
        ("= 10", "= true", [":4:", "vlarb.limit_of_high_priority", "whole number", "true"]),
        ("[0, 32]", "[0]", ["vlarb.high[0]", "pair"]),
        ("[vlarb]", "[dtable]", ["dtable"]),
        ("[vlarb]", "[vlarb", ["content", "TOML"]),
        ("limit_of_high_priority = 10\n", "", ["limit_of_high_priority", "missing"]),
    ],
)
def test_bad_table_file_is_refused(old: str, new: str, words: list[str], table: Path, arrivals: Path) -> None:
    """One line: file, field, what it must be, what it was."""
    table.write_text(TABLE.replace(old, new, 1))

    called = call("egress", "--table", table, "--arrivals", arrivals)

    assert_refused(called, table.name, *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cosim", "nothing"], ["BLOCK", "vlarb", "nothing"]),
        (["cosim", "vlarb", "--fabric", "tests"], ["ibnetdiscover.txt"]),
        (["cosim", "vlarb", "--fabric", "nowhere"], ["nowhere", "folder"]),
        (["cosim", "vlarb", "--engine", "magic"], ["--engine", "native, cocotb", "magic"]),
        (["cosim", "vlarb", "--simulator", "icarus"], ["--simulator"]),
        (["cosim", "vlarb", "--cycles", "0"], ["--cycles"]),
        (["cosim", "vlarb", "--fault", "0"], ["--fault", "1 to 256", "0"]),
        (["cosim", "vlarb", "--fault", "257"], ["--fault", "257"]),
        (["cosim", "vlarb", "--param", "entries=65"], ["entries", "1 to 64", "65"]),
        (["cosim", "vlarb", "--param", "lanes=2"], ["--param", "data_vls"]),
        (["cosim", "vlarb", "--param", "vl15=maybe"], ["vl15", "true or false", "maybe"]),
        (["cosim", "vlarb", "--fabric", "tests/data/two_switch", "--param", "entries=2"], ["entries", "at least 8"]),
        (["cosim", "vlarb", "--fabric", "x", "--table", "y"], ["--fabric and --table"]),
        (["fabric", "check", "README.md"], ["folder", "file"]),
        (["egress", "--table", "none.toml", "--arrivals", "none.csv"], ["none.csv", "cannot be read"]),
        (["export", "vlarb", "--out", "README.md/x"], ["--out"]),
        (["frobnicate"], ["frobnicate"]),
        (["fabric"], []),
    ],
)
def test_bad_call_is_refused(arguments: list[str], words: list[str]) -> None:
    """Every door refuses in one line."""
    called = call(*arguments)

    if words:
        assert_refused(called, *words)
    else:
        assert "Usage" in called.out + called.err


def test_truncated_capture_is_refused(capture_copy: Any) -> None:
    """A dump that was cut off names its file and line; nothing is reported of the rest."""
    folder = capture_copy("two_switch")
    file = folder / "opensm-sl2vl.dump"
    file.write_text(file.read_text()[:2000])

    assert_refused(call("fabric", "check", folder), "opensm-sl2vl.dump:")


def test_failed_write_leaves_no_half_file(table: Path, arrivals: Path, tmp_path: Path) -> None:
    """What cannot be written is refused, and what was there stays."""
    if os.geteuid() == 0:
        target = tmp_path / "missing" / "departures.csv"
    else:
        folder = tmp_path / "locked"
        folder.mkdir()
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
        target = folder / "departures.csv"

    called = call("egress", "--table", table, "--arrivals", arrivals, "--departures", target)

    assert_refused(called, "--departures", target.name)
    assert not target.exists()


@pytest.mark.parametrize(
    "verb", ["fabric show", "fabric check", "cosim", "egress", "export", "prove", "mutate", "coverage"]
)
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    """Help is where a user starts."""
    called = call(*verb.split(), "--help")

    assert called.status == 0
    assert f"Example: vlane {verb}" in " ".join(called.out.split())
    assert "--json" in called.out


def test_json_is_alone_on_stdout(table: Path, arrivals: Path) -> None:
    """A script can pipe stdout into a parser."""
    called = call("egress", "--table", table, "--arrivals", arrivals, "--json")

    assert json.loads(called.out)["equal"] is True
