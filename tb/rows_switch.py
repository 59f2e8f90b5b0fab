"""Rows of a switch of either kind: golden's switch alone, senders before it and receivers behind it.

Links are wired straight: what the switch shows in a cycle, its neighbours see in that cycle (flight time 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from vlane.golden.inputs import DROPPED
from vlane.golden.kernel import inner, kernel
from vlane.golden.links import queue_packet, start_packet
from vlane.golden.packets import (
    EVENTS,
    NOBODY,
    TO_CENTRE,
    TO_INPUT,
    TO_OUTPUT,
    free,
    schedule,
    spare,
    take_due,
)  # fmt: skip
from vlane.golden.random_bits import below, draw
from vlane.golden.returns import flits_moved
from vlane.golden.room import fits, give_back, take
from vlane.golden.switches import allocate, receive, store
from vlane.tb.flits import WORDS_PER_BLOCK, header_of
from vlane.tb.packing import clear_row, put
from vlane.tb.phases_switch import CERTAIN
from vlane.tb.rows_credit import (
    BLOCKS_HEARD,
    BLOCKS_TOLD,
    LANE_TOLD,
    count_told,
    fields,
    hear,
    say,
    show_heard,
    show_told,
)
from vlane.tb.switch_kinds import count_kinds, describe, lane_numbers, stamp_of, stamped
from vlane.tb.table_writes import apply_write, draw_write, one_high_bit, show_write
from vlane.tb.world_switch import (
    GRANTED,
    NO_ROOM,
    NO_VL,
    ONE_FLIT,
    PORT_0,
    RING,
    SEVERAL,
    STALLED,
    STARTED,
    TOLD,
    UNKNOWN,
    WAITED,
    WRITTEN,
    Surroundings,
)

from vlane.lft import FIRST_MULTICAST, PERMISSIVE

__all__ = ["CLOCK", "STARTS", "fill_rows"]

_CAUSES = (UNKNOWN, NO_VL, PORT_0, NO_ROOM)
(C_SEND, C_HEAR, C_LEAST, C_MOST, C_HOT, C_WRITE, C_BAD, C_RECKLESS, C_STALL) = range(9)
(LEFT, ON_LANE, NUMBER, PLACE_IN, HEADER, STAMP) = range(6)
(TX_LANE, TX_LAST, TX_NUMBER, TX_PLACE, TX_HEADER, TX_STAMP) = range(6)
(CLOCK, SERIAL, STARTS) = range(3)
_MOST_BLOCKS = 128
_LONGEST_STALL = 50


@inner
def payload(number: int, place: int, word: int) -> int:
    """Return a word of a flit: every packet, flit and word has its own."""
    mixed = (number * 0x9E3779B1 + place * 0x85EBCA6B + word * 0xC2B2AE35) & ((1 << 60) - 1)
    return mixed ^ ((mixed & ((1 << 35) - 1)) << 25)


@inner
def _cause(around: Surroundings, packet: int) -> int:
    """Return why golden's packet drops, as the hardware tells it: 1 unknown LID, 2 no VL, 3 port 0."""
    dlid = around.packets.pool[packet].dlid
    if around.packets.pool[packet].lane != 0:
        return 2
    listed = 0 < dlid <= around.top[0] and dlid < len(around.lft)
    to_port_0 = dlid == PERMISSIVE or (listed and around.lft[dlid] == 0)
    return 3 if to_port_0 else 1


@inner
def _events(around: Surroundings, cycle: int, rules: NDArray[np.int64]) -> None:
    """Let golden's packets come to their inputs and outputs."""
    packets = around.packets
    for event in range(EVENTS):
        packet = take_due(packets, cycle, event)
        while packet != NOBODY:
            following = packets.chain[packet].next
            _happens(around, packet, event, cycle, rules)
            packet = following


@inner
def _happens(around: Surroundings, packet: int, event: int, cycle: int, rules: NDArray[np.int64]) -> None:
    packets = around.packets
    place = int(packets.chain[packet].place)
    if event == TO_INPUT:
        receive(around.switches, packets, place, packet, cycle)
        if packets.pool[packet].output == DROPPED:
            cause = _cause(around, packet)
            around.dropped[place, cycle % RING] = cause
            rules[_CAUSES[cause - 1]] += 1
    elif event == TO_OUTPUT:
        queue_packet(around.links, packets, place, packets.pool[packet].lane, packet, cycle)
    elif event == TO_CENTRE:
        store(around.switches, packets, place, packet)
    else:
        free(packets, packet)


@inner
def _switch(around: Surroundings, cycle: int, rules: NDArray[np.int64]) -> None:
    """Run golden's allocation; note when its inputs tell of the blocks that leave."""
    count = allocate(around.switches, around.links, around.packets, cycle, around.grants)
    rules[GRANTED] += count
    rules[SEVERAL] += count > 1
    count_kinds(around.switches, around, count, rules)
    for index in range(count):
        port, packet, lane = around.grants[index, 0], around.grants[index, 1], around.grants[index, 2]
        if port == NOBODY:
            continue
        field = around.packets.pool[packet]
        rules[ONE_FLIT] += field.flits == 1 and around.back[port, (cycle + 1) % RING, BLOCKS_TOLD] != 0
        since, before = cycle, 0
        while before < field.flits:
            since += 1
            moved = min(flits_moved(around.links.returns, since - cycle, cycle - field.arrived), field.flits)
            told = around.back[port, (since + 1) % RING]
            told[LANE_TOLD], told[BLOCKS_TOLD] = lane, moved - before
            before = moved


@inner
def _stall(around: Surroundings, chances: NDArray[np.int64], bits: NDArray[np.uint64], cycle: int) -> None:
    """Draw which links stall from this cycle on."""
    for port in range(len(around.tx)):
        if below(bits, CERTAIN) < chances[C_STALL]:
            around.stalled[port] = cycle + 1 + below(bits, _LONGEST_STALL)


@inner
def _send(around: Surroundings, cycle: int, rules: NDArray[np.int64]) -> None:
    """Run golden's schedulers; note what the links show from the next cycle on."""
    links, packets = around.links, around.packets
    for port in range(len(around.tx)):
        is_stalled, is_free = around.stalled[port] > cycle, links.sending[port].free_from <= cycle
        rules[STALLED] += is_stalled and links.queues.lanes[port] != 0
        ready = is_free and not is_stalled
        says = ready and say(around.far, around, port, cycle)
        rules[TOLD] += says and links.queues.lanes[port] != 0
        packet = start_packet(links, packets, port, cycle, ready and not says)
        if packet == NOBODY:
            rules[WAITED] += ready and not says and links.queues.lanes[port] != 0
            continue
        rules[STARTED] += 1
        around.regs[STARTS] += 1
        flits = packets.pool[packet].flits
        for place in range(flits):
            shown = around.tx[port, (cycle + 1 + place) % RING]
            shown[TX_LANE], shown[TX_LAST] = links.sending[port].lane + 1, place == flits - 1
            shown[TX_NUMBER], shown[TX_PLACE], shown[TX_HEADER] = around.number[packet], place, around.header[packet]
            shown[TX_STAMP] = stamp_of(around.switches, packets.pool[packet], links.sending[port].lane)
        free(packets, packet)


@inner
def _destination(around: Surroundings, chances: NDArray[np.int64], bits: NDArray[np.uint64]) -> int:
    if below(bits, CERTAIN) < chances[C_BAD]:
        lids = len(around.lft)
        one_bit = 1 << below(bits, 16)
        kinds = (0, PERMISSIVE, PERMISSIVE ^ one_bit, FIRST_MULTICAST, lids + below(bits, 9), below(bits, 65536),
                 one_high_bit(lids, bits))  # fmt: skip
        return kinds[below(bits, len(kinds))]
    return 1 + (0 if below(bits, CERTAIN) < chances[C_HOT] else below(bits, len(around.lft) - 1))


@inner
def _begin(
    around: Surroundings,
    port: int,
    cycle: int,
    chances: NDArray[np.int64],
    bits: NDArray[np.uint64],
    rules: NDArray[np.int64],
) -> None:
    """Let a sender start a packet, if the far buffer has room, or recklessly; golden gets it if its room is there."""
    reckless = chances[C_RECKLESS] != 0
    lanes = len(around.up.bounds)
    lane = below(bits, lane_numbers(around.switches) if reckless else lanes)
    blocks = chances[C_LEAST] + below(bits, chances[C_MOST] - chances[C_LEAST] + 1)
    if reckless and below(bits, 16) == 0:
        blocks = 1 + below(bits, _MOST_BLOCKS)
    if below(bits, CERTAIN) >= chances[C_SEND] or not (reckless or fits(around.up, port, lane, blocks)):
        return
    dlid = _destination(around, chances, bits)
    passes, sl, channel, stamp = describe(around.switches, lane, bits)
    sending = around.sending[port]
    around.regs[SERIAL] += 1
    sending[LEFT], sending[ON_LANE], sending[NUMBER], sending[PLACE_IN] = blocks, lane, around.regs[SERIAL], 0
    pktlen = WORDS_PER_BLOCK * (blocks - 1) + below(bits, WORDS_PER_BLOCK)
    sending[HEADER], sending[STAMP] = draw(bits) & passes | header_of(sl, dlid, pktlen), stamp
    if not reckless:
        take(around.up, port, lane, blocks)
    if lane >= lanes or blocks > around.links.largest[0] or not fits(around.own, port, lane, blocks):
        around.dropped[port, (cycle + 2) % RING] = 4
        rules[NO_ROOM] += 1
        return
    take(around.own, port, lane, blocks)
    packet = spare(around.packets)
    field = around.packets.pool[packet]
    field.blocks, field.flits, field.dlid, field.sl = blocks, blocks, dlid, sl
    field.lane, field.channel, field.hops = lane, channel, 0
    around.header[packet], around.number[packet] = sending[HEADER], sending[NUMBER]
    schedule(around.packets, packet, cycle + 2, TO_INPUT, port)


@inner
def _hear(around: Surroundings, port: int, chances: NDArray[np.int64], bits: NDArray[np.uint64]) -> None:
    """Draw what a receiver lets go and tells; of that the sender gets no more than was taken as the cycle starts."""
    reckless = chances[C_RECKLESS] != 0
    lane = below(bits, lane_numbers(around.switches) if reckless else around.owed.shape[1])
    around.heard[port, BLOCKS_HEARD] = 0
    if below(bits, CERTAIN) < chances[C_HEAR]:
        hear(around.far, around, port, lane, around.links.returns.speed, reckless, bits)


@inner
def _show_flit(
    around: Surroundings, rows: NDArray[np.uint64], row: int, where: NDArray[np.int64], first: int, words: int,
    lane: int, is_last: bool, header: int, stamp: int, number: int, place: int,  # noqa: FBT001 - numba takes no keyword-only arguments
) -> None:  # fmt: skip
    put(rows, row, where, first, 1)
    put(rows, row, where, first + 1, lane)
    put(rows, row, where, first + 2, place == 0)
    put(rows, row, where, first + 3, is_last)
    for word in range(words):
        value: Any = np.uint64(payload(number, place, word)) | np.uint64(number & 15) << np.uint64(60)
        if place == 0 and word == words - 1:
            value = stamped(around.switches, header, stamp)
        put(rows, row, where, first + 4 + word, value)


@inner
def _told_back(around: Surroundings, slot: int) -> None:
    """Let the input buffers have the room that is told in a cycle; it was free since the cycle before."""
    for port in range(len(around.tx)):
        told = around.back[port, slot]
        if told[BLOCKS_TOLD] != 0:
            give_back(around.own, port, told[LANE_TOLD], told[BLOCKS_TOLD])
            count_told(around.far, port, told[LANE_TOLD], told[BLOCKS_TOLD])


@kernel
def fill_rows(
    around: Surroundings, chances: NDArray[np.int64], bits: NDArray[np.uint64], words: int, ins: NDArray[np.int64],
    outs: NDArray[np.int64], rows: NDArray[np.uint64], expected: NDArray[np.uint64], rules: NDArray[np.int64],
) -> None:  # fmt: skip
    """Write one row of inputs and of expected outputs per cycle."""
    ports, told = len(around.tx), fields(around.far)
    heard_at = 1 + ports * (4 + words)
    ready_at = heard_at + told * ports
    for row in range(len(rows)):
        clear_row(rows, row)
        clear_row(expected, row)
        cycle = around.regs[CLOCK]
        slot = cycle % RING
        apply_write(around, cycle - 2)
        _told_back(around, slot)
        _events(around, cycle, rules)
        _switch(around, cycle, rules)
        for port in range(ports):
            _hear(around, port, chances, bits)
        _stall(around, chances, bits, cycle)
        _send(around, cycle, rules)
        for port in range(ports):
            sending = around.sending[port]
            if sending[LEFT] == 0:
                _begin(around, port, cycle, chances, bits, rules)
            if sending[LEFT] > 0:
                sending[LEFT] -= 1
                _show_flit(
                    around, rows, row, ins, 1 + port * (4 + words), words, sending[ON_LANE], sending[LEFT] == 0,
                    sending[HEADER], sending[STAMP], sending[NUMBER], sending[PLACE_IN],
                )  # fmt: skip
                sending[PLACE_IN] += 1
            show_heard(around.far, around, port, rows, row, ins, heard_at + told * port)
            put(rows, row, ins, ready_at + port, around.stalled[port] <= cycle)
            _show_port(around, port, slot, words, outs, expected, row)
        if below(bits, CERTAIN) < chances[C_WRITE]:
            rules[WRITTEN] += 1
            draw_write(around, cycle % 4, bits)
        show_write(around, cycle % 4, rows, row, ins, ready_at + ports)
        around.regs[CLOCK] = cycle + 1


@inner
def _show_port(
    around: Surroundings,
    port: int,
    slot: int,
    words: int,
    outs: NDArray[np.int64],
    expected: NDArray[np.uint64],
    row: int,
) -> None:
    """Write what a port shows in a cycle; its neighbours see it."""
    ports = len(around.tx)
    shown = around.tx[port, slot]
    if shown[TX_LANE] != 0:
        _show_flit(
            around, expected, row, outs, port * (4 + words), words, shown[TX_LANE] - 1, shown[TX_LAST] != 0,
            shown[TX_HEADER], shown[TX_STAMP], shown[TX_NUMBER], shown[TX_PLACE],
        )  # fmt: skip
        around.owed[port, shown[TX_LANE] - 1] += 1
        shown[TX_LANE] = 0
    fields_told = fields(around.far)
    first = ports * (4 + words)
    show_told(around.far, around, port, slot, expected, row, outs, first + fields_told * port)
    put(expected, row, outs, first + fields_told * ports + port, around.dropped[port, slot])
    around.dropped[port, slot] = 0
