"""Credits of an Omni-Path link: units, return codes, and how a sender's buffer is divided (``docs/credit_opa.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from vlane.egress import MAX_REQUESTERS
from vlane.parameters import Parameters, flag, whole

COUNTER_BITS = 12
"""Width of every count of allocation units of 64 bytes; a first generation port has 2176."""

LTPS_PER_RETURN = 4
"""Link transfer packets that carry one return, two bits each: the code's three bits and the lane's five."""


class BufferSelect(IntEnum):
    """Limit that a write of the buffer control table addresses."""

    DEDICATED = 0
    SHARED = 1
    OVERALL = 2


class ResizeStep(IntEnum):
    """Progress of a change of a live buffer control table."""

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


@dataclass(frozen=True, eq=False, kw_only=True)
class CreditOPAParameters(Parameters):
    """Parameters of ``credit_opa``; what each is stands with its bounds.

    Raises
    ------
    TypeError, InputError
        As of ``Parameters``.
    """

    vls: int = whole(8, 1, MAX_REQUESTERS, "lanes")
    vcu: int = whole(0, 0, 5, "power of two of the credit unit, in 64 bytes")
    parity: bool = flag(default=False, about="whether what is stored has parity, so that an upset in it is shown")
