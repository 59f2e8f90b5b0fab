"""Child processes of tests: default signals, a session of their own, and nothing left behind."""

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
    """Return a command that runs another one with default signals, whatever this process has inherited.

    Parameters
    ----------
    command : sequence of str or Path
        Program and arguments.
    ignored : collection of int
        Signals that the program finds ignored, as a shell ignores SIGINT for a command in the background.
    """
    numbers = ",".join(str(int(number)) for number in ignored)
    return [sys.executable, "-I", "-S", "-c", _LAUNCH, numbers, *map(str, command)]


@contextlib.contextmanager
def started(
    command: Sequence[str | Path], *, ignored: Collection[int] = (), **more: Any
) -> Iterator[subprocess.Popen[str]]:
    """Start a program with default signals in a session of its own; kill its process group when the context ends.

    The group's id is the program's. Its pipes are closed and the program is reaped, also when the test fails.

    Parameters
    ----------
    command : sequence of str or Path
        Program and arguments.
    ignored : collection of int
        Signals that the program finds ignored.
    **more
        Arguments of ``Popen``; stdin is empty, stdout and stderr are pipes of text unless given.
    """
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
    with subprocess.Popen(signals_reset(command, ignored=ignored), start_new_session=True, **given) as child:
        try:
            yield child
        finally:
            end_group(child.pid)


def living(group: int) -> list[int]:
    """Return the ids of the processes of a group that have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended
            state, _, own_group = (folder / "stat").read_text("latin-1").rpartition(")")[2].split()[:3]
            if int(own_group) == group and state not in "ZX":
                found.append(int(folder.name))
    return found


def assert_ended(group: int) -> None:
    """Assert that the processes of a group end by themselves, or have ended.

    Python's resource tracker ends some milliseconds after the process that started it.
    """
    last = time.monotonic() + _PATIENCE_SECONDS
    while (left := living(group)) and time.monotonic() < last:
        time.sleep(_POLL_SECONDS)
    assert not left, [(Path("/proc") / str(process) / "cmdline").read_bytes() for process in left]


def end_group(group: int) -> None:
    """Kill the processes of a group and wait until they have ended."""
    last = time.monotonic() + _PATIENCE_SECONDS
    while living(group):
        assert time.monotonic() < last, f"processes {living(group)} of group {group} do not end"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)
