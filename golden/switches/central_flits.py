"""Central buffers of Omni-Path switches with flit-by-flit allocation (OPAS-F1 to OPAS-F6, ``docs/opa_switch.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records, new_records
from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import inner
from vlane.golden.links.room import BufferOccupancy, fits, occupy, release
from vlane.golden.switches.output_ports import OutputPorts
from vlane.golden.switches.packets import NOBODY, Packets, Queues, new_queues, pop_packet, push_packet
from vlane.switches.mports import MPORT, READERS


class FlitLane:
    """Flits of a VL in a central buffer.

    Parameters
    ----------
    writing : int
        Packet whose flits are still granted at its input; ``NOBODY`` for none. It is the last packet of the VL.
    ready : int
        Flits that take part in the allocation.
    arrived_now, arrived_before, arrived_two_before : int
        Flits granted at an input in this cycle, one cycle ago, and two cycles ago.
    granted : int
        Granted flits of the first packet.
    freed_blocks_now : int
        Blocks whose last flit was granted in this cycle.
    freed_blocks_before : int
        Blocks whose last flit was granted one cycle ago.
    """

    writing: Int32
    ready: Int32
    arrived_now: Int32
    arrived_before: Int32
    arrived_two_before: Int32
    granted: Int32
    freed_blocks_now: Int32
    freed_blocks_before: Int32


class FlitBuffer:
    """State of a central buffer.

    Parameters
    ----------
    active : int
        Bit mask of VLs with a packet, or with space that is not free yet.
    ready : int
        Bit mask of VLs with a flit that takes part.
    last_input : int
        Input of the MPort that was granted last.
    """

    active: Int64
    ready: Int64
    last_input: Int32


class FlitCentre(NamedTuple):
    """Central buffers, one for each MPort.

    Parameters
    ----------
    occupancy : BufferOccupancy
        Buffer space.
    queues : Queues
        Packets whose last flit was granted at the input, by buffer and outgoing VL.
    buffer : Records of FlitBuffer, (buffers,)
        State of each buffer.
    lane : Records of FlitLane, (buffers, lanes)
        State of each VL.
    last_lane : array of int64, (buffers, 2)
        VL that each read port was granted last.
    """

    occupancy: BufferOccupancy
    queues: Queues
    buffer: Records[FlitBuffer]
    lane: Records[FlitLane]
    last_lane: NDArray[np.int64]


def new_flit_centre(rooms: BufferOccupancy) -> FlitCentre:
    """Return empty central buffers, one for each element of ``rooms``."""
    buffers, lanes = len(rooms.lane), rooms.lane.shape[1]
    buffer, lane = new_records(FlitBuffer, buffers), new_records(FlitLane, buffers, lanes)
    buffer["last_input"], lane["writing"] = MPORT - 1, NOBODY
    last_lane = np.full((buffers, READERS), lanes - 1, np.int64)
    return FlitCentre(rooms, new_queues(buffers, lanes), buffer, lane, last_lane)


@inner
def begin_cycle(centre: FlitCentre, buffer: int) -> bool:
    """Count the flits that take part from this cycle on and the space that is free from this cycle on (OPAS-F4).

    Return whether the buffer has work in later cycles.
    """
    state = centre.buffer[buffer]
    left = state.active
    while left != 0:
        lane = lowest_member(left)
        left &= left - 1
        flits = centre.lane[buffer, lane]
        if flits.arrived_two_before != 0:
            flits.ready += flits.arrived_two_before
            state.ready |= 1 << lane
        flits.arrived_two_before, flits.arrived_before, flits.arrived_now = flits.arrived_before, flits.arrived_now, 0
        if flits.freed_blocks_before != 0:
            release(centre.occupancy, buffer, lane, flits.freed_blocks_before)
        flits.freed_blocks_before, flits.freed_blocks_now = flits.freed_blocks_now, 0
        if (
            flits.writing == NOBODY
            and flits.freed_blocks_before == 0
            and centre.queues.queue[buffer, lane].head == NOBODY
        ):
            state.active &= ~(1 << lane)
    return state.active != 0


@inner
def can_write(centre: FlitCentre, out_ports: OutputPorts, buffer: int, lane: int) -> bool:
    """Return whether a buffer can accept the first flit of a packet on a VL (OPAS-F2)."""
    is_free = centre.lane[buffer, lane].writing == NOBODY
    return is_free and fits(centre.occupancy, buffer, lane, out_ports.largest[lane])


@inner
def start_writing(centre: FlitCentre, packets: Packets, buffer: int, packet: int) -> None:
    """Reserve space for a packet whose first flit is granted at its input."""
    field = packets.pool[packet]
    occupy(centre.occupancy, buffer, field.lane, field.blocks)
    centre.lane[buffer, field.lane].writing = packet
    centre.buffer[buffer].active |= 1 << field.lane


@inner
def write_flit(centre: FlitCentre, packets: Packets, buffer: int, packet: int, is_last: bool) -> None:  # noqa: FBT001 - kernels take positional arguments only
    """Count a flit that is granted at its input. The packet's last flit appends the packet to its queue."""
    lane = packets.pool[packet].lane
    flits = centre.lane[buffer, lane]
    flits.arrived_now += 1
    if is_last:
        flits.writing = NOBODY
        push_packet(packets, centre.queues, buffer, lane, packet)


@inner
def first_packet(centre: FlitCentre, buffer: int, lane: int) -> int:
    """Return the first packet of a VL, or ``NOBODY``."""
    packet = centre.queues.queue[buffer, lane].head
    return int(packet if packet != NOBODY else centre.lane[buffer, lane].writing)


@inner
def read_flit(centre: FlitCentre, packets: Packets, buffer: int, lane: int, flit_shift: int) -> bool:
    """Take the next flit of a VL and return whether it is the last of its packet, which leaves the queue."""
    flits = centre.lane[buffer, lane]
    flits.ready -= 1
    flits.granted += 1
    if flits.ready == 0:
        centre.buffer[buffer].ready &= ~(1 << lane)
    is_last = bool(flits.granted == packets.pool[first_packet(centre, buffer, lane)].flits)
    if is_last or flits.granted & ((1 << flit_shift) - 1) == 0:
        flits.freed_blocks_now += 1
    if is_last:
        flits.granted = 0
        pop_packet(packets, centre.queues, buffer, lane)
    return is_last
