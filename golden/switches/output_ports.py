"""Output ports: a queue per VL, the output buffer, the credits of the remote buffer and the egress scheduler.

Flits that leave are counted when a result depends on the count, not in every cycle (rules IBS-7 and IBS-9 of
``docs/ib_switch.md``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int64, Records, new_records
from vlane.golden.engine.bits import lowest
from vlane.golden.engine.kernel import inner
from vlane.golden.links.remote_credit import RemoteCredit, fcp_due, fcp_period, goes_beside, hear, say, still_fits
from vlane.golden.links.remote_credit import take as take_remote
from vlane.golden.links.returns import Returns, settle, whole_blocks
from vlane.golden.links.room import Rooms, fits, give_back, take
from vlane.golden.schedulers.bank import Bank, looks_behind, rests_after, serve
from vlane.golden.schedulers.heads import Heads
from vlane.golden.switches.credit_starvation import Unstarved
from vlane.golden.switches.marking import Start, Unmarked, is_marked, note_grant, note_pause, note_starved
from vlane.golden.switches.packets import (
    BECN,
    FECN,
    NOBODY,
    TO_OUTPUT,
    Packets,
    Queues,
    new_queues,
    pop,
    push,
    schedule,
)

_PACE_BITS = 16
FULL_PACE = 1 << _PACE_BITS
"""Of a link that carries a flit per cycle."""


class Sending:
    """The packet that a port is sending, or that it sent last.

    Parameters
    ----------
    since, lane, flits, blocks : int
        Of the packet: first cycle, lane, size.
    given : int
        Its blocks whose room was given back.
    fruitless : int
        Consecutive decisions without a packet that may be sent, counted up to ``rests_after``.
    """

    since: Int64
    lane: Int16
    flits: Int16
    blocks: Int16
    given: Int16
    fruitless: Int16


class Head:
    """The first packet of a queue.

    Parameters
    ----------
    waited : int
        Cycles since the start in which the link was free and the remote buffer had no room for the first packet.
    blocks : int
        Its size.
    """

    waited: Int64
    blocks: Int16


class LaneCounters:
    """Counters of one VL of a port.

    Parameters
    ----------
    flits, packets : int
        Sent since the start.
    asked : int
        Cycles between a packet's request for the link and its start, summed over all packets.
    """

    asked: Int64
    flits: Int64
    packets: Int64


class OutputPorts(NamedTuple):
    """The sending ends of all cables, of switches and NICs.

    Parameters
    ----------
    queues : Queues
        Packets with at least one flit in the output buffer.
    head : Records of Head, (ports, lanes)
        First packets.
    sizes : array of int64, (2, lanes + 1)
        Within a cycle of a port: what its scheduler sees of the sizes of the heads, and of the packets behind them, if
        it looks there.
    buffer : Rooms
        Output buffers.
    remote : Rooms or FCPLimits
        Credits: what each sender knows of the buffer at the other end of its cable.
    returns : Returns
        Room that is being freed: in the remote buffers, or, with flow-control packets, in the own input buffers.
    bank : Bank
        Egress schedulers.
    free_from : array of int64, (ports,)
        First cycle in which each link is free.
    sending : Records of Sending, (ports,)
        The packet on each link.
    largest : array of int64, (lanes,)
        Blocks of the largest packet of each lane.
    pace : array of int64, (ports,) or (0,)
        65536ths of a cycle that a flit takes on each link (NET-5 of ``docs/network.md``); empty if one takes a cycle.
    counters : Records of LaneCounters, (ports, lanes)
        Statistics of each VL.
    marking : Unmarked or Marking
        Of packets that start, where congestion control is on.
    starvation : Unstarved or Starvation
        Of room that comes free at the inputs beside them, where credits are held back.
    """

    queues: Queues
    head: Records[Head]
    sizes: NDArray[np.int64]
    buffer: Rooms
    remote: RemoteCredit
    returns: Returns
    bank: Bank
    free_from: NDArray[np.int64]
    sending: Records[Sending]
    largest: NDArray[np.int64]
    pace: NDArray[np.int64]
    counters: Records[LaneCounters]
    marking: Any
    starvation: Any


def new_output_ports(
    *,
    buffer: Rooms,
    remote: RemoteCredit,
    returns: Returns,
    bank: Bank,
    largest: tuple[int, ...],
    pace: NDArray[np.int64] | None = None,
    marking: Any = Unmarked(),  # noqa: B008 - it is never changed
    starvation: Any = Unstarved(),  # noqa: B008 - it is never changed
) -> OutputPorts:
    """Return ports without packets and idle links."""
    ports, lanes = len(buffer.taken), buffer.taken.shape[1]
    return OutputPorts(
        queues=new_queues(ports, lanes),
        head=new_records(Head, ports, lanes),
        sizes=np.zeros((2, lanes + 1), np.int64),
        buffer=buffer,
        remote=remote,
        returns=returns,
        bank=bank,
        free_from=np.zeros(ports, np.int64),
        sending=new_records(Sending, ports),
        largest=np.array(largest, np.int64),
        pace=np.zeros(0, np.int64) if pace is None else pace,
        counters=new_records(LaneCounters, ports, lanes),
        marking=marking,
        starvation=starvation,
    )


@inner
def cycles_on_link(out_ports: OutputPorts, port: int, flits: int) -> int:
    """Return the cycles for which so many flits hold a link."""
    if len(out_ports.pace) == 0:
        return flits
    return int((flits * out_ports.pace[port] + FULL_PACE - 1) >> _PACE_BITS)


@inner
def _flits_on_link(out_ports: OutputPorts, port: int, cycles: int) -> int:
    """Return the flits of an endless packet that have left after so many cycles."""
    return cycles if len(out_ports.pace) == 0 else int((cycles << _PACE_BITS) // out_ports.pace[port])


@inner
def _settle_buffer(out_ports: OutputPorts, port: int, cycle: int) -> None:
    """Free the room of the flits that left the output buffer before a cycle (IBS-9)."""
    sending = out_ports.sending[port]
    if sending.given != sending.blocks:
        left = _flits_on_link(out_ports, port, cycle - sending.since)
        gone = whole_blocks(left, sending.flits, sending.blocks, out_ports.returns.flit_shift)
        give_back(out_ports.buffer, port, sending.lane, gone - sending.given)
        sending.given = gone


@inner
def room_for_largest(out_ports: OutputPorts, port: int, lane: int, cycle: int) -> bool:
    """Tell whether the output buffer has room for the largest packet of a lane at the start of a cycle (IBS-2)."""
    return has_room(out_ports, port, lane, out_ports.largest[lane], cycle)


@inner
def has_room(out_ports: OutputPorts, port: int, lane: int, blocks: int, cycle: int) -> bool:
    """Tell whether the output buffer has room for so many blocks at the start of a cycle."""
    _settle_buffer(out_ports, port, cycle)
    return fits(out_ports.buffer, port, lane, blocks)


@inner
def take_in(out_ports: OutputPorts, packets: Packets, port: int, packet: int, since: int) -> None:
    """Reserve room in the output buffer for a packet that may request the link from a cycle on."""
    reserve(out_ports, packets, port, packet)
    field = packets.pool[packet]
    note_grant(out_ports.marking, port, field.lane, field.blocks, since)
    schedule(packets, packet, since, TO_OUTPUT, port)


@inner
def reserve(out_ports: OutputPorts, packets: Packets, port: int, packet: int) -> None:
    """Reserve room in the output buffer for a packet."""
    field = packets.pool[packet]
    take(out_ports.buffer, port, field.lane, field.blocks)


@inner
def queue_packet(out_ports: OutputPorts, packets: Packets, port: int, lane: int, packet: int, cycle: int) -> None:
    """Queue a packet, whose room is reserved and whose first flit has arrived, for the egress scheduler."""
    packets.pool[packet].asks = cycle
    if push(packets, out_ports.queues, port, lane, packet):
        out_ports.head[port, lane].blocks = packets.pool[packet].blocks


@inner
def say_limits(out_ports: OutputPorts, port: int, to: int, cycle: int, flight: int) -> bool:
    """Send a flow-control packet if one is due and may be sent; tell whether it took the link (IBS-C3, IBS-C4)."""
    if fcp_period(out_ports.remote) == 0:
        return False
    is_free = out_ports.free_from[port] <= cycle
    beside = goes_beside(out_ports.remote)
    if not (is_free or beside):
        return False
    settle(out_ports.returns, out_ports.remote, port, cycle)
    if not fcp_due(out_ports.remote, port, cycle):
        return False
    if beside:
        say(out_ports.remote, port, to, cycle, flight)
        return False
    holds = cycles_on_link(out_ports, port, 1)
    note_pause(out_ports.marking, port, cycle, cycle + holds)
    say(out_ports.remote, port, to, cycle, flight + holds - 1)
    if holds > 1:
        out_ports.free_from[port] = cycle + holds
    return True


@inner
def _fits_behind(out_ports: OutputPorts, packets: Packets, port: int, lane: int) -> bool:
    """Tell whether there is a packet behind the head, and it fits after it; note its size."""
    following = packets.chain[out_ports.queues.queue[port, lane].head].next
    if following == NOBODY:
        return False
    size = packets.pool[following].blocks
    out_ports.sizes[1, lane] = size
    return still_fits(out_ports.remote, port, lane, out_ports.head[port, lane].blocks + size)


@inner
def start_packet(out_ports: OutputPorts, packets: Packets, port: int, cycle: int, ready: bool) -> int:  # noqa: FBT001 - kernels take positional arguments only
    """Run one cycle of a port (IBS-6, IBS-7).

    Return the packet that starts, or ``NOBODY``; its lane is ``sending[port].lane``.

    Parameters
    ----------
    ready : bool
        The link is free.
    """
    sending, request = out_ports.sending[port], out_ports.queues.filled[port].lanes
    if not ready and not looks_behind(out_ports.bank):
        return NOBODY
    can, behind = _fitting_heads(out_ports, packets, port, cycle, ready)
    if can != 0:
        sending.fruitless = 0
    elif sending.fruitless >= rests_after(out_ports.bank):
        return NOBODY  # another decision with nothing to send changes nothing
    else:
        sending.fruitless += ready
    heads = Heads(request, can, out_ports.sizes[0], behind, out_ports.sizes[1])
    lane = serve(out_ports.bank, port, heads, ready)
    return NOBODY if lane < 0 else _put_on_link(out_ports, packets, port, lane, cycle)


@inner
def _fitting_heads(
    out_ports: OutputPorts,
    packets: Packets,
    port: int,
    cycle: int,
    ready: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> tuple[int, int]:
    """Return, as bits, the VLs whose head fits into the remote buffer, and those whose second packet fits behind it."""
    can, behind, left = 0, 0, out_ports.queues.filled[port].lanes
    if left != 0:
        settle(out_ports.returns, out_ports.remote, port, cycle)
        hear(out_ports.remote, port, cycle)
    while left != 0:
        lane = lowest(left)
        left &= left - 1
        head = out_ports.head[port, lane]
        blocks = head.blocks
        out_ports.sizes[0, lane] = blocks
        if still_fits(out_ports.remote, port, lane, blocks):
            can |= 1 << lane
        else:
            head.waited += ready
            if ready:
                note_starved(out_ports.marking, port, lane)
        if looks_behind(out_ports.bank) and _fits_behind(out_ports, packets, port, lane):
            behind |= 1 << lane
    return can, behind


@inner
def _put_on_link(out_ports: OutputPorts, packets: Packets, port: int, lane: int, cycle: int) -> int:
    """Start the first packet of a VL; return it. Its room in the remote buffer is taken, its statistics are counted."""
    sending = out_ports.sending[port]
    packet = pop(packets, out_ports.queues, port, lane)
    following = packets.chain[packet].next
    blocks = packets.pool[packet].blocks
    if following != NOBODY:
        out_ports.head[port, lane].blocks = packets.pool[following].blocks
    take_remote(out_ports.remote, port, lane, blocks)
    _settle_buffer(out_ports, port, cycle)
    flits = packets.pool[packet].flits
    sending.lane, sending.since, sending.flits, sending.blocks = lane, cycle, flits, blocks
    free_from = cycle + cycles_on_link(out_ports, port, flits)
    sending.given, out_ports.free_from[port] = 0, free_from
    field = packets.pool[packet]
    is_cnp, has_fecn = field.bth & BECN != 0, field.bth & FECN != 0
    taken = out_ports.buffer.taken[port, lane].blocks
    start = Start(blocks, taken, not is_cnp, has_fecn, free_from)
    if is_marked(out_ports.marking, port, lane, start, cycle):
        field.bth |= FECN
    if free_from == cycle + 1:  # its room is free from the next cycle on, and nothing reads the room before
        give_back(out_ports.buffer, port, lane, blocks)
        sending.given = blocks
    counters = out_ports.counters[port, lane]
    counters.packets += 1
    counters.asked += cycle - packets.pool[packet].asks
    counters.flits += flits
    return packet
