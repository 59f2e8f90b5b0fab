"""A barrier for concurrent kernels: no thread passes before all have arrived.

Threads spin, because a window of a network takes microseconds and waking a thread takes longer. A thread that spins for
long yields its core, so that more threads than cores still make progress.
"""

from __future__ import annotations

import threading
import time

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.intrinsics import intrinsic
from vlane.golden.engine.kernel import inner

_ARRIVED, _PASSED = 0, 8
"""Indices in a barrier, in separate cache lines: number of arrived threads; number of completed barriers."""

_SPINS = 4096
"""Spin iterations before yielding."""

_one_at_a_time = threading.Lock()


def new_barrier() -> NDArray[np.int64]:
    """Return a barrier without arrived threads."""
    return np.zeros(16, np.int64)


@intrinsic("rt::fetch_add", has_effects=True)
def _fetch_add(counters: NDArray[np.int64], index: int, amount: int) -> int:
    """Add to a word atomically and return its previous value. Writes made before become visible to other threads."""
    with _one_at_a_time:
        before = int(counters[index])
        counters[index] += amount
    return before


@intrinsic("rt::load_shared", has_effects=True)
def _atomic_load(counters: NDArray[np.int64], index: int) -> int:
    """Return the current value of a word that other threads write."""
    return int(counters[index])


@intrinsic("rt::yield_core", has_effects=True)
def _yield_core() -> None:
    """Yield the core to other threads."""
    time.sleep(0)


@inner
def wait_for_all(barrier: NDArray[np.int64], threads: int) -> None:
    """Wait until ``threads`` threads have arrived. Their earlier writes are then visible to all."""
    passed = _atomic_load(barrier, _PASSED)  # read before arriving, because the others may pass right afterwards
    if _fetch_add(barrier, _ARRIVED, 1) == threads - 1:
        _fetch_add(barrier, _ARRIVED, -threads)
        _fetch_add(barrier, _PASSED, 1)
        return
    looks = 0
    while _atomic_load(barrier, _PASSED) == passed:
        looks += 1
        if looks >= _SPINS:
            _yield_core()
