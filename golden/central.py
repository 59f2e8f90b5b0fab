"""Central buffers of Omni-Path switches: rooms, queues, links in, read ports (``docs/opa_switch.md``, O1 to O7)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.inputs import crosses_until
from vlane.golden.kernel import inner
from vlane.golden.links import Links
from vlane.golden.packets import Queues, new_queues
from vlane.golden.returns import flits_moved, whole_blocks
from vlane.golden.room import Rooms, fits, give_back, take

__all__ = [
    "FREE_FROM",
    "INNER_FLITS",
    "LANE_READ",
    "LAST_LANE",
    "READERS",
    "Centre",
    "centre_takes",
    "new_centre",
    "start_reading",
    "start_writing",
]

INNER_FLITS = 3
"""Flits that a link inside the switch carries in a cycle."""

READERS = 2
"""Read ports of a central buffer."""

_INPUTS = 4
"""Inputs that write to a buffer: those of its MPort."""

(FREE_FROM, LAST_LANE, LANE_READ, SINCE, AHEAD, FLITS_READ, BLOCKS_READ, GIVEN) = range(8)
"""Per read port: first cycle in which it takes part; VL granted last; the packet that it reads: its VL, cycle of the
grant, flits that were there beyond those that may cross, flits, blocks, blocks whose room was given back."""


class Centre(NamedTuple):
    """Central buffers, one for each MPort, with their links and read ports.

    Parameters
    ----------
    rooms : Rooms
        Of the buffers.
    queues : Queues
        Packets by buffer and outgoing VL, in stage VA-SA.
    written : array of int64, (buffers, lanes)
        First cycle in which a VL may be written by another packet.
    link_busy : array of int64, (buffers, 2)
        First cycle in which a central link is free.
    last_input : array of int64, (buffers,)
        Input of the MPort that was granted last.
    read : array of int64, (buffers, 2, 8)
        See ``FREE_FROM`` and those after it.
    """

    rooms: Rooms
    queues: Queues
    written: NDArray[np.int64]
    link_busy: NDArray[np.int64]
    last_input: NDArray[np.int64]
    read: NDArray[np.int64]


def new_centre(rooms: Rooms) -> Centre:
    """Return empty buffers, one for each room."""
    buffers, lanes = len(rooms.taken), len(rooms.bounds)
    read = np.zeros((buffers, READERS, 8), np.int64)
    read[:, :, LAST_LANE] = lanes - 1
    return Centre(
        rooms, new_queues(buffers, lanes), np.zeros((buffers, lanes), np.int64), np.zeros((buffers, 2), np.int64),
        np.full(buffers, _INPUTS - 1, np.int64), read,
    )  # fmt: skip


@inner
def _has_room(centre: Centre, links: Links, buffer: int, lane: int, cycle: int) -> bool:
    """Tell whether a central buffer has room for the largest packet of a VL at the start of a cycle."""
    for reader in range(READERS):
        regs = centre.read[buffer, reader]
        if regs[GIVEN] != regs[BLOCKS_READ]:
            moved = flits_moved(links.returns, cycle - 1 - regs[SINCE], regs[AHEAD])
            gone = whole_blocks(moved, regs[FLITS_READ], regs[BLOCKS_READ], links.returns.flit_shift)
            give_back(centre.rooms, buffer, regs[LANE_READ], gone - regs[GIVEN])
            regs[GIVEN] = gone
    return fits(centre.rooms, buffer, lane, links.largest[lane])


@inner
def centre_takes(centre: Centre, links: Links, buffer: int, lane: int, cycle: int) -> bool:
    """Tell whether a central buffer takes a packet of a VL (O1)."""
    is_free = min(centre.link_busy[buffer, 0], centre.link_busy[buffer, 1]) <= cycle
    return is_free and centre.written[buffer, lane] <= cycle and _has_room(centre, links, buffer, lane, cycle)


@inner
def start_writing(centre: Centre, buffer: int, lane: int, blocks: int, cycle: int, until: int) -> None:
    """Let a packet come in over the lower link that is free; its last flit crosses in cycle ``until`` (O4, O6)."""
    link = 0 if centre.link_busy[buffer, 0] <= cycle else 1
    centre.link_busy[buffer, link] = centre.written[buffer, lane] = until
    take(centre.rooms, buffer, lane, blocks)


@inner
def start_reading(
    centre: Centre, buffer: int, reader: int, lane: int, flits: int, blocks: int, cycle: int, ahead: int
) -> None:
    """Let a read port read a packet from the next cycle on; ``ahead`` as of ``crosses_until`` (O6)."""
    regs = centre.read[buffer, reader]
    give_back(centre.rooms, buffer, regs[LANE_READ], regs[BLOCKS_READ] - regs[GIVEN])  # the last flits cross now
    regs[LAST_LANE] = regs[LANE_READ] = lane
    regs[SINCE], regs[AHEAD], regs[GIVEN] = cycle, ahead, 0
    regs[FLITS_READ], regs[BLOCKS_READ] = flits, blocks
    regs[FREE_FROM] = crosses_until(cycle, flits, ahead, INNER_FLITS)
