"""The room rule of a buffer that VLs share, for storage and for whoever counts credits of it.

Each VL has a guaranteed minimum and a maximum. What VLs hold beyond their minima comes out of what the minima leave.
"""

from __future__ import annotations

from amaranth.hdl import Mux, Value, ValueLike


def beyond(held: Value, minimum: ValueLike) -> Value:
    """Return what a VL that holds so much has beyond its minimum."""
    return Mux(held > minimum, held - minimum, 0)


def fits(after: Value, others: Value, *, minimum: ValueLike, maximum: ValueLike, shared: ValueLike) -> Value:
    """Return whether a VL may hold so much.

    Parameters
    ----------
    after : Value
        What the VL would hold.
    others : Value
        What the other VLs hold beyond their minima.
    minimum, maximum : int or Value
        Guaranteed to and allowed for the VL.
    shared : int or Value
        What the minima leave of the buffer.
    """
    return (after <= maximum) & (others + beyond(after, minimum) <= shared)
