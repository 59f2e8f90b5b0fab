"""Sets of small numbers as bits of an integer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.cpython.unsafe.numbers import leading_zeros, trailing_zeros
from numba.extending import intrinsic, overload
from numpy.typing import NDArray
from vlane.golden.kernel import inner

__all__ = ["LIST_MARGIN", "MAX_SET", "has", "length", "list_members", "lowest", "next_of", "next_or_none", "size"]

MAX_SET = 62
"""Numbers that fit, from 0 on."""

_INSIDE: Any = {"strict": False, "jit_options": {"forceinline": True}}


@inner
def has(members: int, number: int) -> bool:
    """Tell whether a number is in a set."""
    return (members >> number) & 1 != 0


def lowest(members: int) -> int:
    """Return the least member of a set that is not empty."""
    return int(members & -members).bit_length() - 1


@overload(lowest, **_INSIDE)
def _lowest(members: Any) -> Any:  # noqa: ARG001 - numba gives it
    return lambda members: trailing_zeros(members)  # noqa: PLW0108 - an intrinsic is no implementation


def length(number: int) -> int:
    """Return the bits that a number needs, 0 or above."""
    return int(number).bit_length()


@overload(length, **_INSIDE)
def _length(number: Any) -> Any:  # noqa: ARG001 - numba gives it
    return lambda number: 64 - leading_zeros(np.int64(number))


@inner
def next_of(members: int, last: int) -> int:
    """Return the first member after ``last``, and round; the set is not empty."""
    above = members & -(2 << int(last))
    return lowest(above if above != 0 else members)


@inner
def next_or_none(members: int, last: int) -> int:
    """Return the first member after ``last``, and round; -1 if the set is empty."""
    return next_of(members, last) if members != 0 else -1


def size(members: int) -> int:
    """Return how many a set has."""
    return (int(members) & (1 << 64) - 1).bit_count()


@intrinsic
def _ones(_typing: Any, number: Any) -> Any:
    """Return how many bits are 1."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return number(number), generate


@overload(size, **_INSIDE)
def _size(members: Any) -> Any:  # noqa: ARG001 - numba gives it
    return lambda members: _ones(members)  # noqa: PLW0108 - an intrinsic is no implementation


LIST_MARGIN = 3
"""Places that a list needs beyond those of its numbers."""


@inner
def list_members(sets: NDArray[np.int64], bits: int, numbers: NDArray[np.int64]) -> int:
    """List the members of sets, those of set ``s`` from ``s << bits`` on; return how many there are.

    How many a set has is hard to foresee, so several are written at a time, whether there or not.
    """
    count = 0
    for number in range(len(sets)):
        place, left = count, sets[number]
        while left != 0:
            for _ in range(LIST_MARGIN + 1):
                numbers[place] = (number << bits) + lowest(left)
                left &= left - 1
                place += 1
        count += size(sets[number])
    return count
