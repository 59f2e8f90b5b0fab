"""Packets in a pool, queues through it, and what is to happen to them in which cycle.

A packet is in one queue or in one slot of the calendar at a time, so one link per packet is enough, and what a
buffer may hold costs no memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int32, Int64, Records, new_records
from vlane.golden.engine.bits import lowest
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.prefetch import prefetch

NOBODY = -1
EVENTS = 4
(TO_INPUT, TO_OUTPUT, TO_SINK, TO_CENTRE) = range(EVENTS)
"""What happens to a packet: it may take part in an input's allocation; it may ask for the link; it is received, or
gone if the place is ``NOBODY``; it may take part in a central buffer's allocation."""

FECN, BECN = 1, 2
"""Bits of ``Packet.bth``."""

_EVENT_BITS = 2

_MANY = 8192
"""Queues whose records, with those of their ports and packets, fill a core's own caches."""

AHEAD = 4
"""Packets of a list, or ports of one, ahead of the one in hand, that are loaded: they come out of no cache in time."""

CROSSED = 2
"""Cycles from a grant to the decision of the egress scheduler, or to the end of what is dropped (stage X)."""

_SLOTS = 1024
"""Cycles that the calendar looks ahead, without those of slower cables."""


class Packet:
    """What switches and links use of a packet.

    Parameters
    ----------
    blocks, flits : int
        Its size.
    dlid, sl, lane, channel : int
        As its header says; the lane is that of the link it is on or goes to next.
    output : int
        Port that it is routed to.
    event : int
        What happens to it next.
    hops : int
        Switches passed.
    bth : int
        What its base transport header says of congestion: ``FECN``, ``BECN``, or both bits. Only a CNP has BECN.
    arrived : int
        Cycle in which its head reached the switch.
    asks : int
        Cycle from which it asks for the link.
    """

    arrived: Int64
    asks: Int64
    dlid: Int32
    blocks: Int16
    flits: Int16
    sl: Int16
    lane: Int16
    channel: Int16
    output: Int16
    hops: Int16
    event: Int16
    bth: Int16


class Origin:
    """What NICs alone use of a packet, kept apart from ``Packet`` for cache locality.

    Parameters
    ----------
    born : int
        Cycle of generation.
    source, target : int
        NIC it comes from, NIC it is for.
    connection : int
        That it is of, -1 for none.
    bytes : int
        From LRH to VCRC.
    slid : int
        LID that it comes from: of a CNP the DLID of the packet that caused it.
    psn : int
        Packet sequence number, where congestion control is on; 0 elsewhere, and of a CNP.
    """

    born: Int64
    source: Int32
    target: Int32
    connection: Int32
    bytes: Int32
    slid: Int32
    psn: Int32


class Chain:
    """List links, kept apart from ``Packet`` for cache locality.

    Parameters
    ----------
    next : int
        The packet behind this one in its list.
    place : int
        Port at which something happens to it next.
    """

    next: Int32
    place: Int32


class Packets(NamedTuple):
    """The pool and the calendar.

    Parameters
    ----------
    pool : Records of Packet, (packets,)
        Packets.
    origin : Records of Origin, (packets,)
        Where each comes from.
    chain : Records of Chain, (packets,)
        List links of each packet.
    slot : array of int32, (cycles * events,)
        First packet of the list of each cycle and event.
    regs : array of int64, (2,)
        First free packet; packets in use.
    """

    pool: Records[Packet]
    origin: Records[Origin]
    chain: Records[Chain]
    slot: NDArray[np.int32]
    regs: NDArray[np.int64]


FREE, IN_USE = range(2)


class Queue:
    """A queue of packets.

    Parameters
    ----------
    head, tail : int
        First and last packet; the last is meaningless while there is no first.
    """

    head: Int32
    tail: Int32


class Filled:
    """Which queues of a port have a packet.

    Parameters
    ----------
    lanes : int
        Their lanes, as bits.
    """

    lanes: Int64


class Queues(NamedTuple):
    """Queues of packets by port and lane.

    Parameters
    ----------
    queue : Records of Queue, (ports, lanes)
        Those.
    filled : Records of Filled, (ports,)
        Which of them have a packet.
    """

    queue: Records[Queue]
    filled: Records[Filled]


def new_packets(count: int, ahead: int = 0) -> Packets:
    """Return a pool of free packets and an empty calendar, with so many cycles ahead beyond the 1024 of all."""
    slots = 1 << (_SLOTS + ahead - 1).bit_length()
    packets = Packets(
        new_records(Packet, count),
        new_records(Origin, count),
        new_records(Chain, count),
        np.full(slots << _EVENT_BITS, NOBODY, np.int32),
        np.zeros(2, np.int64),
    )
    packets.chain["next"] = [*range(1, count), NOBODY]
    return packets


def grown(packets: Packets, count: int) -> Packets:
    """Return the pool with so many packets, more than it has; those in use keep their numbers."""
    more = new_packets(count, (len(packets.slot) >> _EVENT_BITS) - _SLOTS)
    old = len(packets.pool)
    more.pool[:old], more.origin[:old], more.chain[:old] = packets.pool, packets.origin, packets.chain
    more.chain[count - 1].next = packets.regs[FREE]
    more.slot[:] = packets.slot
    more.regs[FREE], more.regs[IN_USE] = old, packets.regs[IN_USE]
    return more


def free_packets(packets: Packets) -> NDArray[np.int64]:
    """Return the numbers of the packets that are free, in the order in which they will be taken."""
    found, packet, following = [], int(packets.regs[FREE]), packets.chain["next"].tolist()
    while packet != NOBODY:
        found.append(packet)
        packet = following[packet]
    return np.array(found, np.int64)


def set_free(packets: Packets, numbers: NDArray[np.int64]) -> None:
    """Let these packets, at least one, be the free ones."""
    packets.chain["next"][numbers[:-1]] = numbers[1:]
    packets.chain["next"][numbers[-1]] = NOBODY
    packets.regs[FREE] = numbers[0]


def packets_in_use(packets: Packets) -> NDArray[np.int64]:
    """Return the numbers of the packets that are not free."""
    used = np.ones(len(packets.pool), np.bool_)
    used[free_packets(packets)] = False
    return np.flatnonzero(used)


def new_queues(ports: int, lanes: int) -> Queues:
    """Return empty queues."""
    queues = Queues(new_records(Queue, ports, lanes), new_records(Filled, ports))
    queues.queue["head"] = NOBODY
    return queues


@inner
def spare(packets: Packets) -> int:
    """Take a packet out of the pool; there must be one."""
    packet = packets.regs[FREE]
    packets.regs[FREE] = packets.chain[packet].next
    packets.regs[IN_USE] += 1
    return packet


@inner
def free(packets: Packets, packet: int) -> None:
    """Put a packet back."""
    packets.chain[packet].next = packets.regs[FREE]
    packets.regs[FREE] = packet
    packets.regs[IN_USE] -= 1


@inner
def schedule(packets: Packets, packet: int, cycle: int, event: int, place: int) -> None:
    """Let something happen to a packet in a later cycle that the calendar has."""
    slot = _slot(packets, cycle, event)
    packets.pool[packet].event = event
    chain = packets.chain[packet]
    chain.place, chain.next = place, packets.slot[slot]
    packets.slot[slot] = packet


@inner
def _slot(packets: Packets, cycle: int, event: int) -> int:
    return ((cycle & ((len(packets.slot) >> _EVENT_BITS) - 1)) << _EVENT_BITS) + event


@inner
def take_due(packets: Packets, cycle: int, event: int) -> int:
    """Take packets off the calendar to which an event happens in a cycle; return the first, ``NOBODY`` for none."""
    slot = _slot(packets, cycle, event)
    packet = int(packets.slot[slot])
    packets.slot[slot] = NOBODY
    return packet


@inner
def are_many(queues: Queues) -> bool:
    """Tell whether there are so many queues that they, and what goes through them, come from far memory."""
    return queues.queue.shape[0] * queues.queue.shape[1] > _MANY


@inner
def next_ahead(packets: Packets, packet: int) -> int:
    """Return the packet behind one in its list, if there is one, and have it loaded: it will be needed soon."""
    if packet == NOBODY:
        return NOBODY
    following = int(packets.chain[packet].next)
    prefetch(packets.pool, following)
    return following


@inner
def load_first(packets: Packets, queues: Queues, port: int) -> None:
    """Have the first packet of a port's first queue loaded, if it has any."""
    lanes = queues.filled[port].lanes
    if lanes != 0:
        packet = queues.queue[port, lowest(lanes)].head
        prefetch(packets.pool, packet)
        prefetch(packets.chain, packet)


@inner
def load_origin(packets: Packets, packet: int) -> None:
    """Have loaded where a packet comes from."""
    prefetch(packets.origin, packet)


@inner
def load_queues(queues: Queues, port: int) -> None:
    """Have the queues of a port loaded."""
    prefetch(queues.filled, port)
    prefetch(queues.queue, port * queues.queue.shape[1])


@inner
def push(packets: Packets, queues: Queues, port: int, lane: int, packet: int) -> bool:
    """Put a packet at the end of a queue; tell whether it is the first."""
    queue = queues.queue[port, lane]
    packets.chain[packet].next = NOBODY
    first = queue.head == NOBODY
    if first:
        queue.head = packet
        queues.filled[port].lanes |= 1 << lane
    else:
        packets.chain[queue.tail].next = packet
    queue.tail = packet
    return first


@inner
def pop(packets: Packets, queues: Queues, port: int, lane: int) -> int:
    """Take the first packet out of a queue that has one."""
    queue = queues.queue[port, lane]
    packet = queue.head
    following = packets.chain[packet].next
    queue.head = following
    if following == NOBODY:
        queues.filled[port].lanes &= ~(1 << lane)
    return packet
