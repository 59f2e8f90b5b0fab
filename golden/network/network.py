"""Cycle-by-cycle simulation of a network of switches and NICs (``docs/network.md``).

Sending ports are numbered like the switch ports, followed by one port per NIC.
"""

from __future__ import annotations

from typing import Any

from vlane.golden.engine.bits import list_members
from vlane.golden.engine.kernel import by_type, inner, kernel
from vlane.golden.engine.pool import IN_USE, free
from vlane.golden.links.remote_credit import came_free, fcp_period, lateness
from vlane.golden.links.returns import begin_at_once, forget_coming, places_coming
from vlane.golden.network.clock import MOVED, NOW
from vlane.golden.network.injection import acts, causes_cnp, inject, take_all_waiting
from vlane.golden.network.meters import count_delivery, count_loss
from vlane.golden.network.pacing import sweep
from vlane.golden.network.parts import is_foreign, post_credit, post_packet
from vlane.golden.network.replies import receive_part
from vlane.golden.network.state import Network
from vlane.golden.switches.credit_starvation import (
    Starvation,
    Unstarved,
    crosses,
    freed_in,
    note_grant,
    note_waiting,
    return_held,
    starves,
)
from vlane.golden.switches.inputs import ROUTED, bit_of, load_input, word_of
from vlane.golden.switches.kinds import (
    allocate,
    ask_on_arrival,
    comes_free,
    list_waiting,
    one_arrival,
    receive,
    send_delay,
    store,
)
from vlane.golden.switches.marking import note_queued, note_taken
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
    are_many,
    discard,
    load_origin,
    load_queues,
    next_ahead,
    schedule,
    take_due,
)
from vlane.golden.switches.port_sleep import fall_asleep, may_sleep, wake_up
from vlane.golden.switches.port_visits import fcp_may_become_due, is_at_rest, list_free, load_heads, load_port
from vlane.golden.topologies.wiring import NOWHERE, nic_of_end
from vlane.golden.traffic.messages import are_few, is_message, message_of

_BEFORE_ALLOCATION = (TO_INPUT, TO_SINK, TO_CENTRE)

(DONE, POOL_EMPTY, STUCK, TRACE_FULL) = range(4)
"""Reasons for stopping: requested cycle reached, packet pool empty, no movement for ``patience`` cycles, trace full."""


@inner
def _wake(net: Network, port: int) -> None:
    inputs = net.switches.inputs
    net.awake[word_of(inputs, port)] |= bit_of(inputs, port)


@inner
def nic_end(net: Network, nic: int) -> int:
    """Return the sending port of a NIC."""
    return len(net.switches.inputs.port) + nic


@inner
def _return_credit(
    net: Network, size: tuple[int, int], end: int, lane: int, cycle: int, since: int, ahead: int
) -> None:
    """Free the space of ``size`` (flits, blocks) at a port flit by flit, from a cycle on (IBS-8, NET-3, IBS-C2)."""
    cable = net.wiring.cable[end]
    credit_receiver = cable.credit_receiver
    since += cable.credit_delay + lateness(net.out_ports.remote, credit_receiver)
    if is_foreign(net.border, credit_receiver):
        post_credit(net.border, credit_receiver, since, lane, size[0], size[1], ahead)
        return
    return_space(net.out_ports, credit_receiver, cycle, since, lane, size, ahead)
    if credit_receiver == end:
        _wake(net, credit_receiver)


def take_waiting(net: Network, packets: Packets) -> None:
    """Generate, count and discard all packets due so far that never left the application queues."""
    take_all_waiting(net.sources, net.wiring, net.meters, net.staged, int(net.clock[NOW]), packets)


@inner
def _apply_immediate_credits(net: Network, cycle: int) -> None:
    """Apply the credits that arrive at once in this cycle.

    Wake ports that may have to send an FCP.
    """
    returns, remote = net.out_ports.returns, net.out_ports.remote
    for place in places_coming(returns, cycle):
        credit_return = returns.at_once[place]
        came_free(remote, credit_return.end, credit_return.lane, credit_return.blocks)
        net.out_ports.sleep[credit_return.end].until = 0
        if fcp_period(remote) != 0:
            _wake(net, credit_return.end)
    forget_coming(returns, cycle)


@inner
def _events(net: Network, packets: Packets, cycle: int) -> None:
    """Execute the packet events of this cycle, except requests for a link, which follow the allocation."""
    for event in _BEFORE_ALLOCATION:
        packet = take_due(packets, cycle, event)
        near = ahead = packet if are_many(net.out_ports.queues) else NOBODY
        for step in range(2 * AHEAD):
            ahead = next_ahead(packets, ahead)
            if step >= AHEAD:
                near = _foresee(net, packets, near, event)
        while packet != NOBODY:
            ahead = next_ahead(packets, ahead)
            near = _foresee(net, packets, near, event)
            following = packets.pool[packet].next
            _handle_event(net, packets, packet, event, cycle)
            packet = following


@inner
def _foresee(net: Network, packets: Packets, packet: int, event: int) -> int:
    """Prefetch the records this packet's event will use and return the next packet of the list.

    The packet itself is already cached.
    """
    if packet == NOBODY:
        return NOBODY
    place = int(packets.pool[packet].place)
    if event == TO_INPUT:
        load_input(net.switches.inputs, place, packets.pool[packet].dlid)
    elif event == TO_OUTPUT:
        load_queues(net.out_ports.queues, place)
    elif event == TO_SINK:
        load_origin(packets, packet)
    return int(packets.pool[packet].next)


@inner
def _handle_event(net: Network, packets: Packets, packet: int, event: int, cycle: int) -> None:
    place = int(packets.pool[packet].place)
    if event == TO_INPUT:
        lane = int(packets.pool[packet].lane)
        if receive(net.switches, packets, place, packet, cycle):
            ask_on_arrival(net.switches, net.out_ports, place, lane, cycle)
        note_queued(net.out_ports.marking, net.switches.inputs, packets, place, lane, packet, cycle)
        note_waiting(net.out_ports.starvation, place, lane, packets.pool[packet].blocks)
    elif event == TO_CENTRE:
        store(net.switches, packets, place, packet)
    else:
        _sink(net, packets, packet, place, cycle)


@inner
def _sink(net: Network, packets: Packets, packet: int, place: int, cycle: int) -> None:
    """Deliver a head to a NIC or to a co-simulated port, or remove a dropped packet."""
    field, origin = packets.pool[packet], packets.origin[packet]
    if place >= len(net.staged):
        net.outside[place - len(net.staged)] = packet
        return
    if place >= 0:
        if acts(net.pacing, packets, packet, place, cycle):
            free(packets, packet)
            return
        origin.target = place
        _return_credit(
            net, (field.flits, field.blocks), nic_end(net, place), field.lane, cycle, cycle + RETURNED_BY_NIC, 0
        )
        count_delivery(net.meters, field, origin, cycle + field.flits - 1)
        if is_message(origin.stream):
            number, received = message_of(origin.stream), cycle + field.flits - 1
            receive_part(net.sources, net.meters.messages, packets.messages, number, received)
        if causes_cnp(net.pacing, net, packets, packet, place, cycle):
            return
    else:
        count_loss(net.meters, field, origin, cycle)
        discard(packets, packet)
        return
    free(packets, packet)


@inner
def _switch(net: Network, packets: Packets, cycle: int) -> None:
    """Run the allocation of all switches and start the return of credits for granted packets."""
    count = allocate(net.switches, net.out_ports, packets, cycle, net.grants)
    for index in range(count):
        grant = net.grants[index]
        port, packet, lane = grant.port, grant.packet, grant.lane
        if port >= 0:
            note_taken(net.out_ports.marking, net.switches.inputs, packets, port, lane, packet, cycle)
            field = packets.pool[packet]
            if starves(net.out_ports.starvation):
                note_grant(net.out_ports.starvation, port, lane, field.blocks)
                crosses(net.out_ports.starvation, port, lane, field, cycle + 1)
                continue
            size = comes_free(net.switches, field)
            ahead = min(cycle - field.arrived, field.flits)  # a lead beyond the packet's flits has no effect
            _return_credit(net, size, port, lane, cycle, cycle + RETURNED, ahead)
    if count:
        net.clock[MOVED] = cycle


@inner
def _hold_nothing(starvation: Unstarved, net: Network, cycle: int) -> None:
    """Do nothing: credits return without delay."""


@inner
def _return_held(starvation: Starvation, net: Network, cycle: int) -> None:
    returns = net.out_ports.returns
    for port in range(len(starvation.port)):
        freed = freed_in(starvation, returns, port, cycle)
        lane, blocks = return_held(starvation, port, cycle, int(starvation.port[port].lane), freed, returns.speed)
        if blocks != 0:
            cable = net.wiring.cable[port]
            begin_at_once(returns, int(cable.credit_receiver), cycle + 1 + cable.credit_delay, lane, blocks)
            net.clock[MOVED] = cycle


@by_type({Unstarved: _hold_nothing, Starvation: _return_held})
def _return_credits(starvation: Any, net: Network, cycle: int) -> None:
    """Return the credits of inputs with credit starvation that are due in a cycle (IBS-K2 to IBS-K5)."""


@inner
def depart(net: Network, packets: Packets, packet: int, port: int, cycle: int) -> None:
    """Schedule the arrival of a packet's head at the far end of the cable (NET-5).

    The flits follow at one per cycle. ``cycle`` is the cycle in which the packet starts. On a slower cable it is
    later, by as many cycles as the far end must wait to receive the packet at one flit per cycle.
    """
    cable = net.wiring.cable[port]
    far = int(cable.far)
    if far >= 0 and is_foreign(net.border, far):
        packets.regs[IN_USE] -= 1
        post_packet(net.border, packet, cycle + cable.flight + ROUTED, far)
        return
    event, place, after = (TO_INPUT, far, ROUTED) if far >= 0 else (TO_SINK, nic_of_end(far), 0)
    schedule(packets, packet, cycle + cable.flight + after, event, place)


@inner
def _is_awake(net: Network, port: int) -> bool:
    inputs = net.switches.inputs
    return net.awake[word_of(inputs, port)] & bit_of(inputs, port) != 0


@inner
def _request_links(net: Network, packets: Packets, count: int, cycle: int) -> int:
    """Execute the link requests of a cycle and return the length of the list of ports to visit.

    A packet that reaches an idle port starts at once or waits; the port needs no other visit in this cycle. Other
    packets are queued, and their ports join the list.
    """
    out_ports = net.out_ports
    at_once = starts_on_arrival(out_ports) and one_arrival(net.switches)
    packet = take_due(packets, cycle, TO_OUTPUT)
    near = ahead = packet if are_many(out_ports.queues) else NOBODY
    for step in range(2 * AHEAD):
        ahead = next_ahead(packets, ahead)
        if step >= AHEAD:
            near = _foresee(net, packets, near, TO_OUTPUT)
    while packet != NOBODY:
        ahead = next_ahead(packets, ahead)
        near = _foresee(net, packets, near, TO_OUTPUT)
        following = packets.pool[packet].next
        port = int(packets.pool[packet].place)
        is_idle = not _is_awake(net, port)
        is_decided = at_once and is_idle and out_ports.free_from[port] <= cycle
        if is_decided and start_unqueued(out_ports, packets, port, packet, cycle):
            _leave(net, packets, port, packet, cycle)
            if not is_at_rest(out_ports, port):
                _wake(net, port)
        else:
            queue_packet(out_ports, packets, port, packets.pool[packet].lane, packet, cycle)
            out_ports.sleep[port].until = 0
            _wake(net, port)
            if is_idle and not is_decided:
                net.busy[count] = port
                count += 1
        packet = following
    return count


@inner
def _leave(net: Network, packets: Packets, port: int, packet: int, cycle: int) -> None:
    """Send a started packet to the far end of its cable."""
    out_ports = net.out_ports
    net.clock[MOVED] = cycle
    packets.pool[packet].lane = out_ports.sending[port].lane
    flits = packets.pool[packet].flits
    late = send_delay(net.switches) if port < len(net.switches.inputs.port) else 0
    depart(net, packets, packet, port, cycle + cycles_on_link(out_ports, port, flits) - flits + late)


@inner
def _send(net: Network, packets: Packets, cycle: int) -> None:
    """Execute the link requests of a cycle and run the egress schedulers of the awake ports."""
    out_ports, inputs = net.out_ports, net.switches.inputs
    count = list_members(net.awake, inputs.word_bits, net.busy)
    count = _request_links(net, packets, count, cycle)
    count = list_free(out_ports, net.busy, count, cycle)
    last = count - 2 * AHEAD if are_many(out_ports.queues) else 0
    sleeps = may_sleep(out_ports) and len(net.outside) == 0
    for index in range(count):
        if index < last:
            load_port(out_ports, net.busy[index + 2 * AHEAD])
            load_heads(out_ports, packets, net.busy[index + AHEAD])
        port = net.busy[index]
        cable = net.wiring.cable[port]
        wake_up(out_ports, port, cycle)
        sends_fcp = send_due_fcp(out_ports, port, cable.peer, cycle, cable.flight)
        is_free = not sends_fcp and out_ports.free_from[port] <= cycle
        packet = start_packet(out_ports, packets, port, cycle, is_free)
        if is_free and is_at_rest(out_ports, port) and not fcp_may_become_due(out_ports, port, cycle):
            net.awake[word_of(inputs, port)] &= ~bit_of(inputs, port)
        if packet != NOBODY:
            _leave(net, packets, port, packet, cycle)
        elif sleeps and is_free:
            fall_asleep(out_ports, port, cycle)


@inner
def _wake_all(net: Network) -> None:
    """Wake every cabled port."""
    for end in range(len(net.wiring.cable)):
        if net.wiring.cable[end].peer != NOWHERE:
            _wake(net, end)


@inner
def wake_all_up(net: Network) -> None:
    """Wake the sleeping ports of this part, so that all counts are up to date."""
    for end in range(len(net.wiring.cable)):
        if not is_foreign(net.border, end):
            wake_up(net.out_ports, end, net.clock[NOW])


@inner
def why_not(net: Network, packets: Packets, end: int) -> int:
    """Return why the next cycle cannot run, or -1 if it can."""
    if net.clock[NOW] >= end:
        return DONE
    if len(packets.pool) - packets.regs[IN_USE] < net.staged.size:
        return POOL_EMPTY
    if net.sources.mtu != 0 and are_few(packets.messages, net.staged.size):
        return POOL_EMPTY
    if len(net.meters.trace) > 0 and len(net.meters.trace) - net.meters.traced[0] < len(net.staged):
        return TRACE_FULL
    if packets.regs[IN_USE] != 0 and net.clock[NOW] - 1 - net.clock[MOVED] > net.patience:
        return STUCK
    return -1


@inner
def run_cycle(net: Network, packets: Packets) -> None:
    """Run a cycle."""
    cycle, period = net.clock[NOW], fcp_period(net.out_ports.remote)
    if period != 0 and cycle % period == 0:
        _wake_all(net)
    _apply_immediate_credits(net, cycle)
    _return_credits(net.out_ports.starvation, net, cycle)
    list_waiting(net.switches)
    _events(net, packets, cycle)
    _switch(net, packets, cycle)
    sweep(net.pacing, cycle - 1)
    for nic in range(len(net.staged)):
        inject(net.pacing, net, packets, nic, nic_end(net, nic), cycle)
    _send(net, packets, cycle)
    if packets.regs[IN_USE] == 0:
        net.clock[MOVED] = cycle
    net.clock[NOW] = cycle + 1


@kernel
def run(net: Network, packets: Packets, end: int) -> int:
    """Run up to cycle ``end`` and return the reason for stopping.

    Except after ``STUCK``, the run can be resumed.
    """
    reason = why_not(net, packets, end)
    while reason < 0:
        run_cycle(net, packets)
        reason = why_not(net, packets, end)
    wake_all_up(net)
    return reason
