"""Counters that are never read, so that the compiler omits the counting (``docs/engine.md``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.intrinsics import expand_counters, intrinsic


@intrinsic(expand=expand_counters)
def unread_counters(counter_count: int) -> NDArray[np.int64]:
    """Return counters that a kernel may increment but no code reads, so that the compiler omits them."""
    return np.zeros(counter_count, np.int64)
