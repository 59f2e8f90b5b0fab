"""Allocation rule of a buffer shared by VLs, for storage and for credit counting.

Each VL has a guaranteed minimum and a maximum. VLs share the part of the buffer that the minima leave.
"""

from __future__ import annotations

from vlane.golden.engine.kernel import inner


@inner
def beyond(held: int, minimum: int) -> int:
    """Return the amount that a VL holds in excess of its minimum."""
    return max(held, minimum) - minimum


@inner
def grown(before: int, after: int, minimum: int) -> int:
    """Return the change of a VL's excess over its minimum, possibly negative."""
    return max(after, minimum) - max(before, minimum)


@inner
def fits(before: int, more: int, minimum: int, maximum: int, in_use: int, shared: int) -> bool:
    """Return whether an additional amount fits in the space of a VL.

    Parameters
    ----------
    before : int
        Amount that the VL holds.
    more : int
        Additional amount.
    minimum, maximum : int
        Guaranteed and maximum amount of the VL.
    in_use : int
        Amount that all VLs hold in excess of their minima.
    shared : int
        Size of the buffer minus all minima.
    """
    after = before + more
    return after <= maximum and in_use + grown(before, after, minimum) <= shared


@inner
def missing(before: int, more: int, minimum: int, maximum: int, in_use: int, shared: int) -> int:
    """Return a lower bound of the amount that must be freed before ``more`` fits, at most 0 if it fits.

    The parameters are those of ``fits``.
    """
    after = before + more
    return max(after - maximum, in_use + grown(before, after, minimum) - shared)
