"""Benchmark programs: parsing of BookSim2's output, targets, refusals."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from vlane.errors import InputError
from vlane.sim_top.study.simulate import simulate

STOPPED = """BEGIN Configuration File: booksim.cfg
injection_rate = 0.300000;
Class 0:
Packet latency average = 31.5
\tminimum = 7
Accepted flit rate average= 0.25
\tminimum = 0.2 (at node 3)
Class 0:
Packet latency average = 25.858
\tminimum = 7
Flit latency average = 25.1
Accepted packet rate average = 0.0375
Accepted flit rate average= 0.30075
Too many sample periods needed to converge
Simulation unstable, ending ...
Total run time 7.04523
"""
ENDED = """Packet latency average = 20.5
Accepted flit rate average= 0.009
====== Overall Traffic Statistics ======
Packet latency average = 23.8668 (1 samples)
Accepted flit rate average = 0.0100234 (1 samples)
Hops average = 4.36632 (1 samples)
"""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports modules of ``bench/`` with that folder on the path."""
    monkeypatch.syspath_prepend(ROOT / "bench")
    return importlib.import_module


def call(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, f"bench/{program}.py", *words]
    return subprocess.run(given, cwd=ROOT, capture_output=True, text=True, check=False)


def test_last_figures_of_booksim_are_read(bench: Any) -> None:
    booksim = bench("booksim")

    assert booksim.parsed(STOPPED) == (0.30075, 25.858, None)
    assert booksim.parsed(ENDED) == (0.0100234, 23.8668, 4.36632)


@pytest.mark.parametrize(
    "text", ["", "usage: true\n", "Packet latency average = -nan\nAccepted flit rate average= 0\n"]
)
def test_other_output_is_refused(text: str, bench: Any) -> None:
    with pytest.raises(InputError, match="--booksim must be a program that prints flit rates"):
        bench("booksim").parsed(text)


def test_configuration_goes_to_the_program(tmp_path: Path, bench: Any) -> None:
    """The configuration passed to BookSim contains the network, load and packet size.

    A stand-in program stores the file it receives.
    """
    booksim = bench("booksim")
    program = tmp_path / "booksim"
    program.write_text(f"#!/bin/sh\ncp $1 {tmp_path}/seen\ncat <<'END'\n{STOPPED}END\nexit 255\n")
    program.chmod(0o755)

    found = booksim.booksim_run(
        booksim.program_at(str(program)), booksim.NETWORKS["torus88"], flits=8, load=0.3, cycles=8000, num_vcs=1
    )
    keys = dict(line.rstrip(";").split(" = ") for line in (tmp_path / "seen").read_text().splitlines())

    assert found.accepted == 0.30075
    assert (keys["topology"], keys["k"], keys["n"], keys["num_vcs"]) == ("torus", "8", "2", "1")
    assert (keys["packet_size"], keys["injection_rate"], keys["sample_period"]) == ("8", "0.300000", "2000")


@pytest.mark.parametrize(
    ("name", "switches"), [("tree43", 4.375), ("torus88", 5), ("tree242", 35 / 12), ("torus888", 7)]
)
def test_mean_paths(name: str, switches: float, bench: Any) -> None:
    """The benchmark networks have the known mean number of switches per path."""
    assert bench("booksim").NETWORKS[name].switches == pytest.approx(switches)


@pytest.mark.long
@pytest.mark.parametrize("flits", [1, 8])
@pytest.mark.parametrize("name", ["tree43", "torus88"])
def test_latency_at_zero_load_is_the_formula(name: str, flits: int, bench: Any) -> None:
    """At load 0.002, mean latency is 5 cycles per switch plus 1 plus the flits of a packet."""
    booksim = bench("booksim")

    found = booksim.vlane_run(booksim.NETWORKS[name], flits=flits, load=0.002, cycles=10_000)

    assert found.latency == pytest.approx(5 * found.switches + 1 + flits, abs=0.1)


def test_tables_have_a_row_for_each_case(bench: Any) -> None:
    comparison = bench("comparison")
    rates = {"booksim_flit_hops_per_cpu_second": 279_000, "vlane_flit_hops_per_cpu_second": 14_100_000}
    row = {"network": "tree43", "flits": 1, "load": 0.3, "value": 50.5, "target": 50, **rates}

    assert (
        comparison.TABLES["speed"]([row, row]).splitlines()[2:]
        == ["| 4-ary 3-tree | 1 | 0.3 | 0.279 | 14.1 | 50 | 50 |"] * 2
    )


@pytest.mark.parametrize(
    ("program", "given"), [("network", "nothing"), ("network", "docs"), ("comparison", "README.md")]
)
def test_a_missing_program_is_refused_in_one_line(program: str, given: str) -> None:
    done = call(program, "--only", "speed", "--booksim", given)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("--booksim must be the program of BookSim2")
    assert done.stderr.endswith(f"not {given}\n")


def test_without_booksim_the_speed_is_skipped_with_instructions() -> None:
    done = call("network", "--only", "speed")
    document = json.loads(done.stdout)

    assert (done.returncode, document["bars"]) == (0, [])
    assert "git clone https://github.com/booksim/booksim2" in document["speed"]
    assert "\n" not in document["speed"]


def test_bars_of_links_are_reached() -> None:
    """Every target of the link-evenness benchmark is met."""
    done = call("network", "--only", "links")
    bars = json.loads(done.stdout)["bars"]

    assert len(bars) == 4 + 2 + 4 + 4 + 6
    assert all(bar["reached"] and bar["value"] <= bar["target"] for bar in bars)


def test_coverage_counts_intervals_that_hold_the_mean(bench: Any) -> None:
    """In few seeds of the smallest network, nearly every level has an interval, and most intervals hold the mean."""
    coverage = bench("coverage")
    world = coverage.world_of("4-ary 2-tree")
    runs = [simulate(world, load=0.3, seed=seed, with_tables=False)[0] for seed in range(1, 21)]

    given, held = coverage.covered([run.per_sl[0] for run in runs])

    assert given >= 18
    assert held >= 0.8 * given
