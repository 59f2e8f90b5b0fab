"""64-bit words of ports: each port starts a new word and occupies as many words as it needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner

WORD_BITS = 64


@inner
def get(port_words: NDArray[np.uint64], first_bit: int, bits: int) -> Any:
    """Return up to 64 bits of port words, from ``first_bit`` on, as an unsigned number, or 0 for no bits."""
    if bits == 0:
        return np.uint64(0)
    word, shift = first_bit >> 6, first_bit & (WORD_BITS - 1)
    value = port_words[word] >> np.uint64(shift)
    if shift + bits > WORD_BITS:
        value |= port_words[word + 1] << np.uint64(WORD_BITS - shift)
    return value & (~np.uint64(0) >> np.uint64(WORD_BITS - bits))


@inner
def put(port_words: NDArray[np.uint64], first_bit: int, bits: int, value: int) -> None:
    """Write the low bits (up to 64) of a value to port words, at bits that are 0."""
    if bits == 0:
        return
    word, shift = first_bit >> 6, first_bit & (WORD_BITS - 1)
    kept = np.uint64(value) & (~np.uint64(0) >> np.uint64(WORD_BITS - bits))
    port_words[word] |= kept << np.uint64(shift)
    if shift + bits > WORD_BITS:
        port_words[word + 1] |= kept >> np.uint64(WORD_BITS - shift)


(FIRST, WIDTH, WORD, SHIFT, MASK, CONTINUES) = range(6)
"""Numbers of a place (``ports.places_of``)."""


@inner
def read(port_words: NDArray[np.uint64], places: NDArray[np.int64], element: int) -> int:
    """Return an element of the input ports as a signed number."""
    place = places[element]
    value = port_words[place[WORD]] >> np.uint64(place[SHIFT])
    if place[CONTINUES] != 0:
        value |= port_words[place[WORD] + 1] << np.uint64(WORD_BITS - place[SHIFT])
    return np.int64(value & np.uint64(place[MASK]))  # type: ignore[return-value]


@inner
def flag(port_words: NDArray[np.uint64], places: NDArray[np.int64], element: int) -> bool:
    """Return whether an element of the input ports is not 0."""
    return read(port_words, places, element) != 0


@inner
def write(port_words: NDArray[np.uint64], places: NDArray[np.int64], element: int, value: int) -> None:
    """Write an element of the output ports, whose words were cleared before."""
    if value == 0:
        return
    place = places[element]
    kept = np.uint64(value) & np.uint64(place[MASK])
    port_words[place[WORD]] |= kept << np.uint64(place[SHIFT])
    if place[CONTINUES] != 0:
        port_words[place[WORD] + 1] |= kept >> np.uint64(WORD_BITS - place[SHIFT])


@inner
def read_each(
    port_words: NDArray[np.uint64], places: NDArray[np.int64], first_element: int, values: NDArray[np.int64]
) -> int:
    """Read consecutive input elements into ``values``, starting with ``first_element``. Return the next element."""
    for number in range(len(values)):
        values[number] = read(port_words, places, first_element + number)
    return first_element + len(values)


@inner
def write_each(
    port_words: NDArray[np.uint64], places: NDArray[np.int64], first_element: int, values: NDArray[np.int64]
) -> None:
    """Write each value to an element of zeroed words, starting with element ``first_element``."""
    for number in range(len(values)):
        write(port_words, places, first_element + number, values[number])


@inner
def write_array(port_words: NDArray[np.uint64], places: NDArray[np.int64], values: NDArray[np.int64]) -> None:
    """Write all elements of one port, which are equally wide and adjacent, to zeroed words.

    ``values`` must fit their width.
    """
    word, shift, bits = places[0, WORD], places[0, SHIFT], places[0, WIDTH]
    packed = np.uint64(0)
    for number in range(len(places)):
        packed |= np.uint64(values[number]) << np.uint64(shift & 63)
        shift += bits
        if shift >= WORD_BITS:
            port_words[word] |= packed
            word, shift = word + 1, shift - WORD_BITS
            packed = np.uint64(values[number]) >> np.uint64((bits - shift) & 63) if shift != 0 else np.uint64(0)
    if shift != 0:
        port_words[word] |= packed


@inner
def clear(port_words: NDArray[np.uint64]) -> None:
    """Set all port words to 0."""
    for word in range(len(port_words)):
        port_words[word] = 0
