"""Sets of small numbers as bits of an integer."""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import leading_zeros, trailing_zeros
from numba.extending import intrinsic, overload
from numpy.typing import NDArray
from vlane.golden.kernel import inner

__all__ = ["LIST_MARGIN", "MAX_SET", "has", "length", "list_members", "lowest", "next_of", "size"]

MAX_SET = 62
"""Numbers that fit, from 0 on."""


@inner
def has(members: int, number: int) -> bool:
    """Tell whether a number is in a set."""
    return (members >> number) & 1 != 0


def lowest(members: int) -> int:
    """Return the least member of a set that is not empty."""
    return int(members & -members).bit_length() - 1


@overload(lowest, jit_options={"forceinline": True})
def _lowest(members):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
    def least(members):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return trailing_zeros(members)  # type: ignore[call-arg]  # an intrinsic

    return least


def length(number: int) -> int:
    """Return the bits that a number needs, 0 or above."""
    return int(number).bit_length()


@overload(length, jit_options={"forceinline": True})
def _length(number):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
    def needed(number):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return 64 - leading_zeros(np.int64(number))  # type: ignore[call-arg]  # an intrinsic

    return needed


@inner
def next_of(members: int, last: int) -> int:
    """Return the first member after ``last``, and round; the set is not empty."""
    above = members & -(2 << int(last))
    return lowest(above if above != 0 else members)


def size(members: int) -> int:
    """Return how many a set has."""
    return (int(members) & (1 << 64) - 1).bit_count()


@intrinsic
def _ones(_typing, number):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    return number(number), lambda context, builder, signature, arguments: builder.ctpop(arguments[0])  # noqa: ARG005


@overload(size, jit_options={"forceinline": True})
def _size(members):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
    def count(members):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return _ones(members)  # type: ignore[call-arg]  # an intrinsic

    return count


LIST_MARGIN = 3
"""Places that a list needs beyond those of its numbers."""


@inner
def list_members(members: int, more: int, numbers: NDArray[np.int64], count: int) -> int:
    """Append the members of a set, each with ``more`` added, to a list of ``count`` numbers; return its new length.

    How many there are is hard to foresee, so several are written at a time, whether there or not.
    """
    place, left = count, members
    while left != 0:
        for _ in range(LIST_MARGIN + 1):
            numbers[place] = more + lowest(left)
            left &= left - 1
            place += 1
    return count + size(members)
