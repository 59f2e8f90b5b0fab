"""Writes of a switch's congestion settings: parts of SwitchCongestionSetting, or a port's element (IBA, Annex A10)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.congestion.cc_marker import CCMarkerSelect
from vlane.congestion.cc_source import MULTIPLIER_BITS

MASK_BITS, PORT_BITS = 64, 6
"""Width of the mask of a switch's outputs, and of an output number."""


@dataclass(frozen=True, kw_only=True)
class MarkingWrite:
    """Write of one cycle.

    Parameters
    ----------
    select : CCMarkerSelect
        Written part; fields of other parts are ignored.
    victim_mask : int
        One bit per output, from 0.
    port : int
        Output of an element, from 0.
    threshold, packet_size, marking_rate : int
        Settings of the switch or of the element.
    valid : int
        Whether the element overrides the switch's settings for its port.
    control_type : int
        Type of the element: 0 for marking; 1 for credit starvation, with CS_ReturnDelay in place of Marking_Rate.
    """

    select: CCMarkerSelect
    victim_mask: int = 0
    port: int = 0
    threshold: int = 0
    packet_size: int = 0
    marking_rate: int = 0
    valid: int = 0
    control_type: int = 0

    @property
    def return_delay(self) -> tuple[int, int]:
        """Shift and multiplier of CS_ReturnDelay, for an element of control type 1."""
        return self.marking_rate >> MULTIPLIER_BITS, self.marking_rate & ((1 << MULTIPLIER_BITS) - 1)
