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


class Alone(NamedTuple):
    """Border of an undivided network.

    Parameters
    ----------
    number : int
        Part number, 0.
    """

    number: int = 0


class PacketLetter:
    """A packet sent to another part. The packet pool is common, so its number suffices.

    Parameters
    ----------
    packet : int
        Packet number.
    cycle : int
        First cycle in which the packet may take part in allocation.
    place : int
        Input port.
    """

    packet: Int32
    cycle: Int64
    place: Int32


class CreditLetter:
    """Credits for a sender in another part.

    The fields are the arguments of ``returns.begin``.

    Parameters
    ----------
    end : int
        Sending port.
    since, lane, flits, blocks, ahead : int
        First cycle in which the sender may use the credit; VL, size, and already buffered flits of the packet.
    """

    end: Int32
    since: Int64
    lane: Int32
    flits: Int32
    blocks: Int32
    ahead: Int32


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
    packets : Records of PacketLetter, (2 * parts * parts, letters)
        Mailboxes by turn, writing part and reading part. Messages of one turn are read while those of the other are
        written.
    credits : Records of CreditLetter, (2 * parts * parts, letters)
        Mailboxes of credits, in the same order.
    letters : array of int64, (2 * parts * parts, 8)
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
    packets: Records[PacketLetter]
    credits: Records[CreditLetter]
    letters: NDArray[np.int64]
    published: NDArray[np.int64]
    barrier: NDArray[np.int64]
    part_state: NDArray[np.int64]


Border = Any
"""Border to the other parts, ``Alone`` or ``Part``; the type selects the implementation."""

OF_PACKETS, OF_CREDITS = range(2)
TURN, OWNED, LAST_MOVED, HAD_PACKETS = range(4)


@inner
def _never(border: Alone, end: int) -> bool:  # noqa: ARG001 - one signature for all types
    return False


@inner
def _has_another(border: Part, end: int) -> bool:
    return border.owner[end] != border.number


@by_type({Alone: _never, Part: _has_another})
def is_foreign(border: Any, end: int) -> bool:
    """Return whether a port belongs to another part."""


@inner
def box_of(border: Part, turn: int, writer: int, reader: int) -> int:
    """Return the number of a mailbox."""
    return (turn * border.parts + writer) * border.parts + reader


@inner
def _no_packet(border: Alone, packet: int, cycle: int, place: int) -> None:
    """Do nothing: the network is not divided."""


@inner
def _post_packet(border: Part, packet: int, cycle: int, place: int) -> None:
    box = box_of(border, border.part_state[TURN], border.number, border.owner[place])
    letter = border.packets[box, border.letters[box, OF_PACKETS]]
    letter.packet, letter.cycle, letter.place = packet, cycle, place
    border.letters[box, OF_PACKETS] += 1
    border.part_state[OWNED] -= 1


@by_type({Alone: _no_packet, Part: _post_packet})
def post_packet(border: Any, packet: int, cycle: int, place: int) -> None:
    """Send a packet to another part, where it takes part in allocation from a cycle on."""


@inner
def _no_credit(border: Alone, end: int, since: int, lane: int, flits: int, blocks: int, ahead: int) -> None:
    """Do nothing: the network is not divided."""


@inner
def _post_credit(border: Part, end: int, since: int, lane: int, flits: int, blocks: int, ahead: int) -> None:
    box = box_of(border, border.part_state[TURN], border.number, border.owner[end])
    letter = border.credits[box, border.letters[box, OF_CREDITS]]
    letter.end, letter.since, letter.lane = end, since, lane
    letter.flits, letter.blocks, letter.ahead = flits, blocks, ahead
    border.letters[box, OF_CREDITS] += 1


@by_type({Alone: _no_credit, Part: _post_credit})
def post_credit(border: Any, end: int, since: int, lane: int, flits: int, blocks: int, ahead: int) -> None:
    """Send credits to another part, to be returned flit by flit from a cycle on."""
