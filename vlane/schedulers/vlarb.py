"""VL arbitration table of a port (IBA 7.6.9, 14.2.5.9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from vlane.documents.whole import check_whole
from vlane.errors import InputError
from vlane.parameters import Parameters, choice, flag, whole
from vlane.schedulers.writes import ListSelect, Write, entry_writes, too_long
from vlane.units import MAX_DATA_VLS

__all__ = ["LIMIT_UNBOUNDED", "MAX_ENTRIES", "MAX_WEIGHT", "VL15", "VLArbEntry", "VLArbParameters", "VLArbTable"]

VL15 = 15
"""Management lane, always served first, without entries and credits."""

MAX_ENTRIES = 64
MAX_WEIGHT = 255
_LOW = int(ListSelect.LOW)
LIMIT_UNBOUNDED = 255
"""LimitOfHighPriority without a limit; the low list may starve."""


class VLArbEntry(NamedTuple):
    """Entry of a list.

    Parameters
    ----------
    vl : int
        Lane, 0 to 15.
    weight : int
        Weight in units of 64 bytes, 0 to 255; an entry with weight 0 is skipped.
    """

    vl: int
    weight: int


@dataclass(frozen=True, slots=True)
class VLArbTable:
    """Both lists and the limit, as a subnet manager programs them.

    Entries for VL15 or for a lane beyond the port's lanes are legal: such entries are stored, skipped and counted
    (decision VLA-17). List order is service order.

    Parameters
    ----------
    high, low : tuple of VLArbEntry
        Lists of up to 64 entries; pairs are converted to entries.
    limit_of_high_priority : int
        Limit: 0 for one packet, 1 to 254 for multiples of 4096 bytes, 255 for no limit.

    Raises
    ------
    InputError
        If an entry or the limit is out of range.

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
        """Return the data lanes with a weighted entry."""
        return frozenset(e.vl for e in self.high + self.low if e.weight and e.vl < data_vls)

    def columns(self) -> tuple[list[int], list[int], list[int], list[int], int]:
        """Return VLs and weights of the high list, VLs and weights of the low list, and the limit."""
        high_vl, high_weight = [entry.vl for entry in self.high], [entry.weight for entry in self.high]
        low_vl, low_weight = [entry.vl for entry in self.low], [entry.weight for entry in self.low]
        return high_vl, high_weight, low_vl, low_weight, self.limit_of_high_priority

    def writes(self, parameters: Mapping[str, Any]) -> list[Write]:
        """Return the register writes for an instance: both lists, padded with weight 0, then the limit.

        Raises
        ------
        InputError
            If a list is too long.
        """
        most, longest = parameters["entries"], max(len(self.high), len(self.low))
        if longest > most:
            raise too_long("vlarb", most, longest, "entries per list")
        return self.padded(most)

    def padded(self, entries: int) -> list[Write]:
        """Return the register writes for lists of ``entries`` entries, padded with weight 0.

        Raises
        ------
        ValueError
            If a list is longer.
        """
        for listed in (self.high, self.low):
            if len(listed) > entries:
                raise ValueError(f"a table must have at most {entries} entries per list, not {len(listed)}")
        lists = entry_writes(ListSelect.HIGH, self.high, entries) + entry_writes(ListSelect.LOW, self.low, entries)
        return [*lists, (int(ListSelect.LIMIT), 0, 0, self.limit_of_high_priority)]

    def shape(self) -> dict[str, int]:
        """Return the parameter ``entries`` of an instance for this table: the length of the longer list."""
        return {"entries": max(len(self.high), len(self.low), 1)}

    def requesters(self) -> int:
        """Return the number of data lanes: one more than the highest lane in an entry."""
        return max((entry.vl + 1 for entry in self.high + self.low if entry.vl != VL15), default=0)

    def served(self) -> dict[str, int]:
        """Return the VL of each weighted entry, by the entry's place in the file."""
        return {
            f"vlarb.{name}[{i}] VL": entry.vl
            for name, listed in (("high", self.high), ("low", self.low))
            for i, entry in enumerate(listed)
            if entry.weight
        }


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


def weight_write(place: int, lane: int, weight: int, _least: int) -> Write:
    """Return the write that gives a lane its weight: an entry of the low list."""
    return _LOW, place, lane, weight


@dataclass(frozen=True, eq=False, kw_only=True)
class VLArbParameters(Parameters):
    """Parameters of ``vlarb``.

    The form ``line_rate`` stores the tables in memory and selects entries ahead of time (``docs/vlarb_line_rate.md``).

    Raises
    ------
    TypeError, InputError
        If a parameter is unknown or out of range, as in ``Parameters``.
    """

    data_vls: int = whole(8, 1, MAX_DATA_VLS, "data lanes")
    entries: int = whole(8, 1, MAX_ENTRIES, "entries of each list")
    vl15: bool = flag(default=True, about="whether the instance has an additional last lane for VL15")
    form: str = choice("exact", ("exact", "line_rate"), "form of the tables")
    parity: bool = flag(default=False, about="whether stored values have parity to detect upsets")

    def check(self) -> None:
        """Check for parameters that the form does not support."""
        if self.parity and self.form == "line_rate":
            raise InputError("parity", "false in the line_rate form", "true")
