"""Sets of small numbers as bits of an integer."""

from __future__ import annotations

from numba.cpython.unsafe.numbers import trailing_zeros
from numba.extending import overload
from vlane.golden.kernel import inner

__all__ = ["MAX_SET", "has", "lowest", "next_of"]

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


@inner
def next_of(members: int, last: int) -> int:
    """Return the first member after ``last``, and round; the set is not empty."""
    above = members & -(2 << last)
    return lowest(above if above != 0 else members)
