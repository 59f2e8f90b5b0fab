"""The exported testbench: passes on the exported block, fails on another, and its core names what is there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from vlane.tb import verilator
from vlane.tb.cocotb_bench import simulator_installed

from tests.conftest import assert_refused, call


def simulate(folder: Path, top: str) -> subprocess.CompletedProcess[str]:
    """Compile and run a testbench with Verilator alone."""
    subprocess.run(
        [str(verilator.executable()), "--binary", "--timing", "-Wno-fatal", "-O0",
         "-CFLAGS", "-std=gnu++20 -fcoroutines", "-MAKEFLAGS", "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0",
         "--top", f"{top}_tb", f"{top}.v", f"{top}_tb.sv", "-o", "bench"],
        cwd=folder, env=verilator.environment(), check=True, capture_output=True,
    )  # fmt: skip
    return subprocess.run([folder / "obj_dir" / "bench"], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_an_exported_block_passes_its_testbench_and_a_changed_vector_fails(tmp_path: Path) -> None:
    name = "vlarb"
    given = ("--param", "form=line_rate", "--param", "entries=20")
    assert call("export", name, "--out", tmp_path, "--testbench", "1500", *given).status == 0
    done = simulate(tmp_path, name)
    assert done.returncode == 0, done.stdout
    assert f"PASS: {name} is golden in 1500 cycles" in done.stdout

    vectors = tmp_path / f"{name}_outputs.hex"
    lines = vectors.read_text().splitlines()
    lines[1200] = lines[1200][:-1] + f"{int(lines[1200][-1], 16) ^ 1:x}"
    vectors.write_text("\n".join(lines) + "\n")
    again = subprocess.run([tmp_path / "obj_dir" / "bench"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode != 0
    assert "cycle 1200: grant is" in again.stdout


IN_ICARUS = [
    ("vlarb", "entries=8"), ("vlarb", "form=line_rate"), ("dtable", "entries=8"), ("dtable", "form=line_rate"),
    ("drr", "data_vls=4"), ("scfq", "data_vls=4"), ("rr", "data_vls=4"), ("sl2vl", "inputs=2"), ("sc", "ports=2"),
    ("lft", "entries=64"), ("credit_ib", "data_vls=2"), ("credit_opa", "vls=2"), ("vlbuffer", "vls=2"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not simulator_installed("icarus"), reason="Icarus is not installed")
@pytest.mark.parametrize(("name", "given"), IN_ICARUS)
def test_a_four_state_simulator_knows_every_output_from_the_start(name: str, given: str, tmp_path: Path) -> None:
    assert call("export", name, "--out", tmp_path, "--testbench", "300", "--param", given).status == 0
    command = ["iverilog", "-g2012", "-o", "bench", f"{name}.v", f"{name}_tb.sv"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(["vvp", "bench"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"PASS: {name} is golden in 300 cycles" in done.stdout, done.stdout


def test_a_combinational_process_is_started(tmp_path: Path) -> None:
    assert call("export", "vlarb", "--out", tmp_path).status == 0
    text = (tmp_path / "vlarb.v").read_text()
    triggers = re.findall(r"reg (\S*verilog_backend\S*) *= (\d);", text)
    assert triggers
    assert all(value == "1" and f"initial {name} = 0;" in text for name, value in triggers)


def test_the_core_names_files_that_are_there(tmp_path: Path) -> None:
    assert call("export", "rr", "--out", tmp_path, "--testbench", "100").status == 0
    core = (tmp_path / "rr.core").read_text()
    assert core.startswith("CAPI=2:\n")
    for name in ("rr.v", "rr_tb.sv", "rr_inputs.hex", "rr_outputs.hex"):
        assert name in core
        assert (tmp_path / name).is_file()


def test_a_negative_length_is_refused(tmp_path: Path) -> None:
    assert_refused(call("export", "rr", "--out", tmp_path / "none", "--testbench", "-1"), "--testbench", "-1")
    assert not (tmp_path / "none").exists()
