"""Messages: sizes above the MTU, segmented into packets, with the cycle of their last delivery.

A message belongs to a queue of its source: an application queue as in ``sources.py``. A queue sends its messages one
after another, in the order of their cycles of generation. A record exists from the first packet of a message, or from
its generation by an event such as a received request, to the delivery of its last packet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.pool import FREE, IN_USE, allocate_record, free_record
from vlane.units import HEADER_BYTES

NONE = -1
"""Number of no message."""

NO_STREAM, _FIRST_STREAM = -1, -2
"""Values of ``Origin.stream``: none, and the first message. Further messages have smaller values."""

_PER_QUEUE = 3
"""Largest number of messages that a queue needs in a cycle: one generated, one caused by a delivery, one to spare."""


class Message:
    """A message: payload, packets outstanding, and its place in a queue.

    Parameters
    ----------
    generated_cycle : int
        Cycle of generation.
    request_cycle : int
        Cycle of generation of the request that a reply answers; otherwise ``generated_cycle``.
    bytes : int
        Size of the payload.
    unsent_bytes : int
        Part of the payload that is not yet in packets.
    outstanding_packets : int
        Number of packets that are neither received nor lost.
    lost : int
        Number of packets that will never arrive.
    source, target : int
        Source and destination NIC.
    queue : int
        Queue of the source.
    next : int
        Next message of the queue, or next free record.
    """

    generated_cycle: Int64
    request_cycle: Int64
    bytes: Int64
    unsent_bytes: Int64
    outstanding_packets: Int64
    lost: Int64
    source: Int32
    target: Int32
    queue: Int32
    next: Int32


class Backlog:
    """Messages of a queue at a NIC.

    Parameters
    ----------
    sending : int
        Message whose packets are being injected; ``NONE`` between messages.
    first : int
        First generated message that waits behind the current message, or ``NONE``.
    last : int
        Last such message; undefined if ``first`` is ``NONE``.
    undrawn_requests : int
        Number of first requests of a window that are not yet drawn.
    """

    sending: Int32
    first: Int32
    last: Int32
    undrawn_requests: Int32


class Messages(NamedTuple):
    """Pool of messages.

    Parameters
    ----------
    pool : Records of Message, (messages,)
        Messages. Empty if no traffic consists of messages.
    regs : array of int64, (2,)
        First free record; number of records in use.
    """

    pool: Records[Message]
    regs: NDArray[np.int64]


def new_messages(message_count: int) -> Messages:
    """Return a pool of free records."""
    messages = Messages(new_records(Message, message_count), np.zeros(2, np.int64))
    if message_count:
        messages.pool["next"] = [*range(1, message_count), NONE]
    return messages


def grown_messages(messages: Messages, message_count: int) -> Messages:
    """Return a copy of the pool with ``message_count`` records, more than before. Messages keep their numbers."""
    more, old = new_messages(message_count), len(messages.pool)
    more.pool[:old] = messages.pool
    more.pool[message_count - 1].next = messages.regs[FREE]
    more.regs[FREE], more.regs[IN_USE] = old, messages.regs[IN_USE]
    return more


@inner
def may_run_out(messages: Messages, queues: int) -> bool:
    """Return whether the next cycle, with ``queues`` application queues, may need more records than are free."""
    return len(messages.pool) - messages.regs[IN_USE] < _PER_QUEUE * queues


@inner
def packet_count_of(size: int, mtu: int) -> int:
    """Return the number of packets of a message."""
    return (size - 1) // mtu + 1


@inner
def new_message(messages: Messages, source: int, target: int, queue: int, size: int, mtu: int, born: int) -> int:
    """Allocate a message from the pool, which must have a free record, and return its number."""
    number = allocate_record(messages)
    message = messages.pool[number]
    message.generated_cycle, message.request_cycle, message.bytes, message.unsent_bytes = born, born, size, size
    message.outstanding_packets, message.lost = packet_count_of(size, mtu), 0
    message.source, message.target, message.queue, message.next = source, target, queue, NONE
    return number


@inner
def take_packet_payload(messages: Messages, message_number: int, mtu: int) -> int:
    """Take the payload of a message's next packet and return the packet's size with headers, in bytes."""
    message = messages.pool[message_number]
    part = min(mtu, message.unsent_bytes)
    message.unsent_bytes -= part
    return int(part + HEADER_BYTES)


@inner
def stream_of(message_number: int) -> int:
    """Return the ``Origin.stream`` that marks packets of a message."""
    return _FIRST_STREAM - message_number


@inner
def is_message(stream: int) -> bool:
    """Return whether a packet with this ``Origin.stream`` belongs to a message."""
    return stream <= _FIRST_STREAM


@inner
def message_of(stream: int) -> int:
    """Return the message to which packets with an ``Origin.stream`` belong."""
    return _FIRST_STREAM - stream


@inner
def count_lost_packets(messages: Messages, message_number: int, packets: int) -> None:
    """Count packets of a message that will never arrive, and free the message after its last packet."""
    message = messages.pool[message_number]
    message.outstanding_packets -= packets
    message.lost += packets
    if message.outstanding_packets == 0:
        free_record(messages, message_number)


@inner
def append_message(messages: Messages, backlog: Backlog, message_number: int) -> None:
    """Insert a message into a queue in order of generation, after messages of the same cycle."""
    pool = messages.pool
    born = pool[message_number].generated_cycle
    if backlog.first == NONE:
        backlog.first = backlog.last = message_number
    elif pool[backlog.last].generated_cycle <= born:
        pool[backlog.last].next = message_number
        backlog.last = message_number
    elif born < pool[backlog.first].generated_cycle:
        pool[message_number].next = backlog.first
        backlog.first = message_number
    else:
        before = int(backlog.first)
        while pool[pool[before].next].generated_cycle <= born:
            before = int(pool[before].next)
        pool[message_number].next = pool[before].next
        pool[before].next = message_number


@inner
def pop_message(messages: Messages, backlog: Backlog) -> int:
    """Remove the first message from the list of a queue, which must not be empty, and return the message."""
    number = int(backlog.first)
    backlog.first = messages.pool[number].next
    return number
