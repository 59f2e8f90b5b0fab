"""The linear forwarding table of a switch, and what its LIDs mean (IBA 4.1.3, 14.2.5.10)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from vlane.parameters import Parameters, whole

__all__ = ["FIRST_MULTICAST", "MAX_ENTRIES", "MAX_PORTS", "PERMISSIVE", "UNASSIGNED", "LFTCause", "LFTParameters"]

FIRST_MULTICAST = 0xC000
"""First multicast LID; unicast is 1 up to the one before."""
PERMISSIVE = 0xFFFF
"""The permissive LID, which addresses the node that receives the packet."""
UNASSIGNED = 255
"""Port number of an unassigned entry."""
MAX_ENTRIES = 0xC000
MAX_PORTS = 254


class LFTCause(IntEnum):
    """Reason for which a packet has no output."""

    ROUTED = 0
    RESERVED = 1
    MULTICAST = 2
    ABOVE_TOP = 3
    UNASSIGNED = 4
    NO_SUCH_PORT = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class LFTParameters(Parameters):
    """Parameters of ``lft``; what each is stands with its bounds.

    Raises
    ------
    TypeError, InputError
        As of ``Parameters``.
    """

    lookups: int = whole(8, 1, 64, "destinations per cycle")
    ports: int = whole(8, 1, MAX_PORTS, "ports of the switch, port 0 beside them")
    entries: int = whole(1024, 2, MAX_ENTRIES, "LIDs that the table holds, from 0 on")
