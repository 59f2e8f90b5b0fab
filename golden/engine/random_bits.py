"""Pseudo-random 64-bit words, equal on all machines, compiled or not (xorshift, Marsaglia 2003)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import kernel

_WORD = 0xFFFF_FFFF
_POOL, _SHIFT = 4, np.uint32(16)
_INIT_POOL, _POOL_FACTOR, _LEFT, _RIGHT = 0x43B0_D7E5, 0x931E_8875, 0xCA01_F9DD, 0x4973_F715
_INIT_STATE, _STATE_FACTOR = 0x8B51_F9DD, 0x58F3_8DED
"""Constants of numpy's ``SeedSequence``: pool size, shift and multipliers."""

_HALF = np.uint64(32)
_A, _B, _C, _KEEP = np.uint64(13), np.uint64(7), np.uint64(17), np.uint64(2)


def seeded_rng(*parts: int) -> NDArray[np.uint64]:
    """Return the generator state for a seed that consists of several numbers."""
    mixed = np.random.SeedSequence([part & _WORD for part in parts]).generate_state(1, np.uint64)
    return mixed | np.uint64(1)


def seeded_rngs(*parts: NDArray[np.int64] | int) -> NDArray[np.uint64]:
    """Return the states of many generators at once, equal to those of ``seeded_rng``.

    Large networks have hundreds of thousands of generators, and numpy needs 30 microseconds for each.

    Parameters
    ----------
    parts : array of int64 or int
        Up to four seed parts, of shapes that broadcast.

    Returns
    -------
    array of uint64
        States, in the broadcast shape.
    """
    words = [np.asarray(part, np.int64).astype(np.uint32) for part in parts]
    every = np.broadcast_arrays(*words, *[np.uint32(0)] * (_POOL - len(words)))
    words = [word.ravel() for word in every]  # arrays wrap around, scalars warn
    scrambled, factor = _INIT_POOL, _POOL_FACTOR
    pool = []
    for word in words:
        pool.append(_hash_words(word, scrambled, scrambled * factor))
        scrambled *= factor
    for source in range(_POOL):
        for other in (each for each in range(_POOL) if each != source):
            mixed = np.uint32(_LEFT) * pool[other] - np.uint32(_RIGHT) * _hash_words(
                pool[source], scrambled, scrambled * factor
            )
            pool[other] = mixed ^ mixed >> _SHIFT
            scrambled *= factor
    low = _hash_words(pool[0], _INIT_STATE, _INIT_STATE * _STATE_FACTOR)
    high = _hash_words(pool[1], _INIT_STATE * _STATE_FACTOR, _INIT_STATE * _STATE_FACTOR**2)
    states = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32) | np.uint64(1)
    return states.reshape(every[0].shape)


def _hash_words(words: NDArray[np.uint32], before: int, after: int) -> NDArray[np.uint32]:
    """Return words hashed with the lowest 32 bits of two numbers."""
    words = (words ^ np.uint32(before & _WORD)) * np.uint32(after & _WORD)
    return words ^ words >> _SHIFT


@kernel
def draw_bits(rng: NDArray[np.uint64]) -> int:
    """Return the next 62 random bits as a signed integer."""
    word = rng[0]
    word ^= word << _A
    word ^= word >> _B
    word ^= word << _C
    rng[0] = word
    return np.int64(word >> _KEEP)  # type: ignore[return-value]


@kernel
def draw_below(rng: NDArray[np.uint64], bound: int) -> int:
    """Return a random integer from 0 to ``bound`` - 1, with ``bound`` at most 2**32.

    The bias is below ``bound`` / 2**32.
    """
    product = np.uint64(draw_bits(rng) >> 30) * np.uint64(bound)  # up to 2**64 - 2**32, so unsigned
    return int(product >> _HALF)
