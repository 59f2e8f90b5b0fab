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
from vlane.tb.machinery.native.crosses import EventLog, log_rules
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
    credit_fields,
    receive_credit,
    send_fcp,
    write_received_credit,
    write_sent_credit,
)
from vlane.tb.switches.starvation_rows import apply_starvation, blocks_freed_before, hold_credits
from vlane.tb.switches.switch_environment import (
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
    SwitchEnvironment,
)
from vlane.tb.switches.switch_kinds import (
    count_grant_rules,
    draw_packet,
    drop_delay,
    has_space,
    note_full,
    outgoing_channel_field,
    with_channel_field,
)
from vlane.tb.switches.table_writes import apply_write, draw_write, write_table_inputs

(_NONE, _UNKNOWN_LID, _NO_VL, _PORT_0, _NO_ROOM) = map(int, DropCause)
_CAUSE_RULES = (-1, UNKNOWN, NO_VL, PORT_0, NO_ROOM)
"""Rule that counts each drop cause."""
(C_SEND, C_HEAR, C_LEAST, C_MOST, C_HOT, C_WRITE, C_BAD, C_RECKLESS, C_STALL, C_GAP) = range(10)
_MOST_BLOCKS = 128
_LONGEST_STALL = 50
_UNNOTICED = 2
"""Total number of cycles between a packet's flits that have no effect (IBS-H3)."""


@inner
def _drop_cause(environment: SwitchEnvironment, packet: int) -> int:
    """Return the drop cause of a packet as the hardware reports it. Golden does not distinguish port 0."""
    dlid = environment.packets.pool[packet].dlid
    if drop_cause(environment.packets.pool[packet]) == _NO_VL:
        return _NO_VL
    listed = 0 < dlid <= environment.top[0] and dlid < len(environment.lft)
    to_port_0 = dlid == PERMISSIVE or (listed and environment.lft[dlid] == 0)
    return _PORT_0 if to_port_0 else _UNKNOWN_LID


@inner
def _process_events(environment: SwitchEnvironment, cycle: int, rule_counts: NDArray[np.int64]) -> None:
    """Process golden's packets that reach inputs and outputs in this cycle."""
    packets = environment.packets
    for event in range(EVENTS):
        packet = pop_event(packets, cycle, event)
        while packet != NOBODY:
            following = packets.pool[packet].next
            _handle_event(environment, packet, event, cycle, rule_counts)
            packet = following


@inner
def _handle_event(
    environment: SwitchEnvironment, packet: int, event: int, cycle: int, rule_counts: NDArray[np.int64]
) -> None:
    packets = environment.packets
    place = int(packets.pool[packet].event_place)
    if event == TO_INPUT:
        lane = int(packets.pool[packet].lane)
        receive_packet(environment.switches, packets, place, packet, cycle)
        note_queued(environment.out_ports.marking, environment.switches.inputs, packets, place, lane, packet, cycle)
        note_waiting(environment.out_ports.starvation, place, lane, packets.pool[packet].blocks)
        if packets.pool[packet].output == DROPPED:
            cause = _drop_cause(environment, packet)
            environment.dropped[place, (cycle + drop_delay(environment.switches)) % RING] = cause
            rule_counts[_CAUSE_RULES[cause]] += 1
    elif event == TO_OUTPUT:
        queue_packet(environment.out_ports, packets, place, packets.pool[packet].lane, packet, cycle)
    elif event == TO_CENTRE:
        store_in_centre(environment.switches, packets, place, packet)
    else:
        free_record(packets, packet)


@inner
def _allocate(environment: SwitchEnvironment, cycle: int, rule_counts: NDArray[np.int64]) -> None:
    """Run golden's allocation and schedule the credit returns of the granted packets."""
    count = allocate(environment.switches, environment.out_ports, environment.packets, cycle, environment.grants)
    rule_counts[GRANTED] += count
    rule_counts[SEVERAL] += count > 1
    count_grant_rules(environment.switches, environment, count, rule_counts)
    for index in range(count):
        grant = environment.grants[index]
        port, packet, lane = grant.port, grant.packet, grant.lane
        if port == NOBODY:
            continue
        note_dequeued(
            environment.out_ports.marking, environment.switches.inputs, environment.packets, port, lane, packet, cycle
        )
        field = environment.packets.pool[packet]
        note_grant(environment.out_ports.starvation, port, lane, field.blocks)
        crossing, _ = blocks_freed_before(environment.out_ports.starvation, environment, port, (cycle + 1) % RING)
        if vls_cross_independently(environment.switches):
            crossing &= 1 << lane
        rule_counts[ONE_FLIT] += field.flits == 1 and crossing != 0
        since, before = cycle, 0
        while before < field.flits:
            since += 1
            moved = min(
                flits_moved(environment.out_ports.returns, since - cycle, cycle - field.head_arrival), field.flits
            )
            returned = environment.back[port, (since + 1) % RING]
            returned[RETURNED_LANES] |= 1 << lane
            returned[RETURNED_BLOCKS] = moved - before
            before = moved


@inner
def _stall(
    environment: SwitchEnvironment, probabilities: NDArray[np.int64], rng: NDArray[np.uint64], cycle: int
) -> None:
    """Draw which links stall from this cycle on."""
    for port in range(len(environment.tx)):
        if draw_below(rng, CERTAIN) < probabilities[C_STALL]:
            environment.stalled[port] = cycle + 1 + draw_below(rng, _LONGEST_STALL)


@inner
def _run_egress(environment: SwitchEnvironment, cycle: int, rule_counts: NDArray[np.int64]) -> None:
    """Run golden's schedulers and record the flits that the links show from the next cycle on."""
    out_ports, packets = environment.out_ports, environment.packets
    for port in range(len(environment.tx)):
        is_stalled, is_free = environment.stalled[port] > cycle, out_ports.free_from[port] <= cycle
        rule_counts[STALLED] += is_stalled and out_ports.queues.filled[port].lanes != 0
        ready = is_free and not is_stalled
        if is_free and is_stalled:
            note_link_pause(out_ports.marking, port, cycle, cycle + 1)
        sends_fcp = ready and send_fcp(environment.remote, environment, port, cycle)
        rule_counts[TOLD] += sends_fcp and out_ports.queues.filled[port].lanes != 0
        packet = start_packet(out_ports, packets, port, cycle, ready and not sends_fcp)
        if packet == NOBODY:
            rule_counts[WAITED] += ready and not sends_fcp and out_ports.queues.filled[port].lanes != 0
            continue
        rule_counts[STARTED] += 1
        environment.regs[STARTS] += 1
        flits, is_marked = packets.pool[packet].flits, packets.pool[packet].bth == FECN
        rule_counts[MARKED] += is_marked
        first = cycle + 1 + send_delay(environment.switches)
        for place in range(flits):
            shown = environment.tx[port, (first + place) % RING]
            shown.lane, shown.last = out_ports.sending[port].lane + 1, int(place == flits - 1)
            shown.number, shown.place, shown.header = environment.number[packet], place, environment.header[packet]
            shown.fecn = is_marked
            shown.stamp = outgoing_channel_field(
                environment.switches, packets.pool[packet], out_ports.sending[port].lane
            )
        free_record(packets, packet)


@inner
def _begin_packet(
    environment: SwitchEnvironment,
    port: int,
    cycle: int,
    probabilities: NDArray[np.int64],
    rng: NDArray[np.uint64],
    words: int,
    rule_counts: NDArray[np.int64],
) -> None:
    """Start a packet at a sender that has credit, or is reckless. Golden receives it if its buffer has space."""
    reckless = probabilities[C_RECKLESS] != 0
    lanes = environment.up.lane.shape[1]
    lane = draw_lane(environment, rng, reckless)
    blocks = probabilities[C_LEAST] + draw_below(rng, probabilities[C_MOST] - probabilities[C_LEAST] + 1)
    if reckless:
        special = draw_below(rng, 16)
        blocks = (
            1 + draw_below(rng, _MOST_BLOCKS) if special == 0 else probabilities[C_MOST] + 1 if special == 1 else blocks
        )
    if draw_below(rng, CERTAIN) >= probabilities[C_SEND] or not (reckless or fits(environment.up, port, lane, blocks)):
        return
    dlid = draw_dlid(environment, rng, probabilities[C_BAD], probabilities[C_HOT])
    passes, sl, channel, stamp = draw_packet(environment.switches, lane, rng)
    sending = environment.sending[port]
    environment.regs[SERIAL] += 1
    sending.left, sending.lane, sending.number, sending.place = blocks, lane, environment.regs[SERIAL], 0
    sending.pauses = _UNNOTICED
    pktlen = WORDS_PER_BLOCK * (blocks - 1) + draw_below(rng, WORDS_PER_BLOCK)
    sending.header, sending.stamp = int(draw_bits(rng) & passes | header_of(sl, dlid, pktlen)), stamp
    if not reckless:
        occupy(environment.up, port, lane, blocks)
    has_room, largest = (
        lane < lanes and has_space(environment.switches, environment, port, lane, blocks, cycle),
        environment.out_ports.largest[0],
    )
    if blocks > largest or not has_room:
        environment.dropped[port, (cycle + 2 + drop_delay(environment.switches)) % RING] = _NO_ROOM
        rule_counts[NO_ROOM] += 1
        rule_counts[TOO_LARGE] += has_room and blocks == largest + 1
        return
    occupy(environment.input_buffers, port, lane, blocks)
    packet = allocate_record(environment.packets)
    field = environment.packets.pool[packet]
    field.blocks, field.flits, field.dlid, field.sl = blocks, blocks, dlid, sl
    field.lane, field.channel, field.hops = lane, channel, 0
    second = first_word(sending.number, words - 2)
    field.bth = (
        0 if words > 1 and is_markable(sending.header, second) else BECN
    )  # golden marks every packet that is no CNP
    environment.header[packet], environment.number[packet] = sending.header, sending.number
    schedule(environment.packets, packet, cycle + 2, TO_INPUT, port)


@inner
def _pauses(
    environment: SwitchEnvironment,
    port: int,
    probabilities: NDArray[np.int64],
    rng: NDArray[np.uint64],
    rule_counts: NDArray[np.int64],
) -> bool:
    """Draw whether a sender pauses before a packet's next flit."""
    sending = environment.sending[port]
    if (
        probabilities[C_GAP] == 0
        or sending.place == 0
        or sending.pauses == 0
        or draw_below(rng, CERTAIN) >= probabilities[C_GAP]
    ):
        return False
    sending.pauses -= 1
    rule_counts[GAPS] += 1
    return True


@inner
def _receive_credit(
    environment: SwitchEnvironment, port: int, probabilities: NDArray[np.int64], rng: NDArray[np.uint64]
) -> None:
    """Draw the blocks that a receiver frees and returns. The sender counts at most its used blocks."""
    reckless = probabilities[C_RECKLESS] != 0
    lane = draw_lane(environment, rng, reckless)
    environment.received_credit[port, RECEIVED_BLOCKS] = 0
    if draw_below(rng, CERTAIN) < probabilities[C_HEAR]:
        receive_credit(environment.remote, environment, port, lane, environment.out_ports.returns.speed, reckless, rng)


@inner
def _write_flit(
    environment: SwitchEnvironment,
    rows: NDArray[np.uint64],
    row: int,
    port_positions: NDArray[np.int64],
    first_port: int,
    words: int,
    lane: int,
    is_last: bool,  # noqa: FBT001 - kernels take positions only
    header: int,
    stamp: int,
    packet_number: int,
    flit_index: int,
    fecn: int,
) -> None:
    put(rows, row, port_positions, first_port + VALID, 1)
    put(rows, row, port_positions, first_port + VL, lane)
    put(rows, row, port_positions, first_port + FIRST, flit_index == 0)
    put(rows, row, port_positions, first_port + LAST, is_last)
    for word in range(words):
        value: Any = first_word(packet_number, word) if flit_index == 0 else flit_word(packet_number, flit_index, word)
        if flit_index == 0 and word == words - 1:
            value = with_channel_field(environment.switches, header, stamp)
        if fecn and flit_index == 0 and word == words - 2:
            value |= np.uint64(1) << np.uint64(FECN_BIT)
        put(rows, row, port_positions, first_port + DATA + word, value)


@inner
def _free_returned_space(environment: SwitchEnvironment, slot: int) -> None:
    """Return the blocks whose return is shown in a cycle to the input buffers."""
    for port in range(len(environment.tx)):
        lanes, freed = blocks_freed_before(environment.out_ports.starvation, environment, port, slot)
        while lanes != 0:
            release(environment.input_buffers, port, lowest_member(lanes), freed)
            lanes &= lanes - 1
        returned = environment.back[port, slot]
        lanes = returned[RETURNED_LANES]
        while lanes != 0:
            lane = lowest_member(lanes)
            lanes &= lanes - 1
            count_returned(environment.remote, port, lane, returned[RETURNED_BLOCKS])


@kernel
def fill_rows(
    environment: SwitchEnvironment,
    probabilities: NDArray[np.int64],
    rng: NDArray[np.uint64],
    words: int,
    input_fields: NDArray[np.int64],
    output_fields: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rule_counts: NDArray[np.int64],
    event_log: EventLog,
) -> None:
    """Write one row of inputs and of expected outputs per cycle."""
    ports = len(environment.tx)
    layout = RowLayout(ports, words, credit_fields(environment.remote, environment.switches))
    for row in range(len(rows)):
        clear_row(rows, row)
        clear_row(expected, row)
        cycle = environment.regs[CLOCK]
        slot = cycle % RING
        apply_write(environment, cycle - 2)
        apply_marking(environment.out_ports.marking, environment, cycle - 1)
        apply_starvation(environment.out_ports.starvation, environment, cycle - 1)
        _free_returned_space(environment, slot)
        note_full(environment.switches, environment, cycle)
        hold_credits(environment.out_ports.starvation, environment, cycle, rule_counts)
        _process_events(environment, cycle, rule_counts)
        _allocate(environment, cycle, rule_counts)
        for port in range(ports):
            _receive_credit(environment, port, probabilities, rng)
        _stall(environment, probabilities, rng, cycle)
        _run_egress(environment, cycle, rule_counts)
        for port in range(ports):
            sending = environment.sending[port]
            if sending.left == 0:
                _begin_packet(environment, port, cycle, probabilities, rng, words, rule_counts)
            if sending.left > 0 and not _pauses(environment, port, probabilities, rng, rule_counts):
                sending.left -= 1
                _write_flit(
                    environment,
                    rows,
                    row,
                    input_fields,
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
            write_received_credit(
                environment.remote, environment, port, rows, row, input_fields, received_credit_at(layout, port)
            )
            put(rows, row, input_fields, ready_at(layout, port), environment.stalled[port] <= cycle)
            _write_expected_port(environment, layout, port, slot, output_fields, expected, row)
        if draw_below(rng, CERTAIN) < probabilities[C_WRITE]:
            rule, is_enabled = draw_write(environment, cycle % 4, rng), draw_below(rng, 8) != 0
            rule_counts[rule] += is_enabled
            write_table_inputs(environment, cycle % 4, rows, row, input_fields, programs_at(layout), is_enabled)
        log_rules(event_log, rule_counts, row)
        environment.regs[CLOCK] = cycle + 1


@inner
def _write_expected_port(
    environment: SwitchEnvironment,
    layout: RowLayout,
    port: int,
    slot: int,
    output_fields: NDArray[np.int64],
    expected: NDArray[np.uint64],
    row: int,
) -> None:
    """Write the outputs of a port in a cycle, and pass them to its neighbours."""
    shown = environment.tx[port, slot]
    if shown.lane != 0:
        _write_flit(
            environment,
            expected,
            row,
            output_fields,
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
        environment.owed[port, shown.lane - 1] += 1
        shown.lane = 0
    write_sent_credit(
        environment.remote, environment, port, slot, expected, row, output_fields, sent_credit_at(layout, port)
    )
    put(expected, row, output_fields, dropped_at(layout, port), environment.dropped[port, slot])
    environment.dropped[port, slot] = 0
