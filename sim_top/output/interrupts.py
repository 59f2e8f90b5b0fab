"""Ctrl-C and SIGTERM as an exception, for work that tells what it keeps before it ends."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

__all__ = ["Interrupted", "interruptible", "interrupts_held_back"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """Somebody wants this to end.

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
    """Raise ``Interrupted`` on SIGINT and SIGTERM while the context lasts; only the main thread hears of signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _raise) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise(number: int, _: FrameType | None) -> NoReturn:
    raise Interrupted(number)


@contextlib.contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Hold SIGINT back while the context lasts: what is started in it never hears of Ctrl-C."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
