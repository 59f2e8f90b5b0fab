"""Scoreboard: golden follows a device that a third-party bench drives."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import vlane
from tests.lockstep.foreign_designs import EXAMPLES, example, opened
from vlane.sim_top.dut.follower import Follower, OneRow
from vlane.sim_top.dut.lockstep import ForeignRun
from vlane.sim_top.dut.schedule import batches
from vlane.sim_top.dut.wiring import Wiring
from vlane.tb.arbiters.plants import FOLDER
from vlane.tb.machinery.cocotb_benches.cocotb_bench import simulator_installed

RR, RR_MAP = example("rr_arb.sv"), example("rr_arb.toml")
WRR, WRR_MAP = example("wrr_arb.sv"), example("wrr_arb.toml")
RELEASED = {"rst_ni": 1, "room_i": 0b1111, "link_idle_i": 1}
NOBODY = 0b1111
"""Requests are active low."""


def rr_run(where: Path, *changes: tuple[str, str], cycles: int = 2000) -> ForeignRun:
    return opened(where, "rr", example("rr_arb.sv", *changes), RR_MAP, cycles=cycles)


def follower_of(wiring: Wiring, block: str = "rr") -> Follower:
    return Follower(wiring, vlane.oracle(block, data_vls=4, vl15=False))


@pytest.mark.parametrize(("block", "design", "given"), [("rr", RR, RR_MAP), ("wrr", WRR, WRR_MAP)])
def test_one_cycle_is_carried_across_as_many_are(block: str, design: str, given: str, tmp_path: Path) -> None:
    """The scoreboard's conversion of single rows equals the lockstep's conversion of many rows."""
    run = opened(tmp_path, block, design, given, cycles=3000)
    wiring, traffic = run.wiring, run._traffic()
    one = OneRow(wiring)
    rows = np.zeros((3000, wiring.inputs.words), np.uint64)
    outputs = np.zeros((3000, wiring.outputs.words), np.uint64)
    count = traffic.stimulus.fill(rows, outputs)
    theirs, (expected, care) = wiring.dut_rows(rows[:count]), wiring.expected(rows[:count], outputs[:count])

    for at in range(count):
        ours = wiring.inputs.values(rows[at])
        number = sum(int(word) << 64 * place for place, word in enumerate(theirs[at]))
        shown = given is WRR_MAP or bool(ours["ready"])
        wanted = tuple(
            sum(int(word) << 64 * place for place, word in enumerate(row)) for row in (expected[at], care[at])
        )

        assert one.inputs(number) == ours
        assert one.expected(wiring.outputs.values(outputs[at]), shown=shown) == wanted
    assert count > 50
    assert len(np.unique(expected, axis=0)) > 3


def cycle(follower: Follower, gnt: int, req: int = NOBODY, *, unknown: int = 0, **other: int) -> object:
    given = {**RELEASED, "req_ni": req, **other}
    return follower.cycle(given, {"gnt_o": gnt}, {"gnt_o": unknown})


def test_a_grant_is_compared_in_the_cycle_in_which_it_is_due(tmp_path: Path) -> None:
    """A grant is compared in the cycle its latency makes it due, and a wrong lane is reported.

    Nothing is compared before the reset.
    """
    follower = follower_of(rr_run(tmp_path).wiring)

    assert cycle(follower, 0b1010, 0b0000) is None
    assert follower.checked == 0
    assert cycle(follower, 0, rst_ni=0) is None
    assert cycle(follower, 0, 0b0101) is None
    assert cycle(follower, 0b0010, 0b0101) is None
    assert cycle(follower, 0, 0b0101) is None
    assert cycle(follower, 0b1000, 0b0101) is None
    assert cycle(follower, 0, 0b0101) is None
    wrong = cycle(follower, 0b1000, 0b0101)

    assert wrong is not None
    assert follower.difference is wrong
    assert "vl: golden 1, gnt_o 3" in str(follower.difference)
    assert (follower.difference.cycle, follower.difference.golden_cycle) == (7, 6)
    assert [each.cycle for each in follower.difference.cycles] == [2, 3, 4, 5, 6, 7]
    assert (follower.checked, follower.decisions) == (3, 3)


def test_reset_clears_pending_grants(tmp_path: Path) -> None:
    """A reset clears pending grants and restarts golden at lane 0."""
    follower = follower_of(rr_run(tmp_path).wiring)
    cycle(follower, 0, rst_ni=0)
    cycle(follower, 0, 0b0000)
    cycle(follower, 0b0001, 0b0000)
    cycle(follower, 0, 0b0000)

    found = [cycle(follower, 0, 0b0000, rst_ni=0), cycle(follower, 0, 0b0000), cycle(follower, 0b0001, 0b0000)]

    assert found == [None, None, None]
    assert (follower.resets, follower.checked) == (2, 2)


def test_unknown_bits_of_an_answer_are_a_difference(tmp_path: Path) -> None:
    """An unknown bit in an answer is a difference."""
    follower = follower_of(rr_run(tmp_path).wiring)
    cycle(follower, 0, rst_ni=0)
    cycle(follower, 0, 0b1110)

    assert cycle(follower, 0b0001, 0b1110, unknown=0b0100) is not None


def followed(run: ForeignRun) -> Follower:
    """Return a follower that has observed a compiled design under the lockstep's traffic."""
    follower = follower_of(run.wiring, run.block.name)
    inputs, outputs = run.wiring.dut_inputs, run.wiring.dut_outputs
    with run._model() as model:
        model.begin(run.seed)
        for batch in batches(run.wiring, run._traffic()):
            for given, shown in zip(batch.dut_rows, model.run(batch.dut_rows), strict=True):
                if follower.cycle(inputs.values(given), outputs.values(shown)) is not None:
                    return follower
    return follower


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "design", "given"),
    [
        pytest.param("rr", RR, RR_MAP, marks=pytest.mark.long),
        ("rr", example("rr_arb.sv", ("~(pick | (pick - 1'b1))", "~(pick - 1'b1)")), RR_MAP),
        pytest.param("wrr", WRR, WRR_MAP, marks=pytest.mark.long),
    ],
    ids=["agrees", "mutant", "wrong weights"],
)
def test_scoreboard_and_lockstep_find_the_same_difference(block: str, design: str, given: str, tmp_path: Path) -> None:
    """Scoreboard and lockstep find the same first differing cycle, or none."""
    run = opened(tmp_path, block, design, given, cycles=4000)
    told = run.run().difference

    follower = followed(run)

    assert (follower.difference and follower.difference.cycle) == (told and told.cycle)
    assert (follower.difference is None) == (design is RR)
    assert follower.checked > (3000 if design is RR else 0)


def bench(where: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment: Mapping[str, str] = {
        **os.environ,
        "BUILD": str(where / "built"),
        "PYTHONPATH": str(Path(__file__).parent.parent.parent),
        **settings,
    }
    command = [
        sys.executable,
        "-m",
        "vlane.sim_top.with_verilator",
        sys.executable,
        str(EXAMPLES / "cocotb" / "run.py"),
    ]
    return subprocess.run(command, env=environment, cwd=where, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_bench_of_the_documentation_passes(tmp_path: Path) -> None:
    """The documentation's cocotb bench passes, with a reset during the run."""
    done = bench(tmp_path)

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    said = re.search(r"(\d+) of (\d+) cycles compared, (\d+) decisions", done.stdout)
    assert said is not None
    assert int(said[1]) > 1000
    assert int(said[2]) == 3004
    assert int(said[3]) > 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("simulator", "inner"),
    [
        pytest.param("verilator", "0", marks=pytest.mark.long),
        ("verilator", "1"),
        pytest.param("icarus", "0", marks=pytest.mark.long),
        pytest.param("icarus", "1", marks=pytest.mark.long),
    ],
)
def test_elastic_scoreboard_agrees_in_top_and_inner_instances(simulator: str, inner: str, tmp_path: Path) -> None:
    """A held, registered arbiter agrees in each simulator, as top module and as instance inside the top module."""
    if not simulator_installed(simulator):
        pytest.skip(f"{simulator} is not installed")
    given = FOLDER / "registered.toml"

    done = run_bench(tmp_path, simulator, inner, given)

    said = re.search(r"(\d+) decisions, (\d+) resets", done.stdout)
    assert said is not None, done.stdout[-3000:] + done.stderr[-1000:]
    assert done.stdout.count(" PASS ") == 1
    assert int(said[1]) > 300
    assert int(said[2]) == 1


def run_bench(where: Path, simulator: str, inner: str, given: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "BUILD": str(where),
        "SOURCE": str(FOLDER / "registered.sv"),
        "CYCLES": "1000",
        "PYTHONPATH": str(Path(__file__).parent.parent.parent),
    }
    runner = Path(__file__).parent / "benches" / "run.py"
    command = [sys.executable, "-m", "vlane.sim_top.with_verilator", sys.executable, str(runner)]
    return subprocess.run(
        [*command, simulator, inner, str(given)],
        env=environment,
        cwd=where,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.long
def test_elastic_scoreboard_fails_with_a_wrong_order(tmp_path: Path) -> None:
    """Given a map that says another lane is first, the bench fails and names golden's answer."""
    (tmp_path / "wrong.toml").write_text(
        (FOLDER / "registered.toml").read_text().replace("latency = 1", "latency = 1\nfirst = 2")
    )

    done = run_bench(tmp_path, "verilator", "1", tmp_path / "wrong.toml")

    assert re.search(r"ScoreboardError: cycle [\d,]+: grant \d; golden: state", done.stdout)


@pytest.mark.slow
@pytest.mark.long
def test_the_bench_fails_with_a_map_of_another_timing(tmp_path: Path) -> None:
    """Given a map with a wrong latency, the user's bench fails and names the first difference."""
    (tmp_path / "wrong.toml").write_text(RR_MAP.replace("latency = 1", "latency = 2").replace("every = 2", "every = 3"))

    done = bench(tmp_path, MAP=str(tmp_path / "wrong.toml"))

    assert done.returncode != 0
    assert re.search(r"ScoreboardError: cycle \d+ \(golden's \d+\): vl: golden", done.stdout)
