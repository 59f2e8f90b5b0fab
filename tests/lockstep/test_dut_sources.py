"""Sources of foreign designs: options, file lists, library folders, array ports, selected bits and skeletons."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.lockstep.foreign_designs import example
from vlane.documents.document import placed
from vlane.dut_map import DutMap, read_map
from vlane.errors import InputError
from vlane.sim_top.blocks import find_block
from vlane.sim_top.dut.closed_run import closed_wiring
from vlane.sim_top.dut.connections import ZERO
from vlane.sim_top.dut.design import Design
from vlane.sim_top.dut.signals import Signals
from vlane.sim_top.dut.skeleton import skeleton
from vlane.sim_top.dut.sources import Sources, read_sources
from vlane.sim_top.dut.wiring import Wiring
from vlane.tb.arbiters.plants import FOLDER
from vlane.tb.machinery.native.rows import Port

RR = {"data_vls": 4, "requesters": 0, "vl15": False}
PORTS = (
    Port("clk", 1, is_input=True),
    Port("rst", 1, is_input=True),
    Port("req", 6, is_input=True),
    Port("take", 1, is_input=True),
    Port("grant", 4, is_input=False),
)


def test_file_lists_name_files_folders_and_macros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file list may nest, and its options are those of the command line."""
    monkeypatch.chdir(tmp_path)
    for folder in ("inc", "lib", "sub"):
        (tmp_path / folder).mkdir()
    (tmp_path / "all.f").write_text("# comment\na.sv -I inc // rest\n+define+A=1+B -y lib\n-F sub/more.f\n")
    (tmp_path / "sub" / "more.f").write_text("b.sv\n-v c.v\n")

    found = read_sources([Path("top.sv")], lists=[Path("all.f")], defines=["C"])

    assert found.files == tuple(map(Path, ("a.sv", "sub/b.sv", "sub/c.v", "top.sv")))
    assert (found.includes, found.libraries, found.defines) == ((Path("inc"),), (Path("lib"),), ("A=1", "B", "C"))
    assert found.flags[:3] == ["-DA=1", "-DB", "-DC"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a.sv\n--weird\n", r"list.f:2: -f: unknown option --weird"),
        ("a.sv\n-I\n", r"list.f:2: -I needs a value"),
        ("-I absent\na.sv\n", r"-I: no such folder: absent"),
        ("-D 1x\na.sv\n", r"-D must be NAME or NAME=VALUE, not 1x"),
        ("# nothing\n", r"--dut is missing"),
        ("-f list.f\n", r"files are nested more than 16 deep"),
    ],
)
def test_bad_file_list_is_refused(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad file list is refused in one line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.f").write_text(text)

    with pytest.raises(InputError, match=said):
        read_sources([], lists=[Path("list.f")])


def test_modules_arrays_and_macros_of_several_files(tmp_path: Path) -> None:
    """Missing modules come from a library folder, macros from the options, and arrays become vectors."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "inner.sv").write_text("module inner(input logic a, output logic b); assign b = a; endmodule\n")
    (tmp_path / "top.sv").write_text(
        "module top(input logic [2:0] x [2], output logic y [`N]);\n  inner one(.a(x[0][1]), .b(y[0]));\nendmodule\n"
    )

    design = Design(read_sources([tmp_path / "top.sv"], libraries=[tmp_path / "lib"], defines=["N=3"]), "top")

    assert [(port.name, port.bits, port.is_input) for port in design.ports] == [("x", 6, True), ("y", 3, False)]
    assert design.members["x"].elements == ("[0]", "[1]")
    assert design.files[-1].name == "inner.sv"
    with pytest.raises(InputError, match="Cannot find file containing module: 'inner'"):
        Design(Sources((tmp_path / "top.sv",), defines=("N=3",)), "top")


BUS = """
interface bus #(parameter W = 4); logic [W-1:0] req, gnt; logic busy; /* a note */
  modport arb (input req, output gnt, busy);
endinterface
module turns #(parameter int N = 4) (input logic clk, bus.arb b, input logic [N-1:0] mask, output logic any);
  always_ff @(posedge clk) begin b.gnt <= b.req & mask; b.busy <= |b.req; end
  assign any = |b.req;
endmodule
"""


def test_interface_ports_become_ports_of_a_wrapper(tmp_path: Path) -> None:
    """A module with an interface port is wrapped, and a modport that does not exist is refused."""
    (tmp_path / "a.sv").write_text(BUS)
    (tmp_path / "b.sv").write_text(BUS.replace("bus.arb b", "bus.other b"))

    design = Design((tmp_path / "a.sv",), "turns")

    assert (design.top, design.module) == ("turns_flat", "turns")
    assert [(port.name, port.bits, port.is_input) for port in design.ports] == [
        ("clk", 1, True),
        ("b_req", 4, True),
        ("b_gnt", 4, False),
        ("b_busy", 1, False),
        ("mask", 4, True),
        ("any", 1, False),
    ]
    with pytest.raises(InputError, match="port b is an interface bus; its wrapper needs modport other"):
        Design((tmp_path / "b.sv",), "turns")


def test_vhdl_is_refused_in_one_line_without_ghdl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VHDL needs GHDL, and VHDL and Verilog are not mixed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("a.vhd", "b.sv"):
        (tmp_path / name).write_text("text")

    with pytest.raises(InputError, match=r"a.vhd: --dut: VHDL needs GHDL, which is not installed"):
        Design((tmp_path / "a.vhd",), "a")
    with pytest.raises(InputError, match="VHDL and Verilog are mixed"):
        Design((tmp_path / "a.vhd", tmp_path / "b.sv"), "a")


def test_vhdl_is_read_through_ghdl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Verilog that GHDL writes is elaborated like any other."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ghdl").write_text("#!/bin/sh\necho 'module a(input x, output y); assign y = x; endmodule'\n")
    (tools / "ghdl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "a.vhd").write_text("entity a is end;")

    assert [port.name for port in Design((tmp_path / "a.vhd",), "a").ports] == ["x", "y"]


def elastic_map(**sections: Any) -> DutMap:
    given = {
        "block": {"name": "rr", "data_vls": 4, "vl15": False},
        "clock": "clk",
        "reset": "rst",
        "timing": {"mode": "elastic"},
        "inputs": {"heads__request": "req[4:1]", "ready": "take"},
        "constants": {"req[0]": 1, "req[5]": 0},
        "outputs": {"vl": {"port": "grant", "encoding": "onehot"}},
    }
    return DutMap.model_validate({**given, **sections})


def wired(given: DutMap) -> Wiring:
    return closed_wiring(find_block("rr"), RR, given, "top", PORTS)


def test_selected_bits_of_a_port_are_connected() -> None:
    """A map may connect some bits of a port, and its other bits need a constant."""
    wiring = wired(elastic_map())
    first = wiring.dut_inputs.ports["req"].first
    request = wiring.inputs.ports["heads__request"].first

    assert [wiring.source[first + bit] for bit in range(6)] == [ZERO, *range(request, request + 4), ZERO]
    assert [wiring.inverted[first + bit] for bit in range(6)] == [1, 0, 0, 0, 0, 0]
    assert Signals(wiring).lanes == 4


def test_all_errors_of_a_map_are_reported_together(tmp_path: Path) -> None:
    """Wrong keys, wrong ports and missing inputs of one map are named in one report."""
    given = elastic_map(
        inputs={"heads__request": "req[9:6]", "ready": "tkae"}, constants={"req[0]": 2, "req[1]": 0, "absent": 1}
    )

    with pytest.raises(InputError) as caught:
        wired(given)
    said = [str(caught.value), *caught.value.details]

    assert len(said) == 5
    assert "port req has 6 bits, numbered 0 to 5" in said[0]
    assert "did you mean take?" in said[1]
    assert "below 2 for a port of 1 bit" in said[2]
    assert any("absent" in each for each in said)

    (tmp_path / "map.toml").write_text('clock = "clk"\n[timing]\nlatency = 99\nevery = 0\n[outputs]\nvl = 1\n')
    with pytest.raises(InputError) as caught:
        read_map(tmp_path / "map.toml")
    assert "map.toml:3: timing.latency must be at most 64" in str(placed(caught.value))
    assert any("map.toml:4: timing.every" in each for each in caught.value.details)


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"block": {"name": "rr", "data_vls": 4, "vl15": True}}, "block.vl15 must be false"),
        ({"outputs": {"grant": {"port": "grant[0]"}}}, "outputs.vl is missing"),
        ({"inputs": {"heads__request": "req[4:1]", "heads__fits": "take"}}, "inputs.heads__fits cannot be used when"),
        ({"timing": {"mode": "elastic", "decision": {"strobe": "g"}}}, "timing.decision.strobe must be an output"),
        ({"timing": {"mode": "elastic", "release": {"last": "req"}}}, "port req is already connected"),
        ({"timing": {}, "inputs": {"heads__request": "req[4:1]", "ready": {"port": "take", "gate": "grant"}}}, "gate"),
    ],
)
def test_map_that_does_not_suit_decisions_is_refused(sections: dict[str, Any], said: str) -> None:
    """A map with live tables, VL15 or unknown strobes cannot be compared by decisions."""
    given = elastic_map(**sections)

    with pytest.raises(InputError, match=said):
        closed_wiring(find_block("rr"), {**RR, "vl15": given.block["vl15"]}, given, "top", PORTS)


def test_samples_carry_polarity_order_and_acknowledges() -> None:
    """Signals are read in the block's terms: acknowledges per lane, active-low grants, and the last beat."""
    ports = (
        *PORTS[:2],
        Port("req", 4, is_input=True),
        Port("ack", 4, is_input=True),
        Port("more", 1, is_input=True),
        PORTS[4],
    )
    given = elastic_map(
        timing={"mode": "elastic", "release": {"last": "more", "active": "low"}},
        inputs={
            "heads__request": {"port": "req", "order": "high_first"},
            "ready": {"port": "ack", "gate": "lane", "active": "low"},
        },
        constants={},
        outputs={"vl": {"port": "grant", "encoding": "onehot", "active": "low"}},
    )
    wiring = closed_wiring(find_block("rr"), RR, given, "top", ports)
    signals = Signals(wiring)
    rows, shown = np.zeros((2, wiring.dut_inputs.words), np.uint64), np.zeros((2, 1), np.uint64)
    for at, (req, ack, more, grant) in enumerate([(0b0001, 0b1101, 0, 0b1101), (0b1000, 0b1111, 1, 0b1111)]):
        for name, value in (("req", req), ("ack", ack), ("more", more)):
            wiring.dut_inputs.layout[name].put(rows[at : at + 1], value)
        wiring.dut_outputs.layout["grant"].put(shown[at : at + 1], grant)

    first, second = signals.samples(rows, shown)

    assert (first.requests, first.ready, first.valid, first.grant, first.last) == (0b1000, 1, 1, 0b0010, 0b1111)
    assert (second.requests, second.ready, second.valid, second.grant, second.last) == (0b0001, 0, 0, 0, 0)
    assert len(signals.plan(seed=1, cycles=10)) > 15


@pytest.mark.parametrize("name", ["sticky", "registered", "weighted"])
def test_skeleton_finds_the_ports_of_an_arbiter(name: str) -> None:
    """The skeleton of each arbiter names clock, reset, requests, ready and grant, and its map is accepted."""
    design = Design((FOLDER / f"{name}.sv",), name)
    block = find_block("rr")

    made = skeleton(block, block.parameters([]), design)
    content, known = tomllib.loads(made), tomllib.loads((FOLDER / f"{name}.toml").read_text())
    given = DutMap.model_validate(content)

    assert content["clock"] == known["clock"]
    assert content["reset"]["port"] == known["reset"]["port"]
    assert content["reset"]["active"] == known["reset"].get("active", "high")
    assert content["inputs"] == known["inputs"]
    assert {**content["outputs"]["vl"]} == {**known["outputs"]["vl"]}
    assert closed_wiring(block, RR, given, name, design.ports).lane is not None


def test_skeleton_of_any_other_block_uses_equal_names(tmp_path: Path) -> None:
    """Without grants, the skeleton connects ports of the same name and marks the others."""
    (tmp_path / "a.sv").write_text(example("rr_arb.sv"))
    block = find_block("sl2vl")

    made = skeleton(block, block.parameters([]), Design((tmp_path / "a.sv",), "rr_arb"))

    assert "# not found" in made
    assert 'port = "clk_i"' in made
