"""A pseudo-random sequence of 64-bit words, the same on every machine, compiled or not (xorshift, Marsaglia 2003)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from vlane.golden.engine.kernel import kernel

__all__ = ["below", "draw", "seeded"]

_A, _B, _C, _KEEP = np.uint64(13), np.uint64(7), np.uint64(17), np.uint64(2)


def seeded(*parts: int) -> NDArray[np.uint64]:
    """Return the state of a generator for a seed of several numbers."""
    mixed = np.random.SeedSequence([part & 0xFFFF_FFFF for part in parts]).generate_state(1, np.uint64)
    return mixed | np.uint64(1)


@kernel
def draw(bits: NDArray[np.uint64]) -> int:
    """Return the next 62 random bits as a signed integer."""
    word = bits[0]
    word ^= word << _A
    word ^= word >> _B
    word ^= word << _C
    bits[0] = word
    return np.int64(word >> _KEEP)  # type: ignore[return-value]


@kernel
def below(bits: NDArray[np.uint64], bound: int) -> int:
    """Return a random integer of 0 to ``bound`` - 1, ``bound`` below 2**31; the bias is below ``bound`` / 2**32."""
    return ((draw(bits) >> 30) * bound) >> 32
