"""Why a switch drops a packet."""

from __future__ import annotations

from enum import IntEnum


class DropCause(IntEnum):
    """Drop cause of a packet, as the switches in hardware report it on ``dropped``.

    The golden switches tell ``UNKNOWN_LID`` and ``NO_VL`` apart. A golden forwarding table has no entry for port 0, so
    packets for it count as ``UNKNOWN_LID``; ``NO_ROOM`` cannot occur, as golden senders respect their credits.
    """

    NONE = 0
    """The packet is not dropped."""
    UNKNOWN_LID = 1
    """The forwarding table has no port for the DLID."""
    NO_VL = 2
    """The SL or the channel maps to no VL of the output."""
    PORT_0 = 3
    """The packet is addressed to the switch itself."""
    NO_ROOM = 4
    """The input buffer has no room for the packet, or the packet is larger than the largest allowed."""
