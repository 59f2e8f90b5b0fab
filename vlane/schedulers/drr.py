"""Quanta of deficit round robin: parameters, tables and registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vlane.documents.whole import whole_list
from vlane.egress import MAX_REQUESTERS, SchedulerParameters
from vlane.parameters import flag, whole
from vlane.schedulers.writes import ScheduleSelect, Write, too_long, value_writes
from vlane.units import MAX_PACKET_BLOCKS

__all__ = ["MAX_QUANTUM", "DRRParameters", "DRRQuanta"]

MAX_QUANTUM = 255
_TABLE = int(ScheduleSelect.TABLE)


@dataclass(frozen=True, slots=True)
class DRRQuanta:
    """Quantum of each requester: the amount it may send per round.

    Parameters
    ----------
    quantum : tuple of int
        Quantum of each requester, 0 to 255 blocks of 64 bytes; a requester with quantum 0 is never served.

    Raises
    ------
    InputError
        If a quantum is out of range; the error names the requester.
    """

    quantum: tuple[int, ...]

    def __post_init__(self) -> None:
        checked = whole_list("drr.quantum", self.quantum, least=0, most=MAX_QUANTUM, longest=MAX_REQUESTERS)
        object.__setattr__(self, "quantum", checked)

    def writes(self, parameters: Mapping[str, Any]) -> list[Write]:
        """Return the writes that program an instance. Requesters without an entry get quantum 0.

        Raises
        ------
        InputError
            If there are more quanta than requesters.
        """
        most = parameters["requesters"] or parameters["data_vls"]
        if len(self.quantum) > most:
            raise too_long("drr.quantum", most, len(self.quantum))
        return value_writes(self.quantum, most)

    def shape(self) -> dict[str, int]:
        """Return an empty mapping: no parameter of an instance depends on the table."""
        return {}

    def requesters(self) -> int:
        """Return the number of quanta."""
        return len(self.quantum)

    def served(self) -> dict[str, int]:
        """Return the number of each requester with a nonzero quantum, by the key of the quantum in the file."""
        return {f"drr.quantum[{sl}]": sl for sl, quantum in enumerate(self.quantum) if quantum}


def weight_write(_place: int, lane: int, weight: int, _least: int) -> Write:
    """Return the write that gives a lane its weight: its quantum in blocks."""
    return _TABLE, lane, 0, weight


@dataclass(frozen=True, eq=False, kw_only=True)
class DRRParameters(SchedulerParameters):
    """Parameters of ``drr``.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    keep_on_stall: bool = flag(default=False, about="a requester without credits keeps its deficit")
    mtu_blocks: int = whole(
        MAX_PACKET_BLOCKS, 1, MAX_PACKET_BLOCKS, "blocks of the largest packet; bounds a kept deficit"
    )
