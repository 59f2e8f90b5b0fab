"""Sending ends of links: a queue per lane, the output buffer, the far buffer's room, an egress scheduler.

What leaves or comes back flit by flit is counted when somebody asks, not in every cycle (rules S7 to S9 of
``docs/ib_switch.md``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.bits import lowest
from vlane.golden.kernel import inner
from vlane.golden.packets import BLOCKS, FLITS, NEXT, NOBODY, Packets, Queues, new_queues, pop, push
from vlane.golden.room import Rooms, fits, give_back, take
from vlane.golden.schedulers import SERVE_RULES, Bank, serve

__all__ = [
    "OF_BUFFER",
    "OF_FAR",
    "SENT_FLITS",
    "SENT_PACKETS",
    "Links",
    "flits_moved",
    "has_room",
    "new_links",
    "queue_packet",
    "reserve",
    "returns_begin",
    "room_for_largest",
    "start_packet",
    "whole_blocks",
]

(FREE_FROM, LANE_OUT, SINCE, FLITS_OUT, BLOCKS_OUT, GIVEN, SETTLED, OLDEST, STREAMS) = range(9)
"""Per port: first cycle in which the link is free; the packet being sent: lane, first cycle, flits, blocks, blocks
whose room was given back; whether a decision with nothing to send was made; oldest return stream, and how many."""
_REGS = 16
(FROM, LANE_BACK, FLITS_BACK, BLOCKS_BACK, GIVEN_BACK, AHEAD_BACK) = range(6)
_STREAM_FIELDS = 8


class Links(NamedTuple):
    """All sending ends.

    Parameters
    ----------
    queues : Queues
        Packets with at least one flit in the output buffer.
    blocks : array of int64, (ports, lanes + 1)
        Sizes of the heads.
    buffer : Rooms
        Output buffers.
    far : Rooms
        What the sender knows of the buffers at the far ends.
    bank : Bank
        Egress schedulers.
    regs : array of int32, (ports, 16)
        See ``FREE_FROM`` and those after it.
    stream : array of int32, (ports, streams, 8)
        Returns under way: the cycle from which the first flit counts, lane, flits, blocks, blocks counted already,
        flits that were there beyond those that may cross.
    largest : array of int64, (lanes,)
        Blocks of the largest packet of each lane.
    flit_shift : int
        A block is 2 to this power flits.
    inner_flits : int
        Flits that cross a switch in a cycle, from one input.
    sent : array of int64, (ports, lanes, 2)
        Packets and flits sent.
    waited : array of int64, (ports, lanes)
        Cycles in which the link was free and the lane's head found no room at the far end.
    peak : array of int64, (ports, lanes, 2)
        Most blocks ever taken of the output buffer, and of the far one.
    rules : array of int64
        Counters of the schedulers.
    """

    queues: Queues
    blocks: NDArray[np.int64]
    buffer: Rooms
    far: Rooms
    bank: Bank
    regs: NDArray[np.int32]
    stream: NDArray[np.int32]
    largest: NDArray[np.int64]
    flit_shift: int
    inner_flits: int
    sent: NDArray[np.int64]
    waited: NDArray[np.int64]
    peak: NDArray[np.int64]
    rules: NDArray[np.int64]


SENT_PACKETS, SENT_FLITS = range(2)
OF_BUFFER, OF_FAR = range(2)


def new_links(
    *, buffer: Rooms, far: Rooms, bank: Bank, largest: tuple[int, ...], flight: int, flit_shift: int, inner_flits: int
) -> Links:
    """Return idle links; ``flight`` is the longest flight time in cycles."""
    ports, lanes = buffer.used.shape
    streams = 1 << (flight + 4).bit_length()
    return Links(
        new_queues(ports, lanes), np.zeros((ports, lanes + 1), np.int64), buffer, far, bank,
        np.zeros((ports, _REGS), np.int32), np.zeros((ports, streams, _STREAM_FIELDS), np.int32),
        np.array(largest, np.int64), flit_shift, inner_flits, np.zeros((ports, lanes, 2), np.int64),
        np.zeros((ports, lanes), np.int64), np.zeros((ports, lanes, 2), np.int64), np.zeros(SERVE_RULES, np.int64),
    )  # fmt: skip


@inner
def whole_blocks(flits: int, of_flits: int, blocks: int, flit_shift: int) -> int:
    """Return the blocks whose last flit is among the first ``flits`` of a packet's."""
    return blocks if flits >= of_flits else flits >> flit_shift


@inner
def flits_moved(links: Links, cycles: int, ahead: int) -> int:
    """Return the flits that crossed in so many cycles, of a packet without end that streams in (O6)."""
    return min(links.inner_flits * cycles, cycles + ahead)


@inner
def _settle_buffer(links: Links, port: int, cycle: int) -> None:
    """Count what left the output buffer before a cycle."""
    regs = links.regs
    if regs[port, GIVEN] != regs[port, BLOCKS_OUT]:
        elapsed = cycle - regs[port, SINCE]
        gone = whole_blocks(elapsed, regs[port, FLITS_OUT], regs[port, BLOCKS_OUT], links.flit_shift)
        give_back(links.buffer, port, regs[port, LANE_OUT], gone - regs[port, GIVEN])
        regs[port, GIVEN] = gone


@inner
def _settle_far(links: Links, port: int, cycle: int) -> None:
    """Count the returns that arrived before a cycle."""
    regs, stream = links.regs, links.stream
    while regs[port, STREAMS] > 0:
        at = regs[port, OLDEST]
        elapsed = cycle - stream[port, at, FROM] + 1
        if elapsed <= 0:
            return
        flits, blocks = stream[port, at, FLITS_BACK], stream[port, at, BLOCKS_BACK]
        moved = flits_moved(links, elapsed, stream[port, at, AHEAD_BACK])
        back = whole_blocks(moved, flits, blocks, links.flit_shift)
        give_back(links.far, port, stream[port, at, LANE_BACK], back - stream[port, at, GIVEN_BACK])
        stream[port, at, GIVEN_BACK] = back
        if moved < flits:
            return
        regs[port, OLDEST] = (at + 1) & (stream.shape[1] - 1)
        regs[port, STREAMS] -= 1


@inner
def returns_begin(
    links: Links, port: int, cycle: int, since: int, lane: int, flits: int, blocks: int, ahead: int
) -> None:
    """Let a packet's room come back to a sender as its flits move, the first counting from cycle ``since`` on."""
    _settle_far(links, port, cycle)
    regs, stream = links.regs, links.stream
    at = (regs[port, OLDEST] + regs[port, STREAMS]) & (stream.shape[1] - 1)
    regs[port, STREAMS] += 1
    stream[port, at, FROM], stream[port, at, LANE_BACK] = since, lane
    stream[port, at, FLITS_BACK], stream[port, at, BLOCKS_BACK], stream[port, at, GIVEN_BACK] = flits, blocks, 0
    stream[port, at, AHEAD_BACK] = ahead


@inner
def room_for_largest(links: Links, port: int, lane: int, cycle: int) -> bool:
    """Tell whether the output buffer has room for the largest packet of a lane at the start of a cycle (S2)."""
    return has_room(links, port, lane, links.largest[lane], cycle)


@inner
def has_room(links: Links, port: int, lane: int, blocks: int, cycle: int) -> bool:
    """Tell whether the output buffer has room for so many blocks at the start of a cycle."""
    _settle_buffer(links, port, cycle)
    return fits(links.buffer, port, lane, blocks)


@inner
def reserve(links: Links, port: int, lane: int, blocks: int) -> None:
    """Take room of the output buffer for a packet."""
    take(links.buffer, port, lane, blocks)
    links.peak[port, lane, OF_BUFFER] = max(links.peak[port, lane, OF_BUFFER], links.buffer.used[port, lane])


@inner
def queue_packet(links: Links, packets: Packets, port: int, lane: int, packet: int) -> None:
    """Let a packet, whose room is reserved and whose first flit is there, wait for the link."""
    if push(packets, links.queues, port, lane, packet):
        links.blocks[port, lane] = packets.field[packet, BLOCKS]


@inner
def start_packet(links: Links, packets: Packets, port: int, cycle: int) -> int:
    """Run one cycle of a free link; return the packet that starts, its lane in ``regs``, or -1 (S6, S7)."""
    regs, request = links.regs, links.queues.lanes[port]
    can = 0
    if request != 0:
        _settle_far(links, port, cycle)
        left = request
        while left != 0:
            lane = lowest(left)
            left &= left - 1
            if fits(links.far, port, lane, links.blocks[port, lane]):
                can |= 1 << lane
            else:
                links.waited[port, lane] += 1
    if can == 0 and regs[port, SETTLED] != 0:
        return NOBODY  # another decision with nothing to send changes nothing
    regs[port, SETTLED] = can == 0
    lane = serve(links.bank, port, request, can, links.blocks[port], links.rules)
    if lane < 0:
        return NOBODY
    packet = pop(packets, links.queues, port, lane)
    following = packets.field[packet, NEXT]
    blocks = packets.field[packet, BLOCKS]
    if following != NOBODY:
        links.blocks[port, lane] = packets.field[following, BLOCKS]
    take(links.far, port, lane, blocks)
    links.peak[port, lane, OF_FAR] = max(links.peak[port, lane, OF_FAR], links.far.used[port, lane])
    _settle_buffer(links, port, cycle)
    flits = packets.field[packet, FLITS]
    regs[port, LANE_OUT], regs[port, SINCE], regs[port, FLITS_OUT] = lane, cycle, flits
    regs[port, BLOCKS_OUT], regs[port, GIVEN], regs[port, FREE_FROM] = blocks, 0, cycle + flits
    links.sent[port, lane, SENT_PACKETS] += 1
    links.sent[port, lane, SENT_FLITS] += flits
    return packet
