"""Golden network with some of its switches in hardware. Packets enter and leave them flit by flit, cycle by cycle.

A hardware switch is an external end for every cable that leads to it. Switch outputs are registered, so the outputs
of a cycle are known before the inputs. The top word of a flit is the header, or the inverted identifier; the next word
identifies packet and flit, and is checked when the flit leaves. Switches that mark carry a third word: the end of the
base transport header, with the sequence number. Links that golden reports as not free are stalled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import by_type, inner, kernel
from vlane.golden.engine.pool import free_record
from vlane.golden.links.fcp_limits import FCPLimits, arriving_fcp, send_fcp_with_limit
from vlane.golden.links.late_room import AGE, LateCredits
from vlane.golden.links.remote_credit import RemoteCredit, begin_decision, blocks_in_use, consume_credit, credit_lag
from vlane.golden.links.returns import apply_returns, immediate_return_indices, schedule_immediate_return
from vlane.golden.links.room import BufferOccupancy
from vlane.golden.network.clock import MOVED, NOW
from vlane.golden.network.network import run_cycle, schedule_arrival, stop_reason
from vlane.golden.network.state import Network
from vlane.golden.switches.inputs import DROPPED as DROPS
from vlane.golden.switches.inputs import ROUTED
from vlane.golden.switches.kinds import route, vls_cross_independently
from vlane.golden.switches.marking import marking_enabled
from vlane.golden.switches.packets import BECN, FECN, NOBODY, TO_SINK, Packet, Packets
from vlane.golden.topologies.wiring import NOWHERE
from vlane.packets.bth import CNP_OPCODE
from vlane.packets.fcp import COUNTER_MODULUS
from vlane.packets.lrh import LNH_BTH
from vlane.tb.machinery.native.calls import call_step
from vlane.tb.machinery.native.packing import get, put
from vlane.tb.networks.hardware import BAD_FLITS, DROPPED, HEADS, MARKS, WORDS, Hardware, layout_of
from vlane.tb.switches.flits import FECN_BIT, PSN_AT, WORDS_PER_BLOCK, header_of
from vlane.tb.switches.row_layout import (
    DATA,
    FIRST,
    LAST,
    VALID,
    VL,
    dropped_at,
    ready_at,
    received_credit_at,
    rx_at,
    sent_credit_at,
    tx_at,
)
from vlane.tb.switches.switch_kinds import drop_delay, stamp_of, stamped

_PLACE_BITS = np.uint64(32)
_FIELD_BITS, _SL_TOP = 0xFFFF, 50
_NUMBER_BITS = (1 << FECN_BIT - 1) - 1
_LNH_AT, _OPCODE_AT = 48, 56
_INSIDE = 100
"""Event code of a packet inside hardware: this number plus the index of the switch."""


@inner
def _header(field: Packet, source: int) -> int:
    """Return a packet's header without stamp. The fifth bit of its SL is at Omni-Path's position."""
    sl, pktlen = int(field.sl), WORDS_PER_BLOCK * int(field.blocks) - 1
    header = header_of(sl & 15, int(field.dlid), pktlen) | LNH_BTH << _LNH_AT
    return header | (sl >> 4) << _SL_TOP | (source & _FIELD_BITS)


@inner
def _word(packet: int, place: int) -> Any:
    """Return the word that identifies a flit."""
    return np.uint64(packet) | (np.uint64(place) << _PLACE_BITS)


@inner
def _first_word(packet: int, bth: int) -> Any:
    """Return the identifying word of a first flit: the base transport header, with the packet's number as its QP."""
    opcode, fecn, becn = CNP_OPCODE * (bth & BECN != 0), int(bth & FECN != 0), int(bth & BECN != 0)
    return np.uint64(packet) | np.uint64(opcode << _OPCODE_AT | fecn << FECN_BIT | becn << FECN_BIT - 1)


@inner
def _last_word(packet: int, psn: int) -> Any:
    """Return the word after it: the sequence number, and the packet's number again."""
    return np.uint64(psn << PSN_AT) | np.uint64(packet)


@inner
def _flit_comes(net: Network, packets: Packets, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Receive the flit that a port of a switch shows, and check it."""
    outs, shown, wiring = hardware.outs, hardware.shown, net.wiring
    place, end = number * hardware.ports + port, hardware.first[number] + port
    flit = tx_at(layout_of(net, hardware), port)
    tx = hardware.tx[place]
    is_within = 0 < tx.place < tx.flits
    if get(shown, number, outs, flit) == 0:
        hardware.counts[BAD_FLITS] += is_within
        return
    lane = int(get(shown, number, outs, flit + VL))
    top_at = flit + DATA + hardware.words - 1
    top, low = get(shown, number, outs, top_at), get(shown, number, outs, top_at - 1)
    if get(shown, number, outs, flit + FIRST) != 0:
        packet = int(low & np.uint64(_NUMBER_BITS))
        is_there = packet < len(packets.pool) and lane < hardware.back.shape[1] and wiring.cable[end].far != NOWHERE
        if not is_there or packets.pool[packet].event != _INSIDE + number:
            hardware.counts[BAD_FLITS] += 1
            return
        hardware.counts[BAD_FLITS] += is_within
        field = packets.pool[packet]
        hardware.counts[BAD_FLITS] += field.output != port or field.arrived != lane
        tx.packet, tx.place, tx.flits = packet, 0, field.flits
        if low & np.uint64(1 << FECN_BIT) != 0 and field.bth & FECN == 0 and marking_enabled(net.out_ports.marking):
            field.bth |= FECN
            hardware.counts[MARKS] += 1
        hardware.counts[BAD_FLITS] += low != _first_word(packet, int(field.bth))
        if hardware.words > WORDS:
            last = _last_word(packet, int(packets.origin[packet].psn))
            hardware.counts[BAD_FLITS] += get(shown, number, outs, flit + DATA) != last
        stamp = stamp_of(net.switches, field, lane)
        hardware.counts[BAD_FLITS] += top != stamped(
            net.switches, _header(field, int(packets.origin[packet].source)), stamp
        )
        field.lane = lane
        consume_credit(net.out_ports.remote, end, lane, field.blocks)
        schedule_arrival(net, packets, packet, end, cycle - 1)
        net.clock[MOVED] = cycle
    else:
        hardware.counts[BAD_FLITS] += top != ~_word(tx.packet, tx.place)
        hardware.counts[BAD_FLITS] += low != _word(tx.packet, tx.place)
    is_last = get(shown, number, outs, flit + LAST) != 0
    hardware.counts[BAD_FLITS] += is_last != (tx.place == tx.flits - 1)
    tx.place += 1


@inner
def _look_up(net: Network, field: Packet, end: int) -> None:
    """Look up a packet's output, lane and channel in golden's tables.

    While the packet is inside the hardware, ``arrived`` holds its outgoing lane.
    """
    output, outgoing_vl, channel = route(
        net.switches, end, int(field.dlid), int(field.sl), int(field.lane), int(field.channel)
    )
    field.output, field.arrived, field.channel = output, outgoing_vl, channel


@inner
def _returns_come(
    remote: BufferOccupancy,  # noqa: ARG001 - signature of the other variant
    net: Network,
    hardware: Hardware,
    number: int,
    port: int,
    cycle: int,
) -> None:
    """Receive the credit return for blocks that left the input of a port."""
    outs, shown = hardware.outs, hardware.shown
    first = sent_credit_at(layout_of(net, hardware), port)
    blocks = int(np.int64(get(shown, number, outs, first)))
    if blocks == 0:
        return
    cable = net.wiring.cable[hardware.first[number] + port]
    if cable.credit_receiver == NOWHERE:
        hardware.counts[BAD_FLITS] += 1
        return
    if vls_cross_independently(net.switches):
        while blocks != 0:
            schedule_immediate_return(
                net.out_ports.returns, cable.credit_receiver, cycle + cable.credit_delay, lowest_member(blocks), 1
            )
            blocks &= blocks - 1
        return
    lane = int(np.int64(get(shown, number, outs, first + 1)))  # signed, because it is added to signed values
    if lane < hardware.back.shape[1]:
        schedule_immediate_return(
            net.out_ports.returns, cable.credit_receiver, cycle + cable.credit_delay, lane, blocks
        )
    else:
        hardware.counts[BAD_FLITS] += 1


@inner
def _limit_comes(remote: FCPLimits, net: Network, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Receive the flow-control packet that a port shows, sent in the previous cycle."""
    outs, shown, end = hardware.outs, hardware.shown, hardware.first[number] + port
    first, peer = sent_credit_at(layout_of(net, hardware), port), hardware.peer[number * hardware.ports + port]
    if get(shown, number, outs, first) == 0 or peer == NOWHERE:
        return
    lane, limit = int(get(shown, number, outs, first + 1)), int(get(shown, number, outs, first + 2))
    if lane >= hardware.back.shape[1]:
        hardware.counts[BAD_FLITS] += 1
        return
    whole = remote.limit_sent[end, lane] + (limit - remote.limit_sent[end, lane]) % COUNTER_MODULUS
    send_fcp_with_limit(remote, end, peer, lane, whole, cycle - 1, net.wiring.cable[end].flight)


@inner
def _late_returns_come(
    remote: LateCredits, net: Network, hardware: Hardware, number: int, port: int, cycle: int
) -> None:
    """Receive the credit return of a port, which a switch counts late."""
    cable = net.wiring.cable[hardware.first[number] + port]
    _returns_come(remote.rooms, net, hardware, number, port, cycle + credit_lag(remote, cable.credit_receiver))


@by_type({BufferOccupancy: _returns_come, LateCredits: _late_returns_come, FCPLimits: _limit_comes})
def _room_comes(remote: RemoteCredit, net: Network, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Receive a port's credit return or flow-control packet."""


@inner
def _returns_due(remote: BufferOccupancy, net: Network, hardware: Hardware, cycle: int) -> None:  # noqa: ARG001 - signature of the other variant
    """Record the blocks freed in this cycle at the far ends of hardware switches."""
    returns = net.out_ports.returns
    for number in immediate_return_indices(returns, cycle):
        credit_return = returns.at_once[number]
        place = hardware.place[credit_return.end]
        if place >= 0:
            hardware.back[place, credit_return.lane] += credit_return.blocks


@inner
def _late_returns_due(remote: LateCredits, net: Network, hardware: Hardware, cycle: int) -> None:
    """Record the blocks freed in this cycle, which golden counts late because the hardware does."""
    _returns_due(remote.rooms, net, hardware, cycle + AGE)


@by_type({BufferOccupancy: _returns_due, LateCredits: _late_returns_due}, default=True)
def _look_at_returns(remote: RemoteCredit, net: Network, hardware: Hardware, cycle: int) -> None:
    """Record the credits arriving without delay in this cycle."""


@inner
def _returns_go(remote: Any, net: Network, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Drive a port's credit-return input with the blocks that left the far buffer.

    Golden counts these blocks later if the hardware does.
    """
    end, lanes = hardware.first[number] + port, hardware.back.shape[1]
    back = hardware.back[number * hardware.ports + port]
    for lane in range(lanes):
        back[lane] += blocks_in_use(remote, end, lane)
    apply_returns(net.out_ports.returns, remote, end, cycle + 1 + credit_lag(remote, end))
    place, several = received_credit_at(layout_of(net, hardware), port), 0
    for lane in range(lanes):
        back[lane] -= blocks_in_use(remote, end, lane)
        if back[lane] > 0:
            if vls_cross_independently(net.switches):
                several |= 1 << lane
            else:
                put(hardware.given, number, hardware.ins, place, back[lane])
                put(hardware.given, number, hardware.ins, place + 1, lane)
        back[lane] = 0
    if several != 0:
        put(hardware.given, number, hardware.ins, place, several)


@inner
def _limit_goes(remote: FCPLimits, net: Network, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Drive a port's input with the arriving flow-control packet."""
    end = hardware.first[number] + port
    lane, limit = arriving_fcp(remote, end, cycle)
    if lane >= 0:
        place = received_credit_at(layout_of(net, hardware), port)
        put(hardware.given, number, hardware.ins, place, 1)
        put(hardware.given, number, hardware.ins, place + 1, lane)
        put(hardware.given, number, hardware.ins, place + 2, limit % COUNTER_MODULUS)
    begin_decision(remote, end, cycle + 1)


@by_type({BufferOccupancy: _returns_go, LateCredits: _returns_go, FCPLimits: _limit_goes})
def _room_goes(remote: RemoteCredit, net: Network, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Drive a port's credit input, as returned blocks or as a flow-control packet."""


@inner
def _come_out(net: Network, packets: Packets, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Receive flit, credits and drop cause from a switch port, and compare the drop with golden's tables."""
    place, end, remote = number * hardware.ports + port, hardware.first[number] + port, net.out_ports.remote
    _flit_comes(net, packets, hardware, number, port, cycle)
    _room_comes(remote, net, hardware, number, port, cycle)
    drops = get(hardware.shown, number, hardware.outs, dropped_at(layout_of(net, hardware), port)) != 0
    arrived = hardware.heads[place, (cycle - ROUTED) % HEADS]
    if arrived != NOBODY:
        _look_up(net, packets.pool[arrived], end)
    packet = hardware.heads[place, (cycle - ROUTED - drop_delay(net.switches)) % HEADS]
    if packet != NOBODY:
        hardware.counts[BAD_FLITS] += drops != (packets.pool[packet].output == DROPS)
        if drops:
            hardware.counts[DROPPED] += 1
            packets.pool[packet].event = TO_SINK
            free_record(packets, packet)
    else:
        hardware.counts[BAD_FLITS] += drops


@inner
def _go_in(net: Network, packets: Packets, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Drive the inputs of a switch port: the arriving flit and credits."""
    ins, given, layout = hardware.ins, hardware.given, layout_of(net, hardware)
    place, end = number * hardware.ports + port, hardware.first[number] + port
    rx, packet = hardware.rx[place], net.outside[place]
    hardware.heads[place, cycle % HEADS] = packet
    if packet != NOBODY:
        net.outside[place] = NOBODY
        field = packets.pool[packet]
        field.hops += 1
        field.event = _INSIDE + number
        rx.packet, rx.place, rx.flits = packet, 0, field.flits
        rx.bth, rx.psn = field.bth, packets.origin[packet].psn
        rx.lane, rx.header = field.lane, _header(field, int(packets.origin[packet].source))
        rx.stamp = stamp_of(net.switches, field, int(field.lane))
    if rx.place < rx.flits:
        first = rx_at(layout, port)
        put(given, number, ins, first + VALID, 1)
        put(given, number, ins, first + VL, rx.lane)
        put(given, number, ins, first + FIRST, rx.place == 0)
        put(given, number, ins, first + LAST, rx.place == rx.flits - 1)
        name = _first_word(rx.packet, rx.bth) if rx.place == 0 else _word(rx.packet, rx.place)
        top = ~name if rx.place > 0 else stamped(net.switches, rx.header, rx.stamp)
        top_at = first + DATA + hardware.words - 1
        put(given, number, ins, top_at, top)
        put(given, number, ins, top_at - 1, name)
        if hardware.words > WORDS and rx.place == 0:
            put(given, number, ins, first + DATA, _last_word(rx.packet, rx.psn))
        rx.place += 1
    put(given, number, ins, ready_at(layout, port), net.out_ports.free_from[end] <= cycle)
    _room_goes(net.out_ports.remote, net, hardware, number, port, cycle)


@kernel
def run_mixed(net: Network, packets: Packets, hardware: Hardware, end: int) -> int:
    """Run up to a cycle and return the reason for stopping, as golden's ``run`` does."""
    reason = stop_reason(net, packets, end)
    while reason < 0:
        cycle = net.clock[NOW]
        for number in range(len(hardware.device)):
            for port in range(hardware.ports):
                _come_out(net, packets, hardware, number, port, cycle)
        run_cycle(net, packets)
        _look_at_returns(net.out_ports.remote, net, hardware, cycle + 1)
        for number in range(len(hardware.device)):
            for word in range(hardware.given.shape[1]):
                hardware.given[number, word] = hardware.writes[number, word]
            for port in range(hardware.ports):
                _go_in(net, packets, hardware, number, port, cycle)
            call_step(hardware.step, hardware.device[number], hardware.given[number], hardware.shown[number])
        reason = stop_reason(net, packets, end)
    return reason
