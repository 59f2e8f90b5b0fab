"""Exported files: names, headers, core files, options, protection from overwriting."""

from __future__ import annotations

import re
import shlex
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, assert_refused, call, run_verilator
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.export.core_file import core_file
from vlane.sim_top.export.file_heads import COPYRIGHT
from vlane.sim_top.systemverilog.keywords import SYSTEMVERILOG
from vlane.tb.machinery.cocotb_benches.cocotb_bench import run_verilog

SMALL = ("--param", "data_vls=3")


def lint(folder: Path, top: str, *files: str) -> str:
    """Return Verilator's warnings for exported files under ``-Wall``."""
    return run_verilator(folder, "--lint-only", "--timing", "-Wall", *files, "--top", top, check=False).stderr


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_name_is_that_of_module_parts_files_core_and_testbench(tmp_path: Path) -> None:
    """``--name`` names the module, its submodules and every exported file, without lint warnings."""
    given = ("--name", "egress_a", "--bus", "axi_lite", "--testbench", "50", *SMALL)
    assert call("export", "drr", "--out", tmp_path, *given).status == 0
    assert {file.name.removeprefix("egress_a") for file in tmp_path.iterdir()} == {
        ".sv",
        ".md",
        ".core",
        "_registers.md",
        "_registers.h",
        "_registers.py",
        "_registers.rdl",
        "_registers.xml",
        "_registers_pkg.sv",
        "_tb.sv",
        "_inputs.hex",
        "_outputs.hex",
    }
    modules = re.findall(r"^module (\w+) \($", (tmp_path / "egress_a.sv").read_text(), re.MULTILINE)
    assert modules[0] == "egress_a"
    assert len(modules) > 1
    assert all(module.startswith("egress_a_") for module in modules[1:])
    assert f"name: vlane:qos:egress_a:{version('vlane')}\n" in (tmp_path / "egress_a.core").read_text()
    assert "#define EGRESS_A_IDENTITY 0x0u" in (tmp_path / "egress_a_registers.h").read_text()
    assert lint(tmp_path, "egress_a_tb", "egress_a.sv", "egress_a_tb.sv") == ""


def test_two_sizes_live_in_one_design(tmp_path: Path) -> None:
    """Two exports of one block with different names and sizes compile in one design."""
    for name, vls in (("narrow", 3), ("wide", 6)):
        given = ("--name", name, "--param", f"data_vls={vls}")
        assert call("export", "drr", "--out", tmp_path, *given).status == 0
    (tmp_path / "both.sv").write_text(
        "module both(input clk, input rst);\n"
        "  narrow a (.clk, .rst, .heads_request('0), .heads_fits('0), .heads_blocks('0), .ready('0));\n"
        "  wide b (.clk, .rst, .heads_request('0), .heads_fits('0), .heads_blocks('0), .ready('0));\nendmodule\n"
    )
    said = lint(tmp_path, "both", "-Wno-PINMISSING", "narrow.sv", "wide.sv", "both.sv")
    assert said == ""


@pytest.mark.parametrize("name", ["cycle", "row", "golden", "dut", "grant"])
def test_a_name_may_be_one_that_the_testbench_uses(name: str, tmp_path: Path) -> None:
    assert call("export", "rr", "--out", tmp_path, "--name", name, "--testbench", "20", *SMALL).status == 0
    assert lint(tmp_path, f"{name}_tb", f"{name}.sv", f"{name}_tb.sv") == ""


@pytest.mark.parametrize(
    "name", ["a$b", "1a", "", "a b", "../a", "_a", "module", "logic", "é", "a" * 65, "a.b", "class"]
)
def test_a_name_that_is_no_identifier_is_refused(name: str, tmp_path: Path) -> None:
    is_word = name in {"module", "logic", "class"}
    said = "is a reserved word" if is_word else "--name must be a letter, then letters, digits and underscores"
    assert_refused(call("export", "rr", "--out", tmp_path / "none", "--name", name), said)
    assert not (tmp_path / "none").exists()


def test_reserved_words_are_complete() -> None:
    assert len(SYSTEMVERILOG) == 248 + 1  # of the standard, and its package
    assert {"always", "endmodule", "unique0", "nexttime", "xor"} <= SYSTEMVERILOG


def test_a_parameter_with_a_dollar_is_refused(tmp_path: Path) -> None:
    assert_refused(call("export", "rr", "--out", tmp_path, "--param", "data$vls=3"), "--param", "data$vls")
    assert_refused(call("export", "rr", "--out", tmp_path, "--param", "data_vls=$3"), "--param", "$3")
    assert list(tmp_path.iterdir()) == []


def test_header_of_every_file_reproduces_it(tmp_path: Path) -> None:
    """The header of every exported file contains licence, parameters and a command that reproduces it."""
    given = (
        "--bus",
        "axi_lite",
        "--testbench",
        "40",
        "--seed",
        "0",
        "--param",
        "form=line_rate",
        "--param",
        "entries=9",
    )
    assert call("export", "vlarb", "--out", tmp_path / "first", *given).status == 0
    files = contents(tmp_path / "first")
    assert len(files) == 12
    for name, content in files.items():
        head = content.decode()[:1000]
        assert "SPDX-License-Identifier: BSD-2-Clause\n" in head, name
        assert COPYRIGHT in head
        assert "Parameters: data_vls = 8, entries = 9, vl15 = True, form = line_rate, parity = False\n" in head
        assert f"Generator: vlane {version('vlane')}\n" in head
        assert str(tmp_path) not in content.decode()
    made_by = re.search(r"Made by: vlane (.*)\n", files["vlarb_axi_lite.sv"].decode())
    assert made_by
    words = shlex.split(made_by[1])
    assert words[:4] == ["export", "vlarb", "--out", "."]
    assert call(*words[:3], tmp_path / "again", *words[4:]).status == 0
    assert contents(tmp_path / "again") == files


@pytest.mark.parametrize(
    ("block", "given"),
    [
        ("vlbuffer", ["form=static", "vls=4", "minimum=16", "maximum=16"]),
        ("dtable", ["form=line_rate", "vl15=false"]),
        ("rr", []),
    ],
)
def test_command_in_a_header_names_non_default_parameters(block: str, given: list[str], tmp_path: Path) -> None:
    words = [word for parameter in given for word in ("--param", parameter)]
    assert call("export", block, "--out", tmp_path, *words).status == 0
    made_by = re.search(r"Made by: vlane (.*)\n", (tmp_path / f"{block}.core").read_text())
    assert made_by
    told = shlex.split(made_by[1])
    assert set(given) >= set(told[5::2])
    assert call(*told[:3], tmp_path, *told[4:]).status == 0  # equal files are not replaced


def test_the_copyright_is_that_of_the_licence() -> None:
    assert COPYRIGHT in (ROOT / "LICENSE").read_text().splitlines()


def test_nothing_is_overwritten_unless_forced(tmp_path: Path) -> None:
    assert call("export", "rr", "--out", tmp_path, *SMALL).status == 0
    before = contents(tmp_path)
    times = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert call("export", "rr", "--out", tmp_path, *SMALL).status == 0
    assert {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == times

    (tmp_path / "rr.md").write_text("mine\n")
    other = ("export", "rr", "--out", tmp_path, "--testbench", "20", "--param", "data_vls=4")
    (tmp_path / "rr.sv").unlink()
    assert_refused(call(*other), "rr.md: --force is needed")
    assert contents(tmp_path) == {**{name: before[name] for name in before if name != "rr.sv"}, "rr.md": b"mine\n"}

    assert call(*other, "--force").status == 0
    page = (tmp_path / "rr.md").read_text()
    assert "data_vls = 4" in page
    assert "| `data_vls` | 4 | 2 to 32 | data lanes; at most 31 with VL15 |" in page
    assert not [name for name in contents(tmp_path) if name.endswith(".part")]


@pytest.mark.parametrize("what", ["a folder", "a device"])
def test_folders_and_devices_are_not_replaced(what: str, tmp_path: Path) -> None:
    there = tmp_path / "rr.core"
    if what == "a folder":
        there.mkdir()
    else:
        there.symlink_to("/dev/null")
    assert_refused(call("export", "rr", "--out", tmp_path, "--force"), "--out: not a regular file")
    assert [file.name for file in tmp_path.iterdir()] == ["rr.core"]
    assert not there.is_file()


def test_a_link_is_followed(tmp_path: Path) -> None:
    kept, out = tmp_path / "kept.sv", tmp_path / "out"
    out.mkdir()
    kept.write_text("kept\n")
    (out / "rr.sv").symlink_to(kept)
    assert_refused(call("export", "rr", "--out", out), "kept.sv: --force is needed")
    assert kept.read_text() == "kept\n"
    assert call("export", "rr", "--out", out, "--force").status == 0
    assert (out / "rr.sv").is_symlink()
    assert "module rr (" in kept.read_text()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert_refused(call("export", "rr", "--out", tmp_path / "file"), "--out: cannot use the folder")


def test_combinational_logic_needs_no_initial_value(tmp_path: Path) -> None:
    """The text has only clocked processes, because ``always @*`` may never run at power-on."""
    assert call("export", "credit_opa", "--out", tmp_path, "--param", "vls=2").status == 0
    text = (tmp_path / "credit_opa.sv").read_text()
    assert set(re.findall(r"always.*", text)) == {"always_ff @(posedge clk) begin"}


def listed_files(core: str) -> set[str]:
    return set(re.findall(r"\b[\w.]+\.(?:sv|hex)\b(?=[\]:,])", core))


@pytest.mark.parametrize("bench", [True, False])
def test_the_core_names_files_that_are_there(bench: bool, tmp_path: Path) -> None:  # noqa: FBT001
    given = ("--testbench", "100") if bench else ()
    assert call("export", "rr", "--out", tmp_path, *given).status == 0
    core = (tmp_path / "rr.core").read_text()
    assert core.startswith("CAPI=2:\n")
    wanted = {"rr.sv"} | ({"rr_tb.sv", "rr_inputs.hex", "rr_outputs.hex"} if bench else set())
    assert listed_files(core) == wanted
    assert all((tmp_path / name).is_file() for name in wanted)
    tops = re.findall(r"toplevel: (\w+)", core)
    assert tops == ["rr", "rr", "rr_tb"][: 3 if bench else 2]
    sources = "".join((tmp_path / name).read_text() for name in wanted if name.endswith(".sv"))
    assert all(f"module {top}" in sources for top in tops)
    for fileset in re.findall(r"filesets: \[(.*)\]", core):
        assert all(f"\n  {name}:\n" in core for name in fileset.split(", "))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "given"),
    [
        ("vlarb", ["form=line_rate"]),
        ("dtable", []),
        ("scfq", []),
        ("sc", ["ports=2"]),
        ("credit_ib", ["data_vls=2"]),
        ("vlbuffer", []),
        pytest.param("ib_switch", ["ports=2", "data_vls=2", "lids=8", "speed=2"], marks=pytest.mark.long),
    ],
)
def test_all_warnings_are_on_and_there_is_none(block: str, given: list[str], tmp_path: Path) -> None:
    """Verilator reports no warning for the block or its testbench."""
    words = [word for parameter in given for word in ("--param", parameter)]
    assert call("export", block, "--out", tmp_path, "--testbench", "20", *words).status == 0
    assert lint(tmp_path, block, f"{block}.sv") == ""
    assert lint(tmp_path, f"{block}_tb", f"{block}.sv", f"{block}_tb.sv") == ""


def test_a_surrounding_module_keeps_its_warnings(tmp_path: Path) -> None:
    """Comments for Verilator in the exported file end with it: the integrator's own warnings are the same."""
    (tmp_path / "mine.sv").write_text(
        "module wide (input clk, input rst, input idle);\n  rr dut (.clk, .rst, .heads_request('0), .heads_fits('0), "
        ".heads_blocks('0), .ready('0), .hold_data('0));\nendmodule\n"
    )
    assert call("export", "rr", "--out", tmp_path).status == 0
    said = lint(tmp_path, "wide", "-Wno-PINMISSING", "rr.sv", "mine.sv")
    assert set(re.findall(r"%Warning-(\w+): (\w+)", said)) == {("DECLFILENAME", "mine"), ("UNUSEDSIGNAL", "mine")}


OPTIONS = ("--reset", "async", "--reset-polarity", "low", "--initial", "--prefix", "my_", "--sources", "--split")


def test_options_change_reset_names_and_files(tmp_path: Path) -> None:
    """Each option changes the text as documented, and the header's command repeats all of them."""
    assert call("export", "rr", "--out", tmp_path, *OPTIONS, "--testbench", "50", *SMALL).status == 0

    top, part = (tmp_path / "rr.sv").read_text(), (tmp_path / "my_round_robin.sv").read_text()
    ports = re.findall(r"^  input +logic +(?:\[\S+ )? *(\w+)", top, re.MULTILINE)
    assert ports[:3] == ["clk", "rst_n", "heads_request"]
    assert "  my_round_robin u_" in top
    assert "always @(posedge clk or negedge rst_n) begin\n    if (!rst_n) begin" in part
    assert "  initial begin\n" in part
    assert re.search(r"// hdl/\w+/\w+\.py:\d+", part)
    assert all(option in top for option in OPTIONS)
    assert "files: [rr.sv, my_round_robin.sv]" in (tmp_path / "rr.core").read_text()
    assert lint(tmp_path, "rr_tb", "rr.sv", "my_round_robin.sv", "rr_tb.sv") == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--reset", "asynch"), "did you mean async?"),
        (("--reset-polarity", "down"), "--reset-polarity must be one of high, low"),
        (("--prefix", "a-"), "--prefix must be a letter"),
    ],
)
def test_an_unknown_option_value_is_refused(given: tuple[str, str], said: str, tmp_path: Path) -> None:
    assert_refused(call("export", "rr", "--out", tmp_path / "none", *given), said)
    assert not (tmp_path / "none").exists()


LINKS = ("ports=2", "data_vls=2", "blocks=8", "minimum=2", "maximum=4", "largest=2", "lids=8")
"""A small switch."""


def test_streams_carry_packets_through_a_switch(tmp_path: Path) -> None:
    """Given frames of a third-party AXI4-Stream source, the sinks receive them unchanged although they pause."""
    words = [word for size in LINKS for word in ("--param", size)]
    assert call("export", "ib_switch", *words, "--stream", "axi", "--out", str(tmp_path)).status == 0
    text = "".join((tmp_path / f"ib_switch{end}.sv").read_text() for end in ("", "_axis"))

    outcome = run_verilog(
        text,
        top="ib_switch_axis",
        bench="vlane.tb.switches.bench_axi_stream",
        settings={"seed": 1, "packets": 60, "pausing": 0.4},
    )

    assert (outcome.tests, outcome.failures) == (1, 0), outcome.messages


@pytest.mark.parametrize("reset", [(), ("--reset", "async", "--reset-polarity", "low")])
def test_stream_wrappers_are_lint_clean(tmp_path: Path, reset: tuple[str, ...]) -> None:
    """Verilator has no warning on the wrapper and on the wrapper with interfaces."""
    words = [word for size in (*LINKS, "data_bits=512") for word in ("--param", size)]
    called = call("export", "ib_switch", *words, *reset, "--name", "sw", "--stream", "axi", "--out", str(tmp_path))
    assert called.status == 0, called.err

    assert lint(tmp_path, "sw_axis_if", "sw.sv", "sw_axis.sv", "sw_axis_if.sv") == ""


def test_streams_of_other_links_are_refused(tmp_path: Path) -> None:
    assert_refused(call("export", "rr", "--stream", "axi", "--out", str(tmp_path)), "--stream", "only ib_switch")
    assert_refused(call("export", "ib_switch", "--stream", "tcp", "--out", str(tmp_path)), "--stream", "axi", "tcp")
    words = ("--param", "speed=2", "--stream", "axi", "--out", str(tmp_path))
    assert_refused(call("export", "ib_switch", *words), "--stream", "speed=1")


@pytest.mark.parametrize("block", BLOCKS)
def test_the_core_of_every_block_is_yaml(block: str) -> None:
    """Given any title, also one with a colon, the core file has it as its description."""
    title = BLOCKS[block].title

    found = yaml.safe_load(core_file(block, title, [f"{block}.sv"], version="1", bench=True))

    assert found["description"] == title
