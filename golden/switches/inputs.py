"""Input ports of switches: a queue per VL, the forwarding table, and the inputs that wait for allocation.

One structure holds all switches of a network: port ``q`` is port ``q & (2**port_bits - 1)`` of switch ``q >>
port_bits``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int32, Int64, Records, new_records
from vlane.golden.engine.bits import WORD_BITS, lowest_member
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.prefetch import prefetch
from vlane.golden.switches.packets import (
    CROSSED,
    NOBODY,
    TO_SINK,
    Packet,
    Packets,
    Queues,
    new_queues,
    pop_packet,
    prefetch_queues,
    push_packet,
    schedule,
)
from vlane.golden.switches.tree_rule import NO_RULE, tree_output
from vlane.golden.switches.trunk_members import TableChoice
from vlane.packets.drop_cause import DropCause
from vlane.tables.lft import UNASSIGNED

DROPPED = -1
"""Output of a packet that is dropped."""

UNKNOWN_LID, NO_VL = int(DropCause.UNKNOWN_LID), int(DropCause.NO_VL)
"""Drop causes that a golden switch distinguishes."""

ROUTED = 2
"""Cycles from the arrival of a head to its first allocation (stages IB and RT)."""


class InputPort:
    """Allocation state of an input.

    Parameters
    ----------
    free_from : int
        First cycle in which the input takes part in allocation again.
    retry_cycle : int
        Earliest cycle in which a request that failed can succeed; 0 after a new first packet.
    last_lane : int
        VL granted last.
    """

    free_from: Int64
    retry_cycle: Int64
    last_lane: Int32


class Route:
    """Route of the first packet of a queue.

    Parameters
    ----------
    output, lane : int
        Copy of the packet's fields, so that allocation need not read the packets of waiting inputs.
    """

    output: Int16
    lane: Int16


class Grant:
    """A grant of a switch's allocation.

    Parameters
    ----------
    port : int
        Input port in which space becomes free; -1 for none, such as for a packet that leaves a central buffer.
    packet : int
        Packet number.
    lane : int
        VL on which the packet arrived at the input port.
    """

    port: Int64
    packet: Int64
    lane: Int64


class Inputs(NamedTuple):
    """Input buffers and forwarding tables of all switches.

    Parameters
    ----------
    port_bits : int
        Width of a port number within its switch.
    word_bits : int
        Width of a port number within its word; the ports of a switch fill one or several words of a bit set.
    queues : Queues
        Packets by input and VL, including the first packets.
    head_route : Records of Route, (all ports, lanes)
        Route of the first packet of each non-empty queue.
    port : Records of InputPort, (all ports,)
        Allocation state.
    nonempty_inputs : array of int64, (words,)
        Bit set of inputs with a packet. Omni-Path switches also use the bits above the ports, for central buffers.
    lft : array of uint8, (switches or all ports, LIDs)
        Output port (from 0) by DLID, with a row per switch or per input; 255 for none. Zero LIDs wide if ``tree_rule``
        is used.
    tree_rule : array of int64
        Parameters of table-free forwarding in a tree (``tree_rule.py``), or ``NO_RULE``.
    drop_counts : array of int64, (switches, drop causes)
        Number of dropped packets, by ``DropCause``.
    trunk_choice : TableChoice or RandomChoice
        Choice among the members of trunks.
    """

    port_bits: int
    word_bits: int
    queues: Queues
    head_route: Records[Route]
    port: Records[InputPort]
    nonempty_inputs: NDArray[np.int64]
    lft: NDArray[np.uint8]
    tree_rule: NDArray[np.int64]
    drop_counts: NDArray[np.int64]
    trunk_choice: Any


LookUp = tuple[int, int, int]
"""Result of routing: output or ``DROPPED``; outgoing VL, or the drop cause of a dropped packet; channel."""


def port_bits_for(ports: int) -> int:
    """Return the width of a number that identifies ``ports`` ports, at least 1."""
    return max(1, (ports - 1).bit_length())


def new_inputs(*, lanes: int, ports: int, lft: NDArray[np.uint8]) -> Inputs:
    """Return empty inputs with a copy of the forwarding table: (switches, LIDs) or (switches, inputs, LIDs)."""
    switches, bits = len(lft), port_bits_for(ports)
    if lft.ndim > 2:
        rows = np.full((switches, 1 << bits, lft.shape[2]), UNASSIGNED, np.uint8)
        rows[:, : lft.shape[1]] = lft
        lft = rows.reshape(switches << bits, lft.shape[2])
    total, word_bits = switches << bits, min(bits, WORD_BITS)
    port = new_records(InputPort, total)
    port["last_lane"] = lanes - 1
    return Inputs(
        bits,
        word_bits,
        new_queues(total, lanes),
        new_records(Route, total, lanes),
        port,
        np.zeros(total >> word_bits, np.int64),
        lft.copy(),
        NO_RULE,
        np.zeros((switches, len(DropCause)), np.int64),
        TableChoice(),
    )


@inner
def switch_of(inputs: Inputs, port: int) -> int:
    """Return the switch of a port."""
    return port >> inputs.port_bits


@inner
def local_port(inputs: Inputs, port: int) -> int:
    """Return the number of a port within its switch."""
    return port & ((1 << inputs.port_bits) - 1)


@inner
def word_of(inputs: Inputs, port: int) -> int:
    """Return the index of the bit-set word that contains a port."""
    return port >> inputs.word_bits


@inner
def bit_of(inputs: Inputs, port: int) -> int:
    """Return the mask of a port within its bit-set word."""
    return 1 << int(port & ((1 << inputs.word_bits) - 1))


@inner
def round_robin_priority(inputs: Inputs, local: int, last: int) -> int:
    """Return the priority of a port in a round robin that served ``last``: larger values are served sooner."""
    return ((last - local) & ((1 << inputs.port_bits) - 1)) + 1


@inner
def port_with_priority(inputs: Inputs, turn: int, last: int) -> int:
    """Return the port that has a round-robin priority, the inverse of ``round_robin_priority``."""
    return (last + 1 - turn) & ((1 << inputs.port_bits) - 1)


@inner
def lft_row(inputs: Inputs, port: int) -> int:
    """Return the row of the forwarding table for packets from an input: that of the input or of its switch."""
    return port if len(inputs.lft) == len(inputs.port) else switch_of(inputs, port)


@inner
def output_of(inputs: Inputs, port: int, dlid: int) -> int:
    """Return the output for a DLID and an input, or ``UNASSIGNED``."""
    if dlid < inputs.lft.shape[1]:
        return int(inputs.lft[lft_row(inputs, port), dlid])
    return tree_output(inputs.tree_rule, switch_of(inputs, port), dlid)


@inner
def prefetch_input(inputs: Inputs, port: int, dlid: int) -> None:
    """Prefetch the queues of an input and the forwarding entry of a DLID."""
    prefetch_queues(inputs.queues, port)
    prefetch(inputs.lft, lft_row(inputs, port) * inputs.lft.shape[1] + dlid)


@inner
def drop_cause(packet: Packet) -> int:
    """Return the drop cause of a packet whose output is ``DROPPED``. It is stored in the unused lane field."""
    return int(packet.lane)


@inner
def queue_routed(inputs: Inputs, packets: Packets, port: int, packet: int, route: LookUp, cycle: int) -> bool:
    """Append a routed packet to its input queue, in the first cycle in which allocation may grant it (IBS-1)."""
    switch, field = switch_of(inputs, port), packets.pool[packet]
    arrived_on = field.lane
    output, lane, channel = route
    if output == DROPPED:
        inputs.drop_counts[switch, lane] += 1  # a dropped packet has its drop cause in place of a lane
    field.output, field.lane, field.channel, field.head_arrival = output, lane, channel, cycle - ROUTED
    field.hops += 1
    was_empty = inputs.queues.filled[port].lanes == 0
    if push_packet(packets, inputs.queues, port, arrived_on, packet):
        _record_first(inputs, packets, port, arrived_on, packet)
        inputs.port[port].retry_cycle = 0
    inputs.nonempty_inputs[word_of(inputs, port)] |= bit_of(inputs, port)
    return was_empty


@inner
def _record_first(inputs: Inputs, packets: Packets, port: int, lane: int, packet: int) -> None:
    first, field = inputs.head_route[port, lane], packets.pool[packet]
    first.output, first.lane = field.output, field.lane


@inner
def list_ready(inputs: Inputs, ports: NDArray[np.int64], port_count: int, cycle: int) -> int:
    """Remove busy and sleeping inputs from the first ``port_count`` list entries and return the number that remain."""
    left = 0
    for index in range(port_count):
        port = ports[index]
        ports[left] = port
        state = inputs.port[port]
        left += max(state.free_from, state.retry_cycle) <= cycle
    return left


@inner
def ready_inputs(inputs: Inputs, switch: int, candidates: int, cycle: int) -> int:
    """Return which inputs of the mask ``candidates`` are not busy, and prefetch their routes."""
    first, ready, left = switch << inputs.port_bits, 0, candidates
    while left != 0:
        port = lowest_member(left)
        left &= left - 1
        if inputs.port[first + port].free_from <= cycle:
            ready |= 1 << port
            prefetch(inputs.head_route, (first + port) * inputs.head_route.shape[1])
    return ready


@inner
def last_crossing_cycle(cycle: int, flits: int, flits_ahead: int, speed: int) -> int:
    """Return the cycle in which the last flit of a packet granted in ``cycle`` crosses (IBS-5, OPAS-6).

    Parameters
    ----------
    flits_ahead : int
        Number of buffered flits in excess of one arriving per cycle.
    speed : int
        Maximum number of flits that cross per cycle.
    """
    return max(cycle + (flits + speed - 1) // speed, cycle - flits_ahead + flits)


@inner
def pop_first(inputs: Inputs, packets: Packets, port: int, lane: int) -> int:
    """Remove the first packet from the queue of an input's VL and return it."""
    packet = pop_packet(packets, inputs.queues, port, lane)
    following = inputs.queues.queue[port, lane].head
    if following != NOBODY:
        _record_first(inputs, packets, port, lane, following)
    elif inputs.queues.filled[port].lanes == 0:
        inputs.nonempty_inputs[word_of(inputs, port)] &= ~bit_of(inputs, port)
    return packet


@inner
def start_crossing(
    inputs: Inputs, packets: Packets, port: int, lane: int, cycle: int, speed: int, grants: Records[Grant], row: int
) -> int:
    """Start to move the first packet of an input's VL through the crossbar, from the next cycle on."""
    packet = pop_first(inputs, packets, port, lane)
    inputs.port[port].last_lane = lane
    field = packets.pool[packet]
    inputs.port[port].free_from = last_crossing_cycle(cycle, field.flits, cycle - field.head_arrival, speed)
    grant = grants[row]
    grant.port, grant.packet, grant.lane = port, packet, lane
    return inputs.port[port].free_from


@inner
def start_dropping(
    inputs: Inputs, packets: Packets, port: int, lane: int, cycle: int, speed: int, grants: Records[Grant], row: int
) -> int:
    """Start to discard the first packet of an input's VL at crossbar speed (IBS-10, OPAS-8).

    Store the grant in ``grants[row]`` and return the cycle in which the last flit is discarded.
    """
    until = start_crossing(inputs, packets, port, lane, cycle, speed, grants, row)
    schedule(packets, grants[row].packet, cycle + CROSSED, TO_SINK, NOBODY)
    return until
