"""Signals that end a command: an exception unwinds it, and the programs that it started are ended."""

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
    """A signal ends this command.

    Parameters
    ----------
    number : int
        The signal.
    """

    def __init__(self, number: int) -> None:
        self.status = 128 + number
        super().__init__(number)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Raise ``Interrupted`` on the first SIGINT, SIGTERM or SIGHUP while the context lasts.

    A signal that was ignored before stays ignored: shells ignore SIGINT for commands in the background, and nohup
    ignores SIGHUP. The processes that this process started get SIGTERM before the exception is raised, and again
    until the context ends. Further signals have no effect until then. The context has no effect in other threads than
    the main thread, where Python runs the handlers of signals.
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
    """Handle a signal after the first one."""


@contextlib.contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Block SIGINT while the context lasts; processes that are started in the context never receive Ctrl-C."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
