"""Central buffers of Omni-Path switches, with central links and read ports (OPAS-1 to OPAS-7).

The rules are in ``docs/opa_switch.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import inner
from vlane.golden.links.returns import completed_blocks, flits_moved
from vlane.golden.links.room import BufferOccupancy, fits, occupy, release
from vlane.golden.switches.inputs import last_crossing_cycle
from vlane.golden.switches.output_ports import OutputPorts
from vlane.golden.switches.packets import Queues, new_queues
from vlane.switches.mports import INNER_FLITS, MPORT, READERS


class ReadPort:
    """A read port of a central buffer, and the packet it reads or read last.

    Parameters
    ----------
    free_from : int
        First cycle in which the read port takes part in allocation.
    last_lane : int
        VL granted last.
    lane : int
        VL.
    start_cycle : int
        Cycle of the grant.
    flits, blocks : int
        Size of the packet in flits and in blocks.
    flits_ahead : int
        Flits that were buffered at the grant in excess of one arriving per cycle.
    freed_blocks : int
        Blocks of the packet already freed in the central buffer.
    """

    free_from: Int64
    start_cycle: Int64
    last_lane: Int32
    lane: Int32
    flits_ahead: Int32
    flits: Int32
    blocks: Int32
    freed_blocks: Int32


class Centre(NamedTuple):
    """Central buffers, one for each MPort, with their links and read ports.

    Parameters
    ----------
    occupancy : BufferOccupancy
        Buffer space.
    queues : Queues
        Packets in stage VA-SA, by buffer and outgoing VL.
    next_write_cycle : array of int64, (buffers, lanes)
        First cycle in which another packet may be written to a VL.
    link_free_from : array of int64, (buffers, 2)
        First cycle in which each central link is free.
    last_input : array of int64, (buffers,)
        Input of the MPort that was granted last.
    read_port : Records of ReadPort, (buffers, 2)
        Read ports.
    """

    occupancy: BufferOccupancy
    queues: Queues
    next_write_cycle: NDArray[np.int64]
    link_free_from: NDArray[np.int64]
    last_input: NDArray[np.int64]
    read_port: Records[ReadPort]


def new_centre(rooms: BufferOccupancy) -> Centre:
    """Return empty central buffers, one for each element of ``rooms``."""
    buffers, lanes = len(rooms.lane), rooms.lane.shape[1]
    read = new_records(ReadPort, buffers, READERS)
    read["last_lane"] = lanes - 1
    return Centre(
        rooms,
        new_queues(buffers, lanes),
        np.zeros((buffers, lanes), np.int64),
        np.zeros((buffers, 2), np.int64),
        np.full(buffers, MPORT - 1, np.int64),
        read,
    )


@inner
def _has_room(centre: Centre, out_ports: OutputPorts, buffer: int, lane: int, cycle: int) -> bool:
    """Return whether a central buffer has space for the largest packet of a VL at the start of a cycle."""
    for reader in range(READERS):
        read = centre.read_port[buffer, reader]
        if read.freed_blocks != read.blocks:
            moved = flits_moved(out_ports.returns, cycle - 1 - read.start_cycle, read.flits_ahead)
            gone = completed_blocks(moved, read.flits, read.blocks, out_ports.returns.flit_shift)
            release(centre.occupancy, buffer, read.lane, gone - read.freed_blocks)
            read.freed_blocks = gone
    return fits(centre.occupancy, buffer, lane, out_ports.largest[lane])


@inner
def can_accept(centre: Centre, out_ports: OutputPorts, buffer: int, lane: int, cycle: int) -> bool:
    """Return whether a central buffer can accept a packet of a VL (OPAS-1)."""
    is_free = min(centre.link_free_from[buffer, 0], centre.link_free_from[buffer, 1]) <= cycle
    return (
        is_free and centre.next_write_cycle[buffer, lane] <= cycle and _has_room(centre, out_ports, buffer, lane, cycle)
    )


@inner
def start_writing(centre: Centre, buffer: int, lane: int, blocks: int, cycle: int, end_cycle: int) -> None:
    """Start to write a packet over the free central link with the lower number (OPAS-4, OPAS-6).

    The link and the VL stay busy until cycle ``end_cycle``, in which the last flit crosses.
    """
    link = 0 if centre.link_free_from[buffer, 0] <= cycle else 1
    centre.link_free_from[buffer, link] = centre.next_write_cycle[buffer, lane] = end_cycle
    occupy(centre.occupancy, buffer, lane, blocks)


@inner
def start_reading(
    centre: Centre, buffer: int, read_port: int, lane: int, flits: int, blocks: int, cycle: int, flits_ahead: int
) -> None:
    """Start to read a packet through a read port from the next cycle on (OPAS-6).

    Parameters
    ----------
    flits_ahead : int
        Number of buffered flits in excess of one arriving per cycle.
    """
    read = centre.read_port[buffer, read_port]
    release(centre.occupancy, buffer, read.lane, read.blocks - read.freed_blocks)  # its last flits cross now
    read.last_lane = read.lane = lane
    read.start_cycle, read.flits_ahead, read.freed_blocks = cycle, min(flits_ahead, flits), 0
    read.flits, read.blocks = flits, blocks
    read.free_from = last_crossing_cycle(cycle, flits, flits_ahead, INNER_FLITS)
