"""The VL arbitration table of a port (IBA 7.6.9, 14.2.5.9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from vlane.errors import InputError
from vlane.whole import check_whole

__all__ = ["LIMIT_UNBOUNDED", "MAX_DATA_VLS", "MAX_ENTRIES", "MAX_WEIGHT", "VL15", "VLArbEntry", "VLArbTable"]

VL15 = 15
"""The management lane: no entry, no credit, always first."""

MAX_DATA_VLS = 15
MAX_ENTRIES = 64
MAX_WEIGHT = 255
LIMIT_UNBOUNDED = 255
"""LimitOfHighPriority that never expires: the low list may starve."""


class VLArbEntry(NamedTuple):
    """One entry of a list.

    Parameters
    ----------
    vl : int
        Lane, 0 to 15.
    weight : int
        Units of 64 bytes, 0 to 255; 0 is skipped.
    """

    vl: int
    weight: int


@dataclass(frozen=True, slots=True)
class VLArbTable:
    """Both lists and the limit, as a subnet manager programs them.

    Entries that name VL15 or a lane the port lacks are legal: they are kept, skipped and counted
    (decision A17). List order is service order.

    Parameters
    ----------
    high, low : tuple of VLArbEntry
        Up to 64 entries each; pairs are accepted and turned into entries.
    limit_of_high_priority : int
        0: one packet; 1 to 254: that many times 4096 bytes; 255: unbounded.

    Raises
    ------
    InputError
        Naming the entry and what it must be.

    Examples
    --------
    >>> VLArbTable(high=((0, 32),), low=((0, 4), (1, 8)), limit_of_high_priority=10).low[1].weight
    8
    """

    high: tuple[VLArbEntry, ...]
    low: tuple[VLArbEntry, ...]
    limit_of_high_priority: int

    def __post_init__(self) -> None:
        for name in ("high", "low"):
            object.__setattr__(self, name, _checked(name, getattr(self, name)))
        check_whole("vlarb.limit_of_high_priority", self.limit_of_high_priority, 0, LIMIT_UNBOUNDED)

    def served_vls(self, data_vls: int) -> frozenset[int]:
        """Return the data lanes that some entry with a weight names."""
        return frozenset(e.vl for e in self.high + self.low if e.weight and e.vl < data_vls)


def _checked(name: str, entries: object) -> tuple[VLArbEntry, ...]:
    if not isinstance(entries, tuple | list):
        raise InputError(f"vlarb.{name}", "a list of [VL, weight] pairs", entries)
    if len(entries) > MAX_ENTRIES:
        raise InputError(f"vlarb.{name}", f"at most {MAX_ENTRIES} entries", f"{len(entries)} entries")
    checked = []
    for index, pair in enumerate(entries):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"vlarb.{name}[{index}]", "a pair [VL, weight]", pair)
        entry = VLArbEntry(*pair)
        check_whole(f"vlarb.{name}[{index}] VL", entry.vl, 0, VL15)
        check_whole(f"vlarb.{name}[{index}] weight", entry.weight, 0, MAX_WEIGHT)
        checked.append(entry)
    return tuple(checked)
