"""What every egress scheduler says of a decision, in golden and hardware alike."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["MAX_REQUESTERS", "MAX_SCHEDULER_VLS", "ListCode", "lane_of_vl"]


class ListCode(IntEnum):
    """The list a grant came from; schedulers without lists say ``NONE``."""

    NONE = 0
    HIGH = 1
    LOW = 2
    VL15 = 3

    @property
    def word(self) -> str:
        """The name in files and on the screen: ``none``, ``high``, ``low`` or ``vl15``."""
        return self.name.lower()


MAX_REQUESTERS = 32
"""Requesters of a scheduler: as many as Omni-Path has service levels."""

MAX_SCHEDULER_VLS = 31
"""Data lanes of a scheduler with VL15; Omni-Path numbers 32 lanes, one of them VL15."""


def lane_of_vl(vl: int, *, data_vls: int, vl15: bool) -> int | None:
    """Return the bit of a VL in a scheduler's vectors, ``None`` if the port lacks the VL.

    Data lanes come in order, VL15 last: beside it, lane 15 and those above are one VL higher.

    Examples
    --------
    >>> [lane_of_vl(vl, data_vls=20, vl15=True) for vl in (14, 15, 16, 20, 21)]
    [14, 20, 15, 19, None]
    """
    if vl15 and vl == 15:
        return data_vls
    lane = vl - (vl15 and vl > 15)
    return lane if lane < data_vls else None
