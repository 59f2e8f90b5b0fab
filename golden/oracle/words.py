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


(FIRST, WIDTH, WORD, SHIFT, MASK, CONTINUES) = range(6)
"""Numbers of a place (``ports.places_of``)."""


@inner
def read(words: NDArray[np.uint64], places: NDArray[np.int64], number: int) -> int:
    """Return an input element as a signed number.

    A 64-bit element may be negative, an absent element is 0.
    """
    place = places[number]
    value = words[place[WORD]] >> np.uint64(place[SHIFT])
    if place[CONTINUES] != 0:
        value |= words[place[WORD] + 1] << np.uint64(WORD_BITS - place[SHIFT])
    return np.int64(value & np.uint64(place[MASK]))  # type: ignore[return-value]


@inner
def flag(words: NDArray[np.uint64], places: NDArray[np.int64], number: int) -> bool:
    """Return whether an input element is not 0."""
    return read(words, places, number) != 0


@inner
def write(words: NDArray[np.uint64], places: NDArray[np.int64], number: int, value: int) -> None:
    """Write an output element to zeroed words.

    Ignore an absent element.
    """
    if value == 0:
        return
    place = places[number]
    kept = np.uint64(value) & np.uint64(place[MASK])
    words[place[WORD]] |= kept << np.uint64(place[SHIFT])
    if place[CONTINUES] != 0:
        words[place[WORD] + 1] |= kept >> np.uint64(WORD_BITS - place[SHIFT])


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
def write_array(words: NDArray[np.uint64], places: NDArray[np.int64], values: NDArray[np.int64]) -> None:
    """Write all elements of one port, which are equally wide and adjacent, to zeroed words.

    ``values`` must fit their width.
    """
    word, shift, bits = places[0, WORD], places[0, SHIFT], places[0, WIDTH]
    packed = np.uint64(0)
    for number in range(len(places)):
        packed |= np.uint64(values[number]) << np.uint64(shift & 63)
        shift += bits
        if shift >= WORD_BITS:
            words[word] |= packed
            word, shift = word + 1, shift - WORD_BITS
            packed = np.uint64(values[number]) >> np.uint64((bits - shift) & 63) if shift != 0 else np.uint64(0)
    if shift != 0:
        words[word] |= packed


@inner
def clear(words: NDArray[np.uint64]) -> None:
    """Set all words to 0."""
    for word in range(len(words)):
        words[word] = 0
