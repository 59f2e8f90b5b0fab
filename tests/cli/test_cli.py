"""The command line for its users: documents, exit statuses, one-line refusals."""

from __future__ import annotations

import json
import os
import re
import stat
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.pages import assert_whole
from tests.conftest import BAD, DATA, GOOD, TABLE, assert_lint_clean, assert_refused, call, long_but, long_rows
from vlane.golden.schedulers import vlarb as golden
from vlane.golden.schedulers.heads import Heads
from vlane.hdl.schedulers.vlarb import VLArb
from vlane.schedulers.vlarb import VLArbParameters
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim.wave import read_wave
from vlane.tb.machinery.native.model import component_ports


@pytest.mark.parametrize("name", [*GOOD, BAD])
def test_fabric_check_verdict(name: str) -> None:
    """Given each capture, stdout is one document, and the status is 1 only for the fabric with a credit loop."""
    called = call("fabric", "check", DATA / name, "--json")

    report = called.json()
    assert called.status == (1 if name == BAD else 0)
    assert report["ok"] == (name != BAD)
    assert len(report["loops"]) == (1 if name == BAD else 0)
    assert report["unreachable"] == report["unserved_vls"] == []
    fields = {"code", "severity", "where", "message", "ports"}
    assert all(set(warning) == fields for warning in report["warnings"])
    if name == BAD:
        assert [(link["from"], link["to"]) for link in report["loops"][0]] == [
            ("S5", "S3"),
            ("S3", "S2"),
            ("S2", "S0"),
            ("S0", "S5"),
        ]


def test_fabric_check_prints_the_loop() -> None:
    """Given a fabric with a credit loop, the text names the loop link by link, and the pairs without a record."""
    called = call("fabric", "check", DATA / BAD)

    assert called.status == 1
    assert "S5 port 7 VL 0 -> S3 port 5 VL 0" in called.out
    assert "path SLs of 990 of 992 pairs" in called.out


def test_fabric_show_document() -> None:
    """``fabric show --json`` contains the counts that scripts use."""
    shown = call("fabric", "show", DATA / "torus44_2qos", "--json").json()

    assert (shown["switches"], shown["hosts"], shown["links"], shown["data_vls"]) == (16, 32, 64, 8)
    assert shown["vlarb_tables"] == 2
    assert shown["path_sls"] == {"0": 752, "1": 112, "2": 112, "3": 16}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form"),
    long_rows(
        (1, 3),
        [("irregular_s1", "exact"), ("two_switch", "exact"), ("torus44_2qos", "exact"), ("torus44_2qos", "line_rate")],
    ),
)
def test_cosim_of_a_fabric_shows_no_mismatch(name: str, form: str) -> None:
    """Lockstep with a captured fabric's tables has no mismatch and shows every applicable rule.

    Measured High shares are within 2 % of the weights' shares.
    """
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
    """Given a planted fault, the run fails and reports the cycle of the first mismatch."""
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
    """A run writes a page with pictures and a wave with the outputs of golden."""
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
        assert (golden.vl_of(state, lane), source) == (shown["vl"][cycle], shown["from_list"][cycle]), f"cycle {cycle}"
        granted += source != 0
    assert {len(values) for values in (*given.values(), *shown.values())} == {2000}
    assert granted > 100


@pytest.mark.slow
def test_cosim_with_cocotb_agrees() -> None:
    """The cocotb engine reports the decisions and rules of the native engine."""
    common = ["cosim", "vlarb", "--fabric", DATA / "two_switch", "--cycles", "4000", "--json"]

    native, cocotb = call(*common).json(), call(*common, "--engine", "cocotb").json()

    assert cocotb["mismatches"] == native["mismatches"] == 0
    assert cocotb["engine"] == "cocotb"
    assert cocotb["decisions"] == native["decisions"]
    assert cocotb["rules"] == native["rules"]


def test_export_writes_systemverilog_and_its_ports(tmp_path: Path) -> None:
    """The exported SystemVerilog contains every documented port."""
    called = call("export", "vlarb", "--out", tmp_path, "--param", "data_vls=4", "--param", "entries=16", "--json")

    done = called.json()
    text = (tmp_path / "vlarb.sv").read_text()
    assert [Path(file).name for file in done["files"]] == ["vlarb.sv", "vlarb.md", "vlarb.core", "vlarb_map.toml"]
    assert all(port["meaning"] for port in done["ports"])
    assert all(re.search(rf"^  {port['direction']} .* {port['name']}\b", text, re.MULTILINE) for port in done["ports"])
    assert {p["name"]: p["bits"] for p in done["ports"]}["heads_request"] == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "size"), long_rows((0, 4, 5), product(("exact", "line_rate"), ((15, 64), (1, 1), (3, 5))))
)
def test_exported_verilog_is_lint_clean(form: str, size: tuple[int, int], tmp_path: Path) -> None:
    """Verilator reports no ``-Wall`` warning for the exported arbiter at several sizes."""
    given = (f"data_vls={size[0]}", f"entries={size[1]}", f"form={form}")
    call("export", "vlarb", "--out", tmp_path, *(word for value in given for word in ("--param", value)))

    assert_lint_clean(tmp_path, "vlarb")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    long_but([name for name in BLOCKS if not name.endswith("switch")], [name for name in BLOCKS if name != "vlarb"]),
)
def test_every_block_exports_documented_and_lint_clean(name: str, tmp_path: Path) -> None:
    """Every block exports with a meaning for each port and without Verilator warnings."""
    done = call("export", name, "--out", tmp_path, "--json").json()

    assert_lint_clean(tmp_path, name)
    assert [port["name"] for port in done["ports"] if not port["meaning"]] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but(["drr"], ["dtable", "drr", "scfq"]))
def test_table_file_runs_through_a_scheduler(name: str, tmp_path: Path) -> None:
    """Given a table file with mapped lanes, each scheduler agrees with golden."""
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
    """Given a table that does not fit the scheduler, one line names file, field and fix."""
    file = tmp_path / "table.toml"
    file.write_text(content)
    sizes = ["--param", "data_vls=3", "--param", "requesters=0"]

    assert_refused(call("cosim", name, "--table", file, *sizes, "--cycles", "2000"), *words)


@pytest.mark.slow
def test_audit_of_the_credits_is_reported() -> None:
    """The credit audit is reported, with no overflow and no leaked block."""
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
    """Given a bad table file, one line names file, field and fix."""
    table.write_text(TABLE.replace(old, new, 1))

    called = call("egress", "--table", table, "--arrivals", arrivals)

    assert_refused(called, table.name, *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cosim", "nothing"], ["BLOCK", "vlarb", "nothing"]),
        (["cosim", "vlarb", "--fabric", "tests"], ["ibnetdiscover.txt"]),
        (["cosim", "vlarb", "--fabric", "nowhere"], ["nowhere", "does not exist"]),
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
    """Given a bad call, each verb prints one line."""
    called = call(*arguments)

    if words:
        assert_refused(called, *words)
    else:
        assert "Usage" in called.out + called.err


def test_truncated_capture_is_refused(capture_copy: Any) -> None:
    """Given a dump that was cut off, a plan is refused with file and line, and a check leaves the cut part out."""
    folder = capture_copy("two_switch")
    file = folder / "opensm-sl2vl.dump"
    file.write_text(file.read_text()[:2000])

    assert_refused(call("voqsw", "--fabric", folder, "--sls", "4", "--vls", "4"), "opensm-sl2vl.dump:")
    checked = call("fabric", "check", folder)
    assert checked.status == 0
    assert "warning UNREADABLE opensm-sl2vl.dump:" in checked.out


def test_failed_write_leaves_no_half_file(table: Path, arrivals: Path, tmp_path: Path) -> None:
    """Given an output file that cannot be written, the command is refused and creates nothing."""
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
    """The help of every verb contains an example and ``--json``."""
    called = call(*verb.split(), "--help")

    assert called.status == 0
    assert f"Example: vlane {verb}" in " ".join(called.out.split())
    assert "--json" in called.out


def test_json_is_alone_on_stdout(table: Path, arrivals: Path) -> None:
    """With ``--json``, stdout is exactly one JSON document."""
    called = call("egress", "--table", table, "--arrivals", arrivals, "--json")

    assert json.loads(called.out)["equal"] is True
