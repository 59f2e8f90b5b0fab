"""Prefetch hint for a record that is needed soon.

It changes no result (``docs/engine.md``).
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from vlane.golden.compiler.intrinsics import intrinsic
from vlane.golden.compiler.records import Records


@intrinsic("rt::prefetch", has_effects=True)
def prefetch(records: Records[Any] | NDArray[Any], index: int) -> None:
    """Prefetch the cache line of a record or number, counted through all dimensions. The index may be out of range."""
