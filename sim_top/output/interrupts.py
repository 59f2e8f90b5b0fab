"""Signals that end a command: an exception unwinds it, and its child processes are terminated."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from vlane.sim_top.output.descendants import adopt_orphans, end_descendants, keep_ending_descendants

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """Exception raised when a signal ends the command.

    Parameters
    ----------
    number : int
        Signal number.
    """

    def __init__(self, number: int) -> None:
        self.status = 128 + number
        super().__init__(number)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Raise ``Interrupted`` on the first SIGINT, SIGTERM or SIGHUP within the context.

    Ignored signals stay ignored: shells ignore SIGINT for background commands, and nohup ignores SIGHUP. Descendants of
    this process get SIGTERM before the exception is raised, and repeatedly until the context ends. Further signals have
    no effect until then. The context has an effect only in the main thread, where Python runs signal handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted, ended = threading.Event(), threading.Event()
    handled = [number for number in _SIGNALS if signal.getsignal(number) not in {signal.SIG_IGN, None}]

    def interrupt(number: int, _: FrameType | None) -> NoReturn:
        for each in handled:
            signal.signal(each, _do_nothing)  # programs would inherit SIG_IGN
        interrupted.set()
        adopt_orphans(wanted=True)
        end_descendants()
        keep_ending_descendants(ended)
        raise Interrupted(number)

    before = {number: signal.signal(number, interrupt) for number in handled}
    try:
        yield
    finally:
        ended.set()
        if interrupted.is_set():
            end_descendants()
            adopt_orphans(wanted=False)
        for number, handler in before.items():
            signal.signal(number, handler)


def _do_nothing(_: int, __: FrameType | None) -> None:
    """Ignore a signal after the first one."""


@contextlib.contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Block SIGINT within the context. Processes started in the context never receive Ctrl-C."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
