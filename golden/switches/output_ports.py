"""Output ports of switches and NICs: packet queues, output buffer, credits and egress scheduler (IBS-6, IBS-7, IBS-9).

Departed flits are counted only when a result depends on the count, not in every cycle. The rules are in
``docs/ib_switch.md``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int64, Records, new_records
from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.ports import at_port
from vlane.golden.links.remote_credit import (
    RemoteCredit,
    begin_decision,
    decides_late,
    fcp_due,
    fcp_period,
    has_credit,
    send_fcp,
    uses_sideband,
)
from vlane.golden.links.remote_credit import consume_credit as take_remote
from vlane.golden.links.returns import Returns, apply_returns, begin_packet_return, completed_blocks
from vlane.golden.links.room import BufferOccupancy, fits, missing_blocks, occupy, release
from vlane.golden.schedulers.bank import (
    Bank,
    idle_decisions_until_rest,
    see_arrival,
    see_time,
    sees_time,
    serve,
    uses_second_packets,
)
from vlane.golden.schedulers.heads import Heads
from vlane.golden.switches.credit_starvation import NoStarvation
from vlane.golden.switches.marking import NoMarking, PacketStart, is_marked, note_grant, note_link_pause, note_starved
from vlane.golden.switches.packets import (
    BECN,
    FECN,
    NOBODY,
    TO_OUTPUT,
    Packets,
    Queues,
    new_queues,
    pop_packet,
    push_packet,
    schedule,
)

_PACE_BITS = 16
FULL_PACE = 1 << _PACE_BITS
"""Pace of a link that carries one flit per cycle."""

_READY = True


class SentPacket:
    """The packet that a port is sending, or sent last.

    Parameters
    ----------
    start_cycle : int
        Start cycle.
    lane : int
        VL.
    flits, blocks : int
        Size in flits and in blocks.
    freed_blocks : int
        Blocks of the packet already freed in the output buffer.
    idle_decisions : int
        Consecutive decisions without a packet that can be sent; saturates at ``idle_decisions_until_rest``.
    """

    start_cycle: Int64
    lane: Int16
    flits: Int16
    blocks: Int16
    freed_blocks: Int16
    idle_decisions: Int16


class Head:
    """The head packet of a queue.

    Parameters
    ----------
    credit_wait_cycles : int
        Cycles in which the link was free but the lane's head had no credit, summed since the start of the run.
    blocks : int
        Size of the head packet.
    """

    credit_wait_cycles: Int64
    blocks: Int16


class Sleep:
    """Sleep of a port whose heads all lack credit.

    Parameters
    ----------
    until : int
        First cycle in which a head may have credit; 0 if the port is not asleep.
    start_cycle : int
        Cycle of the last decision.
    lanes : int
        Bit mask of the VLs that wait; 0 if the port is not asleep.
    """

    until: Int64
    start_cycle: Int64
    lanes: Int64


class LaneCounters:
    """Counters of one VL of a port.

    Parameters
    ----------
    flits, packets : int
        Flits and packets sent since the start of the run.
    queued_cycles : int
        Cycles between a packet's link request and its start, summed over all packets.
    contested : int
        Packets that started while a packet of another VL could have started.
    """

    queued_cycles: Int64
    flits: Int64
    packets: Int64
    contested: Int64


class OutputPorts(NamedTuple):
    """Sending ends of all cables, at switches and NICs.

    Parameters
    ----------
    queues : Queues
        Packets with at least one flit in the output buffer.
    head : Records of Head, (ports, lanes)
        Head packets.
    sizes : array of int64, (2, lanes + 1)
        Scratch of one port's decision: sizes of the heads, and of the packets behind them if the scheduler needs them.
    buffer : BufferOccupancy
        Output buffers.
    remote_credit : BufferOccupancy or FCPLimits
        Credits for the buffer at the other end of each cable.
    returns : Returns
        Space being freed: in the remote buffers, or, with flow-control packets, in the port's own input buffer.
    bank : Bank
        Egress schedulers.
    free_from : array of int64, (ports,)
        First cycle in which each link is free.
    sending : Records of SentPacket, (ports,)
        Packet on each link.
    sleep : Records of Sleep, (ports,)
        Sleep of each port.
    largest : array of int64, (lanes,)
        Blocks of the largest packet of each lane.
    pace : array of int64, (ports,) or (0,)
        Time of a flit on each link in 1/65536 cycle (NET-5 of ``docs/network.md``). Empty if every flit takes a cycle.
    counters : Records of LaneCounters, (ports, lanes)
        Statistics of each VL.
    marking : NoMarking or Marking
        FECN marking of packets that start.
    starvation : NoStarvation or Starvation
        Credit starvation of the input at the same port.
    """

    queues: Queues
    head: Records[Head]
    sizes: NDArray[np.int64]
    buffer: BufferOccupancy
    remote_credit: RemoteCredit
    returns: Returns
    bank: Bank
    free_from: NDArray[np.int64]
    sending: Records[SentPacket]
    sleep: Records[Sleep]
    largest: NDArray[np.int64]
    pace: NDArray[np.int64]
    counters: Records[LaneCounters]
    marking: Any
    starvation: Any


def new_output_ports(
    *,
    buffer: BufferOccupancy,
    remote_credit: RemoteCredit,
    returns: Returns,
    bank: Bank,
    largest: tuple[int, ...],
    pace: NDArray[np.int64] | None = None,
    marking: Any = NoMarking(),  # noqa: B008 - it is never changed
    starvation: Any = NoStarvation(),  # noqa: B008 - it is never changed
) -> OutputPorts:
    """Return ports without packets and with idle links."""
    ports, lanes = len(buffer.lane), buffer.lane.shape[1]
    return OutputPorts(
        queues=new_queues(ports, lanes),
        head=new_records(Head, ports, lanes),
        sizes=np.zeros((2, lanes + 1), np.int64),
        buffer=buffer,
        remote_credit=remote_credit,
        returns=returns,
        bank=bank,
        free_from=np.zeros(ports, np.int64),
        sending=new_records(SentPacket, ports),
        sleep=new_records(Sleep, ports),
        largest=np.array(largest, np.int64),
        pace=np.zeros(0, np.int64) if pace is None else pace,
        counters=new_records(LaneCounters, ports, lanes),
        marking=marking,
        starvation=starvation,
    )


@inner
def cycles_on_link(out_ports: OutputPorts, port: int, flits: int) -> int:
    """Return the number of cycles for which ``flits`` flits occupy the link of a port, rounded up."""
    if len(out_ports.pace) == 0:
        return flits
    return int((flits * out_ports.pace[port] + FULL_PACE - 1) >> _PACE_BITS)


@inner
def _flits_on_link(out_ports: OutputPorts, port: int, cycles: int) -> int:
    """Return the number of flits that an endless packet sends in ``cycles`` cycles."""
    return cycles if len(out_ports.pace) == 0 else int((cycles << _PACE_BITS) // out_ports.pace[port])


@inner
def free_sent_space(out_ports: OutputPorts, port: int, cycle: int) -> None:
    """Free the output-buffer space of flits that were sent before ``cycle`` (IBS-9)."""
    sending = out_ports.sending[port]
    if sending.freed_blocks != sending.blocks:
        left = _flits_on_link(out_ports, port, cycle - sending.start_cycle)
        gone = completed_blocks(left, sending.flits, sending.blocks, out_ports.returns.flit_shift)
        release(out_ports.buffer, port, sending.lane, gone - sending.freed_blocks)
        sending.freed_blocks = gone


@inner
def has_space_for_largest(out_ports: OutputPorts, port: int, lane: int, cycle: int) -> bool:
    """Return whether the output buffer has space for the lane's largest packet at the start of a cycle (IBS-2)."""
    return has_space(out_ports, port, lane, out_ports.largest[lane], cycle)


@inner
def has_space(out_ports: OutputPorts, port: int, lane: int, blocks: int, cycle: int) -> bool:
    """Return whether the output buffer has space for ``blocks`` blocks at the start of a cycle."""
    free_sent_space(out_ports, port, cycle)
    return fits(out_ports.buffer, port, lane, blocks)


@inner
def retry_cycle(out_ports: OutputPorts, port: int, lane: int, cycle: int) -> int:
    """Return the earliest cycle in which a full output buffer may have space for the lane's largest packet.

    A link of full speed frees at most one block per cycle.
    """
    if len(out_ports.pace) != 0:
        return cycle + 1
    return cycle + max(1, missing_blocks(out_ports.buffer, port, lane, out_ports.largest[lane]))


@inner
def reserve_and_schedule(out_ports: OutputPorts, packets: Packets, port: int, packet: int, start_cycle: int) -> None:
    """Reserve output-buffer space for a granted packet and schedule its link request for ``start_cycle``."""
    reserve_space(out_ports, packets, port, packet)
    field = packets.pool[packet]
    note_grant(out_ports.marking, port, field.lane, field.blocks, start_cycle)
    schedule(packets, packet, start_cycle, TO_OUTPUT, port)


@inner
def reserve_space(out_ports: OutputPorts, packets: Packets, port: int, packet: int) -> None:
    """Reserve output-buffer space for a packet."""
    field = packets.pool[packet]
    occupy(out_ports.buffer, port, field.lane, field.blocks)


@inner
def queue_packet(out_ports: OutputPorts, packets: Packets, port: int, lane: int, packet: int, cycle: int) -> None:
    """Append a packet to its egress queue. Its space is reserved, and its first flit has arrived."""
    packets.pool[packet].link_request_cycle = cycle
    if push_packet(packets, out_ports.queues, port, lane, packet):
        out_ports.head[port, lane].blocks = packets.pool[packet].blocks


@inner
def send_due_fcp(out_ports: OutputPorts, port: int, receiving_end: int, cycle: int, flight: int) -> bool:
    """Send a flow-control packet if one is due and the link permits it. Return whether one is sent."""
    if fcp_period(out_ports.remote_credit) == 0:
        return False
    is_free = out_ports.free_from[port] <= cycle
    on_sideband = uses_sideband(out_ports.remote_credit)
    if not (is_free or on_sideband):
        return False
    apply_returns(out_ports.returns, out_ports.remote_credit, port, cycle)
    if not fcp_due(out_ports.remote_credit, port, cycle):
        return False
    if on_sideband:
        send_fcp(out_ports.remote_credit, port, receiving_end, cycle, flight)
        return False
    holds = cycles_on_link(out_ports, port, 1)
    note_link_pause(out_ports.marking, port, cycle, cycle + holds)
    send_fcp(out_ports.remote_credit, port, receiving_end, cycle, flight + holds - 1)
    if holds > 1:
        out_ports.free_from[port] = cycle + holds
    return True


@inner
def _fits_behind(out_ports: OutputPorts, packets: Packets, port: int, lane: int) -> bool:
    """Return whether a second packet exists and has credit after the head. Store its size in ``sizes``."""
    following = packets.pool[out_ports.queues.queue[port, lane].head].next
    if following == NOBODY:
        return False
    size = packets.pool[following].blocks
    out_ports.sizes[1, lane] = size
    return has_credit(out_ports.remote_credit, port, lane, out_ports.head[port, lane].blocks + size)


@inner
def start_packet(out_ports: OutputPorts, packets: Packets, port: int, cycle: int, ready: bool) -> int:  # noqa: FBT001 - kernels take positional arguments only
    """Run a cycle of a port (IBS-6, IBS-7).

    Return the packet that starts, or ``NOBODY``. The lane of the packet is ``sending[port].lane``.

    Parameters
    ----------
    ready : bool
        The link is free and not stalled.
    """
    sending, request = out_ports.sending[port], out_ports.queues.filled[port].lanes
    if not ready and not uses_second_packets(out_ports.bank):
        return NOBODY
    can, behind = _fitting_heads(out_ports, packets, port, cycle, ready)
    if can != 0:
        sending.idle_decisions = 0
    elif sending.idle_decisions >= idle_decisions_until_rest(out_ports.bank):
        return NOBODY  # a further decision without a packet to send changes no state
    else:
        sending.idle_decisions += ready
    if sees_time(out_ports.bank):
        _see_times(out_ports, packets, port, cycle)
    heads = Heads(request, can, out_ports.sizes[0], behind, out_ports.sizes[1])
    lane = serve(out_ports.bank, port, heads, ready)
    if lane < 0:
        return NOBODY
    if can & (can - 1) != 0:
        out_ports.counters[port, lane].contested += 1
    return _start_head(out_ports, packets, port, lane, cycle)


@inner
def _see_times(out_ports: OutputPorts, packets: Packets, port: int, cycle: int) -> None:
    """Give a port's scheduler the cycle, and the cycle in which each head asked for the link."""
    state, left = at_port(out_ports.bank, port), out_ports.queues.filled[port].lanes
    see_time(state, cycle)
    while left != 0:
        lane = lowest_member(left)
        left &= left - 1
        see_arrival(state, lane, packets.pool[out_ports.queues.queue[port, lane].head].link_request_cycle)


@inner
def _fitting_heads(
    out_ports: OutputPorts,
    packets: Packets,
    port: int,
    cycle: int,
    ready: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> tuple[int, int]:
    """Return two bit masks: VLs whose head has credit, and VLs whose second packet has credit after the head."""
    can, behind, left = 0, 0, out_ports.queues.filled[port].lanes
    if left != 0:
        apply_returns(out_ports.returns, out_ports.remote_credit, port, cycle)
        begin_decision(out_ports.remote_credit, port, cycle)
    while left != 0:
        lane = lowest_member(left)
        left &= left - 1
        head = out_ports.head[port, lane]
        blocks = head.blocks
        out_ports.sizes[0, lane] = blocks
        if has_credit(out_ports.remote_credit, port, lane, blocks):
            can |= 1 << lane
        else:
            head.credit_wait_cycles += ready
            if ready:
                note_starved(out_ports.marking, port, lane)
        if uses_second_packets(out_ports.bank) and _fits_behind(out_ports, packets, port, lane):
            behind |= 1 << lane
    return can, behind


@inner
def starts_on_arrival(out_ports: OutputPorts) -> bool:
    """Return whether a packet may start in the decision of an otherwise idle port, without a queue.

    A scheduler that looks behind the heads is stepped in every cycle, a flow-control packet may precede, and a late
    decision depends on the starts before it.
    """
    return (
        not uses_second_packets(out_ports.bank)
        and fcp_period(out_ports.remote_credit) == 0
        and not decides_late(out_ports.remote_credit)
    )


@inner
def return_space(
    out_ports: OutputPorts,
    link_end: int,
    cycle: int,
    start_cycle: int,
    lane: int,
    size: tuple[int, int],
    flits_ahead: int,
) -> None:
    """Start to free the space of ``size`` (flits, blocks) that a port tracks, from cycle ``start_cycle`` on."""
    begin_packet_return(
        out_ports.returns, out_ports.remote_credit, link_end, cycle, start_cycle, lane, size[0], size[1], flits_ahead
    )
    sleep = out_ports.sleep[link_end]
    sleep.until = min(sleep.until, start_cycle)


@inner
def start_unqueued(out_ports: OutputPorts, packets: Packets, port: int, packet: int, cycle: int) -> bool:
    """Run a cycle of an idle port that one packet reaches, and return whether the packet starts (IBS-6, IBS-7).

    The port has no other packet, its scheduler is at rest, and the link is free.
    """
    field = packets.pool[packet]
    field.link_request_cycle = cycle
    apply_returns(out_ports.returns, out_ports.remote_credit, port, cycle)
    lane = int(field.lane)
    if not has_credit(out_ports.remote_credit, port, lane, field.blocks):
        out_ports.head[port, lane].credit_wait_cycles += 1
        note_starved(out_ports.marking, port, lane)
        return False
    out_ports.sending[port].idle_decisions = 0
    out_ports.sizes[0, lane] = field.blocks
    if sees_time(out_ports.bank):
        state = at_port(out_ports.bank, port)
        see_time(state, cycle)
        see_arrival(state, lane, cycle)
    heads = Heads(1 << lane, 1 << lane, out_ports.sizes[0], 0, out_ports.sizes[1])
    if serve(out_ports.bank, port, heads, _READY) < 0:
        return False
    _put_on_link(out_ports, packets, port, lane, packet, cycle)
    return True


@inner
def _start_head(out_ports: OutputPorts, packets: Packets, port: int, lane: int, cycle: int) -> int:
    """Start the head packet of a VL and return it."""
    packet = pop_packet(packets, out_ports.queues, port, lane)
    following = packets.pool[packet].next
    if following != NOBODY:
        out_ports.head[port, lane].blocks = packets.pool[following].blocks
    _put_on_link(out_ports, packets, port, lane, packet, cycle)
    return packet


@inner
def _put_on_link(out_ports: OutputPorts, packets: Packets, port: int, lane: int, packet: int, cycle: int) -> None:
    """Start a packet: it consumes credits, is marked if due, and enters the statistics."""
    sending = out_ports.sending[port]
    blocks = packets.pool[packet].blocks
    take_remote(out_ports.remote_credit, port, lane, blocks)
    free_sent_space(out_ports, port, cycle)
    flits = packets.pool[packet].flits
    sending.lane, sending.start_cycle, sending.flits, sending.blocks = lane, cycle, flits, blocks
    free_from = cycle + cycles_on_link(out_ports, port, flits)
    sending.freed_blocks, out_ports.free_from[port] = 0, free_from
    field = packets.pool[packet]
    is_cnp, has_fecn = field.bth & BECN != 0, field.bth & FECN != 0
    taken = out_ports.buffer.lane[port, lane].blocks
    start = PacketStart(blocks, taken, not is_cnp, has_fecn, free_from)
    if is_marked(out_ports.marking, port, lane, start, cycle):
        field.bth |= FECN
    if free_from == cycle + 1:  # the space is free from the next cycle on; nothing reads it in this cycle
        release(out_ports.buffer, port, lane, blocks)
        sending.freed_blocks = blocks
    counters = out_ports.counters[port, lane]
    counters.packets += 1
    counters.queued_cycles += cycle - packets.pool[packet].link_request_cycle
    counters.flits += flits
