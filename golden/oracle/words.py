"""Words of ports: each port begins a word of 64 bits of its own, and takes as many as it needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner

WORD_BITS = 64


@inner
def get(words: NDArray[np.uint64], first: int, bits: int) -> Any:
    """Return up to 64 bits from a bit on, counted through all words, as an unsigned number; 0 bits are 0."""
    if bits == 0:
        return np.uint64(0)
    word, shift = first >> 6, first & (WORD_BITS - 1)
    value = words[word] >> np.uint64(shift)
    if shift + bits > WORD_BITS:
        value |= words[word + 1] << np.uint64(WORD_BITS - shift)
    return value & (~np.uint64(0) >> np.uint64(WORD_BITS - bits))


@inner
def put(words: NDArray[np.uint64], first: int, bits: int, value: int) -> None:
    """Write the low bits of a value, up to 64, to places that hold zeros."""
    if bits == 0:
        return
    word, shift = first >> 6, first & (WORD_BITS - 1)
    kept = np.uint64(value) & (~np.uint64(0) >> np.uint64(WORD_BITS - bits))
    words[word] |= kept << np.uint64(shift)
    if shift + bits > WORD_BITS:
        words[word + 1] |= kept >> np.uint64(WORD_BITS - shift)


@inner
def read(words: NDArray[np.uint64], places: NDArray[np.int64], number: int) -> int:
    """Return an element of the inputs as a signed number; one of 64 bits may be negative, an absent one is 0."""
    return np.int64(get(words, places[number, 0], places[number, 1]))  # type: ignore[return-value]


@inner
def flag(words: NDArray[np.uint64], places: NDArray[np.int64], number: int) -> bool:
    """Tell whether an element of the inputs is not 0."""
    return bool(get(words, places[number, 0], places[number, 1]) != np.uint64(0))


@inner
def write(words: NDArray[np.uint64], places: NDArray[np.int64], number: int, value: int) -> None:
    """Write an element of the outputs, whose words are zeros; an absent one is left out."""
    put(words, places[number, 0], places[number, 1], value)


@inner
def clear(words: NDArray[np.uint64]) -> None:
    """Set words to zeros."""
    for word in range(len(words)):
        words[word] = 0
