"""Kernel of the switch oracles: golden handles packets by their heads, the oracle stores the flit data.

Golden derives a packet's size from its head and expects the flits in consecutive cycles, as the contract demands. The
hardware would wait for a missing flit. The oracle counts a missing flit as rule ``broken`` instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.pool import allocate_record, free_record
from vlane.golden.engine.ports import at_port
from vlane.golden.engine.restored import restore
from vlane.golden.links.returns import flits_moved
from vlane.golden.links.room import fits, occupy, release
from vlane.golden.oracle.switch_kinds import (
    apply_received_credit,
    channel_of,
    count_returned,
    outgoing_channel_field,
    program,
    receive_credit,
    request_swap,
    reset_scheduler,
    restore_switches,
    send_fcp,
    with_channel_field,
    write_credit_outputs,
    write_map,
)
from vlane.golden.oracle.switch_machine import (
    BROKEN,
    CLOCK,
    DROPPED,
    FREE_SLOT,
    GRANTED,
    REFUSED,
    RING,
    SLOTS_LEFT,
    STARTED,
    TOP,
    SwitchMachine,
)
from vlane.golden.oracle.words import WORD_BITS, clear, flag, get, put, read, write
from vlane.golden.schedulers.bank import is_swapping
from vlane.golden.switches import inputs as golden_inputs
from vlane.golden.switches.kinds import allocate, receive_packet, store_in_centre
from vlane.golden.switches.output_ports import queue_packet, start_packet
from vlane.golden.switches.packets import EVENTS, NOBODY, TO_CENTRE, TO_INPUT, TO_OUTPUT, pop_event, schedule
from vlane.packets.drop_cause import DropCause
from vlane.tables.lft import PERMISSIVE, UNASSIGNED

(_, _UNKNOWN_LID, _NO_VL, _PORT_0, _NO_ROOM) = map(int, DropCause)
(_VALID, _VL, _FIRST, _LAST, _DATA) = range(5)
_FIELDS = 5
(_LFT_ENABLE, _LFT_TOP, _LFT_LID, _LFT_PORT, _MAP) = range(5)
(_SELECT, _INDEX, _NAME, _WEIGHT) = range(1, 5)
(_RETURNED_LANES, _RETURNED_BLOCKS) = range(2)


@kernel
def switch_cycle(machine: SwitchMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle."""
    state, out_ports = machine.state, machine.out_ports
    ports, cycle = len(state.arriving), state.regs[CLOCK]
    slot = cycle % RING
    clear(output_words)
    _apply_write(machine, cycle - golden_inputs.ROUTED)
    _free_returned_space(machine, slot)
    _events(machine, cycle)
    _allocate(machine, cycle)
    for port in range(ports):
        receive_credit(out_ports.remote_credit, machine, input_words, port)
        _run_output(machine, input_words, port, cycle)
    for port in range(ports):
        _receive_flit(machine, input_words, port, cycle)
        apply_received_credit(out_ports.remote_credit, machine.received_credit[port], port)
        _write_port_outputs(machine, output_words, port, slot)
    _store_write(machine, input_words, cycle)
    state.regs[CLOCK] = cycle + 1
    if flag(input_words, machine.ready, ports):
        _reset(machine, cycle)


@inner
def _store_write(machine: SwitchMachine, input_words: NDArray[np.uint64], cycle: int) -> None:
    """Store the table writes at the program ports, valid for heads that arrive from this cycle on."""
    written = machine.written[cycle & 3]
    for field in range(len(machine.lft_places)):
        written[field] = read(input_words, machine.lft_places, field)
    for field in range(len(machine.map_places)):
        written[_MAP + field] = read(input_words, machine.map_places, field)


@inner
def _apply_write(machine: SwitchMachine, cycle: int) -> None:
    """Apply the table writes of a cycle to golden's tables."""
    written, state = machine.written[cycle & 3], machine.state
    if written[_LFT_ENABLE] != 0:
        lid = written[_LFT_LID]
        if written[_LFT_TOP] != 0:
            state.regs[TOP] = lid
            for each in range(len(machine.lft)):
                _route_lid(machine, each)
        elif lid < len(machine.lft):
            machine.lft[lid] = written[_LFT_PORT]
            _route_lid(machine, lid)
    if written[_MAP] != 0:
        write_map(machine.switches, len(state.arriving), written[_MAP:])
    written[_LFT_ENABLE], written[_MAP] = 0, 0


@inner
def _route_lid(machine: SwitchMachine, lid: int) -> None:
    """Set golden's output (from 0) for a LID, from the programmed entry (ports from 1) and the top of the table."""
    port, top = machine.lft[lid], machine.state.regs[TOP]
    is_routed = 0 < lid <= top and 0 < port <= len(machine.state.arriving)
    machine.switches.inputs.lft[0, lid] = port - 1 if is_routed else UNASSIGNED


@inner
def _free_returned_space(machine: SwitchMachine, slot: int) -> None:
    """Free the input-buffer space that is reported as returned in this cycle."""
    state = machine.state
    for port in range(len(state.arriving)):
        returned = state.freed_lanes[port, slot]
        lanes = returned[_RETURNED_LANES]
        while lanes != 0:
            lane = lowest_member(lanes)
            lanes &= lanes - 1
            release(state.input_buffers, port, lane, returned[_RETURNED_BLOCKS])
            count_returned(machine.out_ports.remote_credit, port, lane, returned[_RETURNED_BLOCKS])


@inner
def _events(machine: SwitchMachine, cycle: int) -> None:
    """Execute the packet events of a cycle."""
    packets = machine.state.packets
    for event in range(EVENTS):
        packet = pop_event(packets, cycle, event)
        while packet != NOBODY:
            following = packets.pool[packet].next
            _handle_event(machine, packet, event, cycle)
            packet = following


@inner
def _handle_event(machine: SwitchMachine, packet: int, event: int, cycle: int) -> None:
    packets = machine.state.packets
    place = int(packets.pool[packet].event_place)
    if event == TO_INPUT:
        receive_packet(machine.switches, packets, place, packet, cycle)
        if packets.pool[packet].output == golden_inputs.DROPPED:
            machine.state.dropped[place, cycle % RING] = _drop_cause(machine, packet)
            machine.rules[DROPPED] += 1
    elif event == TO_OUTPUT:
        queue_packet(machine.out_ports, packets, place, packets.pool[packet].lane, packet, cycle)
    elif event == TO_CENTRE:
        store_in_centre(machine.switches, packets, place, packet)
    else:
        _free_packet(machine, packet)


@inner
def _drop_cause(machine: SwitchMachine, packet: int) -> int:
    """Return the drop cause of a packet as the hardware reports it."""
    field, top = machine.state.packets.pool[packet], machine.state.regs[TOP]
    if golden_inputs.drop_cause(field) == _NO_VL:
        return _NO_VL
    listed = 0 < field.dlid <= top and field.dlid < len(machine.lft)
    return _PORT_0 if field.dlid == PERMISSIVE or (listed and machine.lft[field.dlid] == 0) else _UNKNOWN_LID


@inner
def _free_packet(machine: SwitchMachine, packet: int) -> None:
    """Free a dropped packet's record and the slots of its flits."""
    state = machine.state
    for port in range(len(state.arriving)):
        arriving = state.arriving[port]
        if arriving.packet == packet:
            arriving.slot, arriving.packet = NOBODY, NOBODY
    slot = state.first_slot[packet]
    for _ in range(state.packets.pool[packet].flits):
        following = state.next_slot[slot]
        _free_slot(machine, slot)
        slot = following
    free_record(state.packets, packet)


@inner
def _free_slot(machine: SwitchMachine, slot: int) -> None:
    regs = machine.state.regs
    machine.state.next_slot[slot] = regs[FREE_SLOT]
    regs[FREE_SLOT] = slot
    regs[SLOTS_LEFT] += 1


@inner
def _allocate(machine: SwitchMachine, cycle: int) -> None:
    """Run golden's allocation and schedule the reports of freed input blocks."""
    packets, back = machine.state.packets, machine.state.freed_lanes
    count = allocate(machine.switches, machine.out_ports, packets, cycle, machine.grants)
    machine.rules[GRANTED] += count
    for index in range(count):
        grant = machine.grants[index]
        if grant.port == NOBODY:
            continue
        field = packets.pool[grant.packet]
        since, before = cycle, 0
        while before < field.flits:
            since += 1
            moved = min(flits_moved(machine.out_ports.returns, since - cycle, cycle - field.head_arrival), field.flits)
            returned = back[grant.port, (since + 1) % RING]
            returned[_RETURNED_LANES] |= 1 << grant.lane
            returned[_RETURNED_BLOCKS] = moved - before
            before = moved


@inner
def _run_output(machine: SwitchMachine, input_words: NDArray[np.uint64], port: int, cycle: int) -> None:
    """Run an output's scheduler and its program port. Schedule the flits of a packet that starts."""
    out_ports, state, places = machine.out_ports, machine.state, machine.schedule_places
    packets, ports = state.packets, len(state.arriving)
    scheduler, sending = at_port(out_ports.bank, port), out_ports.sending[port]
    resets = flag(input_words, machine.ready, ports)
    writes = flag(input_words, places, 0) and flag(input_words, places, _FIELDS + port) and not resets
    if flag(input_words, places, _FIELDS + ports + port):
        request_swap(scheduler)
        sending.idle_decisions = 0  # the exchange in the next ready cycle changes the state
    swapping = is_swapping(scheduler)
    ready = out_ports.free_from[port] <= cycle and flag(input_words, machine.ready, port)
    sends_fcp = ready and send_fcp(out_ports.remote_credit, machine, port, cycle)
    packet = start_packet(out_ports, packets, port, cycle, ready and not sends_fcp)
    if writes and not (swapping and not is_swapping(scheduler)):
        program(
            scheduler,
            (
                1,
                read(input_words, places, _SELECT),
                read(input_words, places, _INDEX),
                read(input_words, places, _NAME),
                read(input_words, places, _WEIGHT),
            ),
        )
        sending.idle_decisions = 0
    if packet == NOBODY:
        return
    machine.rules[STARTED] += 1
    field, slot = packets.pool[packet], state.first_slot[packet]
    for place in range(field.flits):
        shown = state.tx[port, (cycle + 1 + place) % RING]
        shown.lane, shown.first, shown.last = sending.lane + 1, place == 0, place == field.flits - 1
        shown.slot, shown.stamp = slot, outgoing_channel_field(machine.switches, field, sending.lane)
        slot = state.next_slot[slot]
    for each in range(ports):  # the tail may still arrive, but the number is now free for another packet
        if state.arriving[each].packet == packet:
            state.arriving[each].packet = NOBODY
    free_record(packets, packet)


@inner
def _receive_flit(machine: SwitchMachine, input_words: NDArray[np.uint64], port: int, cycle: int) -> None:
    """Accept an arriving flit, and start its packet if it is the first. Count violations of the contract."""
    rx, first = machine.rx, _FIELDS * port
    arriving, rules = machine.state.arriving[port], machine.rules
    if not flag(input_words, rx, first + _VALID):
        rules[BROKEN] += arriving.flits_left != 0
        return
    if flag(input_words, rx, first + _FIRST):
        rules[BROKEN] += arriving.flits_left != 0
        _begin_packet(machine, input_words, port, cycle)
    elif arriving.flits_left == 0:
        rules[BROKEN] += 1
        return
    slot = arriving.slot
    if slot != NOBODY:
        for word in range(machine.flits.shape[1]):
            machine.flits[slot, word] = get(input_words, rx[first + _DATA, 0] + WORD_BITS * word, WORD_BITS)
        arriving.slot = machine.state.next_slot[slot] if arriving.flits_left > 1 else NOBODY
    arriving.flits_left -= 1
    rules[BROKEN] += (arriving.flits_left == 0) != flag(input_words, rx, first + _LAST)


@inner
def _begin_packet(machine: SwitchMachine, input_words: NDArray[np.uint64], port: int, cycle: int) -> None:
    """Refuse an arriving packet without buffer space, otherwise reserve the space and schedule the routing."""
    state, out_ports, first = machine.state, machine.out_ports, _FIELDS * port
    header = get(input_words, machine.rx[first + _DATA, 0] + machine.data_bits - WORD_BITS, WORD_BITS)
    lane = read(input_words, machine.rx, first + _VL)
    blocks = (int(header >> np.uint64(16) & np.uint64(0x7FF)) + 16) >> 4
    arriving = state.arriving[port]
    arriving.flits_left, arriving.slot, arriving.packet = blocks, NOBODY, NOBODY
    is_there = lane < state.input_buffers.lane.shape[1] and blocks <= out_ports.largest[0]
    spared = state.packets.regs[0] != NOBODY and state.regs[SLOTS_LEFT] >= blocks  # buffers fill first
    if not (is_there and spared and fits(state.input_buffers, port, lane, blocks)):
        state.dropped[port, (cycle + golden_inputs.ROUTED) % RING] = _NO_ROOM
        machine.rules[REFUSED] += 1
        return
    occupy(state.input_buffers, port, lane, blocks)
    packet = allocate_record(state.packets)
    field = state.packets.pool[packet]
    field.blocks, field.flits, field.lane, field.hops = blocks, blocks, lane, 0
    field.dlid, field.sl = (
        int(header >> np.uint64(32) & np.uint64(0xFFFF)),
        int(header >> np.uint64(52) & np.uint64(15)),
    )
    field.channel = channel_of(machine.switches, header)
    slot = state.regs[FREE_SLOT]
    state.first_slot[packet], arriving.slot, arriving.packet = slot, slot, packet
    for _ in range(blocks):
        slot = state.next_slot[slot]
    state.regs[FREE_SLOT] = slot
    state.regs[SLOTS_LEFT] -= blocks
    schedule(state.packets, packet, cycle + golden_inputs.ROUTED, TO_INPUT, port)


@inner
def _write_port_outputs(machine: SwitchMachine, output_words: NDArray[np.uint64], port: int, slot: int) -> None:
    """Write a port's outgoing flit, its credit reports and its drop cause to the outputs."""
    state, tx, first = machine.state, machine.tx, _FIELDS * port
    flit = state.tx[port, slot]
    if flit.lane != 0:
        write(output_words, tx, first + _VALID, 1)
        write(output_words, tx, first + _VL, flit.lane - 1)
        write(output_words, tx, first + _FIRST, flit.first)
        write(output_words, tx, first + _LAST, flit.last)
        words = machine.flits.shape[1]
        for word in range(words):
            value: Any = machine.flits[flit.slot, word]
            if flit.first != 0 and word == words - 1:
                value = with_channel_field(machine.switches, value, flit.stamp)
            put(output_words, tx[first + _DATA, 0] + WORD_BITS * word, WORD_BITS, value)
        _free_slot(machine, flit.slot)
        flit.lane = 0
    write_credit_outputs(machine.out_ports.remote_credit, machine, port, slot, output_words)
    write(output_words, machine.dropped_places, port, state.dropped[port, slot])
    state.dropped[port, slot] = 0


@inner
def _reset(machine: SwitchMachine, cycle: int) -> None:
    """Reset the switch. Memories keep their contents, and pending writes still reach them."""
    for ago in (1, 0):
        _apply_write(machine, cycle - ago)
    out_ports, reset_ports = machine.out_ports, machine.reset_ports
    for port in range(len(machine.state.arriving)):
        reset_scheduler(at_port(out_ports.bank, port))
    restore(out_ports.queues, reset_ports.queues)
    restore(out_ports.head, reset_ports.head)
    restore(out_ports.buffer, reset_ports.buffer)
    restore(out_ports.remote_credit, reset_ports.remote_credit)
    restore(out_ports.returns, reset_ports.returns)
    restore(out_ports.sending, reset_ports.sending)
    restore(out_ports.free_from, reset_ports.free_from)
    restore(machine.state, machine.reset_state)
    restore_switches(machine.switches, machine.reset_switches)
