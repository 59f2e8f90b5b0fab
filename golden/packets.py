"""Packets in a pool, queues through it, and what is to happen to them in which cycle.

A packet is in one queue or in one slot of the calendar at a time, so one link per packet is enough, and what a
buffer may hold costs no memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.kernel import inner

__all__ = [
    "NOBODY",
    "Packets",
    "Queues",
    "free",
    "new_packets",
    "new_queues",
    "pop",
    "push",
    "schedule",
    "spare",
    "take_due",
]

NOBODY = -1
(NEXT, BLOCKS, FLITS, DLID, SL, LANE, OUTPUT, SOURCE, TARGET, BORN, EVENT, PLACE, HOPS, CHANNEL, ARRIVED, BYTES) = (
    range(16)
)
"""Fields of a packet: link; blocks; flits; DLID; SL; lane where it goes next; output it is routed to; NIC it comes
from and NIC it is for; cycle of generation; what happens next, and at which port; switches passed; channel; cycle in
which its head reached the switch; bytes, LRH to VCRC."""
_FIELDS = 16

(TO_INPUT, TO_OUTPUT, TO_SINK, TO_CENTRE) = range(4)
"""What happens to a packet: it may take part in an input's allocation; it may ask for the link; it is received, or
gone if the place is ``NOBODY``; it may take part in a central buffer's allocation."""

CROSSED = 2
"""Cycles from a grant to the decision of the egress scheduler, or to the end of what is dropped (stage X)."""

SLOTS = 1024
"""Cycles that the calendar looks ahead."""


class Packets(NamedTuple):
    """The pool and the calendar.

    Parameters
    ----------
    field : array of int32, (packets, fields)
        Packets, 64 bytes each.
    slot : array of int64, (SLOTS,)
        First packet of each cycle's list.
    regs : array of int64, (2,)
        First free packet; packets in use.
    """

    field: NDArray[np.int32]
    slot: NDArray[np.int64]
    regs: NDArray[np.int64]


FREE, IN_USE = range(2)


class Queues(NamedTuple):
    """Queues of packets by port and lane.

    Parameters
    ----------
    head, tail : array of int32, (ports, lanes)
        First and last packet; the last is meaningless while there is no first.
    lanes : array of int64, (ports,)
        Lanes that have a packet, as bits.
    """

    head: NDArray[np.int32]
    tail: NDArray[np.int32]
    lanes: NDArray[np.int64]


def new_packets(count: int) -> Packets:
    """Return a pool of free packets and an empty calendar."""
    packets = Packets(np.zeros((count, _FIELDS), np.int32), np.full(SLOTS, NOBODY, np.int64), np.zeros(2, np.int64))
    packets.field[:, NEXT] = np.arange(1, count + 1)
    packets.field[-1, NEXT] = NOBODY
    return packets


def grown(packets: Packets, count: int) -> Packets:
    """Return the pool with so many packets, more than it has; those in use keep their numbers."""
    more = new_packets(count)
    old = len(packets.field)
    more.field[:old] = packets.field
    more.field[-1, NEXT] = packets.regs[FREE]
    more.slot[:] = packets.slot
    more.regs[FREE], more.regs[IN_USE] = old, packets.regs[IN_USE]
    return more


def new_queues(ports: int, lanes: int) -> Queues:
    """Return empty queues."""
    return Queues(
        np.full((ports, lanes), NOBODY, np.int32), np.zeros((ports, lanes), np.int32), np.zeros(ports, np.int64)
    )


@inner
def spare(packets: Packets) -> int:
    """Take a packet out of the pool; there must be one."""
    packet = packets.regs[FREE]
    packets.regs[FREE] = packets.field[packet, NEXT]
    packets.regs[IN_USE] += 1
    return packet


@inner
def free(packets: Packets, packet: int) -> None:
    """Put a packet back."""
    packets.field[packet, NEXT] = packets.regs[FREE]
    packets.regs[FREE] = packet
    packets.regs[IN_USE] -= 1


@inner
def schedule(packets: Packets, packet: int, cycle: int, event: int, place: int) -> None:
    """Let something happen to a packet in a cycle less than ``SLOTS`` ahead."""
    slot = cycle & (SLOTS - 1)
    packets.field[packet, EVENT], packets.field[packet, PLACE] = event, place
    packets.field[packet, NEXT] = packets.slot[slot]
    packets.slot[slot] = packet


@inner
def take_due(packets: Packets, cycle: int) -> int:
    """Take what is to happen in a cycle off the calendar; return the first packet of the list, ``NOBODY`` for none."""
    slot = cycle & (SLOTS - 1)
    packet = packets.slot[slot]
    packets.slot[slot] = NOBODY
    return packet


@inner
def push(packets: Packets, queues: Queues, port: int, lane: int, packet: int) -> bool:
    """Put a packet at the end of a queue; tell whether it is the first."""
    packets.field[packet, NEXT] = NOBODY
    first = queues.head[port, lane] == NOBODY
    if first:
        queues.head[port, lane] = packet
        queues.lanes[port] |= 1 << lane
    else:
        packets.field[queues.tail[port, lane], NEXT] = packet
    queues.tail[port, lane] = packet
    return first


@inner
def pop(packets: Packets, queues: Queues, port: int, lane: int) -> int:
    """Take the first packet out of a queue that has one."""
    packet = queues.head[port, lane]
    following = packets.field[packet, NEXT]
    queues.head[port, lane] = following
    if following == NOBODY:
        queues.lanes[port] &= ~(1 << lane)
    return packet
