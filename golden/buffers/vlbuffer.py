"""Golden model of VL buffers in one storage: VLB-1 to VLB-8 (``docs/vlbuffer.md``).

Golden stores the flits of each lane in a ring buffer; the layout of the hardware's storage is not observable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.credits.room_rule import excess_over_minimum
from vlane.golden.credits.room_rule import fits as within_room
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule

RULES = (
    Rule("reserved", "VLB-1", "space for a packet was reserved"),
    Rule("refused", "VLB-2", "there was no space for a packet: nothing was reserved"),
    Rule("within_minimum", "VLB-3", "guaranteed space of the lane was reserved"),
    Rule("from_shared", "VLB-3", "shared space was reserved"),
    Rule("at_maximum", "VLB-2", "a lane had reached its maximum"),
    Rule("shared_gone", "VLB-2", "all shared space was in use"),
    Rule("written", "VLB-4", "flits were written"),
    Rule("several_written", "VLB-4", "a port wrote several flits in a cycle"),
    Rule("two_writers", "VLB-4", "two ports wrote in a cycle"),
    Rule("not_reserved", "VLB-5", "a flit arrived without reserved space: discarded"),
    Rule("read", "VLB-6", "flits were read"),
    Rule("several_read", "VLB-6", "a port read several flits in a cycle"),
    Rule("two_readers", "VLB-6", "two ports read in a cycle"),
    Rule("same_lane_refused", "VLB-7", "a second port read a lane that another reads: it got nothing"),
    Rule("emptied_and_filled", "VLB-8", "the last flit of a lane was read in the cycle of a write"),
)
(
    RESERVED,
    REFUSED,
    WITHIN_MINIMUM,
    FROM_SHARED,
    AT_MAXIMUM,
    SHARED_GONE,
    WRITTEN,
    SEVERAL_WRITTEN,
    TWO_WRITERS,
    NOT_RESERVED,
    READ,
    SEVERAL_READ,
    TWO_READERS,
    SAME_LANE,
    EMPTIED_AND_FILLED,
) = range(len(RULES))


class VLBufferState(NamedTuple):
    """Lanes and their flits.

    Parameters
    ----------
    vls : int
        Number of lanes.
    flits : int
        Size of the storage.
    minimum, maximum : int
        Guaranteed and maximum number of flits per lane.
    mtu_flits : int
        Size of the largest packet.
    write_flits, read_flits : int
        Maximum number of flits per port and cycle, for writing and for reading ports.
    ring : array of int64, (vls, maximum)
        Flits of each lane.
    first_slot : array of int64, (vls,)
        Index of the oldest flit.
    reserved : array of int64, (vls,)
        Number of stored flits.
    used : array of int64, (vls,)
        Number of reserved flits, including stored ones.
    """

    vls: int
    flits: int
    minimum: int
    maximum: int
    mtu_flits: int
    write_flits: int
    read_flits: int
    ring: NDArray[np.int64]
    first_slot: NDArray[np.int64]
    reserved: NDArray[np.int64]
    used: NDArray[np.int64]


def new_state(
    *, vls: int, flits: int, minimum: int, maximum: int, mtu_flits: int, write_flits: int, read_flits: int
) -> VLBufferState:
    """Return the state after reset: all lanes are empty."""
    counters = np.zeros((3, vls), np.int64)
    ring = np.zeros((vls, maximum), np.int64)
    return VLBufferState(
        vls=vls,
        flits=flits,
        minimum=minimum,
        maximum=maximum,
        mtu_flits=mtu_flits,
        write_flits=write_flits,
        read_flits=read_flits,
        ring=ring,
        first_slot=counters[0],
        reserved=counters[1],
        used=counters[2],
    )


@kernel
def reset(state: VLBufferState) -> None:
    """Reset: all lanes are empty."""
    state.first_slot[:] = 0
    state.reserved[:] = 0
    state.used[:] = 0


@inner
def shared_in_use(state: VLBufferState) -> int:
    """Return the number of flits that lanes use in excess of their minima."""
    total = 0
    for vl in range(state.vls):
        total += excess_over_minimum(state.used[vl], state.minimum)
    return total


@kernel
def fits(state: VLBufferState, vl: int, flits: int) -> bool:
    """Return whether ``flits`` more flits of a lane can be reserved."""
    shared = state.flits - state.vls * state.minimum
    return within_room(state.used[vl], flits, state.minimum, state.maximum, shared_in_use(state), shared)


@kernel
def readable(state: VLBufferState, vl: int) -> int:
    """Return how many flits of a lane a reading port can read in this cycle."""
    return min(state.reserved[vl], state.read_flits) if vl < state.vls else 0


@kernel
def flit_at(state: VLBufferState, vl: int, distance: int) -> int:
    """Return the flit at ``distance`` behind the oldest flit of a lane, or 0 if there is none."""
    if distance >= readable(state, vl):
        return 0
    return state.ring[vl, (state.first_slot[vl] + distance) % state.maximum]


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
    rule_counts: NDArray[np.int64],
) -> int:
    """Run a clock cycle and return the number of discarded flits.

    Parameters
    ----------
    reserve_vl : int
        Lane of the packet for which space is reserved.
    reserve_flits : int
        Size of this packet in flits; 0 if no space is reserved.
    write_vl : array of int64, (writers,)
        Lane of each writing port.
    write_count : array of int64, (writers,)
        Number of flits that each writing port writes.
    write_data : array of int64, (writers, write_flits)
        Written flits.
    read_vl : array of int64, (readers,)
        Lane of each reading port.
    read_count : array of int64, (readers,)
        Number of flits that each reading port removes.
    """
    taken = reserve_flits > 0 and reserve_vl < state.vls and fits(state, reserve_vl, reserve_flits)
    if reserve_flits > 0:
        rule_counts[RESERVED] += taken
        rule_counts[REFUSED] += not taken
        if reserve_vl < state.vls:
            after = state.used[reserve_vl] + reserve_flits
            rule_counts[WITHIN_MINIMUM] += taken and after <= state.minimum
            rule_counts[FROM_SHARED] += taken and after > state.minimum
            rule_counts[AT_MAXIMUM] += after > state.maximum
            rule_counts[SHARED_GONE] += not taken and after <= state.maximum

    emptied, reading = 0, 0
    for port in range(len(read_vl)):
        vl = read_vl[port]
        count = min(read_count[port], readable(state, vl))
        if count == 0:
            continue
        if (reading >> vl) & 1:
            rule_counts[SAME_LANE] += 1
            continue
        rule_counts[READ] += 1
        rule_counts[SEVERAL_READ] += count > 1
        rule_counts[TWO_READERS] += reading != 0
        reading |= 1 << vl
        state.first_slot[vl] = (state.first_slot[vl] + count) % state.maximum
        state.reserved[vl] -= count
        state.used[vl] -= count
        if state.reserved[vl] == 0:
            emptied |= 1 << vl

    if taken:
        state.used[reserve_vl] += reserve_flits
    discarded, writing = 0, 0
    for port in range(len(write_vl)):
        vl, count = write_vl[port], min(write_count[port], state.write_flits)
        rule_counts[TWO_WRITERS] += writing != 0 and count > 0
        rule_counts[SEVERAL_WRITTEN] += count > 1
        writing |= count > 0
        for index in range(count):
            if vl >= state.vls or state.reserved[vl] >= state.used[vl]:
                discarded += 1
                rule_counts[NOT_RESERVED] += 1
                continue
            state.ring[vl, (state.first_slot[vl] + state.reserved[vl]) % state.maximum] = write_data[port, index]
            state.reserved[vl] += 1
            rule_counts[WRITTEN] += 1
            rule_counts[EMPTIED_AND_FILLED] += (emptied >> vl) & 1 and index == 0
    return discarded
