"""Written SystemVerilog: names, ports, lint, tools, and equality with the design."""

from __future__ import annotations

import json
import re
import runpy
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
from amaranth.hdl import Cat, Module, Mux, Shape, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from pyslang import driver

from tests.conftest import ROOT, assert_lint_clean
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.systemverilog.keywords import CPP, RESERVED, SYSTEMVERILOG, VHDL
from vlane.sim_top.systemverilog.proof import proven
from vlane.sim_top.systemverilog.text import Options
from vlane.sim_top.systemverilog.writer import Written, written
from vlane.tb.machinery.native.yosys import run_yosys

RECORD = ROOT / "docs/evidence/export.json"
SWITCHES = {"ib_switch": ("ports=2", "data_vls=2", "blocks=8", "minimum=2", "maximum=4", "largest=2", "lids=8")}
SWITCHES["opa_switch"] = ("ports=2", "data_vls=2", "lids=8", "scheduler=drr")
"""Parameters of small instances. Other blocks have default parameters."""
SPLIT = re.compile(r"_\d+(?=_|$)")


@lru_cache(None)
def text_of(block: str, *given: str) -> Written:
    found = BLOCKS[block]
    parameters = found.parameters([*(given or SWITCHES.get(block, ()))])
    return written(lambda: found.make(parameters), block)


def names_of(body: str) -> tuple[list[str], list[str]]:
    """Return the ports of a module, and its other nets."""
    head, _, inside = body.partition("\n);")
    ports = re.findall(r"^  (?:input |output) logic +(?:\[\S+ +)?(\w+)", head, re.MULTILINE)
    nets = re.findall(r"^  logic (?:\[\S+ )?([\w, ]+?)(?: /\*.*?\*/)?;", inside, re.MULTILINE)
    return ports, [name for line in nets for name in line.split(", ")]


def twins(ports: list[str], nets: list[str]) -> list[str]:
    """Return the nets that only a number distinguishes from another name of the module."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in (*ports, *nets):
        groups[SPLIT.sub("", name)].append(name)
    return [name for name in nets if SPLIT.search(name) and len(groups[SPLIT.sub("", name)]) > 1]


@pytest.mark.parametrize("block", BLOCKS)
def test_names_are_those_of_the_source(block: str) -> None:
    """No name is escaped, few names come from no source, and few differ only by a number."""
    text = text_of(block)
    modules = [names_of(body) for body in text.modules.values()]
    nets = [name for _, names in modules for name in names]

    assert set(re.findall(r"[$\\]\w*", re.sub("//.*", "", str(text)))) <= {"$signed", "$unsigned"}
    assert nets
    assert len(text.unnamed) <= max(1, 0.03 * len(nets))
    assert sum(len(twins(*each)) for each in modules) <= 0.05 * len(nets)
    assert not {name for ports, names in modules for name in (*ports, *names)} & RESERVED


@pytest.mark.parametrize("block", BLOCKS)
def test_ports_stand_in_contract_order_with_their_meanings(block: str) -> None:
    """Clock and reset come first, then the ports in the signature's order, with comments and without keywords."""
    found = BLOCKS[block]
    component = found.make(found.parameters([*SWITCHES.get(block, ())]))
    contract = ["_".join(map(str, path)) for path, _, value in component.signature.flatten(component) if len(value)]
    component._MustUse__used = True

    ports = text_of(block).ports

    assert [port.name for port in ports] == ["clk", "rst", *contract]
    assert all(port.meaning for port in ports)
    assert not {port.name.lower() for port in ports} & (SYSTEMVERILOG | VHDL | CPP)


@pytest.mark.parametrize("block", BLOCKS)
def test_verilator_has_no_warning(block: str, tmp_path: Path) -> None:
    (tmp_path / f"{block}.sv").write_text(str(text_of(block)))

    assert_lint_clean(tmp_path, block)


def slang(file: Path, top: str) -> list[str]:
    """Return the codes of slang's diagnostics."""
    made = driver.Driver()
    made.addStandardArgs()
    assert made.parseCommandLine(f"slang {file} --top {top}")
    assert made.processOptions()
    made.parseAllSources()
    return [str(each.code) for each in made.createCompilation().getAllDiagnostics()]


@pytest.mark.parametrize("block", BLOCKS)
def test_slang_accepts_the_text(block: str, tmp_path: Path) -> None:
    """Slang has no diagnostic, and has one for a name that is not declared."""
    good, bad = tmp_path / "good.sv", tmp_path / "bad.sv"
    good.write_text(str(text_of(block)))
    bad.write_text(str(text_of(block)).replace("endmodule", "  assign absent_name = 1'b0;\nendmodule", 1))

    assert slang(good, block) == []
    assert slang(bad, block) != []


class Arithmetic(wiring.Component):
    """Operators whose signedness or constants a tool can misread."""

    def __init__(self) -> None:
        ports = {"one": In(Shape(6, signed=True)), "two": In(4), "shifted": Out(8), "compared": Out(6)}
        super().__init__(ports)

    def elaborate(self, _: object) -> Module:
        m = Module()
        m.d.comb += [
            self.shifted.eq((self.one >> self.two[:2]) ^ self.two),
            self.compared.eq(
                Cat(self.two >= 0, self.two < 0, self.two > 15, self.two <= 15, self.one < -3, self.one >= self.two)
            ),
        ]
        return m


def test_signed_operators_keep_their_sign_beside_unsigned_operands() -> None:
    """An arithmetic shift stays arithmetic in an unsigned context, and constant comparisons are folded."""
    text = written(Arithmetic, "arithmetic")

    assert re.search(r"\$unsigned\(\$signed\(.+\) >>> two\[1:0\]\)", str(text))
    assert not re.search(r"(>=|<) 4'd0|(>|<=) 4'd15", str(text))
    assert proven(Arithmetic, text, "arithmetic").unproven == ()


class SignedLanes(wiring.Component):
    """Sums of 8 counts and signed changes, which the writer turns into a loop."""

    def __init__(self) -> None:
        lanes = {name: In(data.ArrayLayout(shape, 8)) for name, shape in (("count", 6), ("grows", 1), ("by", 3))}
        super().__init__({**lanes, "sums": Out(data.ArrayLayout(6, 8))})

    def elaborate(self, _: object) -> Module:
        m = Module()
        for lane in range(8):
            change = Signal(Shape(4, signed=True), name=f"change_{lane}")
            m.d.comb += [
                change.eq(Mux(self.grows[lane], self.by[lane], -1)),
                self.sums[lane].eq(self.count[lane] + change),
            ]
        return m


def test_lanes_are_extended_with_their_own_sign() -> None:
    """In a written loop, the signed element of each iteration is extended with its own highest bit."""
    text = written(SignedLanes, "lanes")

    assert "{2{change[4 * i + 3]}}" in str(text)
    assert proven(SignedLanes, text, "lanes").unproven == ()


SMALL = {
    "rr": ("data_vls=3",),
    "wrr": ("data_vls=2",),
    "vlarb": ("data_vls=2", "entries=3"),
    "sl2vl": ("inputs=1", "outputs=2"),
    "credit_ib": ("data_vls=2",),
    "pause": (),
    "ecm_cp": (),
}
"""Instances with a proof in every run. ``bench/export.py`` proves larger ones."""


@pytest.mark.parametrize("block", SMALL)
def test_the_text_equals_the_design(block: str) -> None:
    """Yosys proves that every register and output of the text equals the design's."""
    found = BLOCKS[block]
    parameters = found.parameters([*SMALL[block]])

    proof = proven(lambda: found.make(parameters), text_of(block, *SMALL[block]), block)

    assert proof.unproven == ()
    assert proof.points > 3


def test_a_changed_constant_is_found() -> None:
    """Given a text with one changed constant, the proof names unproven bits."""
    found = BLOCKS["rr"]
    parameters = found.parameters([*SMALL["rr"]])
    text = text_of("rr", *SMALL["rr"])
    changed = {name: re.sub(r"4'd15 :", "4'd14 :", body, count=1) for name, body in text.modules.items()}
    assert changed != text.modules

    assert proven(lambda: found.make(parameters), replace(text, modules=changed), "rr").unproven != ()


@pytest.mark.parametrize(
    "options",
    [Options(reset="async"), Options(polarity="low"), Options(initial=True, sources=True), Options(prefix="my_")],
)
def test_yosys_reads_every_option(options: Options) -> None:
    """Yosys elaborates the text with each option."""
    found = BLOCKS["vlarb"]
    parameters = found.parameters([*SMALL["vlarb"]])
    text = str(written(lambda: found.make(parameters), "vlarb", options))
    script = "read_verilog -sv design.sv\nhierarchy -check -top vlarb\nproc\ncheck -assert\ntee -o stat.txt stat\n"

    found_cells = (run_yosys("read", {"design.sv": text}, script, result="stat.txt") / "stat.txt").read_text()

    assert "$mux" in found_cells
    assert ("$adff" in found_cells) == (options.reset == "async")


def test_the_page_has_the_stored_results() -> None:
    """The table of ``docs/export.md`` is made from the stored results, and every stored proof is complete."""
    results = json.loads(RECORD.read_text())
    page = (ROOT / "docs/export.md").read_text()
    found = re.findall(r"^\| (\w+) \| .* \| ([\d,]+) of ([\d,]+) \|$", page, re.MULTILINE)
    rows = [row for row in found if row[0] in BLOCKS]

    assert [row[0] for row in rows] == list(results)
    for _, proven_points, points in rows:
        assert proven_points == points
    assert {each["proof"]["unproven"] for each in results.values()} == {0}
    assert {f"{each['proof']['points']:,}" for each in results.values()} == {row[2] for row in rows}


def test_the_page_has_the_stored_results_of_the_tools() -> None:
    """The table of tools is made from the stored results, and no installed tool rejects a block."""
    bench = runpy.run_path(str(ROOT / "bench/export_tools.py"), run_name="bench")
    rows = json.loads(bench["RECORD"].read_text())

    assert "\n".join(bench["table"](rows)) in (ROOT / "docs/export.md").read_text()
    assert [row["tool"] for row in rows if not re.fullmatch(r"(\d+) of \1|not installed", row["result"])] == []
