"""The Deficit Table of a port: entries of (SL, weight), served round robin (``docs/dtable.md``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from vlane.documents.whole import check_whole
from vlane.egress import MAX_SCHEDULER_VLS, SchedulerParameters
from vlane.errors import InputError
from vlane.parameters import check_range, choice, flag, whole
from vlane.registers import BitField, Register, Status
from vlane.schedulers.schedule_registers import deficit_status, entry_window, map_window, swap_registers
from vlane.schedulers.writes import ScheduleSelect, Write, entry_writes
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
    "registers",
    "switch_registers",
]

MAX_ENTRIES = 128
MAX_SLS = 32
MAX_WEIGHT = 255
IB_ENTRIES = 64
"""Most entries of the IB packing: the whole high-priority list."""
IB_SLS = 16
"""Requesters of the IB packing: one low-priority entry each holds a deficit."""
IB_COUNTER_MOST = 255
"""Most that a counter kept in a weight field can hold."""
_SIZES = (32, 64, 128)
"""Lengths of table that an instance is given unless another one is asked for."""


class DTableEntry(NamedTuple):
    """One entry.

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
    """The entries in the order in which they are served.

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

        The accumulated weight is at most the largest weight + the largest packet - 1 block.
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

    def writes(self, parameters: Mapping[str, Any]) -> list[Write]:
        """Return the writes that program an instance, the list filled up with weight 0.

        Raises
        ------
        InputError
            If the table is too long, names a requester that is not there, or does not fit the IB packing in that form.
        """
        most, requesters = parameters["entries"], parameters["requesters"] or parameters["data_vls"]
        if len(self.entries) > most:
            raise InputError("dtable.entries", f"at most {most} long here", len(self.entries))
        for index, entry in enumerate(self.entries):
            if entry.weight and entry.sl >= requesters:
                must = f"0 to {requesters - 1}, the requesters there are"
                raise InputError(f"dtable.entries[{index}] SL", must, entry.sl)
        if parameters["form"] == "ib":
            self.check_ib_packing(parameters["mtu_blocks"])
        return self.padded(most)

    def padded(self, entries: int) -> list[Write]:
        """Return the writes of a table of that many entries, whatever requesters there are.

        Raises
        ------
        ValueError
            If this one is longer.
        """
        if len(self.entries) > entries:
            raise ValueError(f"a table must have at most {entries} entries, not {len(self.entries)}")
        return entry_writes(ScheduleSelect.TABLE, self.entries, entries)

    def shape(self) -> dict[str, int]:
        """Return the entries of an instance that holds the table."""
        return {"entries": next(size for size in _SIZES if size >= len(self.entries))}

    def requesters(self) -> int:
        """Return one more than the highest requester that is named."""
        return max(entry.sl for entry in self.entries) + 1

    def served(self) -> dict[str, int]:
        """Return the requester of each entry with a weight, by its place in the file."""
        return {f"dtable.entries[{i}] SL": entry.sl for i, entry in enumerate(self.entries) if entry.weight}


def _entry_fields(bits: int) -> tuple[BitField, ...]:
    return (BitField("weight", 0, 8, "weight in 64-byte blocks"), BitField("requester", 16, bits, "requester"))


def registers(parameters: Mapping[str, Any]) -> tuple[Register, ...]:
    """Return the registers of an instance: the line-rate form shows no counters and has no map."""
    bits = 4 if parameters["form"] == "ib" else 5
    unreachable = Status("unreachable", "requesters that no entry with a weight names", "unreachable")
    entries = entry_window("program", "the table's entries, into the shadow bank", *_entry_fields(bits))
    if parameters["form"] == "line_rate":
        return (*swap_registers(), unreachable, entries)
    counters = deficit_status("accumulated weight of the turn")
    return (*swap_registers(), unreachable, *counters, entries, map_window(bits))


def switch_registers(program: str) -> tuple[Register, ...]:
    """Return the windows of a switch's schedulers, written through its member ``program``."""
    return (entry_window(program, "the tables' entries", *_entry_fields(5)),)


@dataclass(frozen=True, eq=False, kw_only=True)
class DTableParameters(SchedulerParameters):
    """Parameters of ``dtable``; what each is stands with its bounds.

    The form ``ib`` packs its counters into 8 bits, as the weight fields of InfiniBand's low list, readable there. The
    form ``line_rate`` keeps the table in memory and walks it ahead of need (``docs/dtable_line_rate.md``).

    Raises
    ------
    TypeError, InputError
        As of ``Parameters``.
    """

    with_form: ClassVar[Mapping[str, Mapping[str, Any]]] = {"line_rate": {"requesters": 0, "keep_on_stall": False}}

    entries: int = whole(64, 2, MAX_ENTRIES, "entries of the table; at most 64 in the ib form")
    form: str = choice("free", ("free", "ib", "line_rate"), "form of the table")
    keep_on_stall: bool = flag(default=False, about="whether a requester without room keeps its deficit")
    mtu_blocks: int = whole(MAX_PACKET_BLOCKS, 1, MAX_PACKET_BLOCKS, "largest packet; such a requester keeps less")
    parity: bool = flag(default=False, about="whether what is stored has parity, so that an upset in it is shown")

    def check(self) -> None:
        """Refuse what a form cannot have."""
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
