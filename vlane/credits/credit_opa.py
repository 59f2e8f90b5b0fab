"""Credits of an Omni-Path link: units, return codes, and division of the sender's buffer (``docs/credit_opa.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from vlane.egress import MAX_REQUESTERS
from vlane.parameters import Parameters, flag, whole

COUNTER_BITS = 12
"""Width of counts of 64-byte allocation units; a first-generation port has 2176 units."""

LTPS_PER_RETURN = 4
"""Link transfer packets per return, two bits each: three bits of code and five bits of lane."""


class BufferSelect(IntEnum):
    """Limit addressed by a write of the buffer control table."""

    DEDICATED = 0
    SHARED = 1
    OVERALL = 2


class ResizeStep(IntEnum):
    """Step of a change of a live buffer control table."""

    IDLE = 0
    DRAIN_SHARED = 1
    LOWER_DEDICATED = 2
    DRAIN_DEDICATED = 3
    RAISE_DEDICATED = 4
    RAISE_SHARED = 5
    RAISE_OVERALL = 6


def returned_units(code: int, vcu: int) -> int:
    """Return the allocation units of a return code: 0, 1, 2 CU, 4 CU, ... 64 CU, with CU = 2**vcu.

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
    """Parameters of ``credit_opa``.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    vls: int = whole(8, 1, MAX_REQUESTERS, "lanes")
    vcu: int = whole(0, 0, 5, "log2 of the credit unit in units of 64 bytes")
    parity: bool = flag(default=False, about="whether stored state has parity, so that upsets are detected")
