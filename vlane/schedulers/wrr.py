"""Weights of weighted round robin, in packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vlane.documents.whole import whole_list
from vlane.egress import MAX_REQUESTERS, SchedulerParameters
from vlane.schedulers.writes import ScheduleSelect, Write, too_long, value_writes

__all__ = ["MAX_WRR_WEIGHT", "WRRParameters", "WRRWeights"]

MAX_WRR_WEIGHT = 255
_TABLE = int(ScheduleSelect.TABLE)


@dataclass(frozen=True, slots=True)
class WRRWeights:
    """Weight of each requester: the packets it may send per turn.

    Parameters
    ----------
    weight : tuple of int
        Weight of each requester, 0 to 255 packets; a requester with weight 0 is never served.

    Raises
    ------
    InputError
        If a weight is out of range; the error names the requester.
    """

    weight: tuple[int, ...]

    def __post_init__(self) -> None:
        checked = whole_list("wrr.weight", self.weight, least=0, most=MAX_WRR_WEIGHT, longest=MAX_REQUESTERS)
        object.__setattr__(self, "weight", checked)

    def writes(self, parameters: Mapping[str, Any]) -> list[Write]:
        """Return the writes that program an instance. Requesters without an entry get weight 0.

        Raises
        ------
        InputError
            If there are more weights than requesters.
        """
        most = parameters["requesters"] or parameters["data_vls"]
        if len(self.weight) > most:
            raise too_long("wrr.weight", most, len(self.weight))
        return value_writes(self.weight, most)

    def shape(self) -> dict[str, int]:
        """Return an empty mapping: no parameter of an instance depends on the table."""
        return {}

    def requesters(self) -> int:
        """Return the number of weights."""
        return len(self.weight)

    def served(self) -> dict[str, int]:
        """Return the number of each requester with a nonzero weight, by the key of the weight in the file."""
        return {f"wrr.weight[{sl}]": sl for sl, weight in enumerate(self.weight) if weight}


def weight_write(_place: int, lane: int, weight: int, _least: int) -> Write:
    """Return the write that gives a lane its weight: its packets per turn."""
    return _TABLE, lane, 0, weight


@dataclass(frozen=True, eq=False, kw_only=True)
class WRRParameters(SchedulerParameters):
    """Parameters of ``wrr``, those of all schedulers with a single list."""
