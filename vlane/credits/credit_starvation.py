"""Credit starvation of a switch's ports: limits, delays and write selectors (IBS-K1 to IBS-K6)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from vlane.congestion.cc_marker import LARGEST_THRESHOLD, CCMarkerSelect
from vlane.congestion.cc_source import MULTIPLIER_BITS
from vlane.congestion.marking_write import MarkingWrite


class StarvationSelect(IntEnum):
    """Target of a write: parts of SwitchCongestionSetting, bits 1 and 3 of Control_Map."""

    CREDIT_MASK = 0
    RETURN = 1


@dataclass(frozen=True, kw_only=True)
class StarvationWrite:
    """Write of one cycle.

    Parameters
    ----------
    select : StarvationSelect
        Written part; fields of the other part are ignored.
    credit_mask : int
        One bit per port, from 0.
    threshold : int
        CS_Threshold.
    shift, multiplier : int
        CS_ReturnDelay, in the format of a CCT entry.
    """

    select: StarvationSelect
    credit_mask: int = 0
    threshold: int = 0
    shift: int = 0
    multiplier: int = 0


def starvation_element(port: int, threshold: int, delay: tuple[int, int], *, valid: int = 1) -> MarkingWrite:
    """Return the write of a port's element of control type 1 with CS_Threshold and CS_ReturnDelay.

    Examples
    --------
    >>> starvation_element(0, 15, (2, 12)).return_delay
    (2, 12)
    """
    shift, multiplier = delay
    return MarkingWrite(
        select=CCMarkerSelect.PORT,
        port=port,
        threshold=threshold,
        marking_rate=shift << MULTIPLIER_BITS | multiplier,
        valid=valid,
        control_type=1,
    )


def starvation_limit(threshold: int, maximum: int) -> int:
    """Return the waiting blocks from which a VL with ``maximum`` blocks exceeds CS_Threshold, 1 to 15.

    Examples
    --------
    >>> [starvation_limit(threshold, 64) for threshold in (1, 8, 15)], starvation_limit(15, 8)
    ([60, 32, 4], 1)
    """
    return max(maximum * (LARGEST_THRESHOLD + 1 - threshold) // (LARGEST_THRESHOLD + 1), 1)


def block_gap(shift: int, multiplier: int) -> int:
    """Return the cycles that CS_ReturnDelay adds per block.

    Examples
    --------
    >>> block_gap(0, 3), block_gap(3, 8), block_gap(3, 7)
    (3, 1, 0)
    """
    return multiplier >> shift
