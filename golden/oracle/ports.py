"""Ports of an oracle: names and widths of the exported Verilog, with one or more 64-bit words each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from vlane.golden.oracle.words import WORD_BITS


@dataclass(frozen=True, slots=True)
class Port:
    """A port.

    Parameters
    ----------
    name : str
        Name in the exported Verilog; nested names are joined by two underscores.
    bits : int
        Width of an element.
    count : int
        Number of elements; the first occupies the lowest bits.
    meaning : str
        Description.
    codes : type of IntEnum, optional
        Names of an element's values.
    first : int
        First bit, counted through all words.
    """

    name: str
    bits: int
    count: int
    meaning: str
    codes: type[IntEnum] | None = None
    first: int = 0

    @property
    def word(self) -> int:
        """Index of the first word."""
        return self.first // WORD_BITS

    @property
    def width(self) -> int:
        """Total width in bits."""
        return self.bits * self.count

    @property
    def words(self) -> int:
        """Number of words."""
        return -(-self.width // WORD_BITS)


Placing = Callable[..., tuple[Port, ...]]
"""Function that returns the given ports with their positions, without ports of width 0."""

RESET = Port("rst", 1, 1, "Synchronous reset; takes effect at the end of the cycle.")


def ports_of(*ports: Port) -> tuple[Port, ...]:
    """Return ports with their words assigned, in order. Ports of width 0 are omitted."""
    word, placed = 0, []
    for port in ports:
        if port.width:
            placed.append(replace(port, first=WORD_BITS * word))
            word += port.words
    return tuple(placed)


def word_count(ports: Iterable[Port]) -> int:
    """Return the total number of words of the ports."""
    return sum(port.words for port in ports)


def upset(*, parity: bool) -> Port:
    """Return the output that reports flipped bits, which only an instance with parity has."""
    return Port("upset", int(parity), 1, "A stored bit has flipped (parity error); never set in the oracle.")


def places(ports: Sequence[Port], names: Iterable[str]) -> NDArray[np.int64]:
    """Return the place of each element of the named ports, (elements, 6): see ``places_of``.

    An absent port has one element of width 0.
    """
    known = {port.name: port for port in ports}
    found: list[tuple[int, int]] = []
    for name in names:
        port = known.get(name)
        if port is None:
            found.append((0, 0))
            continue
        found += [(port.first + port.bits * index, port.bits) for index in range(port.count)]
    return places_of(found)


def places_of(elements: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    """Return the places of elements, given by first bit (counted through all words) and width.

    A place has six numbers (``words.FIRST`` and following): first bit, width, word, lowest bit in that word, mask of
    the width (0 for elements of more than 64 bits), and whether the element continues in the next word.
    """
    found = []
    for first, bits in elements:
        word, shift = divmod(first, WORD_BITS)
        mask = (1 << bits) - 1 if bits <= WORD_BITS else 0
        found.append(
            (first, bits, word, shift, mask - (1 << WORD_BITS) * (mask >> WORD_BITS - 1), shift + bits > WORD_BITS)
        )
    return np.array(found, np.int64).reshape(-1, 6)


def bits_of(ports: Sequence[Port], name: str, count: int) -> NDArray[np.int64]:
    """Return the places of the single bits of a port, of width 0 if the port is absent."""
    first, width = places(ports, [name])[0, :2]
    return places_of((int(first) + bit if width else 0, int(width > 0)) for bit in range(count))
