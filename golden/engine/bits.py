"""Sets of small numbers as bits of an integer.

Larger sets have several integers (words): member ``m`` is bit ``m & 63`` of word ``m >> WORD_BITS``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.intrinsics import intrinsic
from vlane.golden.engine.kernel import inner

WORD_BITS = 6
"""Log2 of the maximum number of members per word."""


@inner
def is_member(bit_set: int, number: int) -> bool:
    """Return whether a number is a member of a set."""
    return (bit_set >> number) & 1 != 0


@intrinsic("rt::lowest")
def lowest_member(bit_set: int) -> int:
    """Return the smallest member of a non-empty set."""
    return int(bit_set & -bit_set).bit_length() - 1


@intrinsic("rt::length")
def bit_length(number: int) -> int:
    """Return the number of bits of a non-negative number."""
    return int(number).bit_length()


@inner
def next_member(bit_set: int, last: int) -> int:
    """Return the first member above ``last``, otherwise the smallest member. The set must not be empty."""
    above = bit_set & -(2 << int(last))
    return lowest_member(above if above != 0 else bit_set)


@inner
def next_member_or_none(bit_set: int, last: int) -> int:
    """Return the first member above ``last``, otherwise the smallest member, or -1 if the set is empty."""
    return next_member(bit_set, last) if bit_set != 0 else -1


@intrinsic("rt::bit_count")
def member_count(bit_set: int) -> int:
    """Return the number of members of a set."""
    return (int(bit_set) & (1 << 64) - 1).bit_count()


LIST_MARGIN = 3
"""Number of spare elements that a list needs after its last number, because ``list_members`` overwrites them."""


@inner
def list_members(sets: NDArray[np.int64], bits_per_set: int, numbers: NDArray[np.int64]) -> int:
    """Write the members of several sets to ``numbers``, in order, and return their total count."""
    count = 0
    for number in range(len(sets)):
        place, left = count, sets[number]  # overwrites the surplus of the previous set
        while left != 0:
            for _ in range(LIST_MARGIN + 1):
                numbers[place] = (number << bits_per_set) + lowest_member(left)
                left &= left - 1  # clears the lowest member, if any
                place += 1
        count += member_count(sets[number])
    return count
