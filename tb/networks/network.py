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
from vlane.tb.switches.switch_kinds import drop_delay, outgoing_channel_field, with_channel_field

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
def _flit_id_word(packet: int, flit_index: int) -> Any:
    """Return the word that identifies a flit."""
    return np.uint64(packet) | (np.uint64(flit_index) << _PLACE_BITS)


@inner
def _first_id_word(packet: int, bth: int) -> Any:
    """Return the identifying word of a first flit: the base transport header, with the packet's number as its QP."""
    opcode, fecn, becn = CNP_OPCODE * (bth & BECN != 0), int(bth & FECN != 0), int(bth & BECN != 0)
    return np.uint64(packet) | np.uint64(opcode << _OPCODE_AT | fecn << FECN_BIT | becn << FECN_BIT - 1)


@inner
def _second_id_word(packet: int, psn: int) -> Any:
    """Return the word after it: the sequence number, and the packet's number again."""
    return np.uint64(psn << PSN_AT) | np.uint64(packet)


@inner
def _receive_flit(
    network: Network, packets: Packets, hardware: Hardware, switch_index: int, port: int, cycle: int
) -> None:
    """Receive the flit that a port of a switch shows, and check it."""
    outs, shown, wiring = hardware.output_fields, hardware.shown, network.wiring
    place, end = switch_index * hardware.ports + port, hardware.first[switch_index] + port
    flit = tx_at(layout_of(network, hardware), port)
    tx = hardware.tx[place]
    is_within = 0 < tx.place < tx.flits
    if get(shown, switch_index, outs, flit) == 0:
        hardware.counts[BAD_FLITS] += is_within
        return
    lane = int(get(shown, switch_index, outs, flit + VL))
    top_at = flit + DATA + hardware.words - 1
    top, low = get(shown, switch_index, outs, top_at), get(shown, switch_index, outs, top_at - 1)
    if get(shown, switch_index, outs, flit + FIRST) != 0:
        packet = int(low & np.uint64(_NUMBER_BITS))
        is_there = (
            packet < len(packets.pool) and lane < hardware.back.shape[1] and wiring.cable[end].far_input != NOWHERE
        )
        if not is_there or packets.pool[packet].event != _INSIDE + switch_index:
            hardware.counts[BAD_FLITS] += 1
            return
        hardware.counts[BAD_FLITS] += is_within
        field = packets.pool[packet]
        hardware.counts[BAD_FLITS] += field.output != port or field.head_arrival != lane
        tx.packet, tx.place, tx.flits = packet, 0, field.flits
        if low & np.uint64(1 << FECN_BIT) != 0 and field.bth & FECN == 0 and marking_enabled(network.out_ports.marking):
            field.bth |= FECN
            hardware.counts[MARKS] += 1
        hardware.counts[BAD_FLITS] += low != _first_id_word(packet, int(field.bth))
        if hardware.words > WORDS:
            last = _second_id_word(packet, int(packets.origin[packet].psn))
            hardware.counts[BAD_FLITS] += get(shown, switch_index, outs, flit + DATA) != last
        stamp = outgoing_channel_field(network.switches, field, lane)
        hardware.counts[BAD_FLITS] += top != with_channel_field(
            network.switches, _header(field, int(packets.origin[packet].source)), stamp
        )
        field.lane = lane
        consume_credit(network.out_ports.remote_credit, end, lane, field.blocks)
        schedule_arrival(network, packets, packet, end, cycle - 1)
        network.clock[MOVED] = cycle
    else:
        hardware.counts[BAD_FLITS] += top != ~_flit_id_word(tx.packet, tx.place)
        hardware.counts[BAD_FLITS] += low != _flit_id_word(tx.packet, tx.place)
    is_last = get(shown, switch_index, outs, flit + LAST) != 0
    hardware.counts[BAD_FLITS] += is_last != (tx.place == tx.flits - 1)
    tx.place += 1


@inner
def _look_up(network: Network, field: Packet, link_end: int) -> None:
    """Look up a packet's output, lane and channel in golden's tables.

    While the packet is inside the hardware, ``arrived`` holds its outgoing lane.
    """
    output, outgoing_vl, channel = route(
        network.switches, link_end, int(field.dlid), int(field.sl), int(field.lane), int(field.channel)
    )
    field.output, field.head_arrival, field.channel = output, outgoing_vl, channel


@inner
def _receive_returns(
    remote_credit: BufferOccupancy,  # noqa: ARG001 - signature of the other variant
    network: Network,
    hardware: Hardware,
    switch_index: int,
    port: int,
    cycle: int,
) -> None:
    """Receive the credit return for blocks that left the input of a port."""
    outs, shown = hardware.output_fields, hardware.shown
    first = sent_credit_at(layout_of(network, hardware), port)
    blocks = int(np.int64(get(shown, switch_index, outs, first)))
    if blocks == 0:
        return
    cable = network.wiring.cable[hardware.first[switch_index] + port]
    if cable.credit_receiver == NOWHERE:
        hardware.counts[BAD_FLITS] += 1
        return
    if vls_cross_independently(network.switches):
        while blocks != 0:
            schedule_immediate_return(
                network.out_ports.returns, cable.credit_receiver, cycle + cable.credit_delay, lowest_member(blocks), 1
            )
            blocks &= blocks - 1
        return
    lane = int(np.int64(get(shown, switch_index, outs, first + 1)))  # signed, because it is added to signed values
    if lane < hardware.back.shape[1]:
        schedule_immediate_return(
            network.out_ports.returns, cable.credit_receiver, cycle + cable.credit_delay, lane, blocks
        )
    else:
        hardware.counts[BAD_FLITS] += 1


@inner
def _receive_limit(
    remote_credit: FCPLimits, network: Network, hardware: Hardware, switch_index: int, port: int, cycle: int
) -> None:
    """Receive the flow-control packet that a port shows, sent in the previous cycle."""
    outs, shown, end = hardware.output_fields, hardware.shown, hardware.first[switch_index] + port
    first, peer = (
        sent_credit_at(layout_of(network, hardware), port),
        hardware.peer[switch_index * hardware.ports + port],
    )
    if get(shown, switch_index, outs, first) == 0 or peer == NOWHERE:
        return
    lane, limit = int(get(shown, switch_index, outs, first + 1)), int(get(shown, switch_index, outs, first + 2))
    if lane >= hardware.back.shape[1]:
        hardware.counts[BAD_FLITS] += 1
        return
    whole = remote_credit.limit_sent[end, lane] + (limit - remote_credit.limit_sent[end, lane]) % COUNTER_MODULUS
    send_fcp_with_limit(remote_credit, end, peer, lane, whole, cycle - 1, network.wiring.cable[end].flight_cycles)


@inner
def _receive_late_returns(
    remote_credit: LateCredits, network: Network, hardware: Hardware, switch_index: int, port: int, cycle: int
) -> None:
    """Receive the credit return of a port, which a switch counts late."""
    cable = network.wiring.cable[hardware.first[switch_index] + port]
    _receive_returns(
        remote_credit.occupancy,
        network,
        hardware,
        switch_index,
        port,
        cycle + credit_lag(remote_credit, cable.credit_receiver),
    )


@by_type({BufferOccupancy: _receive_returns, LateCredits: _receive_late_returns, FCPLimits: _receive_limit})
def _receive_credit(
    remote_credit: RemoteCredit, network: Network, hardware: Hardware, switch_index: int, port: int, cycle: int
) -> None:
    """Receive a port's credit return or flow-control packet."""


@inner
def _record_due_returns(remote_credit: BufferOccupancy, network: Network, hardware: Hardware, cycle: int) -> None:  # noqa: ARG001 - signature of the other variant
    """Record the blocks freed in this cycle at the far ends of hardware switches."""
    returns = network.out_ports.returns
    for number in immediate_return_indices(returns, cycle):
        credit_return = returns.immediate[number]
        place = hardware.place[credit_return.end]
        if place >= 0:
            hardware.back[place, credit_return.lane] += credit_return.blocks


@inner
def _record_due_late_returns(remote_credit: LateCredits, network: Network, hardware: Hardware, cycle: int) -> None:
    """Record the blocks freed in this cycle, which golden counts late because the hardware does."""
    _record_due_returns(remote_credit.occupancy, network, hardware, cycle + AGE)


@by_type({BufferOccupancy: _record_due_returns, LateCredits: _record_due_late_returns}, default=True)
def _record_immediate_credits(remote_credit: RemoteCredit, network: Network, hardware: Hardware, cycle: int) -> None:
    """Record the credits arriving without delay in this cycle."""


@inner
def _drive_returns(
    remote_credit: Any, network: Network, hardware: Hardware, switch_index: int, port: int, cycle: int
) -> None:
    """Drive a port's credit-return input with the blocks that left the far buffer.

    Golden counts these blocks later if the hardware does.
    """
    end, lanes = hardware.first[switch_index] + port, hardware.back.shape[1]
    back = hardware.back[switch_index * hardware.ports + port]
    for lane in range(lanes):
        back[lane] += blocks_in_use(remote_credit, end, lane)
    apply_returns(network.out_ports.returns, remote_credit, end, cycle + 1 + credit_lag(remote_credit, end))
    place, several = received_credit_at(layout_of(network, hardware), port), 0
    for lane in range(lanes):
        back[lane] -= blocks_in_use(remote_credit, end, lane)
        if back[lane] > 0:
            if vls_cross_independently(network.switches):
                several |= 1 << lane
            else:
                put(hardware.given, switch_index, hardware.input_fields, place, back[lane])
                put(hardware.given, switch_index, hardware.input_fields, place + 1, lane)
        back[lane] = 0
    if several != 0:
        put(hardware.given, switch_index, hardware.input_fields, place, several)


@inner
def _drive_limit(
    remote_credit: FCPLimits, network: Network, hardware: Hardware, switch_index: int, port: int, cycle: int
) -> None:
    """Drive a port's input with the arriving flow-control packet."""
    end = hardware.first[switch_index] + port
    lane, limit = arriving_fcp(remote_credit, end, cycle)
    if lane >= 0:
        place = received_credit_at(layout_of(network, hardware), port)
        put(hardware.given, switch_index, hardware.input_fields, place, 1)
        put(hardware.given, switch_index, hardware.input_fields, place + 1, lane)
        put(hardware.given, switch_index, hardware.input_fields, place + 2, limit % COUNTER_MODULUS)
    begin_decision(remote_credit, end, cycle + 1)


@by_type({BufferOccupancy: _drive_returns, LateCredits: _drive_returns, FCPLimits: _drive_limit})
def _drive_credit(
    remote_credit: RemoteCredit, network: Network, hardware: Hardware, switch_index: int, port: int, cycle: int
) -> None:
    """Drive a port's credit input, as returned blocks or as a flow-control packet."""


@inner
def _read_port(
    network: Network, packets: Packets, hardware: Hardware, switch_index: int, port: int, cycle: int
) -> None:
    """Receive flit, credits and drop cause from a switch port, and compare the drop with golden's tables."""
    place, end, remote = (
        switch_index * hardware.ports + port,
        hardware.first[switch_index] + port,
        network.out_ports.remote_credit,
    )
    _receive_flit(network, packets, hardware, switch_index, port, cycle)
    _receive_credit(remote, network, hardware, switch_index, port, cycle)
    drops = (
        get(hardware.shown, switch_index, hardware.output_fields, dropped_at(layout_of(network, hardware), port)) != 0
    )
    arrived = hardware.heads[place, (cycle - ROUTED) % HEADS]
    if arrived != NOBODY:
        _look_up(network, packets.pool[arrived], end)
    packet = hardware.heads[place, (cycle - ROUTED - drop_delay(network.switches)) % HEADS]
    if packet != NOBODY:
        hardware.counts[BAD_FLITS] += drops != (packets.pool[packet].output == DROPS)
        if drops:
            hardware.counts[DROPPED] += 1
            packets.pool[packet].event = TO_SINK
            free_record(packets, packet)
    else:
        hardware.counts[BAD_FLITS] += drops


@inner
def _drive_port(
    network: Network, packets: Packets, hardware: Hardware, switch_index: int, port: int, cycle: int
) -> None:
    """Drive the inputs of a switch port: the arriving flit and credits."""
    ins, given, layout = hardware.input_fields, hardware.given, layout_of(network, hardware)
    place, end = switch_index * hardware.ports + port, hardware.first[switch_index] + port
    rx, packet = hardware.rx[place], network.arriving_heads[place]
    hardware.heads[place, cycle % HEADS] = packet
    if packet != NOBODY:
        network.arriving_heads[place] = NOBODY
        field = packets.pool[packet]
        field.hops += 1
        field.event = _INSIDE + switch_index
        rx.packet, rx.place, rx.flits = packet, 0, field.flits
        rx.bth, rx.psn = field.bth, packets.origin[packet].psn
        rx.lane, rx.header = field.lane, _header(field, int(packets.origin[packet].source))
        rx.stamp = outgoing_channel_field(network.switches, field, int(field.lane))
    if rx.place < rx.flits:
        first = rx_at(layout, port)
        put(given, switch_index, ins, first + VALID, 1)
        put(given, switch_index, ins, first + VL, rx.lane)
        put(given, switch_index, ins, first + FIRST, rx.place == 0)
        put(given, switch_index, ins, first + LAST, rx.place == rx.flits - 1)
        name = _first_id_word(rx.packet, rx.bth) if rx.place == 0 else _flit_id_word(rx.packet, rx.place)
        top = ~name if rx.place > 0 else with_channel_field(network.switches, rx.header, rx.stamp)
        top_at = first + DATA + hardware.words - 1
        put(given, switch_index, ins, top_at, top)
        put(given, switch_index, ins, top_at - 1, name)
        if hardware.words > WORDS and rx.place == 0:
            put(given, switch_index, ins, first + DATA, _second_id_word(rx.packet, rx.psn))
        rx.place += 1
    put(given, switch_index, ins, ready_at(layout, port), network.out_ports.free_from[end] <= cycle)
    _drive_credit(network.out_ports.remote_credit, network, hardware, switch_index, port, cycle)


@kernel
def run_with_hardware(network: Network, packets: Packets, hardware: Hardware, end_cycle: int) -> int:
    """Run up to a cycle and return the reason for stopping, as golden's ``run`` does."""
    reason = stop_reason(network, packets, end_cycle)
    while reason < 0:
        cycle = network.clock[NOW]
        for number in range(len(hardware.device)):
            for port in range(hardware.ports):
                _read_port(network, packets, hardware, number, port, cycle)
        run_cycle(network, packets)
        _record_immediate_credits(network.out_ports.remote_credit, network, hardware, cycle + 1)
        for number in range(len(hardware.device)):
            for word in range(hardware.given.shape[1]):
                hardware.given[number, word] = hardware.writes[number, word]
            for port in range(hardware.ports):
                _drive_port(network, packets, hardware, number, port, cycle)
            call_step(hardware.step, hardware.device[number], hardware.given[number], hardware.shown[number])
        reason = stop_reason(network, packets, end_cycle)
    return reason
