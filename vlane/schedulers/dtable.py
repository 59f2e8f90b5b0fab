"""Deficit Table of a port: entries of (SL, weight), served round robin (``docs/dtable.md``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from vlane.documents.whole import check_whole
from vlane.egress import MAX_SCHEDULER_VLS, SchedulerParameters
from vlane.errors import InputError
from vlane.parameters import check_range, choice, flag, whole
from vlane.schedulers.writes import ScheduleSelect, Write, entry_writes, too_long
from vlane.units import MAX_PACKET_BLOCKS

__all__ = [
    "IB_COUNTER_MOST",
    "IB_ENTRIES",
    "IB_SLS",
    "MAX_ENTRIES",
    "MAX_SLS",
    "MAX_WEIGHT",
    "DTable",
    "DTableEntry",
    "DTableParameters",
]

MAX_ENTRIES = 128
MAX_SLS = 32
MAX_WEIGHT = 255
_TABLE = int(ScheduleSelect.TABLE)
IB_ENTRIES = 64
"""Most entries of the IB packing: the whole high-priority list."""
IB_SLS = 16
"""Requesters in the IB packing: each has a low-priority entry for its deficit."""
IB_COUNTER_MOST = 255
"""Largest value of a counter in a weight field."""
_SIZES = (32, 64, 128)
"""Default table lengths of instances."""


class DTableEntry(NamedTuple):
    """Entry of a table.

    Parameters
    ----------
    sl : int
        Requester, 0 to 31.
    weight : int
        Weight in units of 64 bytes, 0 to 255; an entry with weight 0 is skipped.
    """

    sl: int
    weight: int


@dataclass(frozen=True, slots=True)
class DTable:
    """Table entries in service order.

    Parameters
    ----------
    entries : tuple of DTableEntry
        List of 1 to 128 entries or pairs. Entries for requesters that the port lacks are kept but skipped.

    Raises
    ------
    InputError
        If an entry is out of range; the error names it.

    Examples
    --------
    >>> DTable(((0, 3), (1, 2))).entries[1].weight
    2
    """

    entries: tuple[DTableEntry, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.entries, tuple | list) or not 1 <= len(self.entries) <= MAX_ENTRIES:
            got = f"{len(self.entries)} entries" if isinstance(self.entries, tuple | list) else self.entries
            raise InputError("dtable.entries", f"a list of 1 to {MAX_ENTRIES} [SL, weight] pairs", got)
        checked = []
        for index, pair in enumerate(self.entries):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise InputError(f"dtable.entries[{index}]", "a pair [SL, weight]", pair)
            entry = DTableEntry(*pair)
            check_whole(f"dtable.entries[{index}] SL", entry.sl, 0, MAX_SLS - 1)
            check_whole(f"dtable.entries[{index}] weight", entry.weight, 0, MAX_WEIGHT)
            checked.append(entry)
        object.__setattr__(self, "entries", tuple(checked))

    def check_ib_packing(self, mtu_blocks: int = MAX_PACKET_BLOCKS) -> None:
        """Raise ``InputError`` if the table or its 8-bit counters do not fit in the IB tables.

        An accumulated weight is at most the largest weight plus the largest packet minus 1 block.
        """
        if len(self.entries) > IB_ENTRIES:
            problem = f": {len(self.entries)} entries, but the IB packing holds {IB_ENTRIES}"
            raise InputError("dtable.entries", f"at most {IB_ENTRIES} long", len(self.entries), problem=problem)
        for index, entry in enumerate(self.entries):
            if entry.sl >= IB_SLS:
                raise InputError(f"dtable.entries[{index}] SL", f"0 to {IB_SLS - 1} in the IB packing", entry.sl)
            most = IB_COUNTER_MOST - (mtu_blocks - 1)
            if entry.weight > most:
                raise InputError(
                    f"dtable.entries[{index}] weight",
                    f"at most {most} in the IB packing with packets of {mtu_blocks} blocks (weight + packet - 1 "
                    f"up to {IB_COUNTER_MOST})",
                    entry.weight,
                )

    def writes(self, parameters: Mapping[str, Any]) -> list[Write]:
        """Return the writes that program an instance. The list is padded with weight 0.

        Raises
        ------
        InputError
            If the table is too long, names a requester that the instance lacks, or does not fit the form ``ib``.
        """
        most, requesters = parameters["entries"], parameters["requesters"] or parameters["data_vls"]
        if len(self.entries) > most:
            raise too_long("dtable.entries", most, len(self.entries), "entries")
        for index, entry in enumerate(self.entries):
            if entry.weight and entry.sl >= requesters:
                must = f"0 to {requesters - 1}, the instance's requesters"
                raise InputError(f"dtable.entries[{index}] SL", must, entry.sl)
        if parameters["form"] == "ib":
            self.check_ib_packing(parameters["mtu_blocks"])
        return self.padded(most)

    def padded(self, entries: int) -> list[Write]:
        """Return the writes of the table padded to a length, without a check of requesters.

        Raises
        ------
        ValueError
            If the table is longer.
        """
        if len(self.entries) > entries:
            raise ValueError(f"a table must have at most {entries} entries, not {len(self.entries)}")
        return entry_writes(ScheduleSelect.TABLE, self.entries, entries)

    def shape(self) -> dict[str, int]:
        """Return the smallest default size of an instance for the table."""
        return {"entries": next(size for size in _SIZES if size >= len(self.entries))}

    def requesters(self) -> int:
        """Return the highest named requester plus one."""
        return max(entry.sl for entry in self.entries) + 1

    def served(self) -> dict[str, int]:
        """Return the requester of each entry with a nonzero weight, by its key in the file."""
        return {f"dtable.entries[{i}] SL": entry.sl for i, entry in enumerate(self.entries) if entry.weight}


def weight_write(place: int, lane: int, weight: int, _least: int) -> Write:
    """Return the write that gives a lane its weight: an entry of the table."""
    return _TABLE, place, lane, weight


@dataclass(frozen=True, eq=False, kw_only=True)
class DTableParameters(SchedulerParameters):
    """Parameters of ``dtable``.

    The form ``ib`` stores counters in 8 bits, in the weight fields of InfiniBand's low list, where they can be read.
    The form ``line_rate`` stores the table in memory and reads entries ahead (``docs/dtable_line_rate.md``).

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    with_form: ClassVar[Mapping[str, Mapping[str, Any]]] = {"line_rate": {"requesters": 0, "keep_on_stall": False}}

    entries: int = whole(64, 2, MAX_ENTRIES, "entries of the table; at most 64 in the ib form")
    form: str = choice("free", ("free", "ib", "line_rate"), "form of the table")
    keep_on_stall: bool = flag(default=False, about="a requester without credits keeps its deficit")
    mtu_blocks: int = whole(
        MAX_PACKET_BLOCKS, 1, MAX_PACKET_BLOCKS, "blocks of the largest packet; bounds a kept deficit"
    )
    parity: bool = flag(default=False, about="parity on stored bits, to report upsets")

    def check(self) -> None:
        """Reject combinations that a form does not support."""
        super().check()
        if self.form == "line_rate":
            check_range("data_vls", self.data_vls, 2, MAX_SCHEDULER_VLS)
            if self.requesters:
                raise InputError("requesters", "0 in the line_rate form", self.requesters)
            if self.keep_on_stall:
                raise InputError("keep_on_stall", "false in the line_rate form", "true")
            if self.parity:
                raise InputError("parity", "false in the line_rate form", "true")
        if self.form == "ib" and self.entries > IB_ENTRIES:
            raise InputError("entries", f"2 to {IB_ENTRIES} in the ib form", self.entries)
        if self.form == "ib" and (self.requesters or self.data_vls) > IB_SLS:
            raise InputError("requesters", f"at most {IB_SLS} in the ib form", self.requesters or self.data_vls)
