"""64-bit words of ports: each port starts a new word and occupies as many words as it needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner

WORD_BITS = 64


@inner
def get(words: NDArray[np.uint64], first: int, bits: int) -> Any:
    """Return up to 64 bits, starting at a bit counted through all words, as an unsigned number, or 0 for no bits."""
    if bits == 0:
        return np.uint64(0)
    word, shift = first >> 6, first & (WORD_BITS - 1)
    value = words[word] >> np.uint64(shift)
    if shift + bits > WORD_BITS:
        value |= words[word + 1] << np.uint64(WORD_BITS - shift)
    return value & (~np.uint64(0) >> np.uint64(WORD_BITS - bits))


@inner
def put(words: NDArray[np.uint64], first: int, bits: int, value: int) -> None:
    """Write the low bits (up to 64) of a value to bits that are 0."""
    if bits == 0:
        return
    word, shift = first >> 6, first & (WORD_BITS - 1)
    kept = np.uint64(value) & (~np.uint64(0) >> np.uint64(WORD_BITS - bits))
    words[word] |= kept << np.uint64(shift)
    if shift + bits > WORD_BITS:
        words[word + 1] |= kept >> np.uint64(WORD_BITS - shift)


@inner
def read(words: NDArray[np.uint64], places: NDArray[np.int64], number: int) -> int:
    """Return an input element as a signed number.

    A 64-bit element may be negative, an absent element is 0.
    """
    return np.int64(get(words, places[number, 0], places[number, 1]))  # type: ignore[return-value]


@inner
def flag(words: NDArray[np.uint64], places: NDArray[np.int64], number: int) -> bool:
    """Return whether an input element is not 0."""
    return bool(get(words, places[number, 0], places[number, 1]) != np.uint64(0))


@inner
def write(words: NDArray[np.uint64], places: NDArray[np.int64], number: int, value: int) -> None:
    """Write an output element to zeroed words.

    Ignore an absent element.
    """
    put(words, places[number, 0], places[number, 1], value)


@inner
def read_each(words: NDArray[np.uint64], places: NDArray[np.int64], first: int, values: NDArray[np.int64]) -> None:
    """Read an input element, starting with element ``first``, into each value."""
    for number in range(len(values)):
        values[number] = read(words, places, first + number)


@inner
def write_each(words: NDArray[np.uint64], places: NDArray[np.int64], first: int, values: NDArray[np.int64]) -> None:
    """Write each value to an element of zeroed words, starting with element ``first``."""
    for number in range(len(values)):
        write(words, places, first + number, values[number])


@inner
def clear(words: NDArray[np.uint64]) -> None:
    """Set all words to 0."""
    for word in range(len(words)):
        words[word] = 0
