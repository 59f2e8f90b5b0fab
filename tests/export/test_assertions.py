"""Checkers of exported blocks: the golden testbench keeps every guarantee, and broken stimuli and texts are found."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import AS_BINARY, assert_refused, call, long_but, run_verilator
from vlane.sim_top.blocks import BLOCKS
from vlane.tb import by_name


@dataclass(frozen=True)
class Case:
    """Instance, and two faults that the run-time options ``+input`` and ``+bug`` enable.

    Parameters
    ----------
    given : tuple of str
        Parameters of the instance.
    port, assumption : str
        Input that is 0 with ``+input``, and the assumption that this violates.
    driven, guarantee : str
        Assigned output that is inverted with ``+bug``, and the guarantee that this violates.
    """

    given: tuple[str, ...]
    port: str
    assumption: str
    driven: str
    guarantee: str


CASES = {
    "vlarb": Case(("data_vls=2", "entries=4"), "heads_blocks", "sizes", "assign grant =", "size"),
    "dtable": Case(("data_vls=2", "entries=4"), "heads_blocks", "sizes", "assign grant =", "size"),
    "credit_opa": Case(("vls=2",), "grant_blocks", "granted-fits", "assign return_error =", "return-error"),
    "vlbuffer": Case((), "reserve_flits", "reserved-first", "assign accepted =", "accepted"),
}


def verilated(folder: Path, *options: str) -> str:
    """Run Verilator with assertions, and return its warnings."""
    files = ("dut.sv", "dut_checks.sv", "dut_tb.sv")
    return run_verilator(folder, "--assert", *options, "--top", "dut_tb", *files).stderr


def failures(folder: Path, *options: str) -> set[str]:
    """Return the names of the assertions that fail in a run of the testbench, which goes on after failures."""
    run = [folder / "obj_dir" / "bench", "+verilator+error+limit+1000000000", *options]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    assert "PASS: dut agrees with golden" in done.stdout or options, done.stdout[-2000:]
    return set(re.findall(r"Assertion failed in .*\.check_(\w+):", done.stdout + done.stderr))


def with_faults(folder: Path, case: Case) -> None:
    """Insert the input fault into the testbench and the output fault into the exported SystemVerilog."""
    bench, dut = folder / "dut_tb.sv", folder / "dut.sv"
    given = re.compile(rf"\.{case.port}\((row\[\d+ \+: (\d+)\])\)")
    bench.write_text(given.sub(rf""".{case.port}($test$plusargs("input") ? \2'd0 : \1)""", bench.read_text()))
    driven = re.compile(rf"({re.escape(case.driven.split('=')[0])}=)([^;]*);")
    dut.write_text(driven.sub(r"""\1 1'($test$plusargs("bug")) ^ (\2);""", dut.read_text(), count=1))
    assert "plusargs" in bench.read_text()
    assert "plusargs" in dut.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("block", long_but(("vlarb", "vlbuffer"), [*CASES]))
def test_golden_keeps_the_guarantees_and_faults_are_found(block: str, tmp_path: Path) -> None:
    """Golden's stimulus violates no guarantee, and each fault violates its assumption or guarantee."""
    case = CASES[block]
    words = [word for parameter in case.given for word in ("--param", parameter)]
    done = call("export", block, "--out", tmp_path, "--name", "dut", "--testbench", "2000", "--assertions", *words)
    assert done.status == 0, done.err
    assert verilated(tmp_path, "--lint-only", "--timing", "-Wall") == ""
    contract = by_name.contract(block, BLOCKS[block].make(BLOCKS[block].parameters([*case.given])))
    assert contract is not None
    assumptions = {name.replace("-", "_") for name in contract.assumptions}

    with_faults(tmp_path, case)
    verilated(tmp_path, *AS_BINARY, "-o", "bench")

    assert failures(tmp_path) <= assumptions
    assert case.assumption.replace("-", "_") in failures(tmp_path, "+input")
    assert case.guarantee.replace("-", "_") in failures(tmp_path, "+bug")


def test_the_checker_names_every_assumption_and_guarantee(tmp_path: Path) -> None:
    """Each statement is a labelled assertion. The macro ``NAME_ANY_INPUTS`` removes the assumptions."""
    done = call(
        "export", "ib_switch", "--out", tmp_path, "--assertions", "--param", "ports=2", "--reset-polarity", "low"
    )
    assert done.status == 0, done.err
    text = (tmp_path / "ib_switch_checks.sv").read_text()
    contract = by_name.contract("ib_switch", BLOCKS["ib_switch"].make(BLOCKS["ib_switch"].parameters(["ports=2"])))
    assert contract is not None
    assert {"returned-once", "credit"} <= {*contract.assumptions, *contract.guarantees}

    free, others = text.split("`ifndef IB_SWITCH_ANY_INPUTS")[1].split("`endif")

    for kind, part, names in (("assume", free, contract.assumptions), ("assert", others, contract.guarantees)):
        labels = re.findall(rf"check_(\w+): {kind} property \(@\(posedge clk\) disable iff \(!rst_n\)", part)
        assert labels == [name.replace("-", "_") for name in names]
    assert "bind ib_switch ib_switch_checks u_checks (.*);" in text


@pytest.mark.parametrize(
    ("block", "given"),
    [
        ("lft", ()),
        ("vlarb", ("--param", "form=line_rate")),
        ("ib_switch", tuple(f"--param={each}" for each in ("crossbar=per_vl", "minimum=8", "maximum=8"))),
        ("vlarb", ("--bus", "axi_lite")),
    ],
)
def test_instances_without_a_contract_are_refused(block: str, given: tuple[str, ...], tmp_path: Path) -> None:
    done = call("export", block, "--out", tmp_path, "--assertions", *given)

    assert_refused(done, "--assertions")
    assert not list(tmp_path.iterdir())
