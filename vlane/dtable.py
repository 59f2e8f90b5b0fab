"""The Deficit Table of a port: entries of (SL, weight), served round robin (``docs/dtable.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from vlane.errors import InputError
from vlane.units import MAX_PACKET_BLOCKS
from vlane.whole import check_whole

__all__ = [
    "IB_COUNTER_MOST",
    "IB_ENTRIES",
    "IB_SLS",
    "MAX_ENTRIES",
    "MAX_SLS",
    "MAX_WEIGHT",
    "DTable",
    "DTableEntry",
]

MAX_ENTRIES = 128
MAX_SLS = 32
MAX_WEIGHT = 255
IB_ENTRIES = 64
"""Entries of the IB packing: the whole high-priority list."""
IB_SLS = 16
"""Requesters of the IB packing: one low-priority entry each holds a deficit."""
IB_COUNTER_MOST = 255
"""Most that a counter kept in a weight field can hold."""


class DTableEntry(NamedTuple):
    """One entry.

    Parameters
    ----------
    sl : int
        Requester, 0 to 31.
    weight : int
        Units of 64 bytes, 0 to 255; 0 is skipped.
    """

    sl: int
    weight: int


@dataclass(frozen=True, slots=True)
class DTable:
    """The entries in the order they are served.

    Parameters
    ----------
    entries : tuple of DTableEntry
        1 to 128; pairs are accepted and turned into entries. Those that name a requester the port lacks are
        kept and skipped.

    Raises
    ------
    InputError
        Naming the entry and what it must be.

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
        """Raise ``InputError`` if the table, or its 8-bit counters, cannot be kept in the IB tables.

        What is accumulated is at most the largest weight + the largest packet - 1 block.
        """
        if len(self.entries) > IB_ENTRIES:
            raise InputError("dtable.entries", f"at most {IB_ENTRIES} in the IB packing", f"{len(self.entries)}")
        for index, entry in enumerate(self.entries):
            if entry.sl >= IB_SLS:
                raise InputError(f"dtable.entries[{index}] SL", f"0 to {IB_SLS - 1} in the IB packing", entry.sl)
            most = IB_COUNTER_MOST - (mtu_blocks - 1)
            if entry.weight > most:
                raise InputError(
                    f"dtable.entries[{index}] weight",
                    f"at most {most}, that a counter of 8 bits holds weight + MTU - 1 with packets of {mtu_blocks} "
                    "blocks",
                    entry.weight,
                )
