"""``vlane area``: cells, gates, speed, sweeps, refusals."""

from __future__ import annotations

import gzip
import json
import runpy
from pathlib import Path

import pytest

from tests.conftest import ROOT, assert_refused, call
from vlane.errors import InputError
from vlane.hdl.switches.input_measure import InputMeasure
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.silicon import area as synthesis
from vlane.sim_top.silicon.area import measure_area
from vlane.sim_top.silicon.area_nouns import measured_noun, ports_of_module
from vlane.sim_top.silicon.critical_path import UNPLACED, CriticalPath, Speed, worst_path
from vlane.sim_top.silicon.fpga import failure_reason
from vlane.sim_top.silicon.gate_timing import GateTiming, read_report
from vlane.sim_top.silicon.liberty import Liberty
from vlane.sim_top.systemverilog.writer import written
from vlane.tb.machinery.native.rows import Port

SMALL = ("--param", "data_vls=2", "--param", "vl15=no")


@pytest.mark.long
def test_cells_and_speed_are_printed_and_kept() -> None:
    """``area`` reports cells and a speed per seed, and a second call prints the stored result."""
    first = call("area", "rr", *SMALL, "--target", "ice40", "--seeds", "2", "--json")
    assert first.status == 0, first
    (block,) = first.json()["blocks"]
    assert block["lut"] > 0
    assert block["ff"] > 0
    assert len(block["fmax_mhz"]) == 2
    assert min(block["fmax_mhz"]) <= block["median_fmax_mhz"] <= max(block["fmax_mhz"])
    assert call("area", "rr", *SMALL, "--target", "ice40", "--seeds", "2", "--json").out == first.out


def test_cells_of_ecp5_are_counted() -> None:
    (block,) = call("area", "rr", *SMALL, "--seeds", "0", "--json").json()["blocks"]
    assert block["lut"] > 0
    assert block["ff"] == block["cells"]["TRELLIS_FF"] > 0
    assert block["median_fmax_mhz"] is None


@pytest.mark.slow
def test_a_static_buffer_is_placed() -> None:
    """Given a static buffer of 8 lanes, whose used counters yosys merges with some names, the buffer is placed."""
    sizes = "vls=8,flits=8,minimum=1,maximum=1,mtu_flits=1,data_bits=1"

    called = call("area", f"vlbuffer:form=static,{sizes}", "--seeds", "1", "--json")

    assert called.status == 0, called.err
    (block,) = called.json()["blocks"]
    assert block["median_fmax_mhz"] > 0
    assert block["critical_path"]["levels"] > 0


def test_critical_path_has_the_names_of_the_source(tmp_path: Path) -> None:
    """Given a report whose path runs from an input over a carry chain to a register, ports and registers are named.

    The chain counts as one level. A path that begins at a pin is not a path between registers.
    """
    cells = {"block.$7": {"connections": {"Q": [9]}, "port_directions": {"Q": "output"}}}
    nets = {
        "held": {"bits": [2, 3, 4]},
        "block.$12": {"bits": [5]},
        "block.sum": {"bits": [5, 6]},
        "block.total_TRELLIS_FF_Q": {"bits": [9]},
        "block.total": {"bits": [8, 9]},
    }
    (tmp_path / "placeable.json").write_text(json.dumps({"modules": {"frame": {"cells": cells, "netnames": nets}}}))

    def step(kind: str, delay: float, *, port: str = "A", net: str = "", cell: str = "") -> dict[str, object]:
        return {"type": kind, "delay": delay, "net": net, "from": {"port": port}, "to": {"cell": cell}}

    path = [
        step("clk-to-q", 0.5),
        step("routing", 1.0, net="held[2]"),
        step("logic", 0.25),
        step("logic", 0.25, port="FCI"),
        step("routing", 0.5, net="block.$12"),
        step("logic", 0.25, cell="block.$7"),
        step("setup", 0.0, cell="block.$7"),
    ]
    slow = {"from": "<async>", "to": "posedge clk", "path": [step("routing", 9.0, net="held[1]")]}
    report = {"critical_paths": [slow, {"from": "posedge clk", "to": "posedge clk", "path": path}]}

    found = worst_path([{}, report], 1, tmp_path, (Port("rst", 1, is_input=True), Port("asks", 1, is_input=True)))

    assert found == CriticalPath(
        seed=2, levels=2, logic_ns=1.25, routing_ns=1.5, start="asks[0]", end="total[1]", through=("sum[0]",)
    )


def test_median_and_spread_over_seeds() -> None:
    speed = Speed((180.0, 200.0, 190.5))

    assert (speed.median_mhz, speed.spread_mhz) == (190.5, 20.0)
    assert (UNPLACED.median_mhz, UNPLACED.spread_mhz) == (None, None)


def test_failures_have_a_reason() -> None:
    """The reason is the tool's error lines, else its last line, else its exit status."""
    log = "Info: packing\nERROR: Unable to place cell 'x'\n0 warnings, 1 error\n"

    assert failure_reason(log, 1) == "Unable to place cell 'x'"
    assert failure_reason("loading\nout of memory\n", 1) == "out of memory"
    assert failure_reason("", -9) == "ended with status -9, no message"


def test_ports_of_a_part_are_read_from_its_text() -> None:
    """The clock is left out."""
    text = "module x (\n  input  logic       clk, // Clock\n  input  logic [3:0] a,\n  output logic       q\n);\n"

    assert ports_of_module(text) == (Port("a", 4, is_input=True), Port("q", 1, is_input=False))


@pytest.mark.long
@pytest.mark.parametrize(
    ("block", "sizes"), [("vlarb", ("data_vls=15", "entries=64")), ("dtable", ("data_vls=16", "entries=64", "vl15=no"))]
)
def test_line_rate_forms_are_mapped_at_full_size(block: str, sizes: tuple[str, ...]) -> None:
    """The line-rate forms are mapped at full size to between 1,000 and 3,000 LUTs."""
    given = [word for size in ("form=line_rate", *sizes) for word in ("--param", size)]

    called = call("area", block, *given, "--seeds", "0", "--json")

    assert called.status == 0, called.err
    assert 1000 < called.json()["blocks"][0]["lut"] < 3000


def test_a_sweep_shows_ratios_and_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "sweep.png"
    words = ("--sweep", "data_vls=2,4", "--param", "vl15=no", "--target", "gates", "--plot", str(picture))
    done = call("area", "rr", "drr", *words, "--json").json()["blocks"]
    assert [(block["block"], block["parameters"]["data_vls"]) for block in done] == [
        ("rr", 2),
        ("rr", 4),
        ("drr", 2),
        ("drr", 4),
    ]
    for one, other in zip(done[:2], done[2:], strict=True):
        assert (one["ratio"], one["ratio_without_storage"]) == (1.0, 1.0)
        assert other["ratio"] == round(other["ge"] / one["ge"], 2) > 1
        logic = [block["ge"] - block["ge_storage"] for block in (one, other)]
        assert other["ratio_without_storage"] == round(logic[1] / logic[0], 2)
    assert picture.read_bytes().startswith(b"\x89PNG")
    lines = call("area", "rr:data_vls=3", "rr", *words[:6], "--markdown").out.splitlines()
    assert lines[0].startswith("| block | parameters | GE |")
    assert [line.split(" | ")[1] for line in lines[2:]] == [f"data_vls={n}, vl15=False" for n in (3, 2, 4)]


def test_failed_measurement_keeps_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a synthesis timeout for one block, the other block is reported and the exit status is 1."""
    assert call("area", "rr:data_vls=2", "--target", "gates").status == 0
    monkeypatch.setattr(synthesis, "SYNTHESIS_SECONDS", 1)
    done = call("area", "rr:data_vls=2", "vlarb:entries=27", "--target", "gates", "--json")
    small, large = done.json()["blocks"]
    assert done.status == 1
    assert "synthesis failed: yosys did not end within 1 s of processor time" in done.err
    assert small["ge"]
    assert large["ge"] is None


def test_a_picture_of_numbers_that_begin_with_none(tmp_path: Path) -> None:
    """Given a sweep over values such as ``no`` and ``0x2``, the picture is written."""
    picture = tmp_path / "sweep.png"
    words = ("--param", "data_vls=2", "--sweep", "vl15=1,no", "--sweep", "requesters=0,0x2", "--target", "gates")
    assert call("area", "rr", *words, "--plot", str(picture)).status == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_submodules_are_counted_separately() -> None:
    assert call("area", "sl2vl", "--param", "inputs=2", "--nouns", "--json").json()["nouns"] == []
    found = call("area", "rr", *SMALL, "--nouns", "--json").json()["nouns"]
    assert [(noun["name"], noun["instances"]) for noun in found] == [("turns", 1)]
    assert found[0]["lut"] > 0
    assert found[0]["ff"] > 0
    assert found[0]["memory_bits"] == found[0]["many_ports_bits"] == 0
    assert found[0]["median_fmax_mhz"] is None


@pytest.mark.long
def test_submodules_are_placed_with_seeds() -> None:
    """Given ``--nouns`` and a seed, the table has the speed of each part, and its critical path follows."""
    (part,) = call("area", "rr:data_vls=2,vl15=no", "--nouns", "--seeds", "1", "--json").json()["nouns"]
    shown = call("area", "rr:data_vls=2,vl15=no", "--nouns", "--seeds", "1", "--markdown").out.splitlines()

    assert part["fmax_mhz"] == [part["median_fmax_mhz"]]
    assert f"| {part['median_fmax_mhz']} | 0.0 | {part['critical_path']['levels']} |" in shown[2]
    assert shown[3].startswith("turns, seed 1: ")


def test_memory_with_too_many_ports_is_counted_separately() -> None:
    """Given a memory with two write ports, its bits are reported as a memory no RAM can implement."""
    module = """module store(clk, a, b, d, e, q);
  input clk; input [2:0] a, b; input [3:0] d, e; output [3:0] q;
  reg [3:0] kept [7:0];
  always @(posedge clk) begin
    kept[a] <= d;
    kept[b] <= e;
  end
  assign q = kept[a] ^ kept[b];
endmodule
"""
    noun = measured_noun("store", module, "store")
    assert (noun.many_ports_bits, noun.ff, noun.lut) == (32, 0, 4)


@pytest.mark.slow
def test_a_part_with_arrays_at_its_ports_is_mapped() -> None:
    """A submodule with arrays at its ports is mapped.

    An array element such as ``waiting[1]`` has the name of a bit of the flattened port.
    """
    text = written(lambda: InputMeasure(ports=2, vls=2, maximum=5), "measure")
    noun = measured_noun("measure", str(text), "measure")
    assert noun.lut > 0
    assert noun.ff > 12


def test_gates_are_counted_in_nand2() -> None:
    """The gate target reports NAND2 equivalents, of which a flip-flop counts four."""
    rr = BLOCKS["rr"]
    found = measure_area(rr, {**rr.defaults(), "data_vls": 2, "vl15": False}, target="gates", seeds=0)
    assert found.ge
    assert found.ge_storage == 4.0 * found.cells["DFF"]
    assert found.ge > found.ge_storage


def test_a_users_library_with_other_units_gives_the_same_equivalents(tmp_path: Path) -> None:
    """Given a Liberty file with scaled areas, gate equivalents stay within 5 %."""
    rr = BLOCKS["rr"]
    parameters = {**rr.defaults(), "data_vls": 2, "vl15": False}
    scaled = tmp_path / "scaled.lib"
    lines = Liberty.read().text.replace("area : 1.0;", "area : 24.0;").replace("area : 4.0;", "area : 96.0;")
    for area in ("0.67", "1.33", "1.67", "2.33"):
        lines = lines.replace(f"area : {area};", f"area : {24 * float(area)};")
    scaled.write_text(lines)
    bare = tmp_path / "bare.lib"
    bare.write_text(lines.replace("area : 96.0;", ""))
    with pytest.raises(InputError, match="cell DFF has no area"):
        measure_area(rr, parameters, target="gates", seeds=0, liberty=Liberty.read(bare))
    ours = measure_area(rr, parameters, target="gates", seeds=0)
    theirs = measure_area(rr, parameters, target="gates", seeds=0, liberty=Liberty.read(scaled))
    assert theirs.ge_storage == ours.ge_storage
    assert theirs.ge == pytest.approx(ours.ge, rel=0.05)


COUNTER = """module counter(input logic clk, input logic reset, input logic up, output logic [3:0] count);
  always_ff @(posedge clk) begin
    if (reset) count <= '0; else if (up) count <= count + 1'b1;
    if (up) $display("%d", count);
    assert (!(reset && up));
  end
  assert property (@(posedge clk) disable iff (reset) up |-> count < 15);
endmodule
module delayed(input logic clk, output logic late);
  always @(posedge clk) #5 late <= ~late;
endmodule
"""


def test_a_design_of_the_user_is_measured_without_its_assertions(tmp_path: Path) -> None:
    """Given a counter with assertions and prints, its registers are counted, and a tied input costs none."""
    design, given = tmp_path / "counter.sv", tmp_path / "map.toml"
    design.write_text(COUNTER)
    given.write_text('clock = "clk"\n[constants]\nup = 0\nreset = 1\n[outputs]\nvl = "count"\n')
    words = ("area", "--dut", str(design), "--top", "counter", "--target", "ice40", "--seeds", "0", "--json")

    whole, tied = call(*words), call(*words, "--map", str(given))

    assert (whole.status, tied.status) == (0, 0), whole.err + tied.err
    assert whole.json()["ff"] == 4
    assert whole.json()["lut"] >= 4
    assert tied.json()["lut"] < whole.json()["lut"]


def test_bad_input_with_a_design_of_the_user_is_refused(tmp_path: Path) -> None:
    """Wrong files, modules, clocks and constants are refused with the place of the fault."""
    design, given = tmp_path / "counter.sv", tmp_path / "map.toml"
    design.write_text(COUNTER)
    words = ("area", "--dut", str(design), "--seeds", "0", "--top")

    for clock, constant, said in (
        ("clk", "upp = 1", "map.toml:3: constants.upp: upp is not an input of counter (clk, reset, up)"),
        ("clk", "up = 4", "map.toml:3: constants.up must be below 2 for a port of 1 bit, not 4"),
        ("count", "up = 1", "map.toml:1: clock must be an input of counter"),
    ):
        given.write_text(f'clock = "{clock}"\n[constants]\n{constant}\n[outputs]\nvl = "count"\n')
        assert_refused(call(*words, "counter", "--map", str(given)), said)
    assert_refused(call(*words[:-1]), "--top is missing")
    assert_refused(call("area", "--top", "counter"), "--dut is missing")
    assert_refused(call(*words, "count"), "--top", "did you mean counter?")
    assert_refused(call(*words, "counter", "--param", "data_vls=2"), "--param", "with --dut")
    assert_refused(call(*words, "delayed"), "counter.sv", "timing control")


PREFIXED = """library ("sky130_small") {
  cell ("small__nand2b_1") { area : 1.0; pin (Y) { direction : output; } }
  cell ("small__nand2_2") { area : 8.0; pin (Y) { direction : output; } }
  cell ("small__nand2_1") { area : 4.0; pin (Y) { direction : output; } }
  cell ("small__lpflow_isobufsrc_1") { area : 2.0; pin (X) { direction : output; } }
  cell ("small__buf_1") { area : 3.0; pin (X) { direction : output; timing () { } } }
  cell ("small__buf_2") { area : 5.0; dont_use : true; pin (X) { direction : output; } }
  cell ("small__dfxtp_1") { area : 20.0; ff ("IQ", "IQ_N") { clocked_on : "CLK"; } }
  cell ("small__dfxtp_9") { area : 10.0; ff ("IQ", "IQ_N") { clocked_on : "CLK"; } }
}
"""


def test_prefixed_cells_and_excluded_cells_of_a_library(tmp_path: Path) -> None:
    """Given cells with the prefix of a library, the unit is its smallest NAND2, and excluded cells are removed."""
    plain, packed = tmp_path / "small.lib", tmp_path / "small.lib.gz"
    plain.write_text(PREFIXED)
    packed.write_bytes(gzip.compress(PREFIXED.encode()))

    found = Liberty.read(packed, ["*dfxtp_9"])

    assert (found.unit, found.buffer, found.storage) == (4.0, "small__buf_1", {"small__dfxtp_1"})
    assert "lpflow" not in found.text  # by default for sky130
    assert "small__buf_2" not in found.text  # marked in the file
    assert found.text.count("cell (") == 5
    assert found.text.endswith("\n}\n")
    assert found.equivalents({"small__nand2_2": 2, "small__dfxtp_1": 1}) == 9.0
    assert Liberty.read(plain).storage == {"small__dfxtp_1", "small__dfxtp_9"}


LIBRARIES = ("nangate45", "sky130hd", "sg13g2")
"""Libraries of the page, by the names of the kept outputs."""
REPORT = """Startpoint: _7_ (rising edge-triggered flip-flop clocked by clk)
Endpoint: blocks\\[0\\] (output port clocked by clk)
Path Type: max
   0.0898    0.0898 ^ _7_/Q (DFF_X1)
             0.5995   data arrival time
   9.4005   slack (MET)
"""
NETLIST = """  DFF_X1 _7_ (
    .CK(clk),
    .D(_0_),
    .Q(_1_),
    .QN(\\turns.behind[2] )
  );
"""


def test_longest_path_of_a_timing_report_has_names_of_the_source() -> None:
    found = read_report(REPORT, 8, NETLIST)

    assert found == GateTiming(8, 0.6, "turns.behind[2]", "blocks[0]")
    assert found.mhz == 1666.7
    with pytest.raises(RuntimeError, match="no path: Error: no network"):
        read_report("Error: no network has been linked.\n", 8, "")


def test_generic_gates_and_their_depth_are_counted() -> None:
    """Given a round robin of two lanes, cells, flip-flops and the longest chain of cells are reported, without MHz."""
    (block,) = call("area", "rr", *SMALL, "--target", "generic", "--json").json()["blocks"]

    assert block["cell_count"] == sum(block["cells"].values()) > 10
    assert block["ff"] == 1
    assert 2 < block["gate_path"]["levels"] < 10
    assert block["gate_path"]["ns"] is None


def test_table_of_library_cells_is_the_kept_measurement() -> None:
    """A row of the page has area, cells, levels, delay and frequency of the kept outputs of ``vlane area --json``."""
    page = (ROOT / "docs" / "silicon.md").read_text()
    kept = [
        json.loads((ROOT / "docs" / "evidence" / f"cells_{library}.json").read_text())["blocks"]
        for library in LIBRARIES
    ]

    for row in zip(*kept, strict=True):
        (name,) = {block["block"] for block in row}
        cells = [f"`{name}`"]
        for block in row:
            path = block["gate_path"]
            cells += [
                f"{block['um2']:,.0f} / {block['cell_count']:,}",
                f"{path['levels']} / {path['ns']} / {path['mhz']:,.0f}",
            ]
        assert f"| {' | '.join(cells)} |" in page, name


def test_table_of_generic_gates_is_the_kept_measurement() -> None:
    """Each row of the page is a kept row of ``bench/published_arbiters.py``."""
    bench = runpy.run_path(str(ROOT / "bench" / "published_arbiters.py"), run_name="bench")
    rows = json.loads(bench["KEPT"].read_text())
    page = (ROOT / "docs" / "silicon.md").read_text()

    assert len(rows) == sum(map(len, bench["SIZES"].values()))
    assert [bench["line"](row) for row in rows if bench["line"](row) not in page] == []


def test_bad_input_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.lib"
    empty.write_text("library (none) { }\n")
    nand = "cell (NAND2) { area : 1.0; pin (A) { direction : input; } }"
    stateless = tmp_path / "stateless.lib"
    stateless.write_text(f"library (stateless) {{ {nand} }}\n")
    useless = tmp_path / "useless.lib"
    useless.write_text(f"library (useless) {{ {nand} cell (DFF) {{ area : 4.0; ff (Q, QN) {{ }} }} }}\n")
    assert_refused(call("area", "rr", "--target", "asic"), "--target", "asic")
    assert_refused(call("area", "rr", "--seeds", "-1"), "--seeds", "-1")
    assert_refused(call("area", "nothing"), "BLOCK", "nothing")
    assert_refused(call("area", "rr", "drr", "--nouns"), "--nouns needs exactly one BLOCK")
    assert_refused(call("area", "rr", "--nouns", "--target", "ice40"), "--target", "ice40")
    assert_refused(call("area", "rr", "--nouns", "--sweep", "data_vls=2"), "--sweep", "--nouns")
    assert_refused(call("area", "rr:lanes=2"), "--param", "not lanes")
    assert_refused(call("area", "rr", "--sweep", "entries=2,4"), "--sweep", "entries")
    assert_refused(call("area", "rr", "--sweep", "data_vls"), "--sweep", "K=V,V", "data_vls")
    assert_refused(call("area", "rr", "--sweep", "data_vls=2", "--sweep", "data_vls=3"), "--sweep", "data_vls")
    assert_refused(call("area", "rr", "--param", "data_vls=2", "--sweep", "data_vls=3"), "--sweep", "data_vls")
    assert_refused(call("area", "rr", "--sweep", "data_vls=2,99"), "data_vls", "99")
    assert_refused(call("area", "rr", "--plot", str(tmp_path / "p.png")), "--plot", "--sweep")
    assert_refused(call("area", "rr", "--sweep", "data_vls=2,4", "--plot", str(tmp_path)), "--plot", "a file")
    assert_refused(call("area", "rr", "--liberty", str(empty)), "--liberty", "gates")
    assert_refused(call("area", "rr", "--target", "gates", "--dont-use", "X"), "--dont-use", "without --liberty")
    assert_refused(call("area", "rr", "--target", "gates", "--liberty", str(empty)), "--liberty", "NAND2")
    assert_refused(
        call("area", "rr", "--target", "gates", "--liberty", str(tmp_path / "no.lib")), "--liberty", "no.lib"
    )
    assert_refused(call("area", "rr", "--target", "gates", "--liberty", str(stateless)), "--liberty", "flip-flop")
    tried = call("area", "rr", *SMALL, "--target", "gates", "--liberty", str(useless))
    assert tried.status == 2
    assert "--liberty: yosys or abc cannot use the cells of this file" in tried.err.splitlines()[-1]
    assert_refused(call("cosim", "vlarb", "--param", "form=fast"), "form", "fast")
