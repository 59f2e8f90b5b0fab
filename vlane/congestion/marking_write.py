"""Writes of a switch's congestion settings: parts of SwitchCongestionSetting, or a port's element (IBA, Annex A10)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.congestion.cc_marker import CCMarkerSelect
from vlane.congestion.cc_source import MULTIPLIER_BITS

MASK_BITS, PORT_BITS = 64, 6
"""Width of the mask over the outputs of a switch, and of an output's number."""


@dataclass(frozen=True, kw_only=True)
class MarkingWrite:
    """What is written in a cycle.

    Parameters
    ----------
    select : CCMarkerSelect
        The part; what belongs to another one does not matter.
    victim_mask : int
        A bit for each output, from 0.
    port : int
        Of an element: the output, from 0.
    threshold, packet_size, marking_rate : int
        Of the switch or of the element.
    valid : int
        Of an element: it rules the port.
    control_type : int
        Of an element: 0 for marking; 1 for credit starvation, with CS_ReturnDelay where Marking_Rate is.
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
        """Of an element of control type 1: shift and multiplier of CS_ReturnDelay."""
        return self.marking_rate >> MULTIPLIER_BITS, self.marking_rate & ((1 << MULTIPLIER_BITS) - 1)
