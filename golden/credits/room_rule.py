"""Allocation rule of a buffer shared by VLs, for storage and for credit counting.

Each VL has a guaranteed minimum and a maximum. VLs share the part of the buffer that the minima leave.
"""

from __future__ import annotations

from vlane.golden.engine.kernel import inner


@inner
def excess_over_minimum(held: int, minimum: int) -> int:
    """Return the amount that a VL holds in excess of its minimum."""
    return max(held, minimum) - minimum


@inner
def excess_growth(held: int, held_after: int, minimum: int) -> int:
    """Return the change of a VL's excess over its minimum, possibly negative."""
    return max(held_after, minimum) - max(held, minimum)


@inner
def fits(held: int, added: int, minimum: int, maximum: int, in_use: int, shared: int) -> bool:
    """Return whether an additional amount fits in the space of a VL.

    Parameters
    ----------
    held : int
        Amount that the VL holds.
    added : int
        Additional amount.
    minimum, maximum : int
        Guaranteed and maximum amount of the VL.
    in_use : int
        Amount that all VLs hold in excess of their minima.
    shared : int
        Size of the buffer minus all minima.
    """
    after = held + added
    return after <= maximum and in_use + excess_growth(held, after, minimum) <= shared


@inner
def missing_amount(held: int, added: int, minimum: int, maximum: int, in_use: int, shared: int) -> int:
    """Return a lower bound of the amount that must be freed before ``added`` fits, at most 0 if it fits.

    The parameters are those of ``fits``.
    """
    after = held + added
    return max(after - maximum, in_use + excess_growth(held, after, minimum) - shared)
