"""Child processes of tests: default signals, a session of their own, killed at the end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

_LAUNCH = """import os, signal, sys
ignored = {int(word) for word in sys.argv[1].split(",") if word}
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, [])
os.execvp(sys.argv[2], sys.argv[2:])
"""
_PATIENCE_SECONDS = 10.0
_POLL_SECONDS = 0.01


def signals_reset(command: Sequence[str | Path], *, ignored: Collection[int] = ()) -> list[str]:
    """Return a command that starts another command with default signal handling.

    Parameters
    ----------
    command : sequence of str or Path
        Program and arguments.
    ignored : collection of int
        Signals that the program ignores from the start, as a shell ignores SIGINT for background commands.
    """
    numbers = ",".join(str(int(number)) for number in ignored)
    return [sys.executable, "-I", "-S", "-c", _LAUNCH, numbers, *map(str, command)]


@contextlib.contextmanager
def started(
    command: Sequence[str | Path], *, ignored: Collection[int] = (), **more: Any
) -> Iterator[subprocess.Popen[str]]:
    """Start a program in a new session with default signals and kill its process group at the end.

    The group id equals the program's process id. Pipes are closed and the program is reaped even when the test fails.

    Parameters
    ----------
    command : sequence of str or Path
        Program and arguments.
    ignored : collection of int
        Signals that the program ignores from the start.
    **more
        Arguments of ``Popen``. By default stdin is empty and stdout and stderr are text pipes.
    """
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
    with subprocess.Popen(signals_reset(command, ignored=ignored), start_new_session=True, **given) as child:
        try:
            yield child
        finally:
            end_group(child.pid)


def living(group: int) -> list[int]:
    """Return the ids of the live processes of a process group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended
            state, _, own_group = (folder / "stat").read_text("latin-1").rpartition(")")[2].split()[:3]
            if int(own_group) == group and state not in "ZX":
                found.append(int(folder.name))
    return found


def assert_ended(group: int) -> None:
    """Assert that all processes of a group end by themselves within 10 seconds.

    Python's resource tracker ends some milliseconds after the process that started it.
    """
    last = time.monotonic() + _PATIENCE_SECONDS
    while (left := living(group)) and time.monotonic() < last:
        time.sleep(_POLL_SECONDS)
    assert not left, [(Path("/proc") / str(process) / "cmdline").read_bytes() for process in left]


def end_group(group: int) -> None:
    """Kill the processes of a group and wait until all have ended."""
    last = time.monotonic() + _PATIENCE_SECONDS
    while living(group):
        assert time.monotonic() < last, f"processes {living(group)} of group {group} do not end"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)
