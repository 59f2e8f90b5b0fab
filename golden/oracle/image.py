"""State of an oracle as one contiguous memory block, identical in Python and C.

A state is copied by a single memory copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Records

State = TypeVar("State")

ALIGNED = 8
"""Alignment of every array in bytes."""


def arrays_of(state: Any) -> list[NDArray[Any]]:
    """Return the arrays of a nested state, including those of records, in order."""
    found: list[NDArray[Any]] = []

    def note(array: NDArray[Any]) -> NDArray[Any]:
        found.append(array)
        return array

    _mapped(state, note)
    return found


def lay_out(state: State) -> tuple[State, NDArray[np.uint8]]:
    """Return a copy of a state whose arrays are views of one memory block, and the block.

    Arrays follow each other in C order, each aligned to ``ALIGNED`` bytes. Numbers are unchanged.
    """
    size = sum(_aligned_size(array) for array in arrays_of(state))
    block = np.zeros(max(size, ALIGNED) // ALIGNED, np.int64).view(np.uint8)
    used = 0

    def place(array: NDArray[Any]) -> NDArray[Any]:
        nonlocal used
        part = block[used : used + array.nbytes].view(array.dtype).reshape(array.shape)
        part[...] = array
        used += _aligned_size(array)
        return part

    return _mapped(state, place), block


def _aligned_size(array: NDArray[Any]) -> int:
    return -(-array.nbytes // ALIGNED) * ALIGNED


def _mapped(state: Any, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Any:
    """Return a nested state with a function applied to each array."""
    if isinstance(state, np.ndarray):
        return change(state)
    if isinstance(state, Records):
        return state.held_in(change(state.array))
    if not isinstance(state, tuple):
        return state
    parts = [_mapped(part, change) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)
