"""InfiniBand switches whose decisions use state that is some cycles old (IBF-1 to IBF-6, ``docs/fast_switch.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int64, Records, new_records
from vlane.golden.engine.kernel import inner
from vlane.golden.switches.inputs import DROPPED, Grant, Inputs, local_port, new_inputs, pop_first, switch_of
from vlane.golden.switches.output_ports import OutputPorts, free_sent_space, reserve_and_schedule
from vlane.golden.switches.packets import CROSSED, NOBODY, TO_SINK, Packets, schedule
from vlane.golden.switches.vl_tables import VLTables

READY = 6
"""Cycles from the arrival of a head to its first bid (IBF-1)."""

BUFFERED = 3
"""Cycles from a grant to the packet's first egress decision (IBF-5)."""

SENT = 3
"""Cycles by which a flit is on the link later than in the exact form, which shows it one cycle after its decision."""

_OPEN_AGE = 4
"""A bid sees the output buffers as of the start of the cycle this many cycles earlier (IBF-6)."""

_AGES = 8

_OVERTAKEN = 2
"""Packets that may leave before the first packet of a VL (IBF-4)."""


class Bid:
    """Bid of an input that is decided in the next cycle.

    Parameters
    ----------
    packet : int
        Packet; ``NOBODY`` for no bid.
    lane : int
        VL on which the packet arrived.
    output : int
        Output of the packet, or ``DROPPED``.
    refused_with_last : int
        Whether the bid is refused with the input's bid of the cycle before.
    last_refused : int
        Whether the input's bid of the cycle before was refused: 0 no, 1 for a port, 2 with the bid before it.
    """

    packet: Int64
    lane: Int16
    output: Int16
    refused_with_last: Int16
    last_refused: Int16


class FastSwitches(NamedTuple):
    """State of switches with late decisions.

    Parameters
    ----------
    inputs : Inputs
        Input ports.
    tables : VLTables
        Outgoing VLs.
    bid : Records of Bid, (all ports,)
        Bids to decide in this cycle.
    next_bid : Records of Bid, (all ports,)
        Scratch of a cycle: bids to decide in the next cycle.
    lane_served : array of int64, (all ports, lanes)
        Cycle of the last grant of each VL of an input; negative and ascending after reset.
    input_served : array of int64, (all ports, ports of a switch)
        Cycle of the last grant by each output, by input; negative and ascending after reset.
    overtaken : array of int64, (all ports, lanes)
        Packets that left before the first packet of each VL of an input.
    free_from : array of int64, (all ports,)
        First cycle in which each output takes part.
    known_free_from : array of int64, (all ports,)
        The same as of the cycle before.
    lanes_with_space : array of int64, (cycles, all ports)
        Bit mask of the VLs for which an output buffer has space, for the last cycles.
    space_cycle : array of int64, (cycles,)
        Cycle of each row of ``lanes_with_space``.
    """

    inputs: Inputs
    tables: VLTables
    bid: Records[Bid]
    next_bid: Records[Bid]
    lane_served: NDArray[np.int64]
    input_served: NDArray[np.int64]
    overtaken: NDArray[np.int64]
    free_from: NDArray[np.int64]
    known_free_from: NDArray[np.int64]
    lanes_with_space: NDArray[np.int64]
    space_cycle: NDArray[np.int64]


def new_fast_switches(*, lanes: int, lft: NDArray[np.uint8], tables: VLTables) -> FastSwitches:
    """Return empty switches with the given tables."""
    inputs = new_inputs(lanes=lanes, ports=tables.vl.shape[1], lft=lft)
    total, ports = len(inputs.port), 1 << inputs.port_bits
    bid, next_bid = new_records(Bid, total), new_records(Bid, total)
    bid["packet"] = next_bid["packet"] = NOBODY
    return FastSwitches(
        inputs=inputs,
        tables=tables,
        bid=bid,
        next_bid=next_bid,
        lane_served=np.tile(np.arange(-lanes, 0, dtype=np.int64), (total, 1)),
        input_served=np.tile(np.arange(-ports, 0, dtype=np.int64), (total, 1)),
        overtaken=np.zeros((total, lanes), np.int64),
        free_from=np.zeros(total, np.int64),
        known_free_from=np.zeros(total, np.int64),
        lanes_with_space=np.zeros((_AGES, total), np.int64),
        space_cycle=np.full(_AGES, -1, np.int64),
    )


@inner
def allocate(
    switches: FastSwitches, out_ports: OutputPorts, packets: Packets, cycle: int, grants: Records[Grant]
) -> int:
    """Run one allocation cycle of all switches and return the number of grants.

    Parameters
    ----------
    grants : Records of Grant, (at least all ports,)
        Output: the grants.
    """
    _record_open_buffers(switches, out_ports, cycle)
    for port in range(len(switches.free_from)):
        _make_bid(switches, packets, port, cycle)
    for port in range(len(switches.free_from)):
        switches.known_free_from[port] = switches.free_from[port]
    count = _grant_drops(switches, packets, cycle, grants)
    for to in range(len(switches.free_from)):
        if switches.free_from[to] <= cycle:
            count = _grant_one(switches, out_ports, packets, to, cycle, grants, count)
    for port in range(len(switches.free_from)):
        _advance_bid(switches, port)
    return count


@inner
def _record_open_buffers(switches: FastSwitches, out_ports: OutputPorts, cycle: int) -> None:
    """Note for which VLs each output buffer is open at the start of a cycle (IBF-6)."""
    lanes, slot = switches.inputs.queues.queue.shape[1], cycle % _AGES
    switches.space_cycle[slot] = cycle
    for to in range(len(switches.free_from)):
        found = 0
        free_sent_space(out_ports, to, cycle)
        for lane in range(lanes):
            after = out_ports.buffer.lane[to, lane].blocks + out_ports.largest[lane]
            if after <= out_ports.buffer.bounds[0, lane].maximum:
                found |= 1 << lane
        switches.lanes_with_space[slot, to] = found


@inner
def _is_open(switches: FastSwitches, output_port: int, lane: int, cycle: int) -> bool:
    """Return whether a bid finds an output buffer open. Before the first cycle all buffers are empty."""
    seen = cycle - _OPEN_AGE
    slot = seen % _AGES
    return switches.space_cycle[slot] != seen or (switches.lanes_with_space[slot, output_port] >> lane) & 1 != 0


@inner
def _make_bid(switches: FastSwitches, packets: Packets, port: int, cycle: int) -> None:
    """Make the bid of an input for a packet (IBF-2)."""
    inputs, new = switches.inputs, switches.next_bid[port]
    new.packet = NOBODY
    if inputs.port[port].free_from > cycle + 1:
        return
    first = switch_of(inputs, port) << inputs.port_bits
    chosen, follows, best = -1, False, cycle
    for lane in range(inputs.queues.queue.shape[1]):
        served = switches.lane_served[port, lane]
        if served >= best and chosen >= 0:
            continue
        packet = int(inputs.queues.queue[port, lane].head)
        if packet == NOBODY:
            continue
        is_second = packet == switches.bid[port].packet
        if is_second:
            packet = int(packets.pool[packet].next)
            if packet == NOBODY or switches.overtaken[port, lane] == _OVERTAKEN:
                continue
        field = packets.pool[packet]
        if field.head_arrival + READY > cycle:
            continue
        if field.output != DROPPED:
            to = first + field.output
            if switches.known_free_from[to] > cycle + 1 or not _is_open(switches, to, field.lane, cycle):
                continue
        new.packet, new.lane, new.output = packet, lane, field.output
        follows = is_second and field.output == switches.bid[port].output
        chosen, best = lane, served
    new.refused_with_last = follows


@inner
def _may_be_granted(switches: FastSwitches, port: int, cycle: int) -> bool:
    """Return whether an input's bid is not refused for the input's sake (IBF-3)."""
    bid = switches.bid[port]
    if bid.packet == NOBODY or switches.inputs.port[port].free_from > cycle:
        return False
    return bid.refused_with_last == 0 or bid.last_refused == 0


@inner
def _grant_drops(switches: FastSwitches, packets: Packets, cycle: int, grants: Records[Grant]) -> int:
    """Grant the bids of packets that drop and return their number."""
    count = 0
    for port in range(len(switches.free_from)):
        bid = switches.bid[port]
        if bid.output == DROPPED and _may_be_granted(switches, port, cycle):
            _remove_granted(switches, packets, port, cycle, grants, count)
            schedule(packets, grants[count].packet, cycle + CROSSED, TO_SINK, NOBODY)
            count += 1
    return count


@inner
def _grant_one(
    switches: FastSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    output_port: int,
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> int:
    """Grant a bid for an output that takes part (IBF-3). Return the new number of grants."""
    inputs = switches.inputs
    output = local_port(inputs, output_port)
    first, chosen = output_port - output, -1
    for local in range(1 << inputs.port_bits):
        bid = switches.bid[first + local]
        if bid.packet == NOBODY or bid.output != output or not _may_be_granted(switches, first + local, cycle):
            continue
        if chosen < 0 or switches.input_served[output_port, local] < switches.input_served[output_port, chosen]:
            chosen = local
    if chosen < 0:
        return grant_count
    _remove_granted(switches, packets, first + chosen, cycle, grants, grant_count)
    switches.input_served[output_port, chosen] = cycle
    switches.free_from[output_port] = inputs.port[first + chosen].free_from
    reserve_and_schedule(out_ports, packets, output_port, grants[grant_count].packet, cycle + BUFFERED)
    return grant_count + 1


@inner
def _remove_granted(
    switches: FastSwitches, packets: Packets, port: int, cycle: int, grants: Records[Grant], row: int
) -> None:
    """Remove an input's granted packet from its queue and store the grant in ``grants[row]``."""
    inputs, bid = switches.inputs, switches.bid[port]
    packet, lane = int(bid.packet), int(bid.lane)
    queue = inputs.queues.queue[port, lane]
    field = packets.pool[packet]
    if queue.head == packet:
        pop_first(inputs, packets, port, lane)
        switches.overtaken[port, lane] = 0
    else:
        switches.overtaken[port, lane] += 1
        packets.pool[queue.head].next = field.next
        if queue.tail == packet:
            queue.tail = queue.head
    switches.lane_served[port, lane] = cycle
    inputs.port[port].free_from = cycle + field.flits
    grant = grants[row]
    grant.port, grant.packet, grant.lane = port, packet, lane
    bid.packet = NOBODY


@inner
def _advance_bid(switches: FastSwitches, port: int) -> None:
    """Replace an input's bid by its next one. A bid that is still there was refused."""
    bid, new = switches.bid[port], switches.next_bid[port]
    with_the_one_before = bid.refused_with_last != 0 and bid.last_refused != 0
    bid.last_refused = (2 if with_the_one_before else 1) if bid.packet != NOBODY else 0
    bid.packet, bid.lane, bid.output, bid.refused_with_last = new.packet, new.lane, new.output, new.refused_with_last
