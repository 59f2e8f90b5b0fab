"""Admission rule of a buffer that VLs share, used by the storage and by its credit counters.

Each VL has a guaranteed minimum and a maximum. Blocks beyond the minimums are taken from the remaining, shared part of
the buffer.
"""

from __future__ import annotations

from amaranth.hdl import Mux, Value, ValueLike


def beyond(held: Value, minimum: ValueLike) -> Value:
    """Return the blocks by which a VL exceeds its minimum."""
    return Mux(held > minimum, held - minimum, 0)


def fits(after: Value, others: Value, *, minimum: ValueLike, maximum: ValueLike, shared: ValueLike) -> Value:
    """Return whether a VL may hold ``after`` blocks.

    Parameters
    ----------
    after : Value
        Blocks of the VL, new packet included.
    others : Value
        Blocks of the other VLs beyond their minimums.
    minimum, maximum : int or Value
        Blocks guaranteed to the VL, and the most that it may hold.
    shared : int or Value
        Size of the shared part of the buffer.
    """
    return (after <= maximum) & (others + beyond(after, minimum) <= shared)
