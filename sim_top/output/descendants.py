"""Descendant processes of this process, from Linux's ``/proc``."""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import os
import signal
import threading
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
"""Option of Linux's ``prctl``: processes whose parent has ended become children of this process, not of init."""
_SIGTERM_BIT = 1 << (signal.SIGTERM - 1)
_PATIENCE_SECONDS = 2.0
_POLL_SECONDS = 0.02
_AGAIN_SECONDS = 0.2


def descendants() -> list[int]:
    """Return the ids of all live descendants of this process that do not ignore SIGTERM.

    Python's resource tracker ignores SIGTERM; it exits with this process.
    """
    children: dict[int, list[int]] = {}
    deaf: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended
            fields = dict(line.split(":", 1) for line in (folder / "status").read_text("latin-1").splitlines())
            process = int(folder.name)
            children.setdefault(int(fields["PPid"]), []).append(process)
            if fields["State"].split()[0] in "ZX" or int(fields.get("SigIgn", "0"), 16) & _SIGTERM_BIT:
                deaf.add(process)
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return [process for process in found if process not in deaf]


def adopt_orphans(*, wanted: bool) -> None:
    """Make this process the parent of orphaned descendants, or stop doing so.

    Otherwise a program that ``make`` starts just before SIGTERM ends ``make`` could not be signalled.
    """
    with contextlib.suppress(AttributeError):  # not on Linux
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


def end_descendants() -> None:
    """Send SIGTERM to all descendants and wait up to two seconds until they have exited.

    Processes started meanwhile get no signal, because a pool would then start all its remaining tasks one by one.
    """
    last = time.monotonic() + _PATIENCE_SECONDS
    ending = descendants()
    for process in ending:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGTERM)
    while time.monotonic() < last and not set(ending).isdisjoint(descendants()):
        time.sleep(_POLL_SECONDS)


def keep_ending_descendants(ended: threading.Event) -> None:
    """Send SIGTERM to all descendants repeatedly from a thread until ``ended`` is set.

    Threads of a pool may start further programs while the main thread unwinds.
    """

    def work() -> None:
        while not ended.wait(_AGAIN_SECONDS):
            end_descendants()

    _thread.start_new_thread(work, ())  # takes none of the locks that the interrupted code may hold
