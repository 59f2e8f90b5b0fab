"""Rows of 64-bit words into which the ports of a component are packed.

Ports are packed in order. A port of up to 64 bits never crosses a word; a wider port starts a new word.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""Rows of words, or one row."""
WORD_BITS = 64
"""Width of a word."""
_ALL_ONES = (1 << WORD_BITS) - 1


@dataclass(frozen=True, slots=True)
class Port:
    """Port of a compiled top module.

    Parameters
    ----------
    name : str
        Name in Verilog; nested members are joined by two underscores.
    bits : int
        Width in bits.
    is_input : bool
        Direction, seen from the component.
    """

    name: str
    bits: int
    is_input: bool


@dataclass(frozen=True, slots=True)
class Field:
    """Position of a port in a row.

    Parameters
    ----------
    word, shift : int
        First word of the port, and its lowest bit in that word.
    bits : int
        Width in bits.
    """

    word: int
    shift: int
    bits: int

    def put(self, rows: Words, value: int | NDArray[Any]) -> None:
        """Set the port in one row or several. A port of more than 64 bits accepts an integer only."""
        if self.bits > WORD_BITS:
            for offset in range(-(-self.bits // WORD_BITS)):
                rows[..., self.word + offset] = int(value) >> WORD_BITS * offset & _ALL_ONES
            return
        mask = np.uint64(((1 << self.bits) - 1) << self.shift)
        shifted = np.asarray(value, np.uint64) << np.uint64(self.shift)
        rows[..., self.word] = (rows[..., self.word] & ~mask) | (shifted & mask)

    def get(self, rows: Words) -> NDArray[np.uint64]:
        """Return the port in every row. The port must not be wider than a word."""
        return rows[..., self.word] >> np.uint64(self.shift) & np.uint64((1 << self.bits) - 1)

    def value(self, row: Words) -> int:
        """Return the port in one row, of any width."""
        words = range(-(-(self.shift + self.bits) // WORD_BITS))
        packed = sum(int(row[self.word + offset]) << WORD_BITS * offset for offset in words)
        return packed >> self.shift & (1 << self.bits) - 1


def row_layout(ports: Iterable[Port], *, inputs: bool) -> dict[str, Field]:
    """Return the positions of the inputs, or of the outputs, in their row."""
    layout: dict[str, Field] = {}
    word, used = -1, WORD_BITS
    for port in ports:
        if port.is_input != inputs:
            continue
        if used + port.bits > WORD_BITS:
            word, used = word + -(-max(used, 1) // WORD_BITS), 0
        layout[port.name] = Field(word, used, port.bits)
        used += port.bits
    return layout


def row_words(layout: dict[str, Field]) -> int:
    """Return the number of words in a row."""
    return max((f.word + -(-(f.shift + f.bits) // WORD_BITS) for f in layout.values()), default=0)
