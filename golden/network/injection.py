"""Injection: selection of the next packet that a NIC moves from its application queues to the output buffer."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from vlane.golden.engine.bits import next_of
from vlane.golden.engine.kernel import by_type, inner, kernel
from vlane.golden.engine.pool import free, spare
from vlane.golden.network.clock import MOVED
from vlane.golden.network.meters import Meters, count_generation
from vlane.golden.network.pacing import (
    Pacing,
    Unpaced,
    first_cnp,
    first_to_go,
    flow_waits,
    forget_waiting,
    is_flow_held,
    let_go,
    note_injected,
    number_packet,
    queue_cnp,
    take_becn,
    take_cnp,
    wait,
)
from vlane.golden.network.state import Network
from vlane.golden.switches.output_ports import room_for_largest, take_in
from vlane.golden.switches.packets import BECN, FECN, NOBODY, TO_SINK, Packets, discard, schedule
from vlane.golden.topologies.wiring import Wiring
from vlane.golden.traffic.messages import NO_STREAM
from vlane.golden.traffic.sources import Sources, advance, draw_packet, end_class, is_over
from vlane.packets.bth import CNP_BYTES
from vlane.units import BLOCK_BYTES


@inner
def _stage(sources: Sources, wiring: Wiring, meters: Meters, packets: Packets, nic: int, number: int) -> int:
    """Draw the due packet of a class and return it, as head of its application queue."""
    to, dlid, sl, size, flits, stream = draw_packet(sources, packets.messages, nic, number)
    packet = spare(packets)
    field, origin = packets.pool[packet], packets.origin[packet]
    field.blocks, field.flits, field.dlid, field.sl = -(-size // BLOCK_BYTES), flits, dlid, sl
    origin.source, origin.target, origin.stream, origin.bytes = nic, to, stream, size
    origin.slid = sources.lids[nic, 0]
    field.lane, field.channel = int(wiring.nic_vl[nic, sl]), int(wiring.nic_channel[nic, sl])
    origin.born, field.hops, field.bth = sources.due[nic, number], 0, 0
    count_generation(meters, field, origin)
    return packet


@inner
def _head(net: Network, packets: Packets, nic: int, number: int, cycle: int) -> int:
    """Return the head of a class's application queue, or ``NOBODY`` if the class has ended."""
    packet = net.staged[nic, number]
    if is_over(net.sources, nic, number, cycle):
        _drop_head(net.sources, net.staged, packets, nic, number)
        return NOBODY
    if packet == NOBODY:
        packet = net.staged[nic, number] = _stage(net.sources, net.wiring, net.meters, packets, nic, number)
    return packet


@inner
def _drop_head(sources: Sources, staged: NDArray[Any], packets: Packets, nic: int, number: int) -> None:
    """End a class and discard the head of its application queue."""
    if staged[nic, number] != NOBODY:
        free(packets, staged[nic, number])
        staged[nic, number] = NOBODY
    end_class(sources, packets.messages, nic, number)


@inner
def _take_unpaced(pacing: Unpaced, net: Network, packets: Packets, nic: int, port: int, cycle: int) -> None:  # noqa: ARG001 - one signature for all types
    """Inject a packet, round robin over the classes (NET-1)."""
    sources = net.sources
    if sources.earliest[nic] > cycle:
        return
    classes = sources.due.shape[1]
    left, last = 0, sources.last_class[nic]
    for number in range(classes):
        left |= int(sources.due[nic, number] <= cycle) << number
    while left != 0:
        number = next_of(left, last)
        left &= ~(1 << number)
        last = number
        packet = _head(net, packets, nic, number, cycle)
        if packet != NOBODY and room_for_largest(net.out_ports, port, packets.pool[packet].lane, cycle):
            sources.last_class[nic] = number
            net.staged[nic, number] = NOBODY
            advance(sources, packets.messages, nic, number)
            take_in(net.out_ports, packets, port, packet, cycle + 1)
            return


@inner
def _take_paced(pacing: Pacing, net: Network, packets: Packets, nic: int, port: int, cycle: int) -> None:
    """Inject a CNP, otherwise a packet whose flow is not held, round robin over the classes (NCC-8, NCC-11)."""
    sources = net.sources
    cnp = first_cnp(pacing, packets, nic, cycle)
    if cnp != NOBODY and room_for_largest(net.out_ports, port, packets.pool[cnp].lane, cycle):
        take_cnp(pacing, packets, nic)
        take_in(net.out_ports, packets, port, cnp, cycle + 1)
        return
    left, last = 0, sources.last_class[nic]
    for number in range(sources.due.shape[1]):
        has = sources.due[nic, number] <= cycle or pacing.waiting[nic, number].first != NOBODY
        left |= int(has) << number
    while left != 0:
        number = next_of(left, last)
        left &= ~(1 << number)
        last = number
        if is_over(sources, nic, number, cycle):
            forget_waiting(pacing, packets, nic, number)
        packet, before = first_to_go(pacing, packets, nic, number, cycle)
        waited = packet != NOBODY
        if not waited:
            if pacing.waiting[nic, number].first != NOBODY:
                net.clock[MOVED] = cycle  # packets of a held flow do not count as stuck
            packet = _fresh(pacing, net, packets, nic, number, cycle)
        if packet == NOBODY or not room_for_largest(net.out_ports, port, packets.pool[packet].lane, cycle):
            continue
        sources.last_class[nic] = number
        if waited:
            let_go(pacing, packets, nic, number, packet, before)
        else:
            net.staged[nic, number] = NOBODY
            advance(sources, packets.messages, nic, number)
        note_injected(pacing, packets, nic, packet, cycle)
        number_packet(pacing, packets, nic, packet)
        take_in(net.out_ports, packets, port, packet, cycle + 1)
        return


@inner
def _fresh(pacing: Pacing, net: Network, packets: Packets, nic: int, number: int, cycle: int) -> int:
    """Return the head of a class's queue if it may be injected (NCC-11, NCC-12).

    A head whose flow is held joins the held packets.
    """
    if net.sources.due[nic, number] > cycle:
        return NOBODY
    if pacing.waiting[nic, number].packets >= pacing.most:
        return NOBODY
    packet = _head(net, packets, nic, number, cycle)
    if packet == NOBODY:
        return NOBODY
    head = flow_waits(pacing, packets, nic, number, packet)
    if head == NOBODY and not is_flow_held(pacing, packets, nic, packet, cycle):
        return packet
    if pacing.port_blocks != 0:
        net.clock[MOVED] = cycle  # a packet that waits for the port's gap does not count as stuck
        return NOBODY
    net.staged[nic, number] = NOBODY
    advance(net.sources, packets.messages, nic, number)
    wait(pacing, packets, nic, number, packet, head)
    return NOBODY


@by_type({Unpaced: _take_unpaced, Pacing: _take_paced})
def inject(pacing: Any, net: Network, packets: Packets, nic: int, port: int, cycle: int) -> None:
    """Move at most one packet of a NIC, whose sending port is ``port``, into its output buffer."""


@inner
def _never_acts(pacing: Unpaced, packets: Packets, packet: int, nic: int, cycle: int) -> bool:  # noqa: ARG001 - one signature for all types
    return False


@inner
def _acts(pacing: Pacing, packets: Packets, packet: int, nic: int, cycle: int) -> bool:
    field = packets.pool[packet]
    if field.bth != _ACTS:
        return False
    take_becn(pacing, nic, packets.origin[packet].slid, field.sl, cycle - 1)
    return True


_ACTS = FECN | BECN
"""``bth`` of a received CNP that waits to take effect; a CNP in the network never has FECN."""


@by_type({Unpaced: _never_acts, Pacing: _acts})
def acts(pacing: Any, packets: Packets, packet: int, nic: int, cycle: int) -> bool:  # type: ignore[empty-body]
    """Return whether this event is a received CNP taking effect.

    If so, apply the CNP's BECN (NCC-9).
    """


@inner
def _no_cnp(pacing: Unpaced, net: Network, packets: Packets, packet: int, nic: int, cycle: int) -> bool:  # noqa: ARG001 - one signature for all types
    return False


@inner
def _causes_cnp(pacing: Pacing, net: Network, packets: Packets, packet: int, nic: int, cycle: int) -> bool:
    field, origin = packets.pool[packet], packets.origin[packet]
    received = cycle + field.flits
    if field.bth & BECN != 0:
        field.bth = _ACTS
        schedule(packets, packet, received + 1, TO_SINK, nic)
        return True
    if field.bth & FECN == 0 or not queue_cnp(pacing, packets, nic, packet, received):
        return False
    sources = net.sources
    origin.slid, origin.source, origin.target, origin.stream = field.dlid, nic, origin.source, NO_STREAM
    origin.born, origin.bytes, origin.psn = received, CNP_BYTES, 0
    field.dlid, field.bth, field.hops = sources.lids[origin.target, 0], BECN, 0
    field.blocks, field.flits = 1, ((CNP_BYTES - 1) >> sources.flit_bits) + 1
    field.lane, field.channel = int(net.wiring.nic_vl[nic, field.sl]), int(net.wiring.nic_channel[nic, field.sl])
    return True


@by_type({Unpaced: _no_cnp, Pacing: _causes_cnp})
def causes_cnp(  # type: ignore[empty-body]
    pacing: Any, net: Network, packets: Packets, packet: int, nic: int, cycle: int
) -> bool:
    """Return whether a received packet's record is reused, for the CNP it triggers or as a CNP awaiting its effect.

    The caller has already counted the packet as delivered.
    """


@kernel
def take_all_waiting(
    sources: Sources, wiring: Wiring, meters: Meters, staged: NDArray[Any], now: int, packets: Packets
) -> None:
    """Generate, count and discard the packets due before ``now`` that never left the application queues."""
    # with the whole network as argument, this code would be compiled for every scheduler and switch type
    for nic in range(staged.shape[0]):
        for number in range(staged.shape[1]):
            while sources.due[nic, number] < now:
                packet = staged[nic, number]
                if is_over(sources, nic, number, now - 1):
                    _drop_head(sources, staged, packets, nic, number)
                    continue
                if packet == NOBODY:
                    packet = _stage(sources, wiring, meters, packets, nic, number)
                staged[nic, number] = NOBODY
                discard(packets, packet)
                advance(sources, packets.messages, nic, number)
