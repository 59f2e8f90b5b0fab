"""Shared fixtures and helpers: captured subnets, calls of the command line, sample input files."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import settings

from vlane.sim_top.cli.main import main
from vlane.tb.machinery.native import verilator
from vlane.tb.machinery.native.wasm import close_servers

pytest_plugins = ("tests.cpu_time",)
ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data"
GOOD = ("irregular_s1", "torus44_2qos", "torus44_lash", "tree43_ftree", "two_switch")
BAD = "irregular_s1_updn_fell_back_to_minhop"

STUDY = """[network]
topology = "tree"
k = 2
n = 2

[buffers]
blocks = 64

[run]
loads = [0.2, 0.5]
seeds = [1, 2]
cycles = 3000
warm_up_cycles = 500

[[traffic]]
sl = 0
share = 0.5

[[traffic]]
sl = 1
share = 0.5
bytes = [64, 512]
"""

TABLE = """[vlarb]
high = [[0, 32], [1, 64]]
low = [[0, 4], [1, 8], [2, 16]]
limit_of_high_priority = 10
"""

AS_BINARY = ("--binary", "--timing", "-O0")
"""Verilator's flags for short simulations. The C++ flags are those of the tutorial, to share the runtime library."""

settings.register_profile("vlane", deadline=None, derandomize=True, database=None)
settings.load_profile("vlane")


def pytest_collection_finish() -> None:
    """Exclude loaded objects from garbage collection, whose scans cost a tenth of the test time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.fixture(autouse=True)
def _environment_stays() -> Iterator[None]:
    """Check that each test restores the environment for processes of later tests."""
    before = environment()
    yield
    assert environment() == before


@pytest.fixture(autouse=True, scope="module")
def _servers_ended() -> Iterator[None]:
    """End the servers of tools after each file, which is charged with their processor time."""
    yield
    close_servers()


def environment() -> dict[str, str]:
    """Return the environment without the variables that pytest, polars and the cache set.

    The cache makes its path absolute once.
    """
    told = {"PYTEST_CURRENT_TEST", "VLANE_CACHE", "_RJEM_MALLOC_CONF"}
    return {name: value for name, value in os.environ.items() if name not in told}


def long_but(kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Mark all parameter values except ``kept`` as long."""
    return [value if value in kept else pytest.param(value, marks=pytest.mark.long) for value in values]


def long_rows(kept: Collection[int], rows: Iterable[Sequence[Any]]) -> list[Any]:
    """Mark all rows of parameter values as long except the rows with the numbers ``kept``."""
    return [pytest.param(*row, marks=[pytest.mark.long] * (n not in kept)) for n, row in enumerate(rows)]


@dataclass(frozen=True, slots=True)
class Called:
    """Result of one call of the command line."""

    status: int
    out: str
    err: str

    def json(self) -> Any:
        """Return stdout parsed as one JSON document."""
        return json.loads(self.out)


def call(*arguments: str | Path) -> Called:
    """Run ``vlane`` within this process, in the repository's root, without three seconds of imports."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["vlane", *map(str, arguments)]),
        mock.patch.dict(os.environ, COLUMNS="160"),
        mock.patch("vlane.sim_top.cli.main.show_progress"),  # shown lines depend on what earlier calls compiled
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.chdir(ROOT),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    return Called(int(ended.value.code or 0), out.getvalue(), err.getvalue())


def run_verilator(folder: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run Verilator in a folder. With ``check``, its exit status must be 0, as without errors and fatal warnings."""
    command = [str(verilator.executable()), *words]
    done = subprocess.run(command, cwd=folder, env=verilator.environment(), capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr[-2000:]
    return done


def assert_lint_clean(folder: Path, top: str) -> None:
    """Check that Verilator's ``-Wall`` reports no warning for an exported module."""
    assert run_verilator(folder, "--lint-only", "-Wall", f"{top}.sv", "--top", top).stderr == ""


def call_apart(*arguments: str | Path, cwd: Path = ROOT, columns: str = "160") -> Called:
    """Run ``vlane`` in a process of its own, as a user does."""
    done = subprocess.run(
        [sys.executable, "-m", "vlane", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "COLUMNS": columns},
    )
    return Called(done.returncode, done.stdout, done.stderr)


def uncompiled(expression: str, module: str) -> str:
    """Return the printed value of an expression of a test module, evaluated with uncompiled golden code."""
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}; print({module}.{expression})"],
        cwd=ROOT,
        env={**os.environ, "VLANE_KERNELS": "python"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def assert_refused(called: Called, *words: str) -> None:
    """Assert exit status 2, empty stdout and exactly one line on stderr that contains the given words."""
    assert called.status == 2, called
    assert called.out == ""
    lines = called.err.splitlines()
    assert len(lines) == 1, called.err
    assert "Traceback" not in called.err
    for word in words:
        assert word in lines[0], f"{word!r} is not in {lines[0]!r}"


@pytest.fixture
def default_signals() -> Iterator[None]:
    """Set Python's default signal handlers, whichever handlers this process inherited."""
    own = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in own.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def capture_copy(tmp_path: Path) -> Any:
    """Return a function that copies a captured subnet into a folder the test may modify."""

    def copy(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for file in (DATA / name).iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        return folder

    return copy


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a table file for the VL arbiter."""
    file = tmp_path / "table.toml"
    file.write_text(TABLE)
    return file


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return a small study file."""
    file = tmp_path / "small.toml"
    file.write_text(STUDY)
    return file


@pytest.fixture
def arrivals(tmp_path: Path) -> Path:
    """Return a CSV file with 400 random packet arrivals."""
    file = tmp_path / "arrivals.csv"
    source = np.random.default_rng(1)
    cycle = 0
    lines = ["cycle,vl,bytes,sl"]
    for _ in range(400):
        cycle += int(source.integers(0, 50))
        lines.append(f"{cycle},{source.choice([0, 1, 1, 2, 15])},{source.integers(26, 4225)},0")
    file.write_text("\n".join(lines) + "\n")
    return file
