"""The header as kernels make it, without its VL: that changes from link to link (IBA 7.7)."""

from __future__ import annotations

from typing import Any

import numpy as np
from vlane.golden.kernel import inner

__all__ = ["WORDS_PER_BLOCK", "header_of", "on_lane"]

WORDS_PER_BLOCK = 16
"""4-byte words, in which PktLen counts, of 64 bytes."""

_VL = np.uint64(60)


@inner
def header_of(sl: int, dlid: int, pktlen: int) -> int:
    """Return a header without VL; all other fields are 0."""
    return (sl << 52) | (dlid << 32) | (pktlen << 16)


@inner
def on_lane(header: int, lane: int) -> Any:
    """Return a header with its VL, an unsigned number."""
    return np.uint64(header) | (np.uint64(lane) << _VL)
