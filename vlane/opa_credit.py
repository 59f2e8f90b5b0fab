"""Credits of an Omni-Path link: units, return codes, and how a sender's buffer is divided (``docs/credit_opa.md``)."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["COUNTER_BITS", "LTPS_PER_RETURN", "BufferSelect", "ResizeStep", "returned_units"]

COUNTER_BITS = 12
"""Width of every count of allocation units of 64 bytes; a first generation port has 2176."""

LTPS_PER_RETURN = 4
"""Link transfer packets that carry one return, two bits each: the code's three bits and the lane's five."""


class BufferSelect(IntEnum):
    """What a write of the buffer control table goes to."""

    DEDICATED = 0
    SHARED = 1
    OVERALL = 2


class ResizeStep(IntEnum):
    """How far a change of a live buffer control table is."""

    IDLE = 0
    DRAIN_SHARED = 1
    LOWER_DEDICATED = 2
    DRAIN_DEDICATED = 3
    RAISE_DEDICATED = 4
    RAISE_SHARED = 5
    RAISE_OVERALL = 6


def returned_units(code: int, vcu: int) -> int:
    """Return the allocation units that a return code stands for: 0, 1, 2 CU, 4 CU, ... 64 CU, CU = 2**vcu.

    Examples
    --------
    >>> [returned_units(code, 0) for code in range(8)]
    [0, 1, 2, 4, 8, 16, 32, 64]
    >>> returned_units(2, 3)
    16
    """
    return code if code < 2 else 1 << (code - 1 + vcu)
