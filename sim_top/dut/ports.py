"""Ports of a block for a map: position of their bits and number of elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from amaranth.lib.data import ArrayLayout
from numpy.typing import NDArray

from vlane.sim_top.blocks import Block
from vlane.tb.machinery.native.model import component_ports
from vlane.tb.machinery.native.parts import note_use
from vlane.tb.machinery.native.rows import Field, Port, Words, row_layout, row_words

Bits = NDArray[np.uint8]
"""Bits of rows, shape (cycles, bits); bit 0 of a row is the lowest bit of its first word."""

_WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class BlockPort:
    """Port of a block.

    Parameters
    ----------
    name : str
        Verilog name.
    bits : int
        Width.
    first : int
        Index of the port's lowest bit in the row.
    elements : int
        Number of elements of equal width: the elements of an array, otherwise the bits.
    is_array : bool
        Whether the port is an array; otherwise it is a number or a bit vector.
    """

    name: str
    bits: int
    first: int
    elements: int
    is_array: bool


class PortRow:
    """Inputs or outputs of a design in a row of words.

    Parameters
    ----------
    ports : iterable of Port
        All ports of the design.
    inputs : bool
        Whether the row holds the inputs.
    elements : mapping
        Number of elements by port; the width for a port that is not listed.
    """

    def __init__(self, ports: tuple[Port, ...], *, inputs: bool, elements: Mapping[str, int] | None = None) -> None:
        self.layout: dict[str, Field] = row_layout(ports, inputs=inputs)
        self.words = row_words(self.layout)
        counts = elements or {}
        self.ports = {
            name: BlockPort(
                name, each.bits, _WORD_BITS * each.word + each.shift, counts.get(name, each.bits), name in counts
            )
            for name, each in self.layout.items()
        }

    def values(self, row: Words) -> dict[str, int]:
        """Return the values of the ports in one row."""
        return {name: each.value(row) for name, each in self.layout.items()}


def block_rows(block: Block, parameters: Mapping[str, Any]) -> tuple[PortRow, PortRow]:
    """Return the inputs (reset first) and the outputs of an instance of a block."""
    component = block.make(parameters)
    note_use(component)  # only its signature is needed
    ports = component_ports(component)
    elements = {
        "__".join(map(str, path)): member.shape.length
        for path, member, _ in component.signature.flatten(component)
        if isinstance(member.shape, ArrayLayout)
    }
    return PortRow(ports, inputs=True, elements=elements), PortRow(ports, inputs=False, elements=elements)


def bits_of_rows(rows: Words) -> Bits:
    """Return the bits of rows, followed by one bit that is 0."""
    bits = np.zeros((len(rows), _WORD_BITS * rows.shape[1] + 1), np.uint8)
    if rows.size:
        packed = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), 8 * rows.shape[1])
        bits[:, :-1] = np.unpackbits(packed, axis=1, bitorder="little")
    return bits


def rows_of_bits(bits: Bits) -> Words:
    """Return rows from bits, whose number is a multiple of the word size."""
    packed = np.packbits(np.ascontiguousarray(bits), axis=1, bitorder="little")
    return packed.view(np.uint64).reshape(len(bits), bits.shape[1] // _WORD_BITS)


def shown_bits(count: int) -> str:
    """Return a number of bits as text."""
    return f"{count} bit{'s' if count > 1 else ''}"
