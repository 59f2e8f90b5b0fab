"""Rows of a switch of either kind: golden's switch, its upstream senders and downstream receivers.

Links have a flight time of 1: the switch's outputs of a cycle reach its neighbours in the same cycle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.pool import allocate_record, free_record
from vlane.golden.engine.random_bits import draw_below, draw_bits
from vlane.golden.links.returns import flits_moved
from vlane.golden.links.room import fits, occupy, release
from vlane.golden.switches.credit_starvation import note_grant, note_waiting
from vlane.golden.switches.inputs import DROPPED, drop_cause
from vlane.golden.switches.kinds import allocate, receive_packet, send_delay, store_in_centre, vls_cross_independently
from vlane.golden.switches.marking import note_dequeued, note_link_pause, note_queued
from vlane.golden.switches.output_ports import queue_packet, start_packet
from vlane.golden.switches.packets import (
    BECN,
    EVENTS,
    FECN,
    NOBODY,
    TO_CENTRE,
    TO_INPUT,
    TO_OUTPUT,
    pop_event,
    schedule,
)
from vlane.packets.drop_cause import DropCause
from vlane.tables.lft import PERMISSIVE
from vlane.tb.machinery.native.crosses import Happened, note_rules
from vlane.tb.machinery.native.packing import clear_row, put
from vlane.tb.switches.draws_switch import draw_dlid, draw_lane
from vlane.tb.switches.flits import FECN_BIT, WORDS_PER_BLOCK, first_word, flit_word, header_of, is_markable
from vlane.tb.switches.marking_writes import apply_marking
from vlane.tb.switches.phases_switch import CERTAIN
from vlane.tb.switches.row_layout import (
    DATA,
    FIRST,
    LAST,
    VALID,
    VL,
    RowLayout,
    dropped_at,
    programs_at,
    ready_at,
    received_credit_at,
    rx_at,
    sent_credit_at,
    tx_at,
)
from vlane.tb.switches.rows_credit import (
    RECEIVED_BLOCKS,
    RETURNED_BLOCKS,
    RETURNED_LANES,
    count_returned,
    fields,
    receive_credit,
    send_fcp,
    show_received,
    show_returned,
)
from vlane.tb.switches.starvation_rows import apply_starvation, freed_before, hold
from vlane.tb.switches.surroundings_switch import (
    CLOCK,
    GAPS,
    GRANTED,
    MARKED,
    NO_ROOM,
    NO_VL,
    ONE_FLIT,
    PORT_0,
    RING,
    SERIAL,
    SEVERAL,
    STALLED,
    STARTED,
    STARTS,
    TOLD,
    TOO_LARGE,
    UNKNOWN,
    WAITED,
    SwitchSurroundings,
)
from vlane.tb.switches.switch_kinds import count_kinds, describe, drop_delay, has_place, note_full, stamp_of, stamped
from vlane.tb.switches.table_writes import apply_write, draw_write, show_write

(_NONE, _UNKNOWN_LID, _NO_VL, _PORT_0, _NO_ROOM) = map(int, DropCause)
_CAUSE_RULES = (-1, UNKNOWN, NO_VL, PORT_0, NO_ROOM)
"""Rule that counts each drop cause."""
(C_SEND, C_HEAR, C_LEAST, C_MOST, C_HOT, C_WRITE, C_BAD, C_RECKLESS, C_STALL, C_GAP) = range(10)
_MOST_BLOCKS = 128
_LONGEST_STALL = 50
_UNNOTICED = 2
"""Total number of cycles between a packet's flits that have no effect (IBS-H3)."""


@inner
def _cause(surroundings: SwitchSurroundings, packet: int) -> int:
    """Return the drop cause of a packet as the hardware reports it. Golden does not distinguish port 0."""
    dlid = surroundings.packets.pool[packet].dlid
    if drop_cause(surroundings.packets.pool[packet]) == _NO_VL:
        return _NO_VL
    listed = 0 < dlid <= surroundings.top[0] and dlid < len(surroundings.lft)
    to_port_0 = dlid == PERMISSIVE or (listed and surroundings.lft[dlid] == 0)
    return _PORT_0 if to_port_0 else _UNKNOWN_LID


@inner
def _events(surroundings: SwitchSurroundings, cycle: int, rules: NDArray[np.int64]) -> None:
    """Process golden's packets that reach inputs and outputs in this cycle."""
    packets = surroundings.packets
    for event in range(EVENTS):
        packet = pop_event(packets, cycle, event)
        while packet != NOBODY:
            following = packets.pool[packet].next
            _handle_event(surroundings, packet, event, cycle, rules)
            packet = following


@inner
def _handle_event(
    surroundings: SwitchSurroundings, packet: int, event: int, cycle: int, rules: NDArray[np.int64]
) -> None:
    packets = surroundings.packets
    place = int(packets.pool[packet].place)
    if event == TO_INPUT:
        lane = int(packets.pool[packet].lane)
        receive_packet(surroundings.switches, packets, place, packet, cycle)
        note_queued(surroundings.out_ports.marking, surroundings.switches.inputs, packets, place, lane, packet, cycle)
        note_waiting(surroundings.out_ports.starvation, place, lane, packets.pool[packet].blocks)
        if packets.pool[packet].output == DROPPED:
            cause = _cause(surroundings, packet)
            surroundings.dropped[place, (cycle + drop_delay(surroundings.switches)) % RING] = cause
            rules[_CAUSE_RULES[cause]] += 1
    elif event == TO_OUTPUT:
        queue_packet(surroundings.out_ports, packets, place, packets.pool[packet].lane, packet, cycle)
    elif event == TO_CENTRE:
        store_in_centre(surroundings.switches, packets, place, packet)
    else:
        free_record(packets, packet)


@inner
def _switch(surroundings: SwitchSurroundings, cycle: int, rules: NDArray[np.int64]) -> None:
    """Run golden's allocation and schedule the credit returns of the granted packets."""
    count = allocate(surroundings.switches, surroundings.out_ports, surroundings.packets, cycle, surroundings.grants)
    rules[GRANTED] += count
    rules[SEVERAL] += count > 1
    count_kinds(surroundings.switches, surroundings, count, rules)
    for index in range(count):
        grant = surroundings.grants[index]
        port, packet, lane = grant.port, grant.packet, grant.lane
        if port == NOBODY:
            continue
        note_dequeued(
            surroundings.out_ports.marking,
            surroundings.switches.inputs,
            surroundings.packets,
            port,
            lane,
            packet,
            cycle,
        )
        field = surroundings.packets.pool[packet]
        note_grant(surroundings.out_ports.starvation, port, lane, field.blocks)
        crossing, _ = freed_before(surroundings.out_ports.starvation, surroundings, port, (cycle + 1) % RING)
        if vls_cross_independently(surroundings.switches):
            crossing &= 1 << lane
        rules[ONE_FLIT] += field.flits == 1 and crossing != 0
        since, before = cycle, 0
        while before < field.flits:
            since += 1
            moved = min(flits_moved(surroundings.out_ports.returns, since - cycle, cycle - field.arrived), field.flits)
            returned = surroundings.back[port, (since + 1) % RING]
            returned[RETURNED_LANES] |= 1 << lane
            returned[RETURNED_BLOCKS] = moved - before
            before = moved


@inner
def _stall(surroundings: SwitchSurroundings, chances: NDArray[np.int64], bits: NDArray[np.uint64], cycle: int) -> None:
    """Draw which links stall from this cycle on."""
    for port in range(len(surroundings.tx)):
        if draw_below(bits, CERTAIN) < chances[C_STALL]:
            surroundings.stalled[port] = cycle + 1 + draw_below(bits, _LONGEST_STALL)


@inner
def _send(surroundings: SwitchSurroundings, cycle: int, rules: NDArray[np.int64]) -> None:
    """Run golden's schedulers and record the flits that the links show from the next cycle on."""
    out_ports, packets = surroundings.out_ports, surroundings.packets
    for port in range(len(surroundings.tx)):
        is_stalled, is_free = surroundings.stalled[port] > cycle, out_ports.free_from[port] <= cycle
        rules[STALLED] += is_stalled and out_ports.queues.filled[port].lanes != 0
        ready = is_free and not is_stalled
        if is_free and is_stalled:
            note_link_pause(out_ports.marking, port, cycle, cycle + 1)
        sends_fcp = ready and send_fcp(surroundings.remote, surroundings, port, cycle)
        rules[TOLD] += sends_fcp and out_ports.queues.filled[port].lanes != 0
        packet = start_packet(out_ports, packets, port, cycle, ready and not sends_fcp)
        if packet == NOBODY:
            rules[WAITED] += ready and not sends_fcp and out_ports.queues.filled[port].lanes != 0
            continue
        rules[STARTED] += 1
        surroundings.regs[STARTS] += 1
        flits, is_marked = packets.pool[packet].flits, packets.pool[packet].bth == FECN
        rules[MARKED] += is_marked
        first = cycle + 1 + send_delay(surroundings.switches)
        for place in range(flits):
            shown = surroundings.tx[port, (first + place) % RING]
            shown.lane, shown.last = out_ports.sending[port].lane + 1, int(place == flits - 1)
            shown.number, shown.place, shown.header = surroundings.number[packet], place, surroundings.header[packet]
            shown.fecn = is_marked
            shown.stamp = stamp_of(surroundings.switches, packets.pool[packet], out_ports.sending[port].lane)
        free_record(packets, packet)


@inner
def _begin(
    surroundings: SwitchSurroundings,
    port: int,
    cycle: int,
    chances: NDArray[np.int64],
    bits: NDArray[np.uint64],
    words: int,
    rules: NDArray[np.int64],
) -> None:
    """Start a packet at a sender that has credit, or is reckless. Golden receives it if its buffer has space."""
    reckless = chances[C_RECKLESS] != 0
    lanes = surroundings.up.taken.shape[1]
    lane = draw_lane(surroundings, bits, reckless)
    blocks = chances[C_LEAST] + draw_below(bits, chances[C_MOST] - chances[C_LEAST] + 1)
    if reckless:
        special = draw_below(bits, 16)
        blocks = 1 + draw_below(bits, _MOST_BLOCKS) if special == 0 else chances[C_MOST] + 1 if special == 1 else blocks
    if draw_below(bits, CERTAIN) >= chances[C_SEND] or not (reckless or fits(surroundings.up, port, lane, blocks)):
        return
    dlid = draw_dlid(surroundings, bits, chances[C_BAD], chances[C_HOT])
    passes, sl, channel, stamp = describe(surroundings.switches, lane, bits)
    sending = surroundings.sending[port]
    surroundings.regs[SERIAL] += 1
    sending.left, sending.lane, sending.number, sending.place = blocks, lane, surroundings.regs[SERIAL], 0
    sending.pauses = _UNNOTICED
    pktlen = WORDS_PER_BLOCK * (blocks - 1) + draw_below(bits, WORDS_PER_BLOCK)
    sending.header, sending.stamp = int(draw_bits(bits) & passes | header_of(sl, dlid, pktlen)), stamp
    if not reckless:
        occupy(surroundings.up, port, lane, blocks)
    has_room, largest = (
        lane < lanes and has_place(surroundings.switches, surroundings, port, lane, blocks, cycle),
        surroundings.out_ports.largest[0],
    )
    if blocks > largest or not has_room:
        surroundings.dropped[port, (cycle + 2 + drop_delay(surroundings.switches)) % RING] = _NO_ROOM
        rules[NO_ROOM] += 1
        rules[TOO_LARGE] += has_room and blocks == largest + 1
        return
    occupy(surroundings.input_buffers, port, lane, blocks)
    packet = allocate_record(surroundings.packets)
    field = surroundings.packets.pool[packet]
    field.blocks, field.flits, field.dlid, field.sl = blocks, blocks, dlid, sl
    field.lane, field.channel, field.hops = lane, channel, 0
    second = first_word(sending.number, words - 2)
    field.bth = (
        0 if words > 1 and is_markable(sending.header, second) else BECN
    )  # golden marks every packet that is no CNP
    surroundings.header[packet], surroundings.number[packet] = sending.header, sending.number
    schedule(surroundings.packets, packet, cycle + 2, TO_INPUT, port)


@inner
def _pauses(
    surroundings: SwitchSurroundings,
    port: int,
    chances: NDArray[np.int64],
    bits: NDArray[np.uint64],
    rules: NDArray[np.int64],
) -> bool:
    """Draw whether a sender pauses before a packet's next flit."""
    sending = surroundings.sending[port]
    if chances[C_GAP] == 0 or sending.place == 0 or sending.pauses == 0 or draw_below(bits, CERTAIN) >= chances[C_GAP]:
        return False
    sending.pauses -= 1
    rules[GAPS] += 1
    return True


@inner
def _receive_credit(
    surroundings: SwitchSurroundings, port: int, chances: NDArray[np.int64], bits: NDArray[np.uint64]
) -> None:
    """Draw the blocks that a receiver frees and returns. The sender counts at most its used blocks."""
    reckless = chances[C_RECKLESS] != 0
    lane = draw_lane(surroundings, bits, reckless)
    surroundings.received_credit[port, RECEIVED_BLOCKS] = 0
    if draw_below(bits, CERTAIN) < chances[C_HEAR]:
        receive_credit(
            surroundings.remote, surroundings, port, lane, surroundings.out_ports.returns.speed, reckless, bits
        )


@inner
def _show_flit(
    surroundings: SwitchSurroundings,
    rows: NDArray[np.uint64],
    row: int,
    where: NDArray[np.int64],
    first: int,
    words: int,
    lane: int,
    is_last: bool,  # noqa: FBT001 - kernels take positions only
    header: int,
    stamp: int,
    number: int,
    place: int,
    fecn: int,
) -> None:
    put(rows, row, where, first + VALID, 1)
    put(rows, row, where, first + VL, lane)
    put(rows, row, where, first + FIRST, place == 0)
    put(rows, row, where, first + LAST, is_last)
    for word in range(words):
        value: Any = first_word(number, word) if place == 0 else flit_word(number, place, word)
        if place == 0 and word == words - 1:
            value = stamped(surroundings.switches, header, stamp)
        if fecn and place == 0 and word == words - 2:
            value |= np.uint64(1) << np.uint64(FECN_BIT)
        put(rows, row, where, first + DATA + word, value)


@inner
def _free_returned_space(surroundings: SwitchSurroundings, slot: int) -> None:
    """Return the blocks whose return is shown in a cycle to the input buffers."""
    for port in range(len(surroundings.tx)):
        lanes, freed = freed_before(surroundings.out_ports.starvation, surroundings, port, slot)
        while lanes != 0:
            release(surroundings.input_buffers, port, lowest_member(lanes), freed)
            lanes &= lanes - 1
        returned = surroundings.back[port, slot]
        lanes = returned[RETURNED_LANES]
        while lanes != 0:
            lane = lowest_member(lanes)
            lanes &= lanes - 1
            count_returned(surroundings.remote, port, lane, returned[RETURNED_BLOCKS])


@kernel
def fill_rows(
    surroundings: SwitchSurroundings,
    chances: NDArray[np.int64],
    bits: NDArray[np.uint64],
    words: int,
    ins: NDArray[np.int64],
    outs: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
    happened: Happened,
) -> None:
    """Write one row of inputs and of expected outputs per cycle."""
    ports = len(surroundings.tx)
    layout = RowLayout(ports, words, fields(surroundings.remote, surroundings.switches))
    for row in range(len(rows)):
        clear_row(rows, row)
        clear_row(expected, row)
        cycle = surroundings.regs[CLOCK]
        slot = cycle % RING
        apply_write(surroundings, cycle - 2)
        apply_marking(surroundings.out_ports.marking, surroundings, cycle - 1)
        apply_starvation(surroundings.out_ports.starvation, surroundings, cycle - 1)
        _free_returned_space(surroundings, slot)
        note_full(surroundings.switches, surroundings, cycle)
        hold(surroundings.out_ports.starvation, surroundings, cycle, rules)
        _events(surroundings, cycle, rules)
        _switch(surroundings, cycle, rules)
        for port in range(ports):
            _receive_credit(surroundings, port, chances, bits)
        _stall(surroundings, chances, bits, cycle)
        _send(surroundings, cycle, rules)
        for port in range(ports):
            sending = surroundings.sending[port]
            if sending.left == 0:
                _begin(surroundings, port, cycle, chances, bits, words, rules)
            if sending.left > 0 and not _pauses(surroundings, port, chances, bits, rules):
                sending.left -= 1
                _show_flit(
                    surroundings,
                    rows,
                    row,
                    ins,
                    rx_at(layout, port),
                    words,
                    sending.lane,
                    sending.left == 0,
                    sending.header,
                    sending.stamp,
                    sending.number,
                    sending.place,
                    0,
                )
                sending.place += 1
            show_received(surroundings.remote, surroundings, port, rows, row, ins, received_credit_at(layout, port))
            put(rows, row, ins, ready_at(layout, port), surroundings.stalled[port] <= cycle)
            _show_port(surroundings, layout, port, slot, outs, expected, row)
        if draw_below(bits, CERTAIN) < chances[C_WRITE]:
            rule, is_enabled = draw_write(surroundings, cycle % 4, bits), draw_below(bits, 8) != 0
            rules[rule] += is_enabled
            show_write(surroundings, cycle % 4, rows, row, ins, programs_at(layout), is_enabled)
        note_rules(happened, rules, row)
        surroundings.regs[CLOCK] = cycle + 1


@inner
def _show_port(
    surroundings: SwitchSurroundings,
    layout: RowLayout,
    port: int,
    slot: int,
    outs: NDArray[np.int64],
    expected: NDArray[np.uint64],
    row: int,
) -> None:
    """Write the outputs of a port in a cycle, and pass them to its neighbours."""
    shown = surroundings.tx[port, slot]
    if shown.lane != 0:
        _show_flit(
            surroundings,
            expected,
            row,
            outs,
            tx_at(layout, port),
            layout.words,
            shown.lane - 1,
            shown.last != 0,
            shown.header,
            shown.stamp,
            shown.number,
            shown.place,
            shown.fecn,
        )
        surroundings.owed[port, shown.lane - 1] += 1
        shown.lane = 0
    show_returned(surroundings.remote, surroundings, port, slot, expected, row, outs, sent_credit_at(layout, port))
    put(expected, row, outs, dropped_at(layout, port), surroundings.dropped[port, slot])
    surroundings.dropped[port, slot] = 0
