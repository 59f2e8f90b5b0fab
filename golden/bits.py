"""Sets of small numbers as bits of an integer."""

from __future__ import annotations

import numpy as np
from vlane.golden.kernel import kernel

__all__ = ["MAX_SET", "lowest", "next_of"]

MAX_SET = 62
"""Numbers that fit, from 0 on."""

_MODULUS = 67  # powers of two below 2**66 are all different modulo 67
_POSITION = np.zeros(_MODULUS, np.int64)
for _bit in range(64):
    _POSITION[(1 << _bit) % _MODULUS] = _bit


@kernel
def lowest(members: int) -> int:
    """Return the least member of a set that is not empty."""
    return _POSITION[(members & -members) % _MODULUS]


@kernel
def next_of(members: int, last: int) -> int:
    """Return the first member after ``last``, and round; the set is not empty."""
    above = members & -(2 << last)
    return lowest(above if above != 0 else members)
