"""Inherited signal settings and the helper for child processes."""

from __future__ import annotations

import ast
import gc
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

import pytest

from tests.children import assert_ended, living, signals_reset, started

ROOT = Path(__file__).parent.parent.parent
_DISPOSITIONS = (
    "import signal; print(*(number.name for number in sorted(signal.valid_signals())"
    " if isinstance(number, signal.Signals) and signal.getsignal(number) is signal.SIG_IGN))"
)
_PYTHON_IGNORES = {"SIGPIPE", "SIGXFSZ"}
_LEAVES_A_CHILD = (
    "import subprocess, sys\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "print(child.pid, flush=True)\n"
)


@pytest.mark.parametrize("ignored", [(), (signal.SIGINT,), (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)])
def test_a_child_has_default_signals_under_a_parent_that_ignores_them(ignored: tuple[signal.Signals, ...]) -> None:
    """A child has default signal settings even if its parent ignores and blocks signals."""
    inherited = [signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP]
    before = {number: signal.signal(number, signal.SIG_IGN) for number in inherited}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, inherited)
    try:
        command = [sys.executable, "-c", f"{_DISPOSITIONS}; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"]
        told = subprocess.run(signals_reset(command, ignored=ignored), capture_output=True, text=True, check=True)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)

    names, blocked = told.stdout.splitlines()
    assert set(names.split()) == _PYTHON_IGNORES | {number.name for number in ignored}
    assert blocked == "set()"


@pytest.mark.filterwarnings("error")
def test_a_test_that_fails_leaves_no_process_and_no_open_pipe() -> None:
    """Given a failing test, its child and grandchild are killed and no resource warning follows."""
    code = f"{_LEAVES_A_CHILD}child.wait()"

    def fail() -> int:
        with started([sys.executable, "-c", code]) as child:
            assert child.stdout is not None
            assert int(child.stdout.readline()) in living(child.pid)
            groups.append(child.pid)
            raise ArithmeticError

    groups: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()  # garbage of earlier tests, which may warn, is not of this one
    with pytest.raises(ArithmeticError):
        fail()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gc.collect()

    assert [living(group) for group in groups] == [[]]
    assert [str(each.message) for each in told] == []


def test_a_child_that_has_ended_leaves_no_grandchild() -> None:
    """Given a finished child, the grandchild is killed."""
    with started([sys.executable, "-c", _LEAVES_A_CHILD], stderr=subprocess.DEVNULL) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        assert child.wait() == 0
        assert living(child.pid) == [grandchild]
        with (
            mock.patch("tests.children._PATIENCE_SECONDS", 0.1),
            pytest.raises(AssertionError, match=r"time\.sleep\(600\)"),
        ):
            assert_ended(child.pid)

    assert_ended(child.pid)


def test_tests_start_programs_that_need_signals_by_the_helper_only() -> None:
    """Tests start long-running programs only with the helper, so every child is reaped."""
    calls = {"subprocess.Popen", "os.fork", "os.spawnv", "os.system", "os.popen"}
    found = {
        f"{file.name}:{node.lineno}"
        for file in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if f"{node.value.id}.{node.attr}" in calls
        and file.stem not in {"children", "test_opensm_live", "server"}  # the others end their processes themselves
    }

    assert not found


def test_the_terminal_of_make_changes_no_output() -> None:
    """Output of commands in tests does not depend on the size and colours of the terminal."""
    terminal = {"COLUMNS": "20", "LINES": "5", "FORCE_COLOR": "1", "TTY_COMPATIBLE": "1", "TERM": "xterm-256color"}
    done = subprocess.run(
        [sys.executable, "-c", "from tests.conftest import call; print(call('configs').out)"],
        cwd=ROOT,
        env={**os.environ, **terminal},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "tree43_ib" in done.stdout
    assert "\x1b" not in done.stdout
