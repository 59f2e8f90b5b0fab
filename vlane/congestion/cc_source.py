"""Pacing of a source: parameters, sets of flows, what a write selects (``docs/cc_source.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from vlane.errors import InputError
from vlane.parameters import Parameters, flag, whole

WAYS = 4
"""Entries of a set of flows."""
DLID_BITS, SL_BITS = 16, 4
"""Widths of a flow's DLID and SL."""
CCT_LEAST_ENTRIES = 128
"""Entries of the smallest CCT."""
CCT_ENTRIES = 1024
"""Entries of the largest CCT."""
CCTI_BITS = 10
"""Width of an index of the CCT."""
SHIFT_BITS, MULTIPLIER_BITS = 2, 14
"""Widths of a CCT entry's two fields."""
TIMER_BITS, BYTE_BITS = 16, 8
"""Widths of CCTI_Timer, and of CCTI_Increase, Trigger_Threshold and CCTI_Min."""
SHORTEST_GAP = 8
"""Least cycles between two packets of a known flow."""
TICK_NS = 1024
"""Unit of CCTI_Timer."""
SETTLING_CYCLES = 4
"""Cycles after a BECN of a flow in which no visit changes its entry."""
SHOWN_CYCLES = 5
"""Cycles from an action to the outputs that tell of it."""
LOST_BITS = 16
"""Width of the count of lost BECNs."""
LOST_MOST = (1 << LOST_BITS) - 1
"""Where that count stays."""


class CCSourceSelect(IntEnum):
    """What a write changes: Port_Control, CCTI_Limit, the settings of an SL, or an entry of the CCT."""

    PORT_CONTROL = 0
    LIMIT = 1
    LEVEL = 2
    TABLE = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class CCSourceParameters(Parameters):
    """Parameters of ``cc_source``; what each is stands with its bounds.

    Raises
    ------
    TypeError, InputError
        As of ``Parameters``.
    """

    flows: int = whole(64, 2 * WAYS, 256, "entries for flows, a power of two")
    cct_entries: int = whole(
        CCT_LEAST_ENTRIES, CCT_LEAST_ENTRIES, CCT_ENTRIES, "entries of the Congestion Control Table, a power of two"
    )
    tick_cycles: int = whole(200, 64, 4096, "cycles of 1.024 us, the unit of CCTI_Timer")
    shift_first: bool = flag(default=False, about="the shift is applied before the multiplication")

    def check(self) -> None:
        """Refuse sizes that are no powers of two."""
        for name in ("flows", "cct_entries"):
            if self[name] & (self[name] - 1):
                raise InputError(name, "a power of two", self[name])
