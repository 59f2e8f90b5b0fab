"""Access to the ports of a row by index, for kernels that fill rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.oracle.ports import Placing, Port
from vlane.golden.oracle.words import clear, write, write_each
from vlane.tb.machinery.native.rows import Field

_WORD_BITS = 64


def places(layout: Mapping[str, Field], names: Sequence[str]) -> NDArray[np.int64]:
    """Return (word, lowest bit, width) of each named port in a row, as an array (names, 3).

    Raises
    ------
    ValueError
        If a port is wider than a word.
    """
    return elements(layout, [(name, 1) for name in names])


def elements(layout: Mapping[str, Field], arrays: Sequence[tuple[str, int]]) -> NDArray[np.int64]:
    """Return (word, lowest bit, width) of each element of array ports, in order, as an array (elements, 3).

    Parameters
    ----------
    layout : mapping
        Positions of the ports.
    arrays : sequence of (str, int)
        Ports with their numbers of elements.

    Raises
    ------
    ValueError
        If an element is wider than a word, or a port's width is not a multiple of its number of elements.
    """
    found = []
    for name, count in arrays:
        field = layout[name]
        bits, left = divmod(field.bits, count)
        if left or bits > _WORD_BITS:
            raise ValueError(
                f"{name} has {field.bits} bits; {count} elements need a multiple of {count} bits, at most 64 each"
            )
        starts = (field.shift + bits * index for index in range(count))
        found += [(field.word + start // _WORD_BITS, start % _WORD_BITS, bits) for start in starts]
    return np.array(found, np.int64).reshape(-1, 3)


def pieces(layout: Mapping[str, Field], name: str, count: int, most_bits: int) -> NDArray[np.int64]:
    """Return (word, lowest bit, width) of pieces of each element of a port, low bits first.

    A piece has at most ``most_bits`` bits.

    Raises
    ------
    ValueError
        If the port has no whole number of elements.
    """
    field = layout[name]
    bits, left = divmod(field.bits, count)
    if left:
        raise ValueError(f"{name} must have {count} elements, not {field.bits} bits")
    starts = [
        (bits * index + low, min(most_bits, bits - low)) for index in range(count) for low in range(0, bits, most_bits)
    ]
    places_of = [(*divmod(field.shift + start, _WORD_BITS), width) for start, width in starts]
    return np.array([(field.word + word, shift, width) for word, shift, width in places_of], np.int64).reshape(-1, 3)


@kernel
def put(rows: NDArray[np.uint64], cycle: int, port_positions: NDArray[np.int64], port: int, value: int) -> None:
    """Write a port or element into a row that is 0 there. A value of 0 needs no call."""
    if value != 0:
        word, shift = port_positions[port, 0], port_positions[port, 1]
        rows[cycle, word] |= np.uint64(value) << np.uint64(shift)
        if shift + port_positions[port, 2] > _WORD_BITS:
            rows[cycle, word + 1] |= np.uint64(value) >> np.uint64(_WORD_BITS - shift)


@inner
def get(rows: NDArray[np.uint64], cycle: int, port_positions: NDArray[np.int64], port: int) -> Any:
    """Return a port or element of a row, as an unsigned 64-bit number."""
    word, shift, bits = port_positions[port, 0], port_positions[port, 1], port_positions[port, 2]
    value = rows[cycle, word] >> np.uint64(shift)
    if shift + bits > _WORD_BITS:
        value |= rows[cycle, word + 1] << np.uint64(_WORD_BITS - shift)
    return value & (~np.uint64(0) >> np.uint64(_WORD_BITS - bits))


@inner
def clear_row(rows: NDArray[np.uint64], cycle: int) -> None:
    """Set a row to zeros."""
    for word in range(rows.shape[1]):
        rows[cycle, word] = 0


def in_rows(*layouts: Mapping[str, Field]) -> Placing:
    """Return a function that assigns an oracle's ports to their positions in rows.

    Raises
    ------
    ValueError
        If the oracle and a layout disagree about the width of a port.
    """
    fields = {name: field for layout in layouts for name, field in layout.items()}

    def place(*ports: Port) -> tuple[Port, ...]:
        placed = []
        for port in filter(lambda port: port.width, ports):
            field = fields[port.name]
            if field.bits != port.width:
                raise ValueError(f"{port.name} has {field.bits} bits in a row, {port.width} in the oracle")
            placed.append(replace(port, first=_WORD_BITS * field.word + field.shift))
        return tuple(placed)

    return place


@inner
def put_inputs(
    words: NDArray[np.uint64], input_fields: NDArray[np.int64], resets: int, values: NDArray[np.int64]
) -> None:
    """Write the inputs of a cycle to a row: the reset (element 0), then the values."""
    clear(words)
    write(words, input_fields, 0, resets)
    write_each(words, input_fields, 1, values)


def put_writes(inputs: Mapping[str, Field], writes: Sequence[Mapping[str, int]], rows: NDArray[np.uint64]) -> None:
    """Write one row of inputs per table write. Inputs that a write does not name keep their values."""
    for row, values in zip(rows, writes, strict=True):
        for name, value in values.items():
            inputs[name].put(row, value)
