"""Writes of a switch's congestion settings: parts of SwitchCongestionSetting, or a port's element (IBA, Annex A10)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.cc_marker import CCMarkerSelect

__all__ = ["MASK_BITS", "PORT_BITS", "MarkingWrite"]

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
    """

    select: CCMarkerSelect
    victim_mask: int = 0
    port: int = 0
    threshold: int = 0
    packet_size: int = 0
    marking_rate: int = 0
    valid: int = 0
