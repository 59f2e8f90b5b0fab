"""Sending ends of links: a queue per lane, the output buffer, the far buffer's room, an egress scheduler.

What leaves flit by flit is counted when somebody asks, not in every cycle (rules S7 and S9 of ``docs/ib_switch.md``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.bits import lowest
from vlane.golden.far_room import FarRoom, fcp_due, fcp_period, goes_beside, hear, say, still_fits, taken
from vlane.golden.far_room import take as take_far
from vlane.golden.kernel import inner
from vlane.golden.packets import (
    NOBODY,
    TO_OUTPUT,
    Packets,
    Queues,
    new_queues,
    pop,
    push,
    schedule,
)
from vlane.golden.records import Int32, Int64, Records, new_records
from vlane.golden.returns import Returns, are_under_way, settle, whole_blocks
from vlane.golden.room import Rooms, fits, give_back, take
from vlane.golden.schedulers import SERVE_RULES, Bank, Heads, looks_behind, rests_after, serve

__all__ = [
    "Links",
    "has_room",
    "is_at_rest",
    "may_say",
    "new_links",
    "queue_packet",
    "room_for_largest",
    "say_limits",
    "start_packet",
    "take_in",
]


class Sending:
    """What a port is sending, or sent last.

    Parameters
    ----------
    free_from : int
        First cycle in which the link is free.
    lane, since, flits, blocks : int
        Of the packet: lane, first cycle, size.
    given : int
        Its blocks whose room was given back.
    fruitless : int
        Decisions with nothing to send since the last one with something, as far as they matter.
    """

    free_from: Int32
    lane: Int32
    since: Int32
    flits: Int32
    blocks: Int32
    given: Int32
    fruitless: Int32


class Sent:
    """What a lane of a port sent, and how it fared.

    Parameters
    ----------
    flits : int
        Sent.
    asked : int
        Cycles that its packets asked for the link until they started, in all.
    packets : int
        Sent.
    waited : int
        Cycles in which the link was free and the lane's head found no room at the far end.
    most_in_buffer, most_in_far : int
        Most blocks ever taken of the output buffer, and of the far one.
    """

    flits: Int64
    asked: Int64
    packets: Int32
    waited: Int32
    most_in_buffer: Int32
    most_in_far: Int32


class Links(NamedTuple):
    """All sending ends.

    Parameters
    ----------
    queues : Queues
        Packets with at least one flit in the output buffer.
    blocks : array of int64, (ports, lanes + 1)
        Sizes of the heads.
    behind_blocks : array of int64, (ports, lanes + 1)
        Sizes of the packets behind them, of schedulers that look there.
    buffer : Rooms
        Output buffers.
    far : Rooms or Limits
        What the sender knows of the buffers at the far ends.
    returns : Returns
        Room that is coming free: at the far ends, or, told by flow-control packets, at the own input.
    bank : Bank
        Egress schedulers.
    sending : Records of Sending, (ports,)
        What each port sends.
    largest : array of int64, (lanes,)
        Blocks of the largest packet of each lane.
    sent : Records of Sent, (ports, lanes)
        What each lane sent.
    rules : array of int64
        Counters of the schedulers.
    """

    queues: Queues
    blocks: NDArray[np.int64]
    behind_blocks: NDArray[np.int64]
    buffer: Rooms
    far: FarRoom
    returns: Returns
    bank: Bank
    sending: Records[Sending]
    largest: NDArray[np.int64]
    sent: Records[Sent]
    rules: NDArray[np.int64]


def new_links(*, buffer: Rooms, far: FarRoom, returns: Returns, bank: Bank, largest: tuple[int, ...]) -> Links:
    """Return idle links."""
    ports, lanes = len(buffer.taken), len(buffer.bounds)
    sizes, behind_sizes = (np.zeros((ports, lanes + 1), np.int64) for _ in range(2))
    return Links(
        new_queues(ports, lanes), sizes, behind_sizes, buffer, far, returns, bank, new_records(Sending, ports),
        np.array(largest, np.int64), new_records(Sent, ports, lanes), np.zeros(SERVE_RULES, np.int64),
    )  # fmt: skip


@inner
def _settle_buffer(links: Links, port: int, cycle: int) -> None:
    """Count what left the output buffer before a cycle."""
    sending = links.sending[port]
    if sending.given != sending.blocks:
        gone = whole_blocks(cycle - sending.since, sending.flits, sending.blocks, links.returns.flit_shift)
        give_back(links.buffer, port, sending.lane, gone - sending.given)
        sending.given = gone


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
def take_in(links: Links, packets: Packets, port: int, packet: int, since: int) -> None:
    """Take room of the output buffer for a packet that may ask for the link from a cycle on."""
    field = packets.pool[packet]
    lane = field.lane
    take(links.buffer, port, lane, field.blocks)
    sent = links.sent[port, lane]
    sent.most_in_buffer = max(sent.most_in_buffer, links.buffer.taken[port, lane].blocks)
    schedule(packets, packet, since, TO_OUTPUT, port)


@inner
def queue_packet(links: Links, packets: Packets, port: int, lane: int, packet: int, cycle: int) -> None:
    """Let a packet, whose room is reserved and whose first flit is there, ask for the link from a cycle on."""
    packets.pool[packet].asks = cycle
    if push(packets, links.queues, port, lane, packet):
        links.blocks[port, lane] = packets.pool[packet].blocks


@inner
def say_limits(links: Links, port: int, to: int, cycle: int, flight: int) -> bool:
    """Send a flow-control packet if one is due and may be sent; tell whether it took the link (C3, C4)."""
    if fcp_period(links.far) == 0:
        return False
    is_free = links.sending[port].free_from <= cycle
    beside = goes_beside(links.far)
    if not (is_free or beside):
        return False
    settle(links.returns, links.far, port, cycle)
    if not fcp_due(links.far, port, cycle):
        return False
    say(links.far, port, to, cycle, flight)
    return is_free and not beside


@inner
def may_say(links: Links, port: int, cycle: int) -> bool:
    """Tell whether a flow-control packet may come to be due before the next period.

    Not for room that comes free at once, in a cycle in which its end is woken.
    """
    if fcp_period(links.far) == 0:
        return False
    return are_under_way(links.returns, port) or fcp_due(links.far, port, cycle)


@inner
def is_at_rest(links: Links, port: int) -> bool:
    """Tell whether nothing waits, and nothing will happen until something does."""
    return links.queues.lanes[port] == 0 and links.sending[port].fruitless >= rests_after(links.bank)


@inner
def _fits_behind(links: Links, packets: Packets, port: int, lane: int) -> bool:
    """Tell whether there is a packet behind the head, and it fits after it; note its size."""
    following = packets.chain[links.queues.queue[port, lane].head].next
    if following == NOBODY:
        return False
    size = packets.pool[following].blocks
    links.behind_blocks[port, lane] = size
    return still_fits(links.far, port, lane, links.blocks[port, lane] + size)


@inner
def start_packet(links: Links, packets: Packets, port: int, cycle: int, ready: bool) -> int:  # noqa: FBT001 - numba takes no keyword-only arguments
    """Run one cycle of a link; return the packet that starts, its lane in ``regs``, or -1 (S6, S7).

    Parameters
    ----------
    ready : bool
        The link is free.
    """
    sending, request = links.sending[port], links.queues.lanes[port]
    if not ready and not looks_behind(links.bank):
        return NOBODY
    can, behind = 0, 0
    if request != 0:
        settle(links.returns, links.far, port, cycle)
        hear(links.far, port, cycle)
        left = request
        while left != 0:
            lane = lowest(left)
            left &= left - 1
            if still_fits(links.far, port, lane, links.blocks[port, lane]):
                can |= 1 << lane
            else:
                links.sent[port, lane].waited += ready
            if looks_behind(links.bank) and _fits_behind(links, packets, port, lane):
                behind |= 1 << lane
    if can != 0:
        sending.fruitless = 0
    elif sending.fruitless >= rests_after(links.bank):
        return NOBODY  # another decision with nothing to send changes nothing
    else:
        sending.fruitless += ready
    heads = Heads(request, can, links.blocks[port], behind, links.behind_blocks[port])
    lane = serve(links.bank, port, heads, ready, links.rules)
    if lane < 0:
        return NOBODY
    packet = pop(packets, links.queues, port, lane)
    following = packets.chain[packet].next
    blocks = packets.pool[packet].blocks
    if following != NOBODY:
        links.blocks[port, lane] = packets.pool[following].blocks
    take_far(links.far, port, lane, blocks)
    _settle_buffer(links, port, cycle)
    flits = packets.pool[packet].flits
    sending.lane, sending.since, sending.flits, sending.blocks = lane, cycle, flits, blocks
    sending.given, sending.free_from = 0, cycle + flits
    if flits == 1:  # nobody asks again in this cycle, and that is all
        give_back(links.buffer, port, lane, blocks)
        sending.given = blocks
    sent = links.sent[port, lane]
    sent.packets += 1
    sent.asked += cycle - packets.pool[packet].asks
    sent.flits += flits
    sent.most_in_far = max(sent.most_in_far, taken(links.far, port, lane))
    return packet
