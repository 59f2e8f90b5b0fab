"""Hardware switches within the golden network: equal packets in equal cycles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA, assert_refused, call, long_but
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cli.block_verbs import network as cli_network
from vlane.sim_top.cosim import network_hardware
from vlane.sim_top.scenario.world import make_world
from vlane.study.model import read_study
from vlane.tables.lft import UNASSIGNED

STUDY = """[network]
topology = "edges"
file = "cables.txt"

[link]
flight_cycles = 1

[buffers]
blocks = 24
minimum_blocks = 4
largest_blocks = 4

[run]
loads = [0.5]
cycles = 6000
warm_up_cycles = 1000

[[traffic]]
sl = 0
share = 0.6
bytes = [64, 256]

[[traffic]]
sl = 1
share = 0.4
bytes = 64
burst = 3
"""
FAULTS = """
[[stall]]
cycle = 900
cycles = 200
switch = 1
port = 2

[[stall]]
cycle = 2000
cycles = 77
switch = 0
port = 1

[[rewrite]]
cycle = 2500
switch = 1
lid = 4
port = 255

[[rewrite]]
cycle = 3500
switch = 1
lid = 4
port = 2

[[rewrite]]
cycle = 3499
switch = 1
lid = 2
port = 255

[[rewrite]]
cycle = 3501
switch = 1
lid = 2
port = 1
"""
MORE = (("fifo", "fcp"), ("turns", "returns"), ("turns", "fcp"))
"""Allocations and credit schemes tested only in ``make long``."""
CABLES = "host H*\nS1 S2\nS2 S3\nS1 H1\nS1 H2\nS2 H3\nS3 H4\nS3 H5\n"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return a study of three switches in a row."""
    file = tmp_path / "row.toml"
    file.write_text(STUDY)
    (tmp_path / "cables.txt").write_text(CABLES)
    return file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rtl", "flight"),
    [
        ("0,2", 4),
        ("all", 1),
        *(
            pytest.param(rtl, flight, marks=pytest.mark.long)
            for rtl, flight in (("1", 1), ("1", 4), ("0,2", 1), ("all", 4))
        ),
    ],
)
def test_deliveries_are_the_same_with_any_switches_in_hardware(rtl: str, flight: int, study: Path) -> None:
    """With any of three switches in hardware, each delivery happens in golden's cycle.

    Cables have flight times of 1 and 4 cycles.
    """
    study.write_text(STUDY.replace("flight_cycles = 1", f"flight_cycles = {flight}"))

    called = call("cosim", "network", study, "--rtl", rtl, "--rate", "HDR 4X", "--json")

    assert called.status == 0, called.err
    done = called.json()
    assert (done["rate_gbps"], done["cycle_ns"], done["simulated_ns"]) == (200, 2.56, 6000 * 2.56)
    assert done["switches"] == ([0, 1, 2] if rtl == "all" else list(map(int, rtl.split(","))))
    assert (done["mismatches"], done["bad_flits"], done["cycles"]) == (0, 0, 6000)
    assert done["digest_golden"] == done["digest_hardware"]
    assert done["deliveries"] > 4000


@pytest.mark.long
@pytest.mark.parametrize(
    ("credit", "rtl", "flight"),
    [("returns", "all", 2), ("returns", "1", 1), ("returns", "0,2", 4), ("fcp", "all", 1), ("fcp", "1", 2)],
)
def test_deliveries_are_the_same_with_a_crossbar_faster_than_the_links(
    credit: str, rtl: str, flight: int, study: Path
) -> None:
    """With a crossbar speed-up of 2, each delivery happens in golden's cycle.

    Two blocks are returned in one cycle, links stall and tables are rewritten.
    """
    sizes = "[switch]\nspeed = 2\n[buffers]\nblocks = 16\nminimum_blocks = 8"
    text = STUDY.replace("flight_cycles = 1", f'flight_cycles = {flight}\ncredits = "{credit}"')
    text = text.replace("[buffers]\nblocks = 24\nminimum_blocks = 4", sizes) + FAULTS
    study.write_text(text)

    called = call("cosim", "network", study, "--rtl", rtl, "--json")
    slower = call("cosim", "network", study, "--rtl", "1", "--set", "switch.speed=1", "--json")

    assert called.status == 0, called.err
    done = called.json()
    assert done["digest_golden"] == done["digest_hardware"] != slower.json()["digest_golden"]
    assert (done["mismatches"], done["bad_flits"], done["parameters"]["speed"]) == (0, 0, 2)
    assert done["deliveries"] > 3000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("allocation", "credit", "rtl", "faults"),
    [
        ("fifo", "returns", "all", FAULTS),
        *(
            pytest.param(*form, *where, marks=pytest.mark.long)
            for form in (("fifo", "returns"), *MORE)
            for where in (("1", FAULTS), ("all", FAULTS), ("0,2", ""))
            if (*form, *where) != ("fifo", "returns", "all", FAULTS)
        ),
    ],
)
def test_deliveries_are_the_same_with_a_crossbar_port_per_vl(
    allocation: str, credit: str, rtl: str, faults: str, study: Path
) -> None:
    """With a crossbar port per VL, each delivery happens in golden's cycle.

    Variants are both allocations, both credit schemes, and faults.
    """
    switch = f'[switch]\ncrossbar = "per_vl"\nallocation = "{allocation}"\n[link]\ncredits = "{credit}"\n'
    sizes = "[buffers]\nblocks = 16\nminimum_blocks = 8"
    text = STUDY.replace("[link]\n", switch).replace("[buffers]\nblocks = 24\nminimum_blocks = 4", sizes)
    study.write_text(text + faults)

    called = call("cosim", "network", study, "--rtl", rtl, "--json")

    assert called.status == 0, called.err
    done = called.json()
    assert (done["mismatches"], done["bad_flits"], done["parameters"]["crossbar"]) == (0, 0, "per_vl")
    assert done["digest_golden"] == done["digest_hardware"]
    assert done["deliveries"] > 4000
    assert done["dropped"] == done["golden_dropped"]
    assert (done["dropped"] > 10) == bool(faults)


@pytest.mark.slow
@pytest.mark.parametrize("rtl", [pytest.param("1", marks=pytest.mark.long), "all"])
def test_deliveries_are_the_same_with_omni_path_switches_in_hardware(rtl: str, study: Path) -> None:
    """With Omni-Path hardware, each delivery happens in golden's cycle.

    The network has two MPorts, one of them partly used, five-bit SLs, stalls and table rewrites.
    """
    channels, lanes = [0] * 20 + [17] * 12, [0] * 15 + [15] + [1] * 16
    settings = f'[switch]\nkind = "opa"\n[link]\nsc_of_sl = {channels}\nvl_of_sc = {lanes}\n'
    study.write_text(STUDY.replace("[link]\n", settings).replace("sl = 1\n", "sl = 21\n") + FAULTS)
    (study.parent / "cables.txt").write_text(CABLES + "S2 H6\nS2 H7\nS2 H8\n")

    called = call("cosim", "network", study, "--rtl", rtl, "--json")

    assert called.status == 0, called.err
    done = called.json()
    assert (done["mismatches"], done["bad_flits"], done["parameters"]["ports"]) == (0, 0, 6)
    assert done["digest_golden"] == done["digest_hardware"]
    assert done["deliveries"] > 4000
    assert done["dropped"] == done["golden_dropped"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("rtl", long_but([["1"]], [["1"], ["all"], ["0", "2"]]), ids=" ".join)
def test_faults_are_the_same_in_hardware(rtl: list[str], study: Path) -> None:
    """Given stalled links and a removed LID, hardware and golden drop and deliver the same packets."""
    study.write_text(STUDY)
    options = [word for name in rtl for word in ("--rtl", name)]
    whole = call("cosim", "network", study, *options, "--json").json()
    study.write_text(STUDY + FAULTS)

    called = call("cosim", "network", study, *options, "--json")

    assert called.status == 0, called.err
    done = called.json()
    assert done["digest_golden"] == done["digest_hardware"] != whole["digest_golden"]
    assert done["bad_flits"] == 0
    if "0" not in rtl:
        assert done["dropped"] == done["golden_dropped"] > 30
    assert whole["golden_dropped"] == 0


@pytest.mark.long
@pytest.mark.parametrize("rtl", [["1"], ["all"]], ids=" ".join)
@pytest.mark.parametrize("scheduler", ["rr", "vlarb"])
def test_lost_flow_control_packets_are_the_same_in_hardware(rtl: list[str], scheduler: str, study: Path) -> None:
    """Given lost FCPs and a stalled link, each delivery happens in golden's cycle.

    One loss starts in the cycle after an FCP period.
    """
    text = STUDY.replace("[buffers]\nblocks = 24\nminimum_blocks = 4", "[buffers]\nblocks = 16\nminimum_blocks = 8")
    text = text.replace("[link]\n", '[link]\ncredits = "fcp"\nfcp_blocks = 8\nfcp_period_cycles = 400\n')
    if scheduler == "vlarb":
        text += '[scheduler]\nname = "vlarb"\ntable = "table.toml"\nparameters = { form = "line_rate" }\n'
        (study.parent / "table.toml").write_text(
            "[vlarb]\nhigh = [[0, 4]]\nlow = [[0, 9], [1, 9]]\nlimit_of_high_priority = 1\n"
        )
    stall = FAULTS[: FAULTS.index("[[rewrite]]")]
    losses = "".join(
        f"[[loss]]\ncycle = {cycle}\ncycles = 700\nswitch = {switch}\nport = {port}\n"
        for cycle, switch, port in ((801, 1, 1), (1100, 0, 1), (2402, 1, 2), (3001, 1, 3), (4001, 1, 1))
    )
    options = [word for name in rtl for word in ("--rtl", name)]
    study.write_text(text + stall)
    whole = call("cosim", "network", study, *options, "--json").json()
    study.write_text(text + stall + losses)

    called = call("cosim", "network", study, *options, "--json")

    assert called.status == 0, called.err
    done = called.json()
    assert done["digest_golden"] == done["digest_hardware"] != whole["digest_golden"]
    assert (done["bad_flits"], done["dropped"]) == (0, 0)
    assert done["deliveries"] > 3000
    assert done["parameters"]["credit"] == "fcp"


@pytest.mark.slow
def test_a_switch_with_another_table_is_noticed(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a hardware switch with another SL2VL table, the run reports a mismatch with exit status 1."""
    whole = network_hardware._boot

    def other(world: Any, switch: int, inputs: Any, words: int, parameters: Any) -> Any:
        rows = whole(world, switch, inputs, words, parameters)
        for row in rows:
            packed = inputs["sl2vl__row"].value(row)
            if packed:
                inputs["sl2vl__row"].put(row, packed | 1)
        return rows

    monkeypatch.setattr(network_hardware, "_boot", other)

    called = call("cosim", "network", study, "--rtl", "1", "--json")

    assert called.status == 1
    assert called.json()["mismatches"] == 1


FIELDS = ("engine", "mixed_seconds", "cycles_per_second", "seconds", "golden_seconds")
"""Fields of the JSON document that may differ between engines."""


@pytest.mark.long
def test_a_network_under_cocotb_is_the_one_of_the_native_engine(study: Path) -> None:
    """The native and the cocotb engine report equal results, including drops.

    Hardware switches are neighbours or separated by a golden switch, with stalls and table rewrites.
    """
    study.write_text(STUDY.replace("cycles = 6000", "cycles = 4000") + FAULTS)
    for rtl in ("0,2", "0,1"):
        documents = [
            call("cosim", "network", study, "--rtl", rtl, "--engine", engine, "--json").json()
            for engine in ("native", "cocotb")
        ]

        native, cocotb = ({key: each[key] for key in each if key not in FIELDS} for each in documents)
        assert native == cocotb
        assert [each["engine"] for each in documents] == ["native", "cocotb"]
        assert (cocotb["equal"], cocotb["mismatches"], cocotb["mismatch"]) == (True, 0, None)
        assert list(documents[0]) == list(documents[1])


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["irregular_rtl", "irregular_opa_rtl", "irregular_fcp_rtl", "irregular_per_vl_rtl", "tree_speed2_rtl"]
)
def test_two_switches_of_a_whole_network_under_cocotb(name: str) -> None:
    """Two neighbouring hardware switches of each shipped network agree with golden under cocotb."""
    file = DATA.parent.parent / "sim_top" / "configs" / f"{name}.toml"

    called = call("cosim", "network", file, "--rtl", "0,1", "--engine", "cocotb", "--cycles", "20000", "--json")

    assert called.status == 0, called.err
    assert called.json()["equal"]


@pytest.mark.long
def test_the_first_signal_that_differs_is_read_from_the_wave(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a wrong table in one switch, the mismatch names signal, cycle and both values from the wave."""
    whole = network_hardware._boot

    def other(world: Any, switch: int, inputs: Any, words: int, parameters: Any) -> Any:
        rows = whole(world, switch, inputs, words, parameters)
        for row in rows:
            packed = inputs["sl2vl__row"].value(row)
            if packed and switch == 2:
                inputs["sl2vl__row"].put(row, packed | 1)
        return rows

    monkeypatch.setattr(network_hardware, "_boot", other)
    study.write_text(STUDY.replace("cycles = 6000", "cycles = 1500"))

    called = call("cosim", "network", study, "--rtl", "0,2", "--engine", "cocotb", "--json")

    assert called.status == 1
    assert not called.json()["equal"]
    wave = r"network\.switch_2\.tx__\d__(vl|valid) in cycle \d+ is (\d) in the wave, but (\d) in golden"
    found = re.fullmatch(wave, called.json()["mismatch"])
    assert found
    assert found.group(2) != found.group(3)


@pytest.mark.slow
@pytest.mark.parametrize("word", [4, 5], ids=["names_another_packet", "header"])
def test_a_flit_that_changes_on_its_way_is_noticed(word: int, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a flit changed within the switch, the run reports bad flits or gets stuck."""
    layout = network_hardware.switch_elements

    def spoiled(*given: Any, **sizes: Any) -> Any:
        ins, outs = layout(*given, **sizes)
        for port in range(sizes["ports"]):
            outs[6 * port + word, 1] += 1  # read from the second bit on
            outs[6 * port + word, 2] -= 1
        return ins, outs

    monkeypatch.setattr(network_hardware, "switch_elements", spoiled)
    study.write_text(STUDY.replace("[run]", "[run]\nstuck_cycles = 1000"))

    called = call("cosim", "network", study, "--rtl", "1", "--json")

    assert called.status == 1
    assert "STUCK" in called.err if word == 4 else called.json()["bad_flits"] > 1000


@pytest.mark.slow
def test_packets_without_a_port_drop_at_the_same_switch(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a LID without a port, hardware drops the packets golden drops, at the same switch."""

    def broken(*given: Any) -> Any:
        world = make_world(*given)
        world.routes.lft[1, 4] = UNASSIGNED
        return world

    monkeypatch.setattr(cli_network, "make_world", broken)
    monkeypatch.setattr(cli_network, "check_world", lambda _: None)

    called = call("cosim", "network", study, "--rtl", "1", "--json")

    assert called.status == 0, called.err
    done = called.json()
    assert done["dropped"] == done["golden_dropped"] > 300
    assert done["digest_golden"] == done["digest_hardware"]


@pytest.mark.parametrize(
    ("old", "new", "options", "words"),
    [
        ("", "", [], ["--rtl", "0 to 2, or all", "missing"]),
        ("", "", ["--rtl", "3"], ["--rtl", "0 to 2, or all", "3"]),
        ("", "", ["--rtl", "one"], ["--rtl", "0 to 2, or all", "one"]),
        ("", "", ["--rtl", "0,0"], ["--rtl names switch 0 twice"]),
        ("", "", ["--rtl", "1", "--rtl", "all"], ["--rtl names switch 1 twice"]),
        ("", "", ["--rtl", "0,9"], ["--rtl must be 0 to 2, or all, not 9"]),
        ("", "", ["--rtl", "1", "--engine", "coctb"], ["--engine must be one of native, cocotb", "coctb"]),
        ("", "", ["--rtl", "1", "--simulator", "icarus"], ["--simulator", "cannot be used with network"]),
        ("", "", ["--rtl", "0,"], ["--rtl", "0 to 2, or all"]),
        ("", "", ["--rtl", "1", "--cycles", "0"], ["--cycles", "1 to", "0"]),
        (
            'topology = "edges"',
            'topology = "edges"\ntrunk_choice = "packet"',
            ["--rtl", "1"],
            ["network.trunk_choice", "lid for switches in hardware", "packet"],
        ),
        ("flight_cycles = 1", "flit_bytes = 8", ["--rtl", "1"], ["link.flit_bytes", "64 for switches in", "8"]),
        ("flight_cycles = 1", 'credits = "sideband"', ["--rtl", "1"], ["link.credits", "returns or fcp", "sideband"]),
        (
            "[buffers]",
            '[switch]\nallocation = "fifo"\n[buffers]',
            ["--rtl", "1"],
            ["switch.allocation", "turns or bids with crossbar multiplexed for switches in hardware", "fifo"],
        ),
        (
            "[buffers]",
            '[switch]\ncrossbar = "flits"\n[buffers]',
            ["--rtl", "1"],
            ["switch.crossbar", "multiplexed or per_vl for switches in hardware", "flits"],
        ),
        (
            "[buffers]",
            '[switch]\nkind = "opa"\ncrossbar = "flits"\n[buffers]',
            ["--rtl", "1"],
            ["switch.crossbar", "multiplexed for switches in hardware", "flits"],
        ),
        ("[buffers]", "[switch]\niterations = 2\n[buffers]", ["--rtl", "all"], ["switch.iterations", "1 for", "2"]),
        (
            "[buffers]",
            '[switch]\nkind = "opa"\ncentral_blocks = 7\n[buffers]',
            ["--rtl", "1"],
            ["switch.central_blocks", "at least 8", "7"],
        ),
        ("largest_blocks = 4\n", "", ["--rtl", "1"], ["buffers.largest_blocks", "equal for all VLs", "[4, 1]"]),
        ("largest_blocks = 4", "largest_blocks = 3", ["--rtl", "1"], ["buffers.largest_blocks", "at least 4", "3"]),
        ("minimum_blocks = 4", "minimum_blocks = [4, 5]", ["--rtl", "1"], ["buffers.minimum_blocks", "[4, 5]"]),
    ],
)
def test_studies_without_hardware_support_are_refused(
    old: str, new: str, options: list[str], words: list[str], study: Path
) -> None:
    """Given a study that needs features without hardware, one line names the key, before anything is compiled."""
    study.write_text(STUDY.replace(old, new, 1))

    assert_refused(call("cosim", "network", study, *options), *words)


def test_study_and_switches_are_given_with_network_only(study: Path) -> None:
    """A study and ``--rtl`` are accepted with ``network`` only, which requires a study."""
    assert_refused(call("cosim", "vlarb", study), "STUDY, --rtl and --set apply only to `vlane cosim network`")
    assert_refused(call("cosim", "rr", "--rtl", "1"), "STUDY, --rtl and --set apply only to `vlane cosim network`")
    assert_refused(
        call("cosim", "network", study, "--rtl", "1", "--fault", "7"), "--fault", "cannot be used with network"
    )
    assert_refused(call("cosim", "network", "--rtl", "1"), "STUDY is missing", "needs a study file")
    assert_refused(call("cosim", "network", DATA / "none.toml", "--rtl", "1"), "none.toml", "cannot be read")


def test_main_job_runs_one_switch_in_both_ways() -> None:
    """The Makefile's single switch has the parameters of its network's switches, so ``make cosim`` compiles once."""
    makefile = (DATA.parent.parent / "Makefile").read_text()
    (words,) = re.findall(r"^SWITCH := \$\(addprefix --param ,(.*)\)$", makefile, re.MULTILINE)
    file = DATA.parent.parent / "sim_top" / "configs" / "fabric_rtl.toml"

    wanted = network_hardware.hardware_parameters(make_world(read_study(file), file.parent))

    assert BLOCKS["ib_switch"].parameters(words.split()) == wanted
