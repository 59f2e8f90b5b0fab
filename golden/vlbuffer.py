"""VL buffers over one storage: reference behaviour (``docs/vlbuffer.md``).

Golden keeps each lane's flits in a ring of its own; how hardware keeps them in the storage cannot be seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.kernel import inner, kernel
from vlane.golden.rule import Rule

__all__ = ["RULES", "VLBufferState", "fits", "new_state", "readable", "reset", "shown", "step"]

RULES = (
    Rule("reserved", "B1", "a packet's room was taken"),
    Rule("refused", "B2", "a packet's room was not there: nothing was taken"),
    Rule("within_minimum", "B3", "room was taken from what the lane is guaranteed"),
    Rule("from_shared", "B3", "room was taken that lanes share"),
    Rule("at_maximum", "B2", "a lane was full to its maximum"),
    Rule("shared_gone", "B2", "what lanes share was gone; only guaranteed room was left"),
    Rule("written", "B4", "flits were written"),
    Rule("several_written", "B4", "a port wrote several flits in a cycle"),
    Rule("two_writers", "B4", "two ports wrote in a cycle"),
    Rule("not_reserved", "B5", "a flit came without reserved room: discarded"),
    Rule("read", "B6", "flits were read"),
    Rule("several_read", "B6", "a port read several flits in a cycle"),
    Rule("two_readers", "B6", "two ports read in a cycle"),
    Rule("same_lane_refused", "B7", "a second port asked for a lane that another reads: it got nothing"),
    Rule("emptied_and_filled", "B8", "the last flit of a lane was read in the cycle in which one was written"),
)
(RESERVED, REFUSED, WITHIN_MINIMUM, FROM_SHARED, AT_MAXIMUM, SHARED_GONE, WRITTEN, SEVERAL_WRITTEN, TWO_WRITERS,
 NOT_RESERVED, READ, SEVERAL_READ, TWO_READERS, SAME_LANE, EMPTIED_AND_FILLED) = range(len(RULES))  # fmt: skip


class VLBufferState(NamedTuple):
    """Lanes and their flits.

    Parameters
    ----------
    vls, flits, minimum, maximum, mtu_flits, write_flits, read_flits : int
        Lanes, storage, guaranteed and most flits of a lane, largest packet, most flits of a writing and of a reading
        port in a cycle.
    ring : array of int64, (vls, maximum)
        Flits of each lane.
    first, held, used : array of int64, (vls,)
        Place of the oldest flit; flits held; flits reserved, those held included.
    """

    vls: int
    flits: int
    minimum: int
    maximum: int
    mtu_flits: int
    write_flits: int
    read_flits: int
    ring: NDArray[np.int64]
    first: NDArray[np.int64]
    held: NDArray[np.int64]
    used: NDArray[np.int64]


def new_state(
    *, vls: int, flits: int, minimum: int, maximum: int, mtu_flits: int, write_flits: int, read_flits: int
) -> VLBufferState:
    """Return the state after reset: everything empty."""
    counters = np.zeros((3, vls), np.int64)
    ring = np.zeros((vls, maximum), np.int64)
    return VLBufferState(
        vls, flits, minimum, maximum, mtu_flits, write_flits, read_flits, ring, counters[0], counters[1], counters[2]
    )


@kernel
def reset(state: VLBufferState) -> None:
    """Return to the state after reset."""
    state.first[:] = 0
    state.held[:] = 0
    state.used[:] = 0


@inner
def shared_in_use(state: VLBufferState) -> int:
    """Return the flits that lanes use beyond what each is guaranteed."""
    total = 0
    for vl in range(state.vls):
        total += max(0, state.used[vl] - state.minimum)
    return total


@kernel
def fits(state: VLBufferState, vl: int, flits: int) -> bool:
    """Tell whether so many more flits of a lane can be reserved."""
    before, after = state.used[vl], state.used[vl] + flits
    shared = shared_in_use(state) - max(0, before - state.minimum) + max(0, after - state.minimum)
    return after <= state.maximum and shared <= state.flits - state.vls * state.minimum


@kernel
def readable(state: VLBufferState, vl: int) -> int:
    """Return how many flits of a lane a port sees."""
    return min(state.held[vl], state.read_flits) if vl < state.vls else 0


@kernel
def shown(state: VLBufferState, vl: int, place: int) -> int:
    """Return the flit at a place behind a lane's oldest one; 0 where none is."""
    if place >= readable(state, vl):
        return 0
    return state.ring[vl, (state.first[vl] + place) % state.maximum]


@kernel
def step(
    state: VLBufferState,
    reserve_vl: int,
    reserve_flits: int,
    write_vl: NDArray[np.int64],
    write_count: NDArray[np.int64],
    write_data: NDArray[np.int64],
    read_vl: NDArray[np.int64],
    read_count: NDArray[np.int64],
    rules: NDArray[np.int64],
) -> int:
    """Run one clock cycle and return how many flits were discarded; a reservation of 0 flits is none.

    Parameters
    ----------
    reserve_vl, reserve_flits : int
        The packet whose room is wanted.
    write_vl, write_count : array of int64, (writers,)
        Lane and flits of each writing port.
    write_data : array of int64, (writers, write_flits)
        The flits.
    read_vl, read_count : array of int64, (readers,)
        Lane that each reading port looks at, and how many of the flits it sees it takes.
    """
    taken = reserve_flits > 0 and reserve_vl < state.vls and fits(state, reserve_vl, reserve_flits)
    if reserve_flits > 0:
        rules[RESERVED] += taken
        rules[REFUSED] += not taken
        if reserve_vl < state.vls:
            after = state.used[reserve_vl] + reserve_flits
            rules[WITHIN_MINIMUM] += taken and after <= state.minimum
            rules[FROM_SHARED] += taken and after > state.minimum
            rules[AT_MAXIMUM] += after > state.maximum
            rules[SHARED_GONE] += not taken and after <= state.maximum

    emptied, reading = 0, 0
    for port in range(len(read_vl)):
        vl = read_vl[port]
        count = min(read_count[port], readable(state, vl))
        if count == 0:
            continue
        if (reading >> vl) & 1:
            rules[SAME_LANE] += 1
            continue
        rules[READ] += 1
        rules[SEVERAL_READ] += count > 1
        rules[TWO_READERS] += reading != 0
        reading |= 1 << vl
        state.first[vl] = (state.first[vl] + count) % state.maximum
        state.held[vl] -= count
        state.used[vl] -= count
        if state.held[vl] == 0:
            emptied |= 1 << vl

    if taken:
        state.used[reserve_vl] += reserve_flits
    discarded, writing = 0, 0
    for port in range(len(write_vl)):
        vl, count = write_vl[port], min(write_count[port], state.write_flits)
        rules[TWO_WRITERS] += writing != 0 and count > 0
        rules[SEVERAL_WRITTEN] += count > 1
        writing |= count > 0
        for index in range(count):
            if vl >= state.vls or state.held[vl] >= state.used[vl]:
                discarded += 1
                rules[NOT_RESERVED] += 1
                continue
            state.ring[vl, (state.first[vl] + state.held[vl]) % state.maximum] = write_data[port, index]
            state.held[vl] += 1
            rules[WRITTEN] += 1
            rules[EMPTIED_AND_FILLED] += (emptied >> vl) & 1 and index == 0
    return discarded
