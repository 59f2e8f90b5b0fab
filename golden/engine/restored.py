"""Copy of a nested state onto another of the same type and size, in Python and in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from vlane.golden.compiler.intrinsics import expand_restore, intrinsic
from vlane.golden.compiler.records import Records


@intrinsic(has_effects=True, expand=expand_restore)
def restore(target: Any, source: Any) -> None:
    """Copy all arrays and records of ``source`` to ``target``. Numbers are not copied but must be equal."""
    if isinstance(target, np.ndarray):
        target[...] = source
    elif isinstance(target, Records):
        target.array[...] = source.array
    elif isinstance(target, tuple):
        for part, other in zip(target, source, strict=True):
            restore(part, other)
