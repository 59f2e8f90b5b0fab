"""The room rule of a buffer that VLs share, for storage and for whoever counts credits of it.

Each VL has a guaranteed minimum and a maximum. What VLs hold beyond their minima comes out of what the minima leave.
"""

from __future__ import annotations

from vlane.golden.engine.kernel import inner


@inner
def beyond(held: int, minimum: int) -> int:
    """Return what a VL that holds so much has beyond its minimum."""
    return max(held, minimum) - minimum


@inner
def grown(before: int, after: int, minimum: int) -> int:
    """Return by how much more a VL exceeds its minimum after a change; negative if less."""
    return max(after, minimum) - max(before, minimum)


@inner
def fits(before: int, more: int, minimum: int, maximum: int, in_use: int, shared: int) -> bool:
    """Tell whether a VL may take so much more.

    Parameters
    ----------
    before, more : int
        What the VL holds, and what it would take.
    minimum, maximum : int
        Guaranteed to and allowed for the VL.
    in_use : int
        What all VLs together hold beyond their minima.
    shared : int
        What the minima leave of the buffer.
    """
    after = before + more
    return after <= maximum and in_use + grown(before, after, minimum) <= shared
