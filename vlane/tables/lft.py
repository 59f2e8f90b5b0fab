"""Linear forwarding table of a switch, and the meaning of LIDs (IBA 4.1.3, 14.2.5.10)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from vlane.parameters import Parameters, whole

__all__ = ["FIRST_MULTICAST", "MAX_ENTRIES", "MAX_PORTS", "PERMISSIVE", "UNASSIGNED", "LFTCause", "LFTParameters"]

FIRST_MULTICAST = 0xC000
"""First multicast LID; unicast LIDs are 1 to 0xBFFF."""
PERMISSIVE = 0xFFFF
"""Permissive LID, which addresses the node that receives the packet."""
UNASSIGNED = 255
"""Port number of an unassigned entry."""
MAX_ENTRIES = 0xC000
MAX_PORTS = 254


class LFTCause(IntEnum):
    """Reason why a packet has no output."""

    ROUTED = 0
    RESERVED = 1
    MULTICAST = 2
    ABOVE_TOP = 3
    UNASSIGNED = 4
    NO_SUCH_PORT = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class LFTParameters(Parameters):
    """Parameters of ``lft``.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    lookups: int = whole(8, 1, 64, "destinations per cycle")
    ports: int = whole(8, 1, MAX_PORTS, "ports of the switch, without port 0")
    entries: int = whole(1024, 2, MAX_ENTRIES, "LIDs in the table, from 0")
