"""Parts of a network that are run at the same time, each by a core, and the letters between them.

The switches and NICs of a part are its own: no other part reads or writes their state. What passes from one part to
another is a packet that starts on a cable between them, or room of a buffer at its far end that comes free. Neither has
an effect earlier than F + 2 cycles later, F the flight time of the cable. So parts run that many cycles, a window, on
their own; then they meet, and take the letters that the others wrote.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records
from vlane.golden.engine.kernel import by_type, inner


class Alone(NamedTuple):
    """A network of one part.

    Parameters
    ----------
    number : int
        Of the part, 0.
    """

    number: int = 0


class PacketLetter:
    """A packet that goes to another part; the pool is common to all, so its number is enough.

    Parameters
    ----------
    packet : int
        Its number.
    cycle : int
        In which it may first take part in the allocation at its place.
    place : int
        Input port.
    """

    packet: Int32
    cycle: Int64
    place: Int32


class RoomLetter:
    """Room that comes free in a buffer whose sender is in another part; the arguments of ``returns.begin``.

    Parameters
    ----------
    end : int
        The sender's end.
    since, lane, flits, blocks, ahead : int
        First cycle in which the sender may use it; of the packet: VL, size, flits already buffered.
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
    number, parts : int
        Which one it is; how many there are.
    window : int
        Cycles that a part may run on its own.
    nics : int
        NICs of the part.
    owner : array of uint8, (ends,)
        Part of each end.
    packets : Records of PacketLetter, (2 * parts * parts, letters)
        Boxes, by turn, writing part and reading part. While the letters of one turn are read, those of the other are
        written.
    rooms : Records of RoomLetter, (2 * parts * parts, letters)
        Likewise.
    letters : array of int64, (2 * parts * parts, 8)
        Letters in each box: packets, rooms. A row is a cache line.
    said : array of int64, (2 * parts, 8)
        By turn and part: why it cannot go on, or -1; its packets; the last cycle in which anything moved there.
    barrier : array of int64
        Where the parts meet.
    own : array of int64, (8,)
        Of the part: turn; packets of the pool that it has, free ones too; the last cycle in which anything moved;
        whether it had packets when it last met the others.
    """

    number: int
    parts: int
    window: int
    nics: int
    owner: NDArray[np.uint8]
    packets: Records[PacketLetter]
    rooms: Records[RoomLetter]
    letters: NDArray[np.int64]
    said: NDArray[np.int64]
    barrier: NDArray[np.int64]
    own: NDArray[np.int64]


Border = Any
"""What a network knows of other parts, ``Alone`` or ``Part``; its type selects the implementation."""

OF_PACKETS, OF_ROOMS = range(2)
TURN, OWNED, LAST_MOVED, HAD_PACKETS = range(4)


@inner
def _never(border: Alone, end: int) -> bool:  # noqa: ARG001 - as of a part
    return False


@inner
def _has_another(border: Part, end: int) -> bool:
    return border.owner[end] != border.number


@by_type({Alone: _never, Part: _has_another})
def is_foreign(border: Any, end: int) -> bool:
    """Tell whether an end belongs to another part."""


@inner
def box_of(border: Part, turn: int, writer: int, reader: int) -> int:
    """Return the number of a box."""
    return (turn * border.parts + writer) * border.parts + reader


@inner
def _no_packet(border: Alone, packet: int, cycle: int, place: int) -> None:
    """No packet goes to another part."""


@inner
def _post_packet(border: Part, packet: int, cycle: int, place: int) -> None:
    box = box_of(border, border.own[TURN], border.number, border.owner[place])
    letter = border.packets[box, border.letters[box, OF_PACKETS]]
    letter.packet, letter.cycle, letter.place = packet, cycle, place
    border.letters[box, OF_PACKETS] += 1
    border.own[OWNED] -= 1


@by_type({Alone: _no_packet, Part: _post_packet})
def post_packet(border: Any, packet: int, cycle: int, place: int) -> None:
    """Let a packet be in a foreign input's allocation from a cycle on; it leaves this part."""


@inner
def _no_room(border: Alone, end: int, since: int, lane: int, flits: int, blocks: int, ahead: int) -> None:
    """No room of another part comes free."""


@inner
def _post_room(border: Part, end: int, since: int, lane: int, flits: int, blocks: int, ahead: int) -> None:
    box = box_of(border, border.own[TURN], border.number, border.owner[end])
    letter = border.rooms[box, border.letters[box, OF_ROOMS]]
    letter.end, letter.since, letter.lane = end, since, lane
    letter.flits, letter.blocks, letter.ahead = flits, blocks, ahead
    border.letters[box, OF_ROOMS] += 1


@by_type({Alone: _no_room, Part: _post_room})
def post_room(border: Any, end: int, since: int, lane: int, flits: int, blocks: int, ahead: int) -> None:
    """Let room that a foreign end keeps count of come free, flit by flit, from a cycle on."""
