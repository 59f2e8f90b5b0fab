"""Parts of a network that run concurrently, one per core, and the mailboxes between them.

No part accesses the state of another part's switches and NICs. Two kinds of messages cross the border: packets that
start on a cable between parts, and credits for buffers at its far end. Neither takes effect earlier than F + 2 cycles
later, where F is the flight time of the cable. Parts therefore run that many cycles (a window) independently; then they
meet at a barrier and read the messages of the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records
from vlane.golden.engine.kernel import by_type, inner


class UndividedNetwork(NamedTuple):
    """Partition data of a network that runs on one core.

    Parameters
    ----------
    number : int
        Part number, 0.
    """

    number: int = 0


class PacketMail:
    """A packet sent to another part. The packet pool is common, so the packet number suffices.

    Parameters
    ----------
    packet : int
        Packet number.
    cycle : int
        First cycle in which the packet may take part in allocation.
    input_port : int
        Input port.
    """

    packet: Int32
    cycle: Int64
    input_port: Int32


class CreditMail:
    """Credits sent to a sender in another part.

    The fields are the arguments of ``returns.begin_packet_return``.

    Parameters
    ----------
    link_end : int
        Sending port.
    start_cycle : int
        First cycle in which the sender may use the credit.
    lane : int
        VL of the packet.
    flits, blocks : int
        Size of the packet in flits and in blocks.
    flits_ahead : int
        Flits of the packet that are buffered already.
    """

    link_end: Int32
    start_cycle: Int64
    lane: Int32
    flits: Int32
    blocks: Int32
    flits_ahead: Int32


class Part(NamedTuple):
    """One of several parts of a network.

    Parameters
    ----------
    number : int
        Number of this part.
    parts : int
        Number of parts.
    window : int
        Number of cycles that a part runs between two barriers.
    nics : int
        Number of NICs of the part.
    owner : array of uint8, (ends,)
        Part of each port.
    packets : Records of PacketMail, (2 * parts * parts, letters)
        Mailboxes by turn, writing part and reading part. Messages of one turn are read while those of the other are
        written.
    credits : Records of CreditMail, (2 * parts * parts, letters)
        Mailboxes of credits, in the same order.
    mail_counts : array of int64, (2 * parts * parts, 8)
        Number of packets and of credits in each mailbox. A row is a cache line.
    published : array of int64, (2 * parts, 8)
        Published state by turn and part: reason for stopping or -1; packets in use; last cycle of movement.
    barrier : array of int64
        Barrier at which the parts meet.
    part_state : array of int64, (8,)
        State of this part: turn; pool packets that it owns, free ones included; last cycle of movement; whether it had
        packets at the last barrier.
    """

    number: int
    parts: int
    window: int
    nics: int
    owner: NDArray[np.uint8]
    packets: Records[PacketMail]
    credits: Records[CreditMail]
    mail_counts: NDArray[np.int64]
    published: NDArray[np.int64]
    barrier: NDArray[np.int64]
    part_state: NDArray[np.int64]


Border = Any
"""Border to the other parts, ``Alone`` or ``Part``; the type selects the implementation."""

OF_PACKETS, OF_CREDITS = range(2)
TURN, OWNED, LAST_MOVED, HAD_PACKETS = range(4)


@inner
def _no_foreign_port(partition: UndividedNetwork, link_end: int) -> bool:  # noqa: ARG001 - one signature for all types
    return False


@inner
def _is_in_other_part(partition: Part, link_end: int) -> bool:
    return partition.owner[link_end] != partition.number


@by_type({UndividedNetwork: _no_foreign_port, Part: _is_in_other_part})
def is_foreign(partition: Any, link_end: int) -> bool:
    """Return whether a sending port belongs to another part."""


@inner
def mailbox_index(partition: Part, turn: int, writer: int, read_port: int) -> int:
    """Return the index of a mailbox in the arrays of mailboxes."""
    return (turn * partition.parts + writer) * partition.parts + read_port


@inner
def _no_packet(partition: UndividedNetwork, packet: int, cycle: int, location: int) -> None:
    """Do nothing: the network is not divided."""


@inner
def _post_packet(partition: Part, packet: int, cycle: int, location: int) -> None:
    box = mailbox_index(partition, partition.part_state[TURN], partition.number, partition.owner[location])
    letter = partition.packets[box, partition.mail_counts[box, OF_PACKETS]]
    letter.packet, letter.cycle, letter.input_port = packet, cycle, location
    partition.mail_counts[box, OF_PACKETS] += 1
    partition.part_state[OWNED] -= 1


@by_type({UndividedNetwork: _no_packet, Part: _post_packet})
def post_packet(partition: Any, packet: int, cycle: int, location: int) -> None:
    """Post a packet to the part that owns its input port. It takes part in allocation from ``cycle`` on."""


@inner
def _no_credit(
    partition: UndividedNetwork, link_end: int, start_cycle: int, lane: int, flits: int, blocks: int, flits_ahead: int
) -> None:
    """Do nothing: the network is not divided."""


@inner
def _post_credit(
    partition: Part, link_end: int, start_cycle: int, lane: int, flits: int, blocks: int, flits_ahead: int
) -> None:
    box = mailbox_index(partition, partition.part_state[TURN], partition.number, partition.owner[link_end])
    letter = partition.credits[box, partition.mail_counts[box, OF_CREDITS]]
    letter.link_end, letter.start_cycle, letter.lane = link_end, start_cycle, lane
    letter.flits, letter.blocks, letter.flits_ahead = flits, blocks, flits_ahead
    partition.mail_counts[box, OF_CREDITS] += 1


@by_type({UndividedNetwork: _no_credit, Part: _post_credit})
def post_credit(
    partition: Any, link_end: int, start_cycle: int, lane: int, flits: int, blocks: int, flits_ahead: int
) -> None:
    """Post credits to the part that owns their sender, to be returned flit by flit from ``start_cycle`` on."""
