"""Signals: exit statuses, ignored signals, child programs, unfinished files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from tests.children import assert_ended, living, started
from tests.conftest import DATA, ROOT, call
from vlane.sim_top.cli import egress as cli_egress
from vlane.sim_top.output import interrupts
from vlane.sim_top.output.descendants import descendants, end_descendants
from vlane.sim_top.output.interrupts import Interrupted, interruptible

RUNNING = "running\n"
_SLEEPS = f"""
import sys, time
from vlane.sim_top.cli import egress, main

def run_egress(*_given, **_named):
    sys.stderr.write({RUNNING!r})
    sys.stderr.flush()
    for _ in range(600):
        time.sleep(0.1)

egress.run_egress = run_egress
"""
_COMPILES = """
import subprocess, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from vlane.sim_top.cli import egress, main
from vlane.tb.machinery.native.kept import cached_folder

def compile_one(number):
    def compile_in(work):
        subprocess.run(["sh", "-c", "sleep 600 & echo half > half; echo running >&2; wait"], cwd=work, check=True)
    cached_folder(Path(sys.argv[-1]) / str(number), "result", compile_in)

def run_egress(*_given, **_named):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compile_one, range(20)))

egress.run_egress = run_egress
"""
_MAIN = "\nif __name__ == '__main__':\n    sys.argv = ['vlane', *sys.argv[1:]]\n    main.main()\n"


def egress_with(code: str, table: Path, arrivals: Path) -> list[str | Path]:
    """Return a command that runs ``vlane egress`` with a replaced ``run_egress``."""
    return [sys.executable, "-c", code + _MAIN, "egress", "--table", table, "--arrivals", arrivals]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_any_verb_with_one_line(number: signal.Signals, table: Path, arrivals: Path) -> None:
    """A signal ends a running command with one line and exit status 128 plus its number."""
    with started(egress_with(_SLEEPS, table, arrivals), cwd=ROOT) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == RUNNING
        running.send_signal(number)
        out, err = running.communicate(timeout=60)

    assert (running.returncode, out, err) == (128 + number, "", "vlane: interrupted\n")


@pytest.mark.parametrize("ignored", [(signal.SIGINT,), (signal.SIGHUP,), (signal.SIGINT, signal.SIGHUP)])
def test_an_ignored_signal_stays_ignored(ignored: tuple[signal.Signals, ...], table: Path, arrivals: Path) -> None:
    """Given SIGINT or SIGHUP ignored at the start, as by nohup, only SIGTERM ends the command."""
    with started(egress_with(_SLEEPS, table, arrivals), ignored=ignored, cwd=ROOT) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == RUNNING
        for number in ignored:
            os.killpg(running.pid, number)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(0.5)
        running.terminate()
        _, err = running.communicate(timeout=60)

    assert (running.returncode, err) == (128 + signal.SIGTERM, "vlane: interrupted\n")


def test_programs_of_an_interrupted_command_end_and_their_files_are_removed(
    table: Path, arrivals: Path, tmp_path: Path
) -> None:
    """SIGTERM ends the compilers a command has started and removes their unfinished files."""
    made = tmp_path / "made"
    made.mkdir()
    with started([*egress_with(_COMPILES, table, arrivals), "--departures", made], cwd=ROOT) as running:
        assert running.stderr is not None
        assert [running.stderr.readline() for _ in range(2)] == [RUNNING] * 2
        running.terminate()
        _, err = running.communicate(timeout=60)
        assert_ended(running.pid)

    assert (running.returncode, err.replace(RUNNING, "")) == (128 + signal.SIGTERM, "vlane: interrupted\n")
    assert err.count(RUNNING) <= 2  # a thread whose compiler has ended may start one more
    assert list(made.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "ignored"), [(signal.SIGINT, ()), pytest.param(signal.SIGTERM, (signal.SIGINT,), marks=pytest.mark.long)]
)
def test_a_lockstep_of_hardware_ends_with_one_line(number: signal.Signals, ignored: tuple[signal.Signals, ...]) -> None:
    """Given hardware and golden running in threads, a signal ends the command with one line."""
    code = (
        "import sys\nfrom vlane.sim_top.cli import main\nfrom vlane.sim_top.cosim import cosim\n"
        "run = cosim.run_lockstep\n"
        "def run_lockstep(*given, **named):\n"
        f"    sys.stderr.write({RUNNING!r})\n    sys.stderr.flush()\n    return run(*given, **named)\n"
        f"cosim.run_lockstep = run_lockstep\n{_MAIN}"
    )
    words = ["cosim", "vlarb", "--fabric", DATA / "two_switch", "--cycles", str(10**9)]
    with started([sys.executable, "-c", code, *words], ignored=ignored, cwd=ROOT) as running:
        assert running.stderr is not None
        assert RUNNING in running.stderr  # lines of the compilers come first
        time.sleep(0.5)
        running.send_signal(number)
        _, err = running.communicate(timeout=60)

    assert running.returncode == 128 + number
    assert err.splitlines()[-1] == "vlane: interrupted"
    assert "Traceback" not in err


def test_keyboard_interrupt_of_a_library_is_reported_in_one_line(table: Path, arrivals: Path) -> None:
    """Given a KeyboardInterrupt from a library, the command ends as after SIGINT."""
    with mock.patch.object(cli_egress, "run_egress", side_effect=KeyboardInterrupt):
        called = call("egress", "--table", table, "--arrivals", arrivals)

    assert (called.status, called.out, called.err) == (130, "", "vlane: interrupted\n")


def interrupted(unwind: Callable[[], None]) -> None:
    """Call a function while SIGTERM unwinds this process."""
    with interruptible():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            unwind()


@pytest.mark.usefixtures("default_signals")
def test_the_first_signal_counts_and_handlers_are_restored() -> None:
    """Given repeated signals, as from ``timeout``, only the first counts and handlers are restored."""

    def unwind() -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(os.getpid(), number)

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with pytest.raises(Interrupted) as stop:
        interrupted(unwind)

    assert stop.value.status == 128 + signal.SIGTERM
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


@pytest.mark.usefixtures("default_signals")
def test_programs_that_start_while_a_command_unwinds_are_ended() -> None:
    """A program started after the signal is terminated, too."""
    found = []

    def unwind() -> None:
        found.append(subprocess.run(["sleep", "600"], timeout=60, check=False).returncode)

    with pytest.raises(Interrupted):
        interrupted(unwind)

    assert found == [-signal.SIGTERM]


@pytest.mark.usefixtures("default_signals")
def test_a_program_whose_parent_was_ended_is_ended() -> None:
    """A program started by a dying parent, as ``make`` may do, is terminated before the command ends."""
    dying = "trap 'sleep 600 & echo $!; exit' TERM; echo started; while :; do sleep 0.01; done"
    with started(["sh", "-c", dying]) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "started\n"
        with pytest.raises(Interrupted):
            interrupted(lambda: None)
        assert int(parent.stdout.readline()) > 0
        assert living(parent.pid) == []


def test_other_threads_set_no_handlers() -> None:
    """Given a thread, where Python allows no signal handlers, the context changes nothing."""
    seen = []

    def work() -> None:
        with interruptible():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGTERM)]


def test_descendants_are_ended_but_those_that_ignore_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    """All descendants receive SIGTERM, and processes that ignore it are not waited for.

    Python's resource tracker ignores SIGTERM.
    """
    monkeypatch.setattr("vlane.sim_top.output.descendants._PATIENCE_SECONDS", 30.0)
    before = set(descendants())
    tree = "sleep 600 & echo started; wait"
    deaf = "trap '' TERM; echo started; sleep 600 & wait"
    with started(["sh", "-c", tree]) as first, started(["sh", "-c", deaf]) as second:
        for each in (first, second):
            assert each.stdout is not None
            assert each.stdout.readline() == "started\n"
        assert first.pid in descendants()
        assert len(set(descendants()) - before) == len(living(first.pid)) == 2
        assert second.pid not in descendants()
        start = time.monotonic()
        end_descendants()
        assert time.monotonic() - start < 20
        assert living(first.pid) == []
        assert second.pid in living(second.pid)


def test_the_signals_are_those_that_the_page_names() -> None:
    """The table of ``docs/commands.md`` lists every handled signal with its exit status."""
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")

    for number in interrupts._SIGNALS:
        row = next(line for line in page.splitlines() if line.startswith("|") and number.name in line)
        assert str(128 + number) in row
