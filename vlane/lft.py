"""The linear forwarding table of a switch, and what its LIDs mean (IBA 4.1.3, 14.2.5.10)."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["FIRST_MULTICAST", "MAX_ENTRIES", "MAX_PORTS", "PERMISSIVE", "UNASSIGNED", "LFTCause"]

FIRST_MULTICAST = 0xC000
"""First multicast LID; unicast is 1 up to the one before."""
PERMISSIVE = 0xFFFF
"""The LID of whoever receives the packet."""
UNASSIGNED = 255
"""Port of an entry that leads nowhere."""
MAX_ENTRIES = 0xC000
MAX_PORTS = 254


class LFTCause(IntEnum):
    """Why a packet has no output."""

    ROUTED = 0
    RESERVED = 1
    MULTICAST = 2
    ABOVE_TOP = 3
    UNASSIGNED = 4
    NO_SUCH_PORT = 5
