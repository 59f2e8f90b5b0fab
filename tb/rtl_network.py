"""Golden's network with some of its switches in hardware: packets go in and out flit by flit, cycle by cycle.

A switch in hardware is an end outside for every cable that leads to it. Its outputs come from flip-flops, so those of
a cycle are known before its inputs. Of a flit the top word is the header, or repeats the packet's number; the lowest
one says which packet and which flit of it this is, and is checked when it comes out. A stalled link is one that
golden says is not free.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.far_room import FarRoom, hear, take, taken
from vlane.golden.inputs import DROPPED as DROPS
from vlane.golden.inputs import ROUTED
from vlane.golden.kernel import by_type, inner, kernel
from vlane.golden.limits import Limits, mail, say_limit
from vlane.golden.network import MOVED, NOW, Network, depart, run_cycle, why_not
from vlane.golden.packets import (
    NOBODY,
    TO_SINK,
    Packet,
    Packets,
    free,
)  # fmt: skip
from vlane.golden.returns import begin_at_once, places_coming, settle
from vlane.golden.room import Rooms
from vlane.golden.switches import route
from vlane.golden.wiring import NOWHERE
from vlane.tb.calls import call_step
from vlane.tb.flits import WORDS_PER_BLOCK, header_of
from vlane.tb.packing import get, put
from vlane.tb.rows_credit import fields
from vlane.tb.switch_kinds import stamp_of, stamped

from vlane.fcp import COUNTER_MODULUS

__all__ = ["BAD_FLITS", "DROPPED", "WORDS", "Hardware", "new_hardware", "run_mixed"]

WORDS = 2
"""Words of a flit."""

(BAD_FLITS, DROPPED) = range(2)
(RX_PACKET, RX_PLACE, RX_FLITS, RX_LANE, RX_HEADER, RX_STAMP) = range(6)
(TX_PACKET, TX_PLACE, TX_FLITS) = range(3)
_PLACE_BITS = np.uint64(32)
_RX_FIELDS, _TX_FIELDS, _COUNTS = 6, 3, 2
_FIELD_BITS, _SL_TOP = 0xFFFF, 50
_PER_FLIT, _HEADS = 4 + WORDS, 4
_LOW_BITS = (1 << 32) - 1
_INSIDE = 100
"""In place of what happens to a packet next: the switch in hardware, of this number and more, that has it."""


class Hardware(NamedTuple):
    """Switches in hardware.

    Parameters
    ----------
    step : int
        Address of the function that runs a cycle.
    device : array of int64, (switches,)
        Addresses of the devices.
    first : array of int64, (switches,)
        Number of each one's first sending end.
    peer : array of int64, (switches * ports,)
        Sending end at the other end of each port's cable, ``NOWHERE`` if there is none.
    ports : int
        Of a switch.
    ins, outs : array of int64, (elements, 3)
        Where inputs and outputs are in their rows.
    given, shown : array of uint64, (switches, words)
        Rows of a cycle.
    rx : array of int64, (switches * ports, 6)
        The packet that goes in at each port: packet, flits gone, flits, lane, header without stamp, stamp; flits 0 for
        none.
    heads : array of int64, (switches * ports, 4)
        By cycle, the packet whose head went in.
    tx : array of int64, (switches * ports, 3)
        The packet that comes out: packet, flits come, flits.
    writes : array of uint64, (switches, words)
        Rows in which tables are written in the next cycle; zeros if none is.
    place : array of int64, (ends,)
        Which of the ``switches * ports`` each sending end is, -1 for none.
    back : array of int64, (switches * ports, lanes)
        Within a cycle: blocks that come free in the next one, and before that what is taken.
    counts : array of int64, (2,)
        Flits and returns that were not what went in, or where, on what lane or channel or when they should not; packets
        dropped.
    """

    step: int
    device: NDArray[np.int64]
    first: NDArray[np.int64]
    peer: NDArray[np.int64]
    ports: int
    ins: NDArray[np.int64]
    outs: NDArray[np.int64]
    given: NDArray[np.uint64]
    shown: NDArray[np.uint64]
    rx: NDArray[np.int64]
    heads: NDArray[np.int64]
    tx: NDArray[np.int64]
    writes: NDArray[np.uint64]
    place: NDArray[np.int64]
    back: NDArray[np.int64]
    counts: NDArray[np.int64]


def new_hardware(
    *, step: int, device: Sequence[int], first: Sequence[int], peer: NDArray[np.int64], ports: int, lanes: int,
    ends: int, ins: NDArray[np.int64], outs: NDArray[np.int64], row_words: tuple[int, int],
) -> Hardware:  # fmt: skip
    """Return switches into which nothing goes yet; ``row_words`` are those of their inputs and outputs."""
    switches, places = len(device), len(device) * ports
    place = np.full(ends, -1, np.int64)
    for number, begin in enumerate(first):
        place[begin : begin + ports] = np.arange(number * ports, (number + 1) * ports)
    return Hardware(
        step, np.array(device, np.int64), np.array(first, np.int64), peer, ports, ins, outs,
        np.zeros((switches, row_words[0]), np.uint64), np.zeros((switches, row_words[1]), np.uint64),
        np.zeros((places, _RX_FIELDS), np.int64), np.full((places, _HEADS), NOBODY, np.int64),
        np.zeros((places, _TX_FIELDS), np.int64), np.zeros((switches, row_words[0]), np.uint64),
        place, np.zeros((places, lanes), np.int64), np.zeros(_COUNTS, np.int64),
    )  # fmt: skip


@inner
def _header(field: Packet) -> int:
    """Return a packet's header without stamp; a fifth bit of its SL is in Omni-Path's place."""
    sl, pktlen = int(field.sl), WORDS_PER_BLOCK * int(field.blocks) - 1
    return header_of(sl & 15, int(field.dlid), pktlen) | (sl >> 4) << _SL_TOP | (int(field.source) & _FIELD_BITS)


@inner
def _word(packet: int, place: int) -> Any:
    """Return the word that names a flit."""
    return np.uint64(packet) | (np.uint64(place) << _PLACE_BITS)


@inner
def _flit_comes(net: Network, packets: Packets, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Take the flit that a port of a switch shows."""
    outs, shown, wiring = hardware.outs, hardware.shown, net.wiring
    place, end = number * hardware.ports + port, hardware.first[number] + port
    flit = port * _PER_FLIT
    tx = hardware.tx[place]
    is_within = 0 < tx[TX_PLACE] < tx[TX_FLITS]
    if get(shown, number, outs, flit) == 0:
        hardware.counts[BAD_FLITS] += is_within
        return
    lane = int(get(shown, number, outs, flit + 1))
    low, top = get(shown, number, outs, flit + 4), get(shown, number, outs, flit + 3 + WORDS)
    if get(shown, number, outs, flit + 2) != 0:
        packet = int(low & np.uint64(_LOW_BITS))
        is_there = packet < len(packets.pool) and lane < hardware.back.shape[1] and wiring.cable[end].far != NOWHERE
        if not is_there or packets.pool[packet].event != _INSIDE + number:
            hardware.counts[BAD_FLITS] += 1
            return
        hardware.counts[BAD_FLITS] += is_within
        field = packets.pool[packet]
        hardware.counts[BAD_FLITS] += field.output != port or field.arrived != lane
        tx[TX_PACKET], tx[TX_PLACE], tx[TX_FLITS] = packet, 0, field.flits
        stamp = stamp_of(net.switches, field, lane)
        hardware.counts[BAD_FLITS] += top != stamped(net.switches, _header(field), stamp)
        field.lane = lane
        take(net.links.far, end, lane, field.blocks)
        depart(net, packets, packet, end, cycle - 1)
        net.clock[MOVED] = cycle
    else:
        hardware.counts[BAD_FLITS] += top != ~_word(tx[TX_PACKET], tx[TX_PLACE])
    is_last = get(shown, number, outs, flit + 3) != 0
    hardware.counts[BAD_FLITS] += low != _word(tx[TX_PACKET], tx[TX_PLACE])
    hardware.counts[BAD_FLITS] += is_last != (tx[TX_PLACE] == tx[TX_FLITS] - 1)
    tx[TX_PLACE] += 1


@inner
def _look_up(net: Network, field: Packet, end: int) -> bool:
    """Note where golden's tables send a packet, on which lane and channel; tell whether it drops.

    Inside the hardware, ``arrived`` holds the outgoing lane.
    """
    output, following, channel = route(
        net.switches, end, int(field.dlid), int(field.sl), int(field.lane), int(field.channel)
    )
    field.output, field.arrived, field.channel = output, following, channel
    return output == DROPS


@inner
def _returns_come(far: Rooms, net: Network, hardware: Hardware, number: int, port: int, cycle: int) -> None:  # noqa: ARG001 - as the other's
    """Take the blocks that left the input of a port."""
    outs, shown = hardware.outs, hardware.shown
    first = hardware.ports * _PER_FLIT + 2 * port
    blocks = int(get(shown, number, outs, first))
    if blocks == 0:
        return
    lane = int(np.int64(get(shown, number, outs, first + 1)))  # signed, to be added to others
    cable = net.wiring.cable[hardware.first[number] + port]
    if lane < hardware.back.shape[1] and cable.told != NOWHERE:
        begin_at_once(net.links.returns, cable.told, cycle + cable.telling, lane, blocks)
    else:
        hardware.counts[BAD_FLITS] += 1


@inner
def _limit_comes(far: Limits, net: Network, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Take the flow-control packet that a port shows; it was sent in the cycle before."""
    outs, shown, end = hardware.outs, hardware.shown, hardware.first[number] + port
    first, peer = hardware.ports * _PER_FLIT + 3 * port, hardware.peer[number * hardware.ports + port]
    if get(shown, number, outs, first) == 0 or peer == NOWHERE:
        return
    lane, limit = int(get(shown, number, outs, first + 1)), int(get(shown, number, outs, first + 2))
    if lane >= hardware.back.shape[1]:
        hardware.counts[BAD_FLITS] += 1
        return
    whole = far.said[end, lane] + (limit - far.said[end, lane]) % COUNTER_MODULUS
    say_limit(far, end, peer, lane, whole, cycle - 1, net.wiring.cable[end].flight)


@by_type({Rooms: _returns_come, Limits: _limit_comes})
def _room_comes(far: FarRoom, net: Network, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Take what a port tells of room."""


@inner
def _returns_due(far: Rooms, net: Network, hardware: Hardware, cycle: int) -> None:  # noqa: ARG001 - as the other's
    """Note what comes free at once in a cycle at the far ends of switches in hardware."""
    returns = net.links.returns
    for number in places_coming(returns, cycle):
        it = returns.at_once[number]
        place = hardware.place[it.end]
        if place >= 0:
            hardware.back[place, it.lane] += it.blocks


@inner
def _no_returns_due(far: Limits, net: Network, hardware: Hardware, cycle: int) -> None:
    """Do nothing: flow-control packets tell of room."""


@by_type({Rooms: _returns_due, Limits: _no_returns_due})
def _look_at_returns(far: FarRoom, net: Network, hardware: Hardware, cycle: int) -> None:
    """Note what ports hear of at once in a cycle."""


@inner
def _returns_go(far: Rooms, net: Network, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Tell a port of the blocks that left the far buffer."""
    end, lanes = hardware.first[number] + port, hardware.back.shape[1]
    back = hardware.back[number * hardware.ports + port]
    for lane in range(lanes):
        back[lane] += taken(far, end, lane)
    settle(net.links.returns, far, end, cycle + 1)
    heard = 1 + hardware.ports * _PER_FLIT + 2 * port
    for lane in range(lanes):
        back[lane] -= taken(far, end, lane)
        if back[lane] > 0:
            put(hardware.given, number, hardware.ins, heard, back[lane])
            put(hardware.given, number, hardware.ins, heard + 1, lane)
        back[lane] = 0


@inner
def _limit_goes(far: Limits, net: Network, hardware: Hardware, number: int, port: int, cycle: int) -> None:  # noqa: ARG001 - as the other's
    """Give a port the flow-control packet that arrives."""
    end = hardware.first[number] + port
    lane, limit = mail(far, end, cycle)
    if lane >= 0:
        heard = 1 + hardware.ports * _PER_FLIT + 3 * port
        put(hardware.given, number, hardware.ins, heard, 1)
        put(hardware.given, number, hardware.ins, heard + 1, lane)
        put(hardware.given, number, hardware.ins, heard + 2, limit % COUNTER_MODULUS)
    hear(far, end, cycle + 1)


@by_type({Rooms: _returns_go, Limits: _limit_goes})
def _room_goes(far: FarRoom, net: Network, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Tell a port of room at the far end."""


@inner
def _come_out(net: Network, packets: Packets, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Take what a port of a switch shows: a flit for the link, blocks that left its input, why a packet drops."""
    place, end, far = number * hardware.ports + port, hardware.first[number] + port, net.links.far
    _flit_comes(net, packets, hardware, number, port, cycle)
    _room_comes(far, net, hardware, number, port, cycle)
    drops = get(hardware.shown, number, hardware.outs, hardware.ports * (_PER_FLIT + fields(far)) + port) != 0
    packet = hardware.heads[place, (cycle - ROUTED) % _HEADS]
    if packet != NOBODY:
        should_drop = _look_up(net, packets.pool[packet], end)
        hardware.counts[BAD_FLITS] += drops != should_drop
        if drops:
            hardware.counts[DROPPED] += 1
            packets.pool[packet].event = TO_SINK
            free(packets, packet)
    else:
        hardware.counts[BAD_FLITS] += drops


@inner
def _go_in(net: Network, packets: Packets, hardware: Hardware, number: int, port: int, cycle: int) -> None:
    """Give a port of a switch the flit that arrives, and the blocks that it hears of."""
    ins, given = hardware.ins, hardware.given
    place, end = number * hardware.ports + port, hardware.first[number] + port
    rx, packet = hardware.rx[place], net.outside[place]
    hardware.heads[place, cycle % _HEADS] = packet
    if packet != NOBODY:
        net.outside[place] = NOBODY
        field = packets.pool[packet]
        field.hops += 1
        field.event = _INSIDE + number
        rx[RX_PACKET], rx[RX_PLACE], rx[RX_FLITS] = packet, 0, field.flits
        rx[RX_LANE], rx[RX_HEADER] = field.lane, _header(field)
        rx[RX_STAMP] = stamp_of(net.switches, field, int(field.lane))
    if rx[RX_PLACE] < rx[RX_FLITS]:
        first = 1 + port * _PER_FLIT
        put(given, number, ins, first, 1)
        put(given, number, ins, first + 1, rx[RX_LANE])
        put(given, number, ins, first + 2, rx[RX_PLACE] == 0)
        put(given, number, ins, first + 3, rx[RX_PLACE] == rx[RX_FLITS] - 1)
        name = _word(rx[RX_PACKET], rx[RX_PLACE])
        put(given, number, ins, first + 4, name)
        top = ~name if rx[RX_PLACE] > 0 else stamped(net.switches, rx[RX_HEADER], rx[RX_STAMP])
        put(given, number, ins, first + 3 + WORDS, top)
        rx[RX_PLACE] += 1
    ready = 1 + hardware.ports * (_PER_FLIT + fields(net.links.far)) + port
    put(given, number, ins, ready, net.links.sending[end].free_from <= cycle)
    _room_goes(net.links.far, net, hardware, number, port, cycle)


@kernel
def run_mixed(net: Network, packets: Packets, hardware: Hardware, end: int) -> int:
    """Run up to a cycle; return why it stopped, as golden's ``run`` does."""
    reason = why_not(net, packets, end)
    while reason < 0:
        cycle = net.clock[NOW]
        for number in range(len(hardware.device)):
            for port in range(hardware.ports):
                _come_out(net, packets, hardware, number, port, cycle)
        run_cycle(net, packets)
        _look_at_returns(net.links.far, net, hardware, cycle + 1)
        for number in range(len(hardware.device)):
            for word in range(hardware.given.shape[1]):
                hardware.given[number, word] = hardware.writes[number, word]
            for port in range(hardware.ports):
                _go_in(net, packets, hardware, number, port, cycle)
            call_step(hardware.step, hardware.device[number], hardware.given[number], hardware.shown[number])
        reason = why_not(net, packets, end)
    return reason
