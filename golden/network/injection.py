"""Injection: selection of the next packet that a NIC moves from its application queues to the output buffer."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from vlane.golden.engine.bits import next_member
from vlane.golden.engine.kernel import by_type, inner, kernel
from vlane.golden.engine.pool import allocate_record, free_record
from vlane.golden.network.clock import MOVED
from vlane.golden.network.meters import Meters, count_generation
from vlane.golden.network.pacing import (
    Pacing,
    Unpaced,
    apply_becn,
    assign_psn,
    discard_held_packets,
    first_cnp,
    held_flow_head,
    hold_packet,
    injectable_flow_head,
    is_flow_held,
    note_injected,
    pop_cnp,
    queue_cnp,
    remove_flow_head,
)
from vlane.golden.network.state import Network
from vlane.golden.switches.output_ports import has_space_for_largest, reserve_and_schedule
from vlane.golden.switches.packets import BECN, FECN, NOBODY, TO_SINK, Packets, discard, schedule
from vlane.golden.topologies.wiring import Wiring
from vlane.golden.traffic.messages import NO_STREAM
from vlane.golden.traffic.sources import Sources, advance_class, draw_packet, end_class, window_has_ended
from vlane.packets.bth import CNP_BYTES
from vlane.units import BLOCK_BYTES


@inner
def _draw_head(sources: Sources, wiring: Wiring, meters: Meters, packets: Packets, nic: int, queue: int) -> int:
    """Draw the due packet of a class and make it the head of its application queue."""
    to, dlid, sl, size, flits, stream = draw_packet(sources, packets.messages, nic, queue)
    packet = allocate_record(packets)
    field, origin = packets.pool[packet], packets.origin[packet]
    field.blocks, field.flits, field.dlid, field.sl = -(-size // BLOCK_BYTES), flits, dlid, sl
    origin.source, origin.target, origin.stream, origin.bytes = nic, to, stream, size
    origin.slid = sources.lids[nic, 0]
    field.lane, field.channel = int(wiring.nic_vl[nic, sl]), int(wiring.nic_channel[nic, sl])
    origin.generated_cycle, field.hops, field.bth = sources.due[nic, queue], 0, 0
    count_generation(meters, field, origin)
    return packet


@inner
def _queue_head(network: Network, packets: Packets, nic: int, queue: int, cycle: int) -> int:
    """Return the head of a class's application queue, or ``NOBODY`` if the class has ended."""
    packet = network.staged_packets[nic, queue]
    if window_has_ended(network.sources, nic, queue, cycle):
        _drop_head(network.sources, network.staged_packets, packets, nic, queue)
        return NOBODY
    if packet == NOBODY:
        packet = network.staged_packets[nic, queue] = _draw_head(
            network.sources, network.wiring, network.meters, packets, nic, queue
        )
    return packet


@inner
def _drop_head(sources: Sources, staged: NDArray[Any], packets: Packets, nic: int, queue: int) -> None:
    """End the window of a class and discard the head of its application queue."""
    if staged[nic, queue] != NOBODY:
        free_record(packets, staged[nic, queue])
        staged[nic, queue] = NOBODY
    end_class(sources, packets.messages, nic, queue)


@inner
def _inject_unpaced(pacing: Unpaced, network: Network, packets: Packets, nic: int, port: int, cycle: int) -> None:  # noqa: ARG001 - one signature for all types
    """Inject a packet, round robin over the classes (NET-1)."""
    sources = network.sources
    if sources.earliest[nic] > cycle:
        return
    classes = sources.due.shape[1]
    left, last = 0, sources.last_class[nic]
    for number in range(classes):
        left |= int(sources.due[nic, number] <= cycle) << number
    while left != 0:
        number = next_member(left, last)
        left &= ~(1 << number)
        last = number
        packet = _queue_head(network, packets, nic, number, cycle)
        if packet != NOBODY and has_space_for_largest(network.out_ports, port, packets.pool[packet].lane, cycle):
            sources.last_class[nic] = number
            network.staged_packets[nic, number] = NOBODY
            advance_class(sources, packets.messages, nic, number, cycle)
            reserve_and_schedule(network.out_ports, packets, port, packet, cycle + 1)
            return


@inner
def _inject_paced(pacing: Pacing, network: Network, packets: Packets, nic: int, port: int, cycle: int) -> None:
    """Inject a CNP, otherwise a packet whose flow is not held, round robin over the classes (NCC-8, NCC-11)."""
    sources = network.sources
    cnp = first_cnp(pacing, packets, nic, cycle)
    if cnp != NOBODY and has_space_for_largest(network.out_ports, port, packets.pool[cnp].lane, cycle):
        pop_cnp(pacing, packets, nic)
        reserve_and_schedule(network.out_ports, packets, port, cnp, cycle + 1)
        return
    left, last = 0, sources.last_class[nic]
    for number in range(sources.due.shape[1]):
        has = sources.due[nic, number] <= cycle or pacing.held[nic, number].first != NOBODY
        left |= int(has) << number
    while left != 0:
        number = next_member(left, last)
        left &= ~(1 << number)
        last = number
        if window_has_ended(sources, nic, number, cycle):
            discard_held_packets(pacing, packets, nic, number)
        packet, before = injectable_flow_head(pacing, packets, nic, number, cycle)
        waited = packet != NOBODY
        if not waited:
            if pacing.held[nic, number].first != NOBODY:
                network.clock[MOVED] = cycle  # packets of a held flow do not count as stuck
            packet = _injectable_head(pacing, network, packets, nic, number, cycle)
        if packet == NOBODY or not has_space_for_largest(network.out_ports, port, packets.pool[packet].lane, cycle):
            continue
        sources.last_class[nic] = number
        if waited:
            remove_flow_head(pacing, packets, nic, number, packet, before)
        else:
            network.staged_packets[nic, number] = NOBODY
            advance_class(sources, packets.messages, nic, number, cycle)
        note_injected(pacing, packets, nic, packet, cycle)
        assign_psn(pacing, packets, nic, packet)
        reserve_and_schedule(network.out_ports, packets, port, packet, cycle + 1)
        return


@inner
def _injectable_head(pacing: Pacing, network: Network, packets: Packets, nic: int, queue: int, cycle: int) -> int:
    """Return the head of a class's queue if it may be injected (NCC-11, NCC-12).

    A head whose flow is held joins the held packets.
    """
    if network.sources.due[nic, queue] > cycle:
        return NOBODY
    if pacing.held[nic, queue].packets >= pacing.max_held:
        return NOBODY
    packet = _queue_head(network, packets, nic, queue, cycle)
    if packet == NOBODY:
        return NOBODY
    head = held_flow_head(pacing, packets, nic, queue, packet)
    if head == NOBODY and not is_flow_held(pacing, packets, nic, packet, cycle):
        return packet
    if pacing.port_blocks != 0:
        network.clock[MOVED] = cycle  # a packet that waits for the port's gap does not count as stuck
        return NOBODY
    network.staged_packets[nic, queue] = NOBODY
    advance_class(network.sources, packets.messages, nic, queue, cycle)
    hold_packet(pacing, packets, nic, queue, packet, head)
    return NOBODY


@by_type({Unpaced: _inject_unpaced, Pacing: _inject_paced})
def inject(pacing: Any, network: Network, packets: Packets, nic: int, port: int, cycle: int) -> None:
    """Move at most one packet of a NIC from its application queues to the output buffer of its sending ``port``."""


@inner
def _no_becn(pacing: Unpaced, packets: Packets, packet: int, nic: int, cycle: int) -> bool:  # noqa: ARG001 - one signature for all types
    return False


@inner
def _is_becn_effect(pacing: Pacing, packets: Packets, packet: int, nic: int, cycle: int) -> bool:
    field = packets.pool[packet]
    if field.bth != _ACTS:
        return False
    apply_becn(pacing, nic, packets.origin[packet].slid, field.sl, cycle - 1)
    return True


_ACTS = FECN | BECN
"""``bth`` of a received CNP that waits to take effect; a CNP in the network never has FECN."""


@by_type({Unpaced: _no_becn, Pacing: _is_becn_effect})
def is_becn_effect(pacing: Any, packets: Packets, packet: int, nic: int, cycle: int) -> bool:  # type: ignore[empty-body]
    """Return whether this event is a received CNP taking effect. If so, apply the CNP's BECN (NCC-9)."""


@inner
def _no_cnp(pacing: Unpaced, network: Network, packets: Packets, packet: int, nic: int, cycle: int) -> bool:  # noqa: ARG001 - one signature for all types
    return False


@inner
def _reuses_record(pacing: Pacing, network: Network, packets: Packets, packet: int, nic: int, cycle: int) -> bool:
    field, origin = packets.pool[packet], packets.origin[packet]
    received = cycle + field.flits
    if field.bth & BECN != 0:
        field.bth = _ACTS
        schedule(packets, packet, received + 1, TO_SINK, nic)
        return True
    if field.bth & FECN == 0 or not queue_cnp(pacing, packets, nic, packet, received):
        return False
    sources = network.sources
    origin.slid, origin.source, origin.target, origin.stream = field.dlid, nic, origin.source, NO_STREAM
    origin.generated_cycle, origin.bytes, origin.psn = received, CNP_BYTES, 0
    field.dlid, field.bth, field.hops = sources.lids[origin.target, 0], BECN, 0
    field.blocks, field.flits = 1, ((CNP_BYTES - 1) >> sources.flit_bits) + 1
    field.lane, field.channel = (
        int(network.wiring.nic_vl[nic, field.sl]),
        int(network.wiring.nic_channel[nic, field.sl]),
    )
    return True


@by_type({Unpaced: _no_cnp, Pacing: _reuses_record})
def reuses_record(  # type: ignore[empty-body]
    pacing: Any, network: Network, packets: Packets, packet: int, nic: int, cycle: int
) -> bool:
    """Return whether a received packet's record is reused, for the CNP it triggers or as a CNP awaiting its effect.

    The caller has already counted the packet as delivered.
    """


@kernel
def discard_all_waiting(
    sources: Sources, wiring: Wiring, meters: Meters, staged: NDArray[Any], now: int, packets: Packets
) -> None:
    """Generate, count and discard the packets due before ``now`` that never left the application queues."""
    # with the whole network as argument, this code would be compiled for every scheduler and switch type
    for nic in range(staged.shape[0]):
        for number in range(staged.shape[1]):
            while sources.due[nic, number] < now:
                packet = staged[nic, number]
                if window_has_ended(sources, nic, number, now - 1):
                    _drop_head(sources, staged, packets, nic, number)
                    continue
                if packet == NOBODY:
                    packet = _draw_head(sources, wiring, meters, packets, nic, number)
                staged[nic, number] = NOBODY
                discard(packets, packet)
                advance_class(sources, packets.messages, nic, number, now)
