"""Exported testbench: independent of initial values, able to fail, portable over simulators."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import AS_BINARY, ROOT, assert_refused, call, long_rows, run_verilator
from vlane.registers.description import register_map
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim.first_difference import first_difference
from vlane.tb.machinery.cocotb_benches.cocotb_bench import simulator_installed
from vlane.tb.machinery.native.model import component_ports
from vlane.tb.machinery.recordings.bus_recording import record_register_block
from vlane.tb.machinery.recordings.recording import Recording, record

MEASURED_AND_FASTER = [
    "ports=2",
    "data_vls=2",
    "blocks=20",
    "minimum=8",
    "maximum=12",
    "largest=2",
    "lids=8",
    "marking=true",
    "measure=inputs",
    "speed=2",
    "busy_blocks=0",
    "data_bits=128",
]


def exported(name: str, where: Path, *given: str, cycles: int = 300, bus: bool = False) -> None:
    words = [word for parameter in given for word in ("--param", parameter)]
    words += ["--bus", "axi_lite"] if bus else []
    done = call("export", name, "--out", where, "--name", "dut", "--testbench", str(cycles), *words)
    assert done.status == 0, done.err


def stripped(text: str) -> str:
    """Return SystemVerilog without initial contents of memories."""
    text = re.sub(r"^  initial begin\n.*?^  end\n", "", text, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"\binitial\b", re.sub("//.*", "", text))
    return text


def strip(folder: Path) -> None:
    (folder / "dut.sv").write_text(stripped((folder / "dut.sv").read_text()))


def compiled(folder: Path, *options: str) -> Path:
    """Compile a testbench with Verilator, with warnings as errors."""
    run_verilator(folder, *AS_BINARY, "-Wall", *options, "--top", "dut_tb", "dut.sv", "dut_tb.sv", "-o", "bench")
    return folder / "obj_dir" / "bench"


def run(bench: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([bench, *options], cwd=bench.parent.parent, capture_output=True, text=True, check=False)


def flip_golden(folder: Path, cycle: int) -> None:
    """Flip the lowest bit of golden's outputs in one cycle."""
    vectors = folder / "dut_outputs.hex"
    lines = vectors.read_text().splitlines()
    at = [number for number, line in enumerate(lines) if line and not line.startswith("//")][cycle]
    lines[at] = lines[at][:-1] + f"{int(lines[at][-1], 16) ^ 1:x}"
    vectors.write_text("\n".join(lines) + "\n")


@pytest.mark.slow
def test_an_exported_block_passes_its_testbench_and_a_changed_vector_fails(tmp_path: Path) -> None:
    """The exported testbench passes, and a flipped bit in an expected vector fails with its cycle."""
    exported("vlarb", tmp_path, "form=line_rate", "data_vls=3", "entries=9", cycles=1500)
    bench = compiled(tmp_path)
    done = run(bench)
    assert done.returncode == 0, done.stdout
    assert "PASS: dut agrees with golden in 1500 cycles" in done.stdout

    flip_golden(tmp_path, 1200)
    again = run(bench)
    assert again.returncode != 0
    assert "cycle 1200: grant is" in again.stdout


@pytest.mark.long
@pytest.mark.parametrize(("name", "bus"), [("cc_source", False), ("cc_source", True), ("cc_marker", False)])
def test_congestion_control_passes_its_testbench(name: str, bus: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """The congestion-control blocks pass their exported testbenches at default size.

    CCT and SL settings are initialised at power-on.
    """
    exported(name, tmp_path, cycles=2000, bus=bus)
    done = run(compiled(tmp_path))
    assert "PASS: dut agrees with golden in 2000 cycles" in done.stdout, done.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "given", "bus"),
    [
        ("pause", [], False),
        ("pause", [], True),
        ("ecm_cp", [], False),
        ("ecm_rp", [], False),
        ("e2cm_prober", [], False),
        ("e2cm_prober", ["base=given"], True),
    ],
)
def test_ethernet_passes_its_testbench(name: str, given: list[str], bus: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """The Ethernet blocks pass their exported testbenches at default size.

    The prober first clears its records, and its given delays are written over the bus.
    """
    exported(name, tmp_path, *given, cycles=2000, bus=bus)
    done = run(compiled(tmp_path))
    assert "PASS: dut agrees with golden in 2000 cycles" in done.stdout, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given", "bus"),
    [
        ("lft", ["entries=40"], False),
        ("sl2vl", ["inputs=2", "outputs=3"], True),
        ("drr", ["data_vls=3"], True),
        pytest.param("cc_source", ["flows=8", "tick_cycles=64"], False, marks=pytest.mark.long),
        pytest.param("cc_source", ["flows=8", "cct_entries=256", "shift_first=true"], True, marks=pytest.mark.long),
        ("e2cm_prober", ["flows=4", "base=given"], True),
        pytest.param(
            "ib_switch",
            [
                "ports=2",
                "data_vls=2",
                "blocks=8",
                "minimum=4",
                "maximum=4",
                "largest=2",
                "lids=8",
                "crossbar=per_vl",
                "allocation=fifo",
            ],
            False,
            marks=pytest.mark.long,
        ),
        pytest.param(
            "ib_switch",
            [
                "ports=2",
                "data_vls=2",
                "blocks=16",
                "minimum=8",
                "maximum=8",
                "largest=2",
                "lids=8",
                "marking=true",
                "busy_blocks=0",
                "data_bits=128",
            ],
            True,
            marks=pytest.mark.long,
        ),
        pytest.param(
            "ib_switch",
            ["ports=2", "data_vls=2", "blocks=10", "minimum=3", "maximum=6", "largest=3", "lids=8", "speed=2"],
            False,
            marks=pytest.mark.long,
        ),
        *(pytest.param("ib_switch", MEASURED_AND_FASTER, bus, marks=pytest.mark.long) for bus in (False, True)),
    ],
)
def test_no_initial_value_is_needed(name: str, given: list[str], bus: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """Without initial values, an exported block passes its testbench from three random power-on states."""
    exported(name, tmp_path, *given, cycles=500, bus=bus)
    strip(tmp_path)
    bench = compiled(tmp_path, "--x-initial", "unique", "--x-assign", "unique")
    for seed in (1, 2, 3):
        done = run(bench, "+verilator+rand+reset+2", f"+verilator+seed+{seed}")
        assert "PASS: dut agrees with golden in 500 cycles" in done.stdout, done.stdout

    if bus:
        flip_golden(tmp_path, 700)  # bus outputs are compared while tables are written
        assert run(bench).returncode != 0


IN_ICARUS = [
    ("vlarb", ["entries=8"], False),
    ("vlarb", ["form=line_rate"], True),
    ("dtable", ["entries=8"], True),
    ("dtable", ["form=line_rate"], False),
    ("dtable", ["form=ib"], False),
    ("drr", ["data_vls=4"], False),
    ("scfq", ["data_vls=4"], True),
    ("rr", ["requesters=4"], True),
    ("sl2vl", ["inputs=2"], False),
    ("sc", ["ports=2"], False),
    ("lft", ["entries=64", "lookups=2"], True),
    ("credit_ib", ["data_vls=2"], False),
    ("credit_opa", ["vls=2"], True),
    ("cc_source", ["flows=8"], True),
    ("vlbuffer", ["vls=2"], False),
    ("vlbuffer", ["vls=4", "form=static", "minimum=16", "maximum=16"], False),
    ("ib_switch", ["ports=2", "data_vls=2", "blocks=8", "minimum=2", "maximum=4", "largest=2", "lids=8"], False),
    (
        "ib_switch",
        [
            "ports=2",
            "data_vls=2",
            "blocks=16",
            "minimum=8",
            "maximum=8",
            "largest=2",
            "lids=8",
            "credit=fcp",
            "scheduler=dtable",
            "entries=8",
            "line_rate=true",
        ],
        True,
    ),
    (
        "ib_switch",
        [
            "ports=2",
            "data_vls=2",
            "blocks=8",
            "minimum=4",
            "maximum=4",
            "largest=2",
            "lids=8",
            "crossbar=per_vl",
            "allocation=fifo",
        ],
        False,
    ),
    (
        "ib_switch",
        ["ports=2", "data_vls=2", "blocks=10", "minimum=3", "maximum=6", "largest=3", "lids=8", "speed=2"],
        False,
    ),
    ("ib_switch", MEASURED_AND_FASTER, False),
    ("opa_switch", ["ports=2", "data_vls=2", "lids=8", "scheduler=drr"], True),
]
KEPT_IN_ICARUS = (0, 4, 6, 8, 10, 12, 15, 16)
"""Numbers of the instances that do not wait for ``make long``: blocks of each family, with and without a bus."""


@pytest.mark.slow
@pytest.mark.skipif(not simulator_installed("icarus"), reason="Icarus is not installed")
@pytest.mark.parametrize(("name", "given", "bus"), long_rows(KEPT_IN_ICARUS, IN_ICARUS))
def test_a_four_state_simulator_knows_every_output(
    name: str,
    given: list[str],
    bus: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
) -> None:
    """Given a four-state simulator, no compared output is unknown, with or without initial values."""
    exported(name, tmp_path, *given, bus=bus)
    for with_initial_values in (True, False):
        if not with_initial_values:
            strip(tmp_path)
        subprocess.run(["iverilog", "-g2012", "-o", "bench", "dut.sv", "dut_tb.sv"], cwd=tmp_path, check=True)
        done = subprocess.run(["vvp", "bench"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "PASS: dut agrees with golden in 300 cycles" in done.stdout, done.stdout[-2000:]


WAVE = """$timescale 1ps $end
$scope module dut $end
$scope module switch_2 $end
$var wire 1 # tx__0__valid $end
$var wire 2 $ tx__0__vl [1:0] $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
0#
b00 $
#3000
1#
#5000
b10 $
0#
"""


@pytest.mark.parametrize(
    ("valid", "vl", "words"), [(0, 0, "tx__0__valid in cycle 7 is 1"), (1, 3, "tx__0__vl in cycle 7 is 0")]
)
def test_the_first_signal_that_differs_is_that_of_the_cycle_before_the_edge(valid: int, vl: int, words: str) -> None:
    """The wave reports the value before the clock edge as the value of a cycle."""
    found = {"cycle": 7, "time": 5000, "expected": {"tx__0__valid": valid, "tx__0__vl": vl}}
    assert first_difference(WAVE.encode(), "dut.switch_2", found).startswith(f"dut.switch_2.{words} in the wave, but")


@pytest.mark.slow
def test_a_fault_under_cocotb_is_named_by_signal_cycle_and_values() -> None:
    """A fault under cocotb is reported with the signal, cycle and values of the wave.

    The bench reports the same values.
    """
    called = call(
        "cosim", "rr", "--param", "requesters=3", "--engine", "cocotb", "--cycles", "1500", "--fault", "12", "--json"
    )

    assert called.status == 1, called.err
    done = called.json()
    first, _, seen = done["mismatch"].partition("\n")
    found = re.fullmatch(r"rr\.(\w+) in cycle (\d+) is (\d+) in the wave, but (\d+) in golden", first)
    assert found
    name, cycle, shown, wanted = found.groups()
    assert f"cycle {cycle}: {name} is {shown}, golden {wanted}" in seen
    assert (done["mismatch_cycle"], done["fault"][:9]) == (int(cycle), "mutant 12")


def recorded(name: str, *, bus: bool, cycles: int = 400) -> Recording:
    block = BLOCKS[name]
    parameters = block.defaults()
    ports = component_ports(block.make(parameters))
    if not bus:
        return record(name, parameters, ports, block.qualify, cycles=cycles, seed=1)
    from vlane.hdl.registers.register_port import RegisteredBlock  # noqa: PLC0415

    registers = register_map(name, parameters)
    outside = component_ports(RegisteredBlock(registers, block.make(parameters)))
    return record_register_block(registers, parameters, ports, outside, cycles=cycles, seed=1)


def test_a_recording_begins_with_a_reset_and_writes_memories_before_it_compares() -> None:
    """A recording resets the block, writes its memories, resets again and only then compares."""
    made = recorded("sl2vl", bus=False)
    rst, enable = (made.inputs[name].get(made.rows[: made.first]) for name in ("rst", "program__enable"))
    rows = made.inputs["out_port"]
    assert list(rst[:4]) == [1, 1, 1, 1]
    assert len(set(rows.get(made.rows[:4]).tolist())) > 1  # other inputs are random
    assert int((enable & (rst == 0)).sum()) == 8  # one row for each output
    assert list(rst[-4:]) == [1, 1, 1, 1]
    assert (made.shown, len(made.expected)) == (made.first, 400)


def test_the_bus_writes_the_tables_reads_every_register_and_then_golden_decides() -> None:
    """A recording over the bus writes all tables, reads all registers and then compares decisions."""
    made = recorded("vlarb", bus=True)
    registers = register_map("vlarb", BLOCKS["vlarb"].defaults())
    before = made.rows[made.shown : made.first]
    took = made.inputs["s_axil_awvalid"].get(before) & made.outputs["s_axil_awready"].get(made.expected[: len(before)])
    assert int(took.sum()) == 2 * 8 + 1 + 1  # two lists, the limit, the swap
    reads = made.inputs["s_axil_araddr"].get(made.rows) * made.inputs["s_axil_arvalid"].get(made.rows)
    assert {each.address for each in registers} <= {int(at) & ~3 for at in np.unique(reads)}
    after = made.expected[made.first - made.shown :]
    assert made.outputs["grant"].get(after).sum() > 50
    assert made.outputs["s_axil_bresp"].get(after).any()  # some writes are refused
    identity = made.outputs["s_axil_rdata"].get(made.expected) == registers["identity"].value  # type: ignore[union-attr]
    assert identity.any()


def fusesoc(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "fusesoc"
    command = [str(program), "--config", str(folder / "fusesoc.conf"), "--cores-root", str(folder), "run", *words]
    (folder / "fusesoc.conf").write_text("[main]\n")
    return subprocess.run(
        [sys.executable, "-m", "vlane.sim_top.with_verilator", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.long
@pytest.mark.parametrize("tool", ["verilator", "icarus"])
def test_the_core_lints_and_runs_as_exported(tool: str, tmp_path: Path) -> None:
    """FuseSoC lints and simulates the exported core file."""
    if tool == "icarus" and not simulator_installed("icarus"):
        pytest.skip("Icarus is not installed")
    exported("sl2vl", tmp_path, "inputs=2", bus=True)
    for target in ("lint", "sim"):
        chosen = ["dut"] if tool == "verilator" else ["dut", "--tool", tool]
        done = fusesoc(tmp_path, "--build-root", str(tmp_path / target), "--target", target, *chosen)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "%Warning" not in done.stdout + done.stderr
    assert "PASS: dut agrees with golden in 300 cycles" in done.stdout + done.stderr


def test_a_command_runs_with_the_verilator_of_the_set_up() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vlane.sim_top.with_verilator", "verilator", "--version"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("Verilator 5.")


@pytest.mark.parametrize("cycles", ["-1", "100000000000000", "1" + "0" * 40])
def test_a_length_that_no_file_could_hold_is_refused(cycles: str, tmp_path: Path) -> None:
    refused = call("export", "rr", "--out", tmp_path / "none", "--testbench", cycles)
    assert_refused(refused, "--testbench must be 0 to 1048576 cycles")
    assert_refused(call("export", "opa_switch", "--out", tmp_path / "none", "--testbench", "1048576"), "--testbench")
    assert not (tmp_path / "none").exists()
