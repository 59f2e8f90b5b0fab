"""Requesters of an egress scheduler and the lanes that belong to them (``docs/schedulers.md``).

A requester is active if one of its lanes can send; its lanes are served round robin, packet by packet. Without a map
every data lane is its own requester. Sets of lanes and requesters are bit masks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.egress import ListCode
from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.golden.schedulers.heads import NO_LANE, Program
from vlane.schedulers.writes import ScheduleSelect

SELECT_TABLE, SELECT_MAP = (int(select) for select in ScheduleSelect)
"""Values of the program port's ``select``: table entry; requester of a lane."""

GATE_RULES = (
    Rule("held", "VLA-14", "a due flow-control packet held data lanes back"),
    Rule("vl15_first", "VLA-15", "VL15 sent before a data lane that could send"),
)
"""Rules that end the ``RULES`` of every single-list scheduler."""

_FROM_NONE, _, _, _FROM_VL15 = (int(code) for code in ListCode)


class Lanes(NamedTuple):
    """Lanes of a port and their requesters.

    Parameters
    ----------
    data_vls : int
        Number of data lanes.
    has_vl15 : bool
        Bit ``data_vls`` of the masks is VL15.
    requesters : int
        Number of requesters.
    has_map : bool
        There is a map; otherwise requester i is lane i.
    requester_of : array of int16, (data_vls,)
        Requester of each lane; a lane of a requester beyond the last one is never served.
    last_lane : array of int16, (requesters,)
        Lane from which each requester sent last.
    offered_lane : array of int16, (requesters + 1,)
        Lane that each requester offers in this cycle; the last element is unused.
    """

    data_vls: int
    has_vl15: bool
    requesters: int
    has_map: bool
    requester_of: NDArray[np.int16]
    last_lane: NDArray[np.int16]
    offered_lane: NDArray[np.int16]


def new_lanes(*, data_vls: int, vl15: bool, requesters: int) -> Lanes:
    """Return the lanes after reset. ``requesters`` 0 means that every lane is its own requester, without a map."""
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
    """Reset the map and the turns: lane i belongs to requester i modulo their number, and lane 0 is next."""
    for lane in range(lanes.data_vls):
        lanes.requester_of[lane] = lane % lanes.requesters
    lanes.last_lane[:] = lanes.data_vls - 1


@inner
def program_map(lanes: Lanes, lane: int, requester: int) -> None:
    """Assign a lane to a requester. Ignore a lane that does not exist."""
    if lanes.has_map and lane < lanes.data_vls:
        lanes.requester_of[lane] = requester


@inner
def program_value(lanes: Lanes, values: NDArray[Any], write: Program) -> None:
    """Write the value of a requester, or the requester of a lane. Ignore an index out of range."""
    if write[1] == SELECT_MAP:
        program_map(lanes, write[2], write[3])
    elif write[1] == SELECT_TABLE and write[2] < len(values):
        values[write[2]] = write[4]


@inner
def offered_lane(lanes: Lanes, requester: int) -> int:
    """Return the lane that a requester offers."""
    return int(lanes.offered_lane[requester]) if lanes.has_map else requester


@inner
def choose_offers(lanes: Lanes, sendable: int, request: int) -> tuple[int, int]:
    """Choose the lane that each requester offers, round robin.

    Return the bit mask of requesters that can send, and the mask of requesters that only lack credit.
    """
    if not lanes.has_map:
        return sendable, request & ~sendable
    active, waiting, left = 0, 0, request
    while left != 0:
        lane = lowest_member(left)
        left &= left - 1
        requester = int(lanes.requester_of[lane])
        if requester >= lanes.requesters:
            continue
        if not (sendable >> lane) & 1:
            waiting |= 1 << requester
            continue
        if (active >> requester) & 1:
            last = int(lanes.last_lane[requester])
            now, best = lane - last, int(lanes.offered_lane[requester]) - last
            if not (now > 0 and best <= 0):
                continue
        active |= 1 << requester
        lanes.offered_lane[requester] = lane
    return active, waiting & ~active


@kernel
def hold_offers(lanes: Lanes, sendable: int, held: int, chosen_lanes: NDArray[np.int64]) -> int:
    """Keep the lane already chosen for each requester in ``held`` as its offer while the lane can send.

    Return the mask of requesters whose chosen lane (``chosen_lanes``) cannot send any more. Call this after
    ``choose_offers``, with equal lanes.
    """
    if not lanes.has_map:
        return 0
    lost = 0
    for requester in range(lanes.requesters):
        if (held >> requester) & 1:
            lane = chosen_lanes[requester]
            if lanes.requester_of[lane] == requester and (sendable >> lane) & 1:
                lanes.offered_lane[requester] = lane
            else:
                lost |= 1 << requester
    return lost


@kernel
def record_sent(lanes: Lanes, requester: int) -> None:
    """Record that a requester's offered lane has sent: the requester's other lanes are next."""
    if lanes.has_map:
        lanes.last_lane[requester] = lanes.offered_lane[requester]


@inner
def decide_vl15_and_hold(
    lanes: Lanes,
    sendable: int,
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    rule_counts: NDArray[np.int64],
    held: int,
) -> tuple[int, int, bool]:
    """Decide VL15 and the hold of data, both of which precede any data decision (VLA-14, VLA-15).

    Return (lane, list) of VL15, lane -1 if it does not send, and whether data lanes may decide. ``held`` is the index
    of the first of ``GATE_RULES`` in the counters.
    """
    waits = ready and sendable & ((1 << lanes.data_vls) - 1) != 0
    if lanes.has_vl15 and (sendable >> lanes.data_vls) & 1 != 0:
        rule_counts[held + 1] += waits
        return lanes.data_vls, _FROM_VL15, False
    if hold_data:
        rule_counts[held] += waits
    return NO_LANE, _FROM_NONE, not hold_data


@inner
def requesters_without_value(values: NDArray[Any]) -> int:
    """Return the bit mask of requesters whose value is 0."""
    found = 0
    for requester in range(len(values)):
        if values[requester] == 0:
            found |= 1 << requester
    return found
