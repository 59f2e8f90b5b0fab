"""Causes of dropped packets in switches."""

from __future__ import annotations

from enum import IntEnum


class DropCause(IntEnum):
    """Cause of a dropped packet, as switches in hardware report it on ``dropped``.

    Golden switches distinguish ``UNKNOWN_LID`` and ``NO_VL``. A golden forwarding table has no entry for port 0, so
    packets to port 0 count as ``UNKNOWN_LID``. ``NO_ROOM`` cannot occur, because golden senders respect their credits.
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
    """The input buffer lacks space for the packet, or the packet is larger than allowed."""
