"""Ports of a block as its oracle has them: names and widths of the exported Verilog, and a word or more for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
        As in the exported Verilog; nested names are joined by two underscores.
    bits : int
        Width of an element.
    count : int
        Elements; the first is lowest.
    about : str
        What it means.
    codes : type of IntEnum, optional
        Names of an element's values.
    word : int
        Its first word.
    """

    name: str
    bits: int
    count: int
    about: str
    codes: type[IntEnum] | None = None
    word: int = 0

    @property
    def width(self) -> int:
        """All bits."""
        return self.bits * self.count

    @property
    def words(self) -> int:
        """Words that it takes."""
        return -(-self.width // WORD_BITS)


RESET = Port("rst", 1, 1, "Reset, synchronous: it takes effect at the end of the cycle.")


def ports_of(*ports: Port) -> tuple[Port, ...]:
    """Return ports in their words, in order; those without bits are left out."""
    word, placed = 0, []
    for port in ports:
        if port.width:
            placed.append(Port(port.name, port.bits, port.count, port.about, port.codes, word))
            word += port.words
    return tuple(placed)


def word_count(ports: Iterable[Port]) -> int:
    """Return the words that ports take together."""
    return sum(port.words for port in ports)


def upset(*, parity: bool) -> Port:
    """Return the output that tells of flipped bits, which only an instance with parity has."""
    return Port("upset", int(parity), 1, "Something that is stored does not fit its parity: never here.")


def places(ports: Sequence[Port], names: Iterable[str]) -> NDArray[np.int64]:
    """Return first bit, counted through all words, and width of each element of the named ports, (elements, 2).

    A port that is not there has one element of no bits.
    """
    known = {port.name: port for port in ports}
    found: list[tuple[int, int]] = []
    for name in names:
        port = known.get(name)
        if port is None:
            found.append((0, 0))
            continue
        found += [(WORD_BITS * port.word + port.bits * index, port.bits) for index in range(port.count)]
    return np.array(found, np.int64).reshape(-1, 2)
