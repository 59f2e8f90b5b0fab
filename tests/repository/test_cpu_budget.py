"""Processor-time budget: measurement, limit, report."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests import cpu_budget
from tests.conftest import ROOT
from tests.cpu_budget import Budget, Measured, excess, read_budget, read_measured, table, updated, write_measured

BUDGET = Budget(100.0, {"tests/test_a.py": 40.0, "tests/test_b.py": 50.0, "tests/test_gone.py": 5.0}, pace=0.02)

BURNING = """
import subprocess, sys, time

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def test_child():
    subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.3: pass"], check=True)

def test_own():
    burn({own})
"""


def _seconds_of_children() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def test_the_dearest_files_come_first() -> None:
    """Given 12 files, the report lists the 10 most expensive with their shares, and the rest."""
    measured = Measured(200.0, {f"tests/test_{number:02}.py": float(number) for number in range(12)}, pace=0.02)

    lines = table(measured)

    assert lines[0] == "processor time of tests and their child processes: 200.0 s (3.3 minutes)"
    assert lines[1] == "    11.0 s   5.5 %  tests/test_11.py"
    assert [line.rsplit("_", 1)[-1] for line in lines[1:11]] == [f"{number:02}.py" for number in range(11, 1, -1)]
    assert lines[11:] == ["   134.0 s  67.0 %  start of the processes"]


def test_a_crashed_worker_is_reported() -> None:
    assert table(Measured(1.0, {}, pace=0.02, lost_workers=2))[-1] == "the time of 2 crashed worker(s) is missing"
    assert len(table(Measured(0.0, {}, pace=0.0))) == 2


@pytest.mark.parametrize(("total", "passes"), [(80.0, True), (125.0, True), (125.1, False)])
def test_the_suite_fails_over_the_budget_by_more_than_a_quarter(total: float, *, passes: bool) -> None:
    """The limit holds at the pace of the budget: on a processor of half the pace, the suite may take twice as long."""
    for pace in (0.02, 0.04, 0.01):
        lines = excess(Measured(total * max(1, pace / 0.02), {"tests/test_a.py": 99.0}, pace), BUDGET)

        assert (lines == []) is passes


def test_files_that_grew_most_are_named() -> None:
    """Files that grew, including new ones, are named in order of growth."""
    measured = Measured(
        300.0, {"tests/test_a.py": 90.0, "tests/test_b.py": 40.0, "tests/test_new.py": 170.0}, pace=0.04
    )

    assert excess(measured, BUDGET) == [
        "the tests took 300 s of processor time, 150 s at the budget's pace; the budget is 100 s, and 125 s the limit",
        "  +85.0 s  tests/test_new.py: 85.0 s, no committed number",
        "  +5.0 s  tests/test_a.py: 45.0 s, 40.0 s",
    ]
    assert len(excess(measured, BUDGET, most=1)) == 2


def test_an_update_keeps_the_total_and_the_files_that_did_not_run() -> None:
    measured = Measured(500.0, {"tests/test_b.py": 24.69, "docs/test_page.py": 3.0}, pace=0.04)
    present = {"tests/test_a.py", "tests/test_b.py"}

    assert updated(measured, BUDGET, present) == Budget(100.0, {"tests/test_a.py": 40.0, "tests/test_b.py": 12.3}, 0.02)
    assert updated(measured, BUDGET, present, total=90.0).total == 90.0


def test_a_result_is_read_back(tmp_path: Path) -> None:
    measured = Measured(12.5, {"tests/test_a.py": 2.25}, pace=0.025, lost_workers=1)
    write_measured(measured, tmp_path / "build/test_cpu.json")

    assert read_measured(tmp_path / "build/test_cpu.json") == measured
    assert [file.name for file in (tmp_path / "build").iterdir()] == ["test_cpu.json"]


def test_the_command_checks_and_updates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``check`` fails over the budget and names the file. ``update`` stores seconds, not a new total."""
    committed = tmp_path / "tests/cpu_budget.json"
    committed.parent.mkdir()
    committed.write_text('{"total_seconds": 100, "pace_seconds": 0.02, "files": {}}')
    (tmp_path / "tests/test_a.py").touch()
    assert cpu_budget.main(["check"], tmp_path) == 2
    assert "run the tests first" in capsys.readouterr().err
    write_measured(Measured(130.0, {"tests/test_a.py": 120.0}, pace=0.02), tmp_path / "build/test_cpu.json")

    assert cpu_budget.main(["check"], tmp_path) == 1
    assert "+120.0 s  tests/test_a.py" in capsys.readouterr().err
    assert cpu_budget.main(["update"], tmp_path) == 0
    assert read_budget(committed) == Budget(100, {"tests/test_a.py": 120.0}, 0.02)
    assert cpu_budget.main(["update", "--total", "110"], tmp_path) == 0
    assert cpu_budget.main(["check"], tmp_path) == 0
    assert capsys.readouterr().err == ""


def test_the_committed_budget_is_what_its_files_need() -> None:
    """The committed total exceeds the sum over files by at most 10 %."""
    budget = read_budget(ROOT / "tests/cpu_budget.json")

    assert sum(budget.files.values()) <= budget.total <= 1.1 * sum(budget.files.values())


@pytest.mark.parametrize("words", [("-p", "xdist.plugin", "-n", "2", "--dist", "worksteal"), ()], ids=["xdist", "none"])
def test_time_of_tests_and_children_is_added_up(words: tuple[str, ...], tmp_path: Path) -> None:
    """The time of a file includes its tests and their child processes, with and without xdist."""
    (tmp_path / "conftest.py").write_text('pytest_plugins = ("tests.cpu_time",)\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name, own in (("one", 0.01), ("two", 0.4)):
        (tmp_path / f"test_{name}.py").write_text(BURNING.replace("{own}", str(own)))
    before = _seconds_of_children()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    used = _seconds_of_children() - before

    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((tmp_path / "build/test_cpu.json").read_text())
    files = document["files"]
    assert set(files) == {"test_one.py", "test_two.py"}
    assert 0.31 <= files["test_one.py"] <= used
    assert 0.7 <= files["test_two.py"] <= used
    assert sum(files.values()) <= document["total_seconds"] <= used + 0.01
    assert "%  test_two.py" in done.stdout
    assert document["lost_workers"] == 0
    assert 0.001 < document["pace_seconds"] < 2


def test_processes_that_make_starts_share_compiled_python() -> None:
    """Processes started by ``make`` share bytecode below ``build``, away from the sources."""
    done = subprocess.run(
        ["make", "--eval", "shown: ; @env", "shown"],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    variables = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)

    assert "PYTHONDONTWRITEBYTECODE" not in variables
    assert variables["PYTHONPYCACHEPREFIX"] == str(ROOT / "build/pycache")
