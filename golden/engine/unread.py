"""Counters that nobody reads: the compiler leaves out what counts them (``docs/engine.md``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.intrinsics import expand_counters, intrinsic


@intrinsic(expand=expand_counters)
def unread(count: int) -> NDArray[np.int64]:
    """Return counters that a kernel raises and never reads: compiled code does not count.

    The translator refuses a kernel that reads such a counter.
    """
    return np.zeros(count, np.int64)
