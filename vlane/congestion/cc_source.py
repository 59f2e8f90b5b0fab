"""Congestion pacing of a source: parameters, flow sets and write selectors (``docs/cc_source.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from vlane.errors import InputError
from vlane.parameters import Parameters, flag, whole

WAYS = 4
"""Associativity of the flow table."""
DLID_BITS, SL_BITS = 16, 4
"""Widths of a flow's DLID and SL."""
CCT_LEAST_ENTRIES = 128
"""Number of entries of the smallest CCT."""
CCT_ENTRIES = 1024
"""Number of entries of the largest CCT."""
CCTI_BITS = 10
"""Width of a CCT index."""
SHIFT_BITS, MULTIPLIER_BITS = 2, 14
"""Widths of a CCT entry's two fields."""
TIMER_BITS, BYTE_BITS = 16, 8
"""Widths of CCTI_Timer, and of CCTI_Increase, Trigger_Threshold and CCTI_Min."""
SHORTEST_GAP = 8
"""Smallest number of cycles between packets of a known flow."""
TICK_NS = 1024
"""Unit of CCTI_Timer in ns."""
SETTLING_CYCLES = 4
"""Cycles after a flow's BECN during which the sweep does not change its entry."""
SHOWN_CYCLES = 5
"""Cycles from an action to the outputs that report it."""
LOST_BITS = 16
"""Width of the count of lost BECNs."""
LOST_MOST = (1 << LOST_BITS) - 1
"""Value at which that count saturates."""


class CCSourceSelect(IntEnum):
    """Target of a write: Port_Control, CCTI_Limit, the settings of an SL, or an entry of the CCT."""

    PORT_CONTROL = 0
    LIMIT = 1
    LEVEL = 2
    TABLE = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class CCSourceParameters(Parameters):
    """Parameters of ``cc_source``.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    flows: int = whole(64, 2 * WAYS, 256, "number of flow entries, a power of two")
    cct_entries: int = whole(
        CCT_LEAST_ENTRIES,
        CCT_LEAST_ENTRIES,
        CCT_ENTRIES,
        "number of entries of the Congestion Control Table, a power of two",
    )
    tick_cycles: int = whole(200, 64, 4096, "cycles per 1.024 us, the unit of CCTI_Timer")
    shift_first: bool = flag(default=False, about="whether the shift precedes the multiplication")

    def check(self) -> None:
        """Reject sizes that are not powers of two."""
        for name in ("flows", "cct_entries"):
            if self[name] & (self[name] - 1):
                raise InputError(name, "a power of two", self[name])
