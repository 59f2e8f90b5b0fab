"""Encoding of a scheduler's decision, shared by golden and hardware."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from vlane.errors import InputError
from vlane.parameters import Parameters, check_range, flag, whole


class ListCode(IntEnum):
    """List of a chosen packet. Schedulers without lists use ``NONE``."""

    NONE = 0
    HIGH = 1
    LOW = 2
    VL15 = 3

    @property
    def word(self) -> str:
        """Name in files and output: ``none``, ``high``, ``low`` or ``vl15``."""
        return self.name.lower()


MAX_REQUESTERS = 32
"""Largest number of requesters of a scheduler: the number of Omni-Path's service levels."""

MAX_SCHEDULER_VLS = 31
"""Largest number of data lanes of a scheduler with VL15; Omni-Path has 32 lanes including VL15."""

REST_CYCLES = 192
"""Upper bound of the cycles in which a line-rate form walks a list to its end without a grant (VLALR-2 to VLALR-4)."""


def lane_of_vl(vl: int, *, data_vls: int, vl15: bool) -> int | None:
    """Return the bit of a VL in a scheduler's vectors, or ``None`` if the port lacks the VL.

    Data lanes are in order and VL15 is last: with VL15, lanes from 15 on are VLs one number higher.

    Examples
    --------
    >>> [lane_of_vl(vl, data_vls=20, vl15=True) for vl in (14, 15, 16, 20, 21)]
    [14, 20, 15, 19, None]
    """
    if vl15 and vl == 15:
        return data_vls
    lane = vl - (vl15 and vl > 15)
    return lane if lane < data_vls else None


@dataclass(frozen=True, eq=False, kw_only=True)
class SchedulerParameters(Parameters):
    """Parameters shared by all schedulers with a single list.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    data_vls: int = whole(8, 2, MAX_REQUESTERS, "data lanes; at most 31 with VL15")
    requesters: int = whole(
        0, 0, MAX_REQUESTERS, "requesters of the map from lanes; 0: no map, each lane is a requester"
    )
    vl15: bool = flag(default=True, about="adds a last lane for VL15")

    def check(self) -> None:
        """Reject a map to a single requester, and more lanes than a grant can encode."""
        check_range("data_vls", self.data_vls, 2, MAX_SCHEDULER_VLS + (not self.vl15))
        if self.requesters == 1:
            raise InputError("requesters", "0 or 2 to 32", "1")

    @property
    def count(self) -> int:
        """Number of requesters: those of the map, or the data lanes."""
        return self.requesters or self.data_vls
