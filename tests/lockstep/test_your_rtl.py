"""Third-party RTL against golden: maps, timing, and the examples of ``docs/your_rtl.md``."""

from __future__ import annotations

import gc
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import UnusedElaboratable
from typer.testing import CliRunner

from tests.lockstep.foreign_designs import EXAMPLES, example, map_of, opened, ran
from vlane.documents.document import placed
from vlane.dut_map import DutMap, read_map
from vlane.errors import InputError
from vlane.sim_top.blocks import find_block
from vlane.sim_top.cli.main import app
from vlane.sim_top.dut.design import Design
from vlane.sim_top.dut.ports import block_rows
from vlane.sim_top.dut.schedule import batches
from vlane.sim_top.dut.wiring import Wiring
from vlane.sim_top.systemverilog.writer import written
from vlane.tb.machinery.native.rows import Port, Words

RR, RR_MAP = example("rr_arb.sv"), example("rr_arb.toml")
WRR, WRR_MAP = example("wrr_arb.sv"), example("wrr_arb.toml")
MENDED = ("bit COUNT_FIRST = 0", "bit COUNT_FIRST = 1")
ON_ALL = 0b1111


def refusal(where: Path, block: str, design: str, given: str, table: str = "") -> str:
    with pytest.raises(InputError) as caught:
        opened(where, block, design, given, cycles=2000, table=table).run()
    return str(placed(caught.value)).replace(f"{where}/", "")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('port = "clk_i"', 'port = "clk"', r"map.toml:7: clock must be an input of rr_arb \(clk_i, .*\), not clk; did"),
        ('port = "clk_i"', 'port = "req_ni"', r"map.toml:7: clock: port req_ni has 4 bits, not 1"),
        ('port = "rst_ni"', 'port = "clk_i"', r"reset.port: port clk_i is already connected by clock"),
        ('port = "rst_ni"', 'port = "req_ni"', r"map.toml:11: reset.port: port req_ni has 4 bits, not 1"),
        ("data_vls = 4", "data_vls = 5", r"heads__request.port: port req_ni has 4 bits, not 5; set resize = true"),
        ("data_vls = 4", "data_vls = 1", r"map.toml:4: block.data_vls must be 2 to 32, not 1"),
        ("data_vls = 4", "data_vsl = 4", r"map.toml:4: block.data_vsl: unknown .*; did you mean data_vls?"),
        ("data_vls = 4", 'data_vls = "4"', r"map.toml:4: block.data_vls must be a whole number, not 4"),
        ('name = "rr"', 'name = "wrr"', r"map.toml:3: block.name: the map is for wrr, but the command runs rr"),
        ("heads__fits =", "head__fits =", r"inputs.head__fits: unknown port .*; did you mean heads__fits?"),
        ('heads__fits = "room_i"', "", r"inputs.heads__fits is missing: connect the input"),
        ('"room_i"', '"link_idle_i"', r"inputs.heads__fits.port: port link_idle_i has 1 bit, not 4"),
        (
            '"room_i"',
            '"req_ni"',
            r"inputs.heads__fits.port: port req_ni is already connected by inputs.heads__request.port",
        ),
        ('"room_i"', '["room_i", "req_ni"]', r"inputs.heads__fits.ports must be a list of 4 ports, not 2 ports"),
        ('"room_i"', '"gnt_o"', r"map.toml:26: inputs.heads__fits.port must be an input of rr_arb .*, not gnt_o"),
        ('heads__fits = "room_i"', "", "inputs.heads__fits"),
        ("hold_data = 0", "hold_data = 2", r"absent.hold_data must be below 2 for 1 bit, not 2"),
        (
            "hold_data = 0",
            "hold_data = 0\nready = 1",
            r"absent.ready cannot be used together with an entry in \[inputs\]",
        ),
        ("each = 1", "each = 128", r"absent.heads__blocks must be below 128 for 7 bits, not 128"),
        ('encoding = "onehot"', 'active = "lo"', r"map.toml:34: outputs.vl.active must be one of high, low, not lo"),
        ('port = "gnt_o", encoding = "onehot"', 'port = "gnt"', r"outputs.vl.port must be an output of rr_arb \("),
        ("vl = {", "grant = {", r"grant.encoding must be number .only vl of a scheduler can be onehot., not onehot"),
        ('encoding = "onehot"', 'when = "granted"', r"vl.when must be an output of the block .*did you mean grant"),
        ("N = 4", "M = 4", r"map.toml:22: parameters.M: rr_arb has no such parameter"),
        ("N = 4", "N = 5", r"inputs.heads__request.port: port req_ni has 5 bits, not 4"),
        ("N = 4", "N = 'four\"; x'", r"map.toml:22: parameters.N must be text without quotes, .*, not four"),
        ('encoding = "onehot"', 'when = "vl"', r"map.toml:34: outputs.vl.when: an output cannot be its own condition"),
        (
            'encoding = "onehot"',
            'when = "grant", unless = "grant"',
            r"outputs.vl.unless: when and unless must name different outputs",
        ),
        ("every = 2", "every = 2\nbetwen = 1", r"timing.betwen: unknown key .*did you mean between"),
        (
            "hold_data = 0",
            "hold_data = 1",
            r"absent.hold_data is constant in the design, but the traffic drives 0x0 in cycle 0",
        ),
    ],
)
def test_a_map_that_does_not_fit_is_refused_by_its_key(before: str, after: str, said: str, tmp_path: Path) -> None:
    """Given a map that does not fit the design, the error names its key before anything is compiled."""
    assert before in RR_MAP

    message = refusal(tmp_path, "rr", RR, RR_MAP.replace(before, after))

    assert re.search(said, message), message


@pytest.mark.parametrize(
    ("design", "given", "said"),
    [
        (RR.replace("rr_arb", "rr_other"), RR_MAP, None),
        (RR.replace("assign able ", "assign able able"), RR_MAP, r"^design.sv:18: --dut: syntax error"),
        (RR.replace("room_i,  ", "room_i [N],"), RR_MAP, r"port room_i has 16 bits, not 4"),
        (
            RR.replace("input  logic [N-1:0] room", "inout wire [N-1:0] room"),
            RR_MAP,
            r"^--top: rr_arb has the inout port room_i",
        ),
        ('`include "absent.svh"\n' + RR, RR_MAP, r"^design.sv:1: --dut: .*include file: 'absent.svh'"),
        (
            "module rr_arb #(parameter N = 4) (input real clk_i); endmodule",
            RR_MAP,
            r"^--top: port clk_i of rr_arb is neither packed nor an array",
        ),
    ],
)
def test_verilog_that_cannot_be_used_is_refused_with_its_line(
    design: str, given: str, said: str | None, tmp_path: Path
) -> None:
    """Given unusable Verilog, the error names file and line, and nothing is run."""
    if said is None:
        assert opened(tmp_path, "rr", design, given, cycles=10).design.top == "rr_other"
        return

    message = refusal(tmp_path, "rr", design, given)

    assert re.search(said, message), message


def test_a_top_that_is_not_there_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    """Given an unknown top module, the error suggests the closest module. Comments are ignored."""
    (tmp_path / "a.sv").write_text(f"// module rr_ar b\n{RR}")

    with pytest.raises(
        InputError, match=r"--top must be a module of the files \(rr_arb\), not rr_abr; did you mean rr_arb"
    ):
        Design((tmp_path / "a.sv",), "rr_abr")


@pytest.mark.parametrize("file", ["/dev/zero", "/", "empty.sv", "absent.sv", "a\0b.sv"])
def test_unusable_verilog_file_is_refused_at_once(file: str, tmp_path: Path) -> None:
    """Given a device, folder, empty or missing file as Verilog, it is refused immediately."""
    (tmp_path / "empty.sv").touch()

    with pytest.raises(InputError, match="--dut"):
        Design((tmp_path / file,), "rr_arb")


def test_a_port_that_is_too_narrow_is_refused_when_the_traffic_needs_it(tmp_path: Path) -> None:
    """Given a resized port too narrow for a value in the traffic, the run is refused."""
    given = WRR_MAP.replace('"cfg_weight"', '{ port = "cfg_weight", resize = true }')

    message = refusal(tmp_path, "wrr", WRR, f"{given}\n[parameters]\nWEIGHT_BITS = 4\n")

    assert re.search(r"map.toml:25: inputs.program__weight is too narrow: the traffic drives 0x\w+ in", message)


def wired(given: DutMap, ports: list[Port], block: str = "wrr", **parameters: object) -> Wiring:
    found = find_block(block)
    return Wiring(found, found.shape(**{"data_vls": 4, "vl15": False, **parameters}), given, "design", tuple(ports))


def wrr_wiring() -> Wiring:
    files = (EXAMPLES / "wrr_arb.sv",)
    return wired(read_map(EXAMPLES / "wrr_arb.toml"), list(Design(files, "wrr_arb").ports))


def row_of(wiring: Wiring, **values: int) -> Words:
    """Return one row of our inputs, with absent inputs at their mapped values."""
    row = np.zeros((1, wiring.inputs.words), np.uint64)
    for name, value in {**wiring.absent, **values}.items():
        wiring.inputs.layout[name].put(row, value)
    return row


def test_polarity_order_and_separate_ports_are_those_of_the_map() -> None:
    """Polarity, bit order and separate ports are converted as the map specifies.

    Lanes 0 and 3 have a packet, and lane 1 has no free space.
    """
    wiring = wrr_wiring()
    row = row_of(wiring, heads__request=0b1001, heads__fits=0b1101, ready=1, program__index=2, program__weight=200)

    theirs = wiring.dut_inputs.values(wiring.dut_rows(row)[0])

    assert theirs == {
        "reset": 0,
        "cfg_write": 0,
        "cfg_lane": 2,
        "cfg_weight": 200,
        "pending_0": 1,
        "pending_1": 0,
        "pending_2": 0,
        "pending_3": 1,
        "stall": 0b0100,
        "link_ready": 1,
        "scan_enable": 0,
    }


def test_rows_come_back_from_the_design_s_ports() -> None:
    """Converting rows to the design's ports and back gives the original rows, including resets."""
    wiring = wrr_wiring()
    source = np.random.default_rng(5)
    rows = np.concatenate(
        [
            row_of(
                wiring,
                rst=int(source.integers(2)),
                heads__request=int(source.integers(16)),
                heads__fits=int(source.integers(16)),
                ready=int(source.integers(2)),
                program__enable=int(source.integers(2)),
                program__index=int(source.integers(4)),
                program__weight=int(source.integers(256)),
            )
            for _ in range(200)
        ]
    )

    assert np.array_equal(wiring.our_rows(wiring.dut_rows(rows)), rows)
    assert len(np.unique(wiring.dut_rows(rows), axis=0)) > 150


def onehot_wiring(**wire: object) -> Wiring:
    given = {
        "clock": "c",
        "reset": "r",
        "inputs": {"heads__request": "q", "heads__fits": "f", "ready": "g"},
        "absent": {"heads__blocks": {"each": 2}, "hold_data": 0},
        "outputs": {"vl": {"port": "o", "encoding": "onehot", **wire}},
    }
    ports = [
        Port(name, bits, is_input=name != "o") for name, bits in (("c", 1), ("r", 1), ("q", 4), ("f", 4), ("g", 1))
    ]
    return wired(DutMap.model_validate(given), [*ports, Port("o", 4, is_input=False)], "rr", data_vls=3, vl15=True)


@pytest.mark.parametrize(
    ("wire", "granted", "idle"),
    [
        ({}, 0b1000, 0b0000),
        ({"active": "low"}, 0b0111, 0b1111),
        ({"order": "high_first"}, 0b0001, 0b0000),
        ({"order": "high_first", "active": "low"}, 0b1110, 0b1111),
    ],
)
def test_a_one_hot_grant_has_the_bit_of_the_lane(wire: dict[str, object], granted: int, idle: int) -> None:
    """A one-hot grant has the bit of its lane active, in each polarity and order.

    VL15 is the last lane. Without a grant, no bit may be active.
    """
    wiring = onehot_wiring(**wire)
    outputs = np.zeros((2, wiring.outputs.words), np.uint64)
    wiring.outputs.layout["grant"].put(outputs[0], 1)
    wiring.outputs.layout["vl"].put(outputs[0], 15)

    expected, care = wiring.expected(np.repeat(row_of(wiring), 2, axis=0), outputs)

    assert wiring.dut_outputs.values(expected[0]) == {"o": granted}
    assert wiring.dut_outputs.values(expected[1]) == {"o": idle}
    assert [wiring.dut_outputs.values(row)["o"] for row in care] == [ON_ALL, ON_ALL]
    assert wiring.answer(expected[0]) == {"vl": [15]}
    assert wiring.compared == ["grant", "vl"]


def test_an_output_that_means_something_with_a_grant_only_is_compared_there_only() -> None:
    """An output that is meaningful only with a grant is compared only then."""
    wiring = wrr_wiring()
    outputs = np.zeros((2, wiring.outputs.words), np.uint64)
    wiring.outputs.layout["grant"].put(outputs[1], 1)

    _, care = wiring.expected(np.repeat(row_of(wiring), 2, axis=0), outputs)

    assert wiring.dut_outputs.values(care[0]) == {"grant_valid": 1, "grant_lane": 0}
    assert wiring.dut_outputs.values(care[1]) == {"grant_valid": 1, "grant_lane": 3}


def drive(where: Path, given: str, cycles: int = 3000) -> tuple[Wiring, Words, list[int], list[int]]:
    """Return the rows a design receives, the golden cycle due in each row, and the resets."""
    run = opened(where, "rr", RR, given, cycles=cycles)
    made = list(batches(run.wiring, run._traffic()))
    rows, origin = (np.concatenate([getattr(batch, name) for batch in made]) for name in ("rows", "origin"))
    return run.wiring, rows, origin.tolist(), run.wiring.inputs.layout["rst"].get(rows).tolist()


def test_ports_of_a_block_are_read_without_a_collection_of_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a block's ports causes no Amaranth warning and needs no garbage collection."""
    gc.collect()  # collect components of other tests
    with warnings.catch_warnings(record=True) as told, monkeypatch.context() as patch:
        warnings.simplefilter("always")
        patch.setattr(gc, "collect", lambda: pytest.fail("a collection takes a tenth of a second"))
        inputs, _ = block_rows(find_block("vlarb"), find_block("vlarb").mutated)
        patch.undo()
        gc.collect()

    assert "heads__request" in inputs.layout
    assert not [each for each in told if each.category is UnusedElaboratable]


def test_every_answer_is_due_once_but_for_resets(tmp_path: Path) -> None:
    """Each answer is due exactly once, in order, except around resets."""
    wiring, rows, origin, resets = drive(tmp_path, RR_MAP.replace("[reset]\n", "[reset]\n"), cycles=60_000)
    due = [number for number in origin if number >= 0]
    ready = wiring.inputs.layout["ready"].get(rows).tolist()

    assert due == sorted(set(due))
    assert 59_900 < len(due) < 60_000
    assert sum(resets) > 6
    assert not any(resets[at] or resets[at - 1] for at, number in enumerate(origin) if number >= 0)
    assert not any(ready[at] for at, number in enumerate(origin) if number >= 0)


def test_without_a_reset_none_is_given(tmp_path: Path) -> None:
    """Given a map without a reset, no reset is driven and all answers are compared."""
    given = RR_MAP.replace('[reset]\nport = "rst_ni"\nactive = "low"\nkind = "asynchronous"\ncycles = 2\n', "")
    given = given.replace("[absent]", "[constants]\nrst_ni = 1\n[absent]")

    _, _, origin, resets = drive(tmp_path, given, cycles=60_000)

    assert not any(resets)
    assert len([number for number in origin if number >= 0]) == 60_000


@pytest.mark.slow
def test_the_round_robin_of_the_examples_agrees(tmp_path: Path) -> None:
    """The example round robin agrees with golden for 100,000 cycles.

    It has a registered one-hot grant, active-low requests and an asynchronous reset.
    """
    done = ran(tmp_path, "rr", RR, RR_MAP, cycles=100_000)

    assert done.agrees, str(done.difference)
    assert done.cycles == 100_000
    assert done.checked > 99_900
    assert done.decisions > 50_000


@pytest.mark.slow
def test_the_first_wrong_turn_of_the_other_example_is_named() -> None:
    """Given the faulty example, the first wrong grant is reported with cycle, ports and history.

    Lane 0 sends one packet more than its weight, and the exit status is 1.
    """
    words = ["cosim", "wrr", "--dut", str(EXAMPLES / "wrr_arb.sv"), "--top", "wrr_arb", "--json"]
    done = CliRunner().invoke(app, [*words, "--map", str(EXAMPLES / "wrr_arb.toml"), "--seed", "1"])

    assert done.exit_code == 1, done.output
    told = json.loads(done.stdout)
    first = told["first_difference"]
    assert told["mismatches"] == 1
    assert (told["top"], told["dut"], told["map"]) == ("wrr_arb", words[3:4], str(EXAMPLES / "wrr_arb.toml"))
    assert told["outputs_left_out"] == ["from_list", "blocks", "unreachable", "packets_left"]
    assert (first["cycle"], first["golden_cycle"]) == (22, 17)
    assert first["outputs"] == [
        {"output": "vl", "expected": 1, "got": 0, "dut_ports": {"grant_lane": {"expected": 1, "got": 0}}}
    ]
    assert first["dut_inputs"]["pending_1"] == 1
    assert first["inputs"]["heads__request"] == ON_ALL
    assert [cycle["cycle"] for cycle in first["before"]] == [17, 18, 19, 20, 21]


@pytest.mark.slow
def test_second_example_agrees_once_corrected(tmp_path: Path) -> None:
    """The second example agrees with golden once its parameter is set in the map."""
    done = ran(tmp_path, "wrr", WRR, f"{WRR_MAP}\n[parameters]\nCOUNT_FIRST = 1\n", cycles=100_000)

    assert done.agrees, str(done.difference)
    assert done.checked > 99_900


@pytest.mark.slow
@pytest.mark.parametrize("given", [[], ["--reset", "async", "--reset-polarity", "low", "--initial"]])
def test_exported_arbiter_agrees(given: list[str], tmp_path: Path) -> None:
    """Our exported arbiter agrees with every output compared: without a map, or with the map of its other reset."""
    words = ["--param", "data_vls=2", "--param", "entries=3"]
    made = CliRunner().invoke(app, ["export", "vlarb", "--out", str(tmp_path), *words, *given])
    assert made.exit_code == 0, made.output
    options = ["--map", str(tmp_path / "vlarb_map.toml")] if given else words
    options += ["--cycles", "50000", "--json"]

    done = CliRunner().invoke(app, ["cosim", "vlarb", "--dut", str(tmp_path / "vlarb.sv"), "--top", "vlarb", *options])

    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["cycles"] == 50_000
    assert 49_900 < told["answers_compared"] < 50_000  # cycles of reset are not compared
    assert told["outputs_left_out"] == []


MUTANTS = {
    "starts at the served lane": ("~(pick | (pick - 1'b1))", "~(pick - 1'b1)"),
    "forgets the room": ("~req_ni & room_i", "~req_ni"),
    "two at once": ("(above & (~above + 1'b1))", "above"),
    "does not wait for the link": ("end else if (link_idle_i) begin", "end else begin"),
    "does not go round": ("(able & (~able + 1'b1))", "'0"),
    "does not turn": ("if (pick != '0) mask_q", "if (0) mask_q"),
    "keeps its grant": ("gnt_q <= '0;\n    end else if (link", "gnt_q <= gnt_q;\n    end else if (link"),
    "keeps its order in a reset": ("      mask_q <= '1;\n", ""),
    "decides a cycle late": ("assign gnt_o = gnt_q;", "always_ff @(posedge clk_i) gnt_o <= gnt_q;"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if at < 2 else pytest.param(name, marks=pytest.mark.long) for at, name in enumerate(MUTANTS)]
)
def test_a_wrong_round_robin_is_found_out(name: str, tmp_path: Path) -> None:
    """Given a faulty round robin, a difference is reported at output ``vl``."""
    done = ran(tmp_path, "rr", example("rr_arb.sv", MUTANTS[name]), RR_MAP, cycles=100_000)

    assert done.difference is not None
    assert done.difference.outputs[0].output == "vl"


@pytest.mark.slow
def test_the_wave_has_the_design_s_signals_around_the_difference(tmp_path: Path) -> None:
    """The wave contains the design's own signals around the differing cycle."""
    run = opened(tmp_path, "wrr", WRR, WRR_MAP)
    difference = run.run().difference
    assert difference is not None

    file, first, last = run.write_wave(tmp_path / "wave.vcd", difference)

    wave = file.read_text()
    assert first <= difference.cycle <= last
    assert {"winner", "grant_lane", "pending_3", "expected_grant_lane", "mismatch"} <= set(
        re.findall(r"\$var \w+ +\d+ \S+ (\w+)", wave)
    )
    assert max(int(time) for time in re.findall(r"^#(\d+)", wave, re.MULTILINE)) <= 10 * (last + 1)
    assert f"#{10 * difference.cycle}\n" in wave


TURNS_WITH_GRANT = "gnt_q <= '0;\n if (link_idle_i) mask_q <= ~(gnt_q | (gnt_q - 1'b1));\n end else"
WITH_GRANT = example(
    "rr_arb.sv",
    ("gnt_q <= '0;\n    end else if (link_idle_i)", TURNS_WITH_GRANT),
    ("      if (pick != '0) mask_q <= ~(pick | (pick - 1'b1));\n", ""),
)
"""Variant that samples the link in the cycle of the grant."""
FREE = example(
    "rr_arb.sv", ("end else if (gnt_q != '0) begin\n      gnt_q <= '0;\n    end else if (link_idle_i)", "end else")
)
"""Variant that decides in every cycle, independent of the previous grant."""
FREE_MAP = map_of(
    "rr_arb.toml",
    ('ready = "request"', 'between = "idle"'),
    ("[inputs]", "[constants]\nlink_idle_i = 0\n[inputs]"),
    ("[absent]", "[absent]\nready = 1"),
    without=['ready = "link'],
)
TWO = example(
    "wrr_arb.sv",
    MENDED,
    ("grant_valid <= any & ~scan_enable;", "early <= any; grant_valid <= early;"),
    ("grant_lane <= winner;", "early_lane <= winner; grant_lane <= early_lane;"),
    ("logic any, again;", "logic any, again, early; logic [ID_BITS-1:0] early_lane;"),
)
TABLE = "for (int lane = 0; lane < LANES; lane++) weight[lane] <= 0;"
BUILT_IN = example("wrr_arb.sv", MENDED, (TABLE, "weight[0] <= 3; weight[1] <= 1; weight[2] <= 0; weight[3] <= 7;"))
BUILT_IN_MAP = map_of(
    "wrr_arb.toml",
    ("[absent]", "[absent]\nprogram__enable = 0\nprogram__index = 0\nprogram__weight = 0"),
    ("[constants]", "[constants]\ncfg_write = 0\ncfg_lane = 0\ncfg_weight = 0"),
    without=['program__enable = "', "program__index = {", 'program__weight = "'],
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "design", "given", "wrong"),
    [
        ("rr", WITH_GRANT, RR_MAP.replace('"request"', '"grant"'), RR_MAP),
        pytest.param("rr", FREE, FREE_MAP, FREE_MAP.replace('"idle"', '"hold"'), marks=pytest.mark.long),
        pytest.param("wrr", TWO, WRR_MAP.replace("latency = 1", "latency = 2"), WRR_MAP, marks=pytest.mark.long),
        pytest.param(
            "wrr",
            example("wrr_arb.sv", MENDED, ("posedge", "negedge")),
            WRR_MAP.replace('port = "clk"', 'port = "clk"\nedge = "falling"'),
            WRR_MAP,
            marks=pytest.mark.long,
        ),
    ],
    ids=["ready with the grant", "requests withdrawn between", "latency 2", "falling edge"],
)
def test_a_design_agrees_in_its_own_timing_only(
    block: str, design: str, given: str, wrong: str, tmp_path: Path
) -> None:
    """A design agrees with a map of its own timing and differs with a map of another timing."""
    assert ran(tmp_path, block, design, given).agrees
    assert ran(tmp_path, block, design, wrong).difference is not None


@pytest.mark.slow
def test_a_design_with_its_table_built_in_is_compared_from_its_first_cycle(tmp_path: Path) -> None:
    """A design with a built-in table is compared from its first cycle. Another table is a difference."""
    assert ran(tmp_path, "wrr", BUILT_IN, BUILT_IN_MAP, table="[wrr]\nweight = [3, 1, 0, 7]\n").agrees

    wrong = ran(tmp_path, "wrr", BUILT_IN, BUILT_IN_MAP, table="[wrr]\nweight = [3, 1, 0, 8]\n")

    assert wrong.difference is not None
    assert "--table is missing: the design has a built-in table" in refusal(tmp_path, "wrr", WRR, BUILT_IN_MAP)


@pytest.mark.slow
@pytest.mark.long
def test_design_that_finishes_fails_its_run(tmp_path: Path) -> None:
    """Given a design that calls ``$finish``, the run ends with a failure that names the line."""
    done = ran(
        tmp_path, "rr", example("rr_arb.sv", ("gnt_q <= pick;", "gnt_q <= pick; if (pick == 4) $finish;")), RR_MAP
    )

    assert not done.agrees
    assert done.ended == "$finish at design.sv:30"


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("word", ["vlarb", "dtable"])
def test_a_line_rate_form_can_be_a_foreign_design(word: str, tmp_path: Path) -> None:
    """A line-rate form used as a foreign design agrees without a timing section in the map."""
    found = find_block(word)
    parameters = found.parameters(["form=line_rate", "data_vls=4"])
    (tmp_path / "design.sv").write_text(str(written(lambda: found.make(parameters), word)))
    options = ["--cycles", "30000", "--json", "--param", "form=line_rate", "--param", "data_vls=4"]

    done = CliRunner().invoke(app, ["cosim", word, "--dut", str(tmp_path / "design.sv"), "--top", word, *options])

    assert done.exit_code == 0, done.output
    assert 29_900 < json.loads(done.stdout)["answers_compared"] <= 30_000  # cycles of reset are not compared


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("block", ["sl2vl", "sc", "lft", "drr", "scfq", "dtable", "credit_ib", "vlbuffer"])
def test_every_block_can_be_a_foreign_design(block: str, tmp_path: Path) -> None:
    """Every block can be used as a foreign design and agrees, with memories written first."""
    found = find_block(block)
    words = [f"{name}={str(value).lower()}" for name, value in found.mutated.items()]
    (tmp_path / "design.sv").write_text(str(written(lambda: found.make(found.mutated), block)))
    options = ["--cycles", "30000", "--json", *(word for each in words for word in ("--param", each))]

    done = CliRunner().invoke(app, ["cosim", block, "--dut", str(tmp_path / "design.sv"), "--top", block, *options])

    assert done.exit_code == 0, done.output
    assert 29_900 < json.loads(done.stdout)["answers_compared"] <= 30_000  # cycles of reset are not compared


def test_a_module_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """Given two modules of one name, the design is refused."""
    assert "design.sv" in refusal(tmp_path, "rr", RR + RR, RR_MAP)


@pytest.mark.slow
def test_design_that_stops_at_start_up_fails_its_run(tmp_path: Path) -> None:
    """Given a design that calls ``$fatal`` at start-up, its run fails and names the file."""
    stops = RR.replace("endmodule", '  initial if (N < 8) $fatal(1, "N too small");\nendmodule')

    result = ran(tmp_path, "rr", stops, RR_MAP)

    assert not result.agrees
    assert "design.sv" in result.ended


@pytest.mark.slow
def test_a_grant_that_a_reset_masks_is_no_difference(tmp_path: Path) -> None:
    """A grant masked during a reset is not a difference."""
    design = """module comb (input logic clk, rst, go, input logic [3:0] req, output logic [3:0] gnt);
  logic [3:0] mask, above, pick;
  assign above = req & mask;
  assign pick = (above != 0) ? (above & (~above + 4'd1)) : (req & (~req + 4'd1));
  assign gnt = rst ? 4'd0 : pick;
  always_ff @(posedge clk)
    if (rst) mask <= '1;
    else if (go && pick != 0) mask <= ~(pick | (pick - 4'd1));
endmodule
"""
    given = """clock = "clk"
reset = "rst"
[block]
name = "rr"
data_vls = 4
vl15 = false
[inputs]
heads__request = "req"
ready = "go"
[absent]
heads__fits = { each = 1 }
heads__blocks = { each = 1 }
hold_data = 0
[outputs]
vl = { port = "gnt", encoding = "onehot" }
"""

    right, wrong = (
        ran(tmp_path, "rr", text, given) for text in (design, design.replace("mask <= '1", "mask <= 4'b1000"))
    )

    assert right.agrees
    assert right.checked > 10_000
    assert not wrong.agrees
