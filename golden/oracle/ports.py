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
    about : str
        Description.
    codes : type of IntEnum, optional
        Names of an element's values.
    first : int
        First bit, counted through all words.
    """

    name: str
    bits: int
    count: int
    about: str
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
    """Return ports with their words assigned, in order.

    Ports of width 0 are omitted.
    """
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
    """Return the first bit (counted through all words) and the width of each element of the named ports, (elements, 2).

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
    return np.array(found, np.int64).reshape(-1, 2)
