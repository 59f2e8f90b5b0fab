"""Cycle-by-cycle simulation of a network of switches and NICs (``docs/network.md``).

Sending ports are numbered like the switch ports, followed by one port per NIC.
"""

from __future__ import annotations

from typing import Any

from vlane.golden.engine.bits import list_members
from vlane.golden.engine.kernel import by_type, inner, kernel
from vlane.golden.engine.pool import IN_USE, free_record
from vlane.golden.links.remote_credit import count_freed_blocks, credit_lag, fcp_period
from vlane.golden.links.returns import clear_immediate_returns, immediate_return_indices, schedule_immediate_return
from vlane.golden.network.clock import MOVED, NOW
from vlane.golden.network.injection import discard_all_waiting, inject, is_becn_effect, reuses_record
from vlane.golden.network.meters import count_delivery, count_loss
from vlane.golden.network.pacing import sweep
from vlane.golden.network.parts import is_foreign, post_credit, post_packet
from vlane.golden.network.replies import count_received_packet
from vlane.golden.network.state import Network
from vlane.golden.switches.credit_starvation import (
    NoStarvation,
    Starvation,
    blocks_freed_in,
    models_starvation,
    note_crossing,
    note_grant,
    note_waiting,
    release_held_credit,
)
from vlane.golden.switches.inputs import ROUTED, bit_of, prefetch_input, word_of
from vlane.golden.switches.kinds import (
    allocate,
    freed_by_grant,
    has_single_arrival,
    list_waiting,
    receive_packet,
    request_on_arrival,
    send_delay,
    store_in_centre,
)
from vlane.golden.switches.marking import note_dequeued, note_queued
from vlane.golden.switches.output_ports import (
    cycles_on_link,
    queue_packet,
    return_space,
    send_due_fcp,
    start_packet,
    start_unqueued,
    starts_on_arrival,
)
from vlane.golden.switches.packets import (
    AHEAD,
    NOBODY,
    RETURNED,
    RETURNED_BY_NIC,
    TO_CENTRE,
    TO_INPUT,
    TO_OUTPUT,
    TO_SINK,
    Packets,
    discard,
    exceed_cache,
    pop_event,
    prefetch_next,
    prefetch_origin,
    prefetch_queues,
    schedule,
)
from vlane.golden.switches.port_sleep import fall_asleep, may_sleep, wake_up
from vlane.golden.switches.port_visits import (
    fcp_may_become_due,
    list_free,
    may_skip_decision,
    prefetch_heads,
    prefetch_port,
)
from vlane.golden.topologies.wiring import NOWHERE, nic_of_end
from vlane.golden.traffic.messages import is_message, may_run_out, message_of

_BEFORE_ALLOCATION = (TO_INPUT, TO_SINK, TO_CENTRE)

(DONE, POOL_EMPTY, STUCK, TRACE_FULL) = range(4)
"""Reasons for stopping: requested cycle reached, packet pool empty, no movement for ``patience`` cycles, trace full."""


@inner
def _wake_port(network: Network, port: int) -> None:
    inputs = network.switches.inputs
    network.awake[word_of(inputs, port)] |= bit_of(inputs, port)


@inner
def sending_port_of_nic(network: Network, nic: int) -> int:
    """Return the number of a NIC's sending port."""
    return len(network.switches.inputs.port) + nic


@inner
def _return_credit(
    network: Network, size: tuple[int, int], link_end: int, lane: int, cycle: int, start_cycle: int, flits_ahead: int
) -> None:
    """Free the space of ``size`` (flits, blocks) at a port flit by flit, from a cycle on (IBS-8, NET-3, IBS-C2)."""
    cable = network.wiring.cable[link_end]
    credit_receiver = cable.credit_receiver
    start_cycle += cable.credit_delay + credit_lag(network.out_ports.remote_credit, credit_receiver)
    if is_foreign(network.partition, credit_receiver):
        post_credit(network.partition, credit_receiver, start_cycle, lane, size[0], size[1], flits_ahead)
        return
    return_space(network.out_ports, credit_receiver, cycle, start_cycle, lane, size, flits_ahead)
    if credit_receiver == link_end:
        _wake_port(network, credit_receiver)


def discard_waiting(network: Network, packets: Packets) -> None:
    """Generate, count and discard all packets that are due but never left their application queues."""
    discard_all_waiting(
        network.sources, network.wiring, network.meters, network.staged_packets, int(network.clock[NOW]), packets
    )


@inner
def _apply_immediate_credits(network: Network, cycle: int) -> None:
    """Apply the credit returns that are scheduled for this cycle as a whole."""
    returns, remote = network.out_ports.returns, network.out_ports.remote_credit
    for place in immediate_return_indices(returns, cycle):
        credit_return = returns.immediate[place]
        count_freed_blocks(remote, credit_return.end, credit_return.lane, credit_return.blocks)
        network.out_ports.sleep[credit_return.end].until = 0
        if fcp_period(remote) != 0:
            _wake_port(network, credit_return.end)
    clear_immediate_returns(returns, cycle)


@inner
def _execute_events(network: Network, packets: Packets, cycle: int) -> None:
    """Execute the packet events of this cycle. Link requests follow after the allocation."""
    for event in _BEFORE_ALLOCATION:
        packet = pop_event(packets, cycle, event)
        near = ahead = packet if exceed_cache(network.out_ports.queues) else NOBODY
        for step in range(2 * AHEAD):
            ahead = prefetch_next(packets, ahead)
            if step >= AHEAD:
                near = _prefetch_event(network, packets, near, event)
        while packet != NOBODY:
            ahead = prefetch_next(packets, ahead)
            near = _prefetch_event(network, packets, near, event)
            following = packets.pool[packet].next
            _handle_event(network, packets, packet, event, cycle)
            packet = following


@inner
def _prefetch_event(network: Network, packets: Packets, packet: int, event: int) -> int:
    """Prefetch the records that a packet's event will use, and return the next packet of the list."""
    if packet == NOBODY:
        return NOBODY
    place = int(packets.pool[packet].event_place)
    if event == TO_INPUT:
        prefetch_input(network.switches.inputs, place, packets.pool[packet].dlid)
    elif event == TO_OUTPUT:
        prefetch_queues(network.out_ports.queues, place)
    elif event == TO_SINK:
        prefetch_origin(packets, packet)
    return int(packets.pool[packet].next)


@inner
def _handle_event(network: Network, packets: Packets, packet: int, event: int, cycle: int) -> None:
    place = int(packets.pool[packet].event_place)
    if event == TO_INPUT:
        lane = int(packets.pool[packet].lane)
        if receive_packet(network.switches, packets, place, packet, cycle):
            request_on_arrival(network.switches, network.out_ports, place, lane, cycle)
        note_queued(network.out_ports.marking, network.switches.inputs, packets, place, lane, packet, cycle)
        note_waiting(network.out_ports.starvation, place, lane, packets.pool[packet].blocks)
    elif event == TO_CENTRE:
        store_in_centre(network.switches, packets, place, packet)
    else:
        _deliver_head(network, packets, packet, place, cycle)


@inner
def _deliver_head(network: Network, packets: Packets, packet: int, location: int, cycle: int) -> None:
    """Deliver a packet head to a NIC or to a co-simulated port, or remove a dropped packet."""
    field, origin = packets.pool[packet], packets.origin[packet]
    if location >= len(network.staged_packets):
        network.arriving_heads[location - len(network.staged_packets)] = packet
        return
    if location >= 0:
        if is_becn_effect(network.pacing, packets, packet, location, cycle):
            free_record(packets, packet)
            return
        origin.target = location
        _return_credit(
            network,
            (field.flits, field.blocks),
            sending_port_of_nic(network, location),
            field.lane,
            cycle,
            cycle + RETURNED_BY_NIC,
            0,
        )
        count_delivery(network.meters, field, origin, cycle + field.flits - 1)
        if is_message(origin.stream):
            number, received = message_of(origin.stream), cycle + field.flits - 1
            count_received_packet(network.sources, network.meters.messages, packets.messages, number, received)
        if reuses_record(network.pacing, network, packets, packet, location, cycle):
            return
    else:
        count_loss(network.meters, field, origin, cycle)
        discard(packets, packet)
        return
    free_record(packets, packet)


@inner
def _allocate_and_return_credits(network: Network, packets: Packets, cycle: int) -> None:
    """Run the allocation of all switches and start the return of credits for granted packets."""
    count = allocate(network.switches, network.out_ports, packets, cycle, network.grants)
    for index in range(count):
        grant = network.grants[index]
        port, packet, lane = grant.port, grant.packet, grant.lane
        if port >= 0:
            note_dequeued(network.out_ports.marking, network.switches.inputs, packets, port, lane, packet, cycle)
            field = packets.pool[packet]
            if models_starvation(network.out_ports.starvation):
                note_grant(network.out_ports.starvation, port, lane, field.blocks)
                note_crossing(network.out_ports.starvation, port, lane, field, cycle + 1)
                continue
            size = freed_by_grant(network.switches, field)
            ahead = min(cycle - field.head_arrival, field.flits)  # a lead beyond the packet's flits has no effect
            _return_credit(network, size, port, lane, cycle, cycle + RETURNED, ahead)
    if count:
        network.clock[MOVED] = cycle


@inner
def _no_held_credits(starvation: NoStarvation, network: Network, cycle: int) -> None:
    """Do nothing: credits return without delay."""


@inner
def _return_held(starvation: Starvation, network: Network, cycle: int) -> None:
    returns = network.out_ports.returns
    for port in range(len(starvation.port)):
        freed = blocks_freed_in(starvation, returns, port, cycle)
        lane, blocks = release_held_credit(
            starvation, port, cycle, int(starvation.port[port].lane), freed, returns.speed
        )
        if blocks != 0:
            cable = network.wiring.cable[port]
            schedule_immediate_return(returns, int(cable.credit_receiver), cycle + 1 + cable.credit_delay, lane, blocks)
            network.clock[MOVED] = cycle


@by_type({NoStarvation: _no_held_credits, Starvation: _return_held})
def _return_credits(starvation: Any, network: Network, cycle: int) -> None:
    """Return the credits of inputs with credit starvation that are due in a cycle (IBS-K2 to IBS-K5)."""


@inner
def schedule_arrival(network: Network, packets: Packets, packet: int, port: int, cycle: int) -> None:
    """Schedule the arrival of a packet's head at the far end of the cable (NET-5)."""
    cable = network.wiring.cable[port]
    far = int(cable.far_input)
    if far >= 0 and is_foreign(network.partition, far):
        packets.regs[IN_USE] -= 1
        post_packet(network.partition, packet, cycle + cable.flight_cycles + ROUTED, far)
        return
    event, place, after = (TO_INPUT, far, ROUTED) if far >= 0 else (TO_SINK, nic_of_end(far), 0)
    schedule(packets, packet, cycle + cable.flight_cycles + after, event, place)


@inner
def _is_awake(network: Network, port: int) -> bool:
    inputs = network.switches.inputs
    return network.awake[word_of(inputs, port)] & bit_of(inputs, port) != 0


@inner
def _request_links(network: Network, packets: Packets, port_count: int, cycle: int) -> int:
    """Execute the link requests of a cycle and return the length of the list of ports to visit.

    A packet that reaches an idle port starts at once or waits; the port needs no other visit in this cycle. Other
    packets are queued, and their ports join the list.
    """
    out_ports = network.out_ports
    at_once = starts_on_arrival(out_ports) and has_single_arrival(network.switches)
    packet = pop_event(packets, cycle, TO_OUTPUT)
    near = ahead = packet if exceed_cache(out_ports.queues) else NOBODY
    for step in range(2 * AHEAD):
        ahead = prefetch_next(packets, ahead)
        if step >= AHEAD:
            near = _prefetch_event(network, packets, near, TO_OUTPUT)
    while packet != NOBODY:
        ahead = prefetch_next(packets, ahead)
        near = _prefetch_event(network, packets, near, TO_OUTPUT)
        following = packets.pool[packet].next
        port = int(packets.pool[packet].event_place)
        is_idle = not _is_awake(network, port)
        is_decided = at_once and is_idle and out_ports.free_from[port] <= cycle
        if is_decided and start_unqueued(out_ports, packets, port, packet, cycle):
            _send_to_far_end(network, packets, port, packet, cycle)
            if not may_skip_decision(out_ports, port):
                _wake_port(network, port)
        else:
            queue_packet(out_ports, packets, port, packets.pool[packet].lane, packet, cycle)
            out_ports.sleep[port].until = 0
            _wake_port(network, port)
            if is_idle and not is_decided:
                network.awake_ports[port_count] = port
                port_count += 1
        packet = following
    return port_count


@inner
def _send_to_far_end(network: Network, packets: Packets, port: int, packet: int, cycle: int) -> None:
    """Send a started packet to the far end of its cable."""
    out_ports = network.out_ports
    network.clock[MOVED] = cycle
    packets.pool[packet].lane = out_ports.sending[port].lane
    flits = packets.pool[packet].flits
    late = send_delay(network.switches) if port < len(network.switches.inputs.port) else 0
    schedule_arrival(network, packets, packet, port, cycle + cycles_on_link(out_ports, port, flits) - flits + late)


@inner
def _run_egress(network: Network, packets: Packets, cycle: int) -> None:
    """Execute the link requests of a cycle and run the egress schedulers of the awake ports."""
    out_ports, inputs = network.out_ports, network.switches.inputs
    count = list_members(network.awake, inputs.word_bits, network.awake_ports)
    count = _request_links(network, packets, count, cycle)
    count = list_free(out_ports, network.awake_ports, count, cycle)
    last = count - 2 * AHEAD if exceed_cache(out_ports.queues) else 0
    sleeps = may_sleep(out_ports) and len(network.arriving_heads) == 0
    for index in range(count):
        if index < last:
            prefetch_port(out_ports, network.awake_ports[index + 2 * AHEAD])
            prefetch_heads(out_ports, packets, network.awake_ports[index + AHEAD])
        port = network.awake_ports[index]
        cable = network.wiring.cable[port]
        wake_up(out_ports, port, cycle)
        sends_fcp = send_due_fcp(out_ports, port, cable.peer, cycle, cable.flight_cycles)
        is_free = not sends_fcp and out_ports.free_from[port] <= cycle
        packet = start_packet(out_ports, packets, port, cycle, is_free)
        if is_free and may_skip_decision(out_ports, port) and not fcp_may_become_due(out_ports, port, cycle):
            network.awake[word_of(inputs, port)] &= ~bit_of(inputs, port)
        if packet != NOBODY:
            _send_to_far_end(network, packets, port, packet, cycle)
        elif sleeps and is_free:
            fall_asleep(out_ports, port, cycle)


@inner
def _wake_cabled_ports(network: Network) -> None:
    """Wake every cabled port."""
    for end in range(len(network.wiring.cable)):
        if network.wiring.cable[end].peer != NOWHERE:
            _wake_port(network, end)


@inner
def wake_all_ports(network: Network) -> None:
    """Wake all sleeping ports of this part, which brings their counters up to date."""
    for end in range(len(network.wiring.cable)):
        if not is_foreign(network.partition, end):
            wake_up(network.out_ports, end, network.clock[NOW])


@inner
def stop_reason(network: Network, packets: Packets, end_cycle: int) -> int:
    """Return the reason why the next cycle cannot run, or -1 if it can."""
    if network.clock[NOW] >= end_cycle:
        return DONE
    if len(packets.pool) - packets.regs[IN_USE] < network.staged_packets.size:
        return POOL_EMPTY
    if network.sources.mtu != 0 and may_run_out(packets.messages, network.staged_packets.size):
        return POOL_EMPTY
    if len(network.meters.trace) > 0 and len(network.meters.trace) - network.meters.traced[0] < len(
        network.staged_packets
    ):
        return TRACE_FULL
    if packets.regs[IN_USE] != 0 and network.clock[NOW] - 1 - network.clock[MOVED] > network.patience:
        return STUCK
    return -1


@inner
def run_cycle(network: Network, packets: Packets) -> None:
    """Simulate one cycle of the network."""
    cycle, period = network.clock[NOW], fcp_period(network.out_ports.remote_credit)
    if period != 0 and cycle % period == 0:
        _wake_cabled_ports(network)
    _apply_immediate_credits(network, cycle)
    _return_credits(network.out_ports.starvation, network, cycle)
    list_waiting(network.switches)
    _execute_events(network, packets, cycle)
    _allocate_and_return_credits(network, packets, cycle)
    sweep(network.pacing, cycle - 1)
    for nic in range(len(network.staged_packets)):
        inject(network.pacing, network, packets, nic, sending_port_of_nic(network, nic), cycle)
    _run_egress(network, packets, cycle)
    if packets.regs[IN_USE] == 0:
        network.clock[MOVED] = cycle
    network.clock[NOW] = cycle + 1


@kernel
def run(network: Network, packets: Packets, end_cycle: int) -> int:
    """Simulate up to ``end_cycle`` and return the reason for stopping."""
    reason = stop_reason(network, packets, end_cycle)
    while reason < 0:
        run_cycle(network, packets)
        reason = stop_reason(network, packets, end_cycle)
    wake_all_ports(network)
    return reason
