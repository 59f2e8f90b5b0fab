"""Packet pool, packet queues and the calendar of packet events.

A packet is in at most one queue or one calendar slot at a time. One list link per packet is therefore enough, and
queues need no memory of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int32, Int64, Records, new_records
from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.pool import FREE, IN_USE, free_record
from vlane.golden.engine.prefetch import prefetch
from vlane.golden.traffic.messages import (
    Messages,
    count_lost_packets,
    grown_messages,
    is_message,
    message_of,
    new_messages,
)

NOBODY = -1
EVENTS = 4
(TO_INPUT, TO_OUTPUT, TO_SINK, TO_CENTRE) = range(EVENTS)
"""Packet events: the packet becomes ready for input allocation, requests the link, is received by a NIC (dropped if the
place is ``NOBODY``), or becomes ready for the allocation of a central buffer."""

FECN, BECN = 1, 2
"""Bits of ``Packet.bth``."""

_EVENT_BITS = 2

_MANY = 8192
"""Number of queues above which queues, ports and packets exceed a core's private caches."""

AHEAD = 4
"""Prefetch distance: number of list elements (packets or ports) between the prefetched and the processed one."""

CROSSED = 2
"""Cycles from a grant to the packet's first egress decision, or to the removal of a dropped packet (stage X)."""

RETURNED, RETURNED_BY_NIC = 2, 1
"""Cycles from a grant at a switch, and from the arrival at a NIC, to the return of the first flit's space."""

_SLOTS = 1024
"""Cycles that the calendar covers, in addition to the delay of slow cables."""


class Packet:
    """Packet fields that switches and links use, in one cache line.

    Parameters
    ----------
    next : int
        Next packet in the same list.
    event_place : int
        Port or buffer of the next event.
    blocks, flits : int
        Packet size in blocks and in flits.
    dlid : int
        Destination LID.
    sl : int
        Service level.
    lane : int
        VL of the current link, or of the next link after routing. If routing drops the packet, the lane is the
        drop cause (``inputs.drop_cause``).
    channel : int
        Omni-Path channel of the header.
    output : int
        Output port from routing.
    event : int
        Next event of the packet.
    hops : int
        Number of switches passed.
    bth : int
        Congestion bits of the base transport header: ``FECN``, ``BECN`` or both. Only a CNP has BECN.
    head_arrival : int
        Cycle in which the head reached the switch. In a packet that a NIC holds: see ``pacing.next_flow``.
    link_request_cycle : int
        Cycle from which the packet requests the link. In a packet that a NIC holds: see ``pacing.last_of_flow``.
    unused_a, unused_b, unused_c : int
        Nothing: they make the record as long as a cache line.
    """

    next: Int32
    event_place: Int32
    head_arrival: Int64
    link_request_cycle: Int64
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
    unused_a: Int16
    unused_b: Int64
    unused_c: Int64


class Origin:
    """Packet fields that only NICs use, separate from ``Packet`` for cache locality.

    Parameters
    ----------
    generated_cycle : int
        Cycle of generation.
    source, target : int
        Source NIC and destination NIC.
    stream : int
        Connection, or message (``golden/traffic/messages.py``); ``NO_STREAM`` for none.
    bytes : int
        Packet size from LRH to VCRC.
    slid : int
        Source LID. For a CNP: the DLID of the packet that caused it.
    psn : int
        Packet sequence number; 0 for CNPs and without congestion control.
    """

    generated_cycle: Int64
    source: Int32
    target: Int32
    stream: Int32
    bytes: Int32
    slid: Int32
    psn: Int32


class Packets(NamedTuple):
    """The packet pool and the calendar.

    Parameters
    ----------
    pool : Records of Packet, (packets,)
        Packets.
    origin : Records of Origin, (packets,)
        Origin of each packet.
    slot : array of int32, (cycles * events,)
        First packet of the list of each cycle and event.
    regs : array of int64, (2,)
        First free packet; number of packets in use.
    messages : Messages
        Messages of which packets are under way.
    """

    pool: Records[Packet]
    origin: Records[Origin]
    slot: NDArray[np.int32]
    regs: NDArray[np.int64]
    messages: Messages


class Queue:
    """A packet queue.

    Parameters
    ----------
    head, tail : int
        First and last packet. ``tail`` is undefined while the queue is empty.
    """

    head: Int32
    tail: Int32


class NonEmptyLanes:
    """The non-empty queues of a port.

    Parameters
    ----------
    lanes : int
        Bit mask of lanes with at least one packet.
    """

    lanes: Int64


class Queues(NamedTuple):
    """Packet queues by port and lane.

    Parameters
    ----------
    queue : Records of Queue, (ports, lanes)
        Queues.
    filled : Records of NonEmptyLanes, (ports,)
        Non-empty queues of each port.
    """

    queue: Records[Queue]
    filled: Records[NonEmptyLanes]


def new_packets(packet_count: int, horizon: int = 0, messages: int = 0) -> Packets:
    """Return a pool of free packets and an empty calendar that covers 1024 + ``horizon`` cycles or more.

    Parameters
    ----------
    messages : int
        Number of messages in the pool of messages.
    """
    slots = 1 << (_SLOTS + horizon - 1).bit_length()
    calendar, regs = np.full(slots << _EVENT_BITS, NOBODY, np.int32), np.zeros(2, np.int64)
    packets = Packets(
        new_records(Packet, packet_count), new_records(Origin, packet_count), calendar, regs, new_messages(messages)
    )
    packets.pool["next"] = [*range(1, packet_count), NOBODY]
    return packets


def grown_packets(packets: Packets, packet_count: int) -> Packets:
    """Return a copy of the pool with ``packet_count`` packets, more than before. Packets in use keep their numbers."""
    more = new_packets(packet_count, (len(packets.slot) >> _EVENT_BITS) - _SLOTS)
    old = len(packets.pool)
    more.pool[:old], more.origin[:old] = packets.pool, packets.origin
    more.pool[packet_count - 1].next = packets.regs[FREE]
    more.slot[:] = packets.slot
    more.regs[FREE], more.regs[IN_USE] = old, packets.regs[IN_USE]
    messages = len(packets.messages.pool)
    if messages:
        more = more._replace(messages=grown_messages(packets.messages, messages + packet_count - old))
    return more


def free_packets(packets: Packets) -> NDArray[np.int64]:
    """Return the numbers of the free packets in allocation order."""
    found, packet, following = [], int(packets.regs[FREE]), packets.pool["next"].tolist()
    while packet != NOBODY:
        found.append(packet)
        packet = following[packet]
    return np.array(found, np.int64)


def set_free(packets: Packets, numbers: NDArray[np.int64]) -> None:
    """Replace the list of free packets by the given numbers (at least one)."""
    packets.pool["next"][numbers[:-1]] = numbers[1:]
    packets.pool["next"][numbers[-1]] = NOBODY
    packets.regs[FREE] = numbers[0]


def packets_in_use(packets: Packets) -> NDArray[np.int64]:
    """Return the numbers of the packets in use."""
    used = np.ones(len(packets.pool), np.bool_)
    used[free_packets(packets)] = False
    return np.flatnonzero(used)


def new_queues(ports: int, lanes: int) -> Queues:
    """Return empty queues."""
    queues = Queues(new_records(Queue, ports, lanes), new_records(NonEmptyLanes, ports))
    queues.queue["head"] = NOBODY
    return queues


@inner
def discard(packets: Packets, packet: int) -> None:
    """Return a packet that will never arrive to the pool. A message loses the packet that belongs to it."""
    stream = int(packets.origin[packet].stream)
    if is_message(stream):
        count_lost_packets(packets.messages, message_of(stream), 1)
    free_record(packets, packet)


@inner
def schedule(packets: Packets, packet: int, cycle: int, event: int, location: int) -> None:
    """Schedule an event of a packet for a later cycle, which the calendar must cover."""
    slot = _slot(packets, cycle, event)
    field = packets.pool[packet]
    field.event, field.event_place, field.next = event, location, packets.slot[slot]
    packets.slot[slot] = packet


@inner
def _slot(packets: Packets, cycle: int, event: int) -> int:
    return ((cycle & ((len(packets.slot) >> _EVENT_BITS) - 1)) << _EVENT_BITS) + event


@inner
def pop_event(packets: Packets, cycle: int, event: int) -> int:
    """Remove the packets due for an event in a cycle from the calendar and return the first, or ``NOBODY``."""
    slot = _slot(packets, cycle, event)
    packet = int(packets.slot[slot])
    packets.slot[slot] = NOBODY
    return packet


@inner
def exceed_cache(queues: Queues) -> bool:
    """Return whether the queues exceed the core's private caches."""
    return queues.queue.shape[0] * queues.queue.shape[1] > _MANY


@inner
def prefetch_next(packets: Packets, packet: int) -> int:
    """Return the next packet of a list, or ``NOBODY``, and prefetch its record."""
    if packet == NOBODY:
        return NOBODY
    following = int(packets.pool[packet].next)
    prefetch(packets.pool, following)
    return following


@inner
def prefetch_first(packets: Packets, queues: Queues, port: int) -> None:
    """Prefetch the head packet of the port's lowest non-empty lane."""
    lanes = queues.filled[port].lanes
    if lanes != 0:
        packet = queues.queue[port, lowest_member(lanes)].head
        prefetch(packets.pool, packet)


@inner
def prefetch_origin(packets: Packets, packet: int) -> None:
    """Prefetch the origin record of a packet."""
    prefetch(packets.origin, packet)


@inner
def prefetch_queues(queues: Queues, port: int) -> None:
    """Prefetch the queue records of a port."""
    prefetch(queues.filled, port)
    prefetch(queues.queue, port * queues.queue.shape[1])


@inner
def push_packet(packets: Packets, queues: Queues, port: int, lane: int, packet: int) -> bool:
    """Append a packet to a queue and return whether the queue was empty."""
    queue = queues.queue[port, lane]
    packets.pool[packet].next = NOBODY
    first = queue.head == NOBODY
    if first:
        queue.head = packet
        queues.filled[port].lanes |= 1 << lane
    else:
        packets.pool[queue.tail].next = packet
    queue.tail = packet
    return first


@inner
def pop_packet(packets: Packets, queues: Queues, port: int, lane: int) -> int:
    """Remove the head packet of a non-empty queue and return it."""
    queue = queues.queue[port, lane]
    packet = queue.head
    following = packets.pool[packet].next
    queue.head = following
    if following == NOBODY:
        queues.filled[port].lanes &= ~(1 << lane)
    return packet
