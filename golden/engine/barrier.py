"""A barrier for kernels that run at the same time: nobody passes before all have arrived.

The threads spin: a window of a network takes microseconds, and waking a thread takes longer. After a while without
success a thread offers its core to others, so that more threads than cores still get on.
"""

from __future__ import annotations

import threading
import time

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.intrinsics import intrinsic
from vlane.golden.engine.kernel import inner

_ARRIVED, _PASSED = 0, 8
"""Places in a barrier: threads that have arrived; times that all have passed. They are in cache lines of their own."""

_SPINS = 4096
"""Looks before a thread offers its core."""

_one_at_a_time = threading.Lock()


def new_barrier() -> NDArray[np.int64]:
    """Return a barrier that nobody has arrived at."""
    return np.zeros(16, np.int64)


@intrinsic("rt::fetch_add", acts=True)
def _raised(words: NDArray[np.int64], place: int, more: int) -> int:
    """Add to a word at once, whatever other threads do; return what it was. All that was written before is seen."""
    with _one_at_a_time:
        before = int(words[place])
        words[place] += more
    return before


@intrinsic("rt::load_shared", acts=True)
def _seen(words: NDArray[np.int64], place: int) -> int:
    """Return a word as it is now, whoever wrote it."""
    return int(words[place])


@intrinsic("rt::yield_core", acts=True)
def _offer_core() -> None:
    """Let other threads have the core."""
    time.sleep(0)


@inner
def meet(barrier: NDArray[np.int64], threads: int) -> None:
    """Wait until so many threads have arrived; what each wrote before is seen by all after."""
    passed = _seen(barrier, _PASSED)  # before arriving: afterwards the others may already have passed
    if _raised(barrier, _ARRIVED, 1) == threads - 1:
        _raised(barrier, _ARRIVED, -threads)
        _raised(barrier, _PASSED, 1)
        return
    looks = 0
    while _seen(barrier, _PASSED) == passed:
        looks += 1
        if looks >= _SPINS:
            _offer_core()
