"""Service channels of Omni-Path and their tables (``docs/sc.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from vlane.documents.whole import check_whole
from vlane.egress import MAX_SCHEDULER_VLS
from vlane.parameters import Parameters, whole

__all__ = ["SC15", "SC_COUNT", "SCParameters", "SCTable", "gen1_sc2vl"]

SC_COUNT = 32
SC15 = 15
"""Management channel, the only one on VL15."""


class SCTable(IntEnum):
    """Tables of a port, by number in the program port."""

    SL2SC = 0
    SC2SL = 1
    SC2SC = 2
    SC2VL_T = 3
    SC2VL_NT = 4


def gen1_sc2vl(data_vls: int) -> tuple[int, ...]:
    """Return the SC to VL table of the first generation: channels share the data lanes, SC15 uses VL15.

    VL15 is no data lane, so data lane 15 is VL16, data lane 16 is VL17, and so on.

    Raises
    ------
    InputError
        If the number of data lanes is not 1 to 31.

    Examples
    --------
    >>> gen1_sc2vl(8)[:16]
    (0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 15)
    """
    check_whole("data_vls", data_vls, 1, SC_COUNT - 1)
    lanes = [lane + (lane >= SC15) for lane in range(data_vls)]
    return tuple(SC15 if sc == SC15 else lanes[sc % data_vls] for sc in range(SC_COUNT))


@dataclass(frozen=True, eq=False, kw_only=True)
class SCParameters(Parameters):
    """Parameters of ``sc``.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    ports: int = whole(8, 1, 48, "ports")
    data_vls: int = whole(8, 1, MAX_SCHEDULER_VLS, "data lanes without VL15; other lanes in a table are invalid")
