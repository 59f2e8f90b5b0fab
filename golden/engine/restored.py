"""A nested state copied onto another of the same type and size, in compiled code too."""

from __future__ import annotations

from typing import Any

import numpy as np

from vlane.golden.compiler.intrinsics import expand_restore, intrinsic
from vlane.golden.compiler.records import Records


@intrinsic(acts=True, expand=expand_restore)
def restore(to: Any, source: Any) -> None:
    """Copy all arrays and records of a nested state onto those of another; its numbers are of the type, and equal."""
    if isinstance(to, np.ndarray):
        to[...] = source
    elif isinstance(to, Records):
        to.array[...] = source.array
    elif isinstance(to, tuple):
        for part, other in zip(to, source, strict=True):
            restore(part, other)
