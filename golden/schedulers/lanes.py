"""Requesters of an egress scheduler, and the lanes that belong to each of them (``docs/schedulers.md``).

A requester is active if one of its lanes can send; its lanes are served round robin, packet by packet.
Without a map every data lane is a requester of its own. Sets of lanes and requesters are bits of integers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.egress import ListCode
from vlane.golden.engine.bits import lowest
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.golden.schedulers.heads import NO_LANE, Program
from vlane.schedulers.writes import ScheduleSelect

SELECT_TABLE, SELECT_MAP = (int(select) for select in ScheduleSelect)
"""Values of the program port's ``select``: an entry of the table, the requester of a lane."""

GATE_RULES = (
    Rule("held", "VLA-14", "a flow-control packet was due: data waited"),
    Rule("vl15_first", "VLA-15", "VL15 sent ahead of a data lane that could"),
)
"""The last rules of every scheduler of one list."""

_FROM_NONE, _, _, _FROM_VL15 = (int(code) for code in ListCode)


class Lanes(NamedTuple):
    """The lanes of a port and the requester of each.

    Parameters
    ----------
    data_vls : int
        Data lanes.
    has_vl15 : bool
        Whether bit ``data_vls`` of the vectors is VL15.
    requesters : int
        Number of requesters.
    mapped : bool
        Whether there is a map; if not, requester i is lane i.
    owner : array of int16, (data_vls,)
        Requester of each lane; a lane of a requester past the last one is never served.
    last : array of int16, (requesters,)
        Lane that each requester sent from last.
    lane : array of int16, (requesters + 1,)
        Lane that each requester offers in this cycle; the spare last one is never offered.
    """

    data_vls: int
    has_vl15: bool
    requesters: int
    mapped: bool
    owner: NDArray[np.int16]
    last: NDArray[np.int16]
    lane: NDArray[np.int16]


def new_lanes(*, data_vls: int, vl15: bool, requesters: int) -> Lanes:
    """Return the lanes after reset; ``requesters`` 0 means one per lane, without a map."""
    count = requesters or data_vls
    lanes = Lanes(
        data_vls,
        bool(vl15),
        count,
        requesters > 0,
        np.zeros(data_vls, np.int16),
        np.zeros(count, np.int16),
        np.arange(count + 1, dtype=np.int16),
    )
    reset_lanes(lanes)
    return lanes


@kernel
def reset_lanes(lanes: Lanes) -> None:
    """Return to the state after reset: lane i belongs to requester i modulo their number, lane 0 is next."""
    for lane in range(lanes.data_vls):
        lanes.owner[lane] = lane % lanes.requesters
    lanes.last[:] = lanes.data_vls - 1


@inner
def program_map(lanes: Lanes, lane: int, requester: int) -> None:
    """Give a lane to a requester; a lane past the last one changes nothing."""
    if lanes.mapped and lane < lanes.data_vls:
        lanes.owner[lane] = requester


@inner
def program_value(lanes: Lanes, values: NDArray[Any], write: Program) -> None:
    """Write the value of a requester, or the requester of a lane; an index past the end changes nothing."""
    if write[1] == SELECT_MAP:
        program_map(lanes, write[2], write[3])
    elif write[1] == SELECT_TABLE and write[2] < len(values):
        values[write[2]] = write[4]


@inner
def offered(lanes: Lanes, requester: int) -> int:
    """Return the lane that a requester offers."""
    return int(lanes.lane[requester]) if lanes.mapped else requester


@inner
def offer(lanes: Lanes, able: int, request: int) -> tuple[int, int]:
    """Return the requesters that can send and those that only lack room; choose the lane each offers."""
    if not lanes.mapped:
        return able, request & ~able
    active, waiting, left = 0, 0, request
    while left != 0:
        lane = lowest(left)
        left &= left - 1
        requester = int(lanes.owner[lane])
        if requester >= lanes.requesters:
            continue
        if not (able >> lane) & 1:
            waiting |= 1 << requester
            continue
        if (active >> requester) & 1:
            last = int(lanes.last[requester])
            now, best = lane - last, int(lanes.lane[requester]) - last
            if not (now > 0 and best <= 0):
                continue
        active |= 1 << requester
        lanes.lane[requester] = lane
    return active, waiting & ~active


@kernel
def hold(lanes: Lanes, able: int, held: int, taken: NDArray[np.int64]) -> int:
    """Let requesters that are held offer the lane they have taken, while it can send; return those whose lane cannot.

    To be called after ``offer``, with the same lanes.
    """
    if not lanes.mapped:
        return 0
    lost = 0
    for requester in range(lanes.requesters):
        if (held >> requester) & 1:
            lane = taken[requester]
            if lanes.owner[lane] == requester and (able >> lane) & 1:
                lanes.lane[requester] = lane
            else:
                lost |= 1 << requester
    return lost


@kernel
def sent(lanes: Lanes, requester: int) -> None:
    """Note that a requester sent from the lane it offers."""
    if lanes.mapped:
        lanes.last[requester] = lanes.lane[requester]


@inner
def gate(
    lanes: Lanes,
    able: int,
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    rules: NDArray[np.int64],
    held: int,
) -> tuple[int, int, bool]:
    """Let VL15 go first, and data wait while they are held; return (lane, list) of VL15, and whether data decide.

    The lane is -1 if VL15 does not send. ``held`` is the number of the first of ``GATE_RULES``.
    """
    waits = ready and able & ((1 << lanes.data_vls) - 1) != 0
    if lanes.has_vl15 and (able >> lanes.data_vls) & 1 != 0:
        rules[held + 1] += waits
        return lanes.data_vls, _FROM_VL15, False
    if hold_data:
        rules[held] += waits
    return NO_LANE, _FROM_NONE, not hold_data


@inner
def without(values: NDArray[Any]) -> int:
    """Return the requesters whose value is 0, as bits."""
    found = 0
    for requester in range(len(values)):
        if values[requester] == 0:
            found |= 1 << requester
    return found
