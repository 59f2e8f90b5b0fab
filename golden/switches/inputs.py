"""Input sides of switches: a queue per VL, the forwarding table, what waits for allocation.

All switches of a network are one structure: port ``q`` is port ``q & (2**port_bits - 1)`` of switch ``q >> port_bits``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int32, Int64, Records, new_records
from vlane.golden.engine.bits import WORD_BITS, lowest
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.prefetch import prefetch
from vlane.golden.switches.packets import (
    CROSSED,
    NOBODY,
    TO_SINK,
    Packets,
    Queues,
    load_queues,
    new_queues,
    pop,
    push,
    schedule,
)
from vlane.golden.switches.tree_rule import NO_RULE, tree_output
from vlane.packets.drop_cause import DropCause

DROPPED = -1
"""Output of a packet that goes nowhere."""

UNKNOWN_LID, NO_VL = int(DropCause.UNKNOWN_LID), int(DropCause.NO_VL)
"""Drop causes that a golden switch tells apart."""

ROUTED = 2
"""Cycles from a head's arrival to its first allocation (stages IB, RT)."""


class InputPort:
    """Allocation state of an input.

    Parameters
    ----------
    busy : int
        First cycle in which it takes part in allocation.
    last_lane : int
        VL that was granted last.
    """

    busy: Int64
    last_lane: Int32


class Route:
    """Where the first packet of a queue goes.

    Parameters
    ----------
    output, lane : int
        As of the packet (``Packet``), kept here so that inputs that wait need not look at their packets.
    """

    output: Int16
    lane: Int16


class Grant:
    """A grant of a switch's allocation.

    Parameters
    ----------
    port : int
        Input port in which room comes free; -1 if there is none, as for a packet that leaves a central buffer.
    packet : int
        Number of the packet.
    lane : int
        VL on which the packet arrived at the input port.
    """

    port: Int64
    packet: Int64
    lane: Int64


class Inputs(NamedTuple):
    """Input buffers and what their packets are looked up in.

    Parameters
    ----------
    port_bits : int
        Of a port's number within its switch.
    word_bits : int
        Of a port's number within its word: a switch's ports are one word of a set, or several.
    queues : Queues
        Packets by input and VL, heads and all.
    first : Records of Route, (all ports, lanes)
        Of the first packet of each queue that has one.
    port : Records of InputPort, (all ports,)
        Allocation state.
    waiting : array of int64, (words,)
        Inputs with a packet, as bits; of switches of one word, above them whatever else they wait with.
    lft : array of uint8, (switches, LIDs)
        Output port from 0 by DLID; 255 for none. Without LIDs if there is a rule.
    rule : array of int64
        Rule by which a tree forwards without tables (``tree_rule.py``), or ``NO_RULE``.
    drops : array of int64, (switches, drop causes)
        Packets dropped, by ``DropCause``.
    """

    port_bits: int
    word_bits: int
    queues: Queues
    first: Records[Route]
    port: Records[InputPort]
    waiting: NDArray[np.int64]
    lft: NDArray[np.uint8]
    rule: NDArray[np.int64]
    drops: NDArray[np.int64]


LookUp = tuple[int, int, int]
"""What was looked up of a packet: output, ``DROPPED`` if there is none; outgoing VL, or the drop cause of a packet that
is dropped; channel."""


def port_bits_for(ports: int) -> int:
    """Return the bits that number so many ports; at least one."""
    return max(1, (ports - 1).bit_length())


def new_inputs(*, lanes: int, ports: int, lft: NDArray[np.uint8]) -> Inputs:
    """Return empty inputs, of so many ports, of as many switches as the forwarding table has; they own a copy of it."""
    switches, bits = len(lft), port_bits_for(ports)
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
    )


@inner
def switch_of(inputs: Inputs, port: int) -> int:
    """Return the switch of a port."""
    return port >> inputs.port_bits


@inner
def local_port(inputs: Inputs, port: int) -> int:
    """Return a port's number within its switch."""
    return port & ((1 << inputs.port_bits) - 1)


@inner
def word_of(inputs: Inputs, port: int) -> int:
    """Return the word of a set of all ports that has a port."""
    return port >> inputs.word_bits


@inner
def bit_of(inputs: Inputs, port: int) -> int:
    """Return the word of a set of ports with only this one, as a bit."""
    return 1 << int(port & ((1 << inputs.word_bits) - 1))


@inner
def turn_of(inputs: Inputs, local: int, last: int) -> int:
    """Return how soon a port has its turn after the last, round robin: 1 or more, the greater, the sooner."""
    return ((last - local) & ((1 << inputs.port_bits) - 1)) + 1


@inner
def at_turn(inputs: Inputs, turn: int, last: int) -> int:
    """Return the port of a switch with that ``turn_of``."""
    return (last + 1 - turn) & ((1 << inputs.port_bits) - 1)


@inner
def output_of(inputs: Inputs, port: int, dlid: int) -> int:
    """Return the output of a DLID at an input's switch; ``UNASSIGNED`` if it has none."""
    switch = switch_of(inputs, port)
    if dlid < inputs.lft.shape[1]:
        return int(inputs.lft[switch, dlid])
    return tree_output(inputs.rule, switch, dlid)


@inner
def load_input(inputs: Inputs, port: int, dlid: int) -> None:
    """Have loaded what a head of a DLID needs that comes to an input."""
    load_queues(inputs.queues, port)
    prefetch(inputs.lft, switch_of(inputs, port) * inputs.lft.shape[1] + dlid)


@inner
def queue_routed(inputs: Inputs, packets: Packets, port: int, packet: int, found: LookUp, cycle: int) -> None:
    """Queue a packet that was looked up, in the first cycle in which it may take part in allocation (IBS-1)."""
    switch, field = switch_of(inputs, port), packets.pool[packet]
    arrived_on = field.lane
    output, lane, channel = found
    if output == DROPPED:
        inputs.drops[switch, lane] += 1
    field.output, field.lane, field.channel, field.arrived = output, lane, channel, cycle - ROUTED
    field.hops += 1
    if push(packets, inputs.queues, port, arrived_on, packet):
        _note_first(inputs, packets, port, arrived_on, packet)
    inputs.waiting[word_of(inputs, port)] |= bit_of(inputs, port)


@inner
def _note_first(inputs: Inputs, packets: Packets, port: int, lane: int, packet: int) -> None:
    first, field = inputs.first[port, lane], packets.pool[packet]
    first.output, first.lane = field.output, field.lane


@inner
def list_ready(inputs: Inputs, ports: NDArray[np.int64], count: int, cycle: int) -> int:
    """Leave busy inputs out of a list of so many; return how many are left."""
    left = 0
    for index in range(count):
        port = ports[index]
        ports[left] = port
        left += inputs.port[port].busy <= cycle
    return left


@inner
def ready_inputs(inputs: Inputs, switch: int, among: int, cycle: int) -> int:
    """Return which of a switch's inputs, given as bits, are not busy, and have loaded what they look at."""
    first, ready, left = switch << inputs.port_bits, 0, among
    while left != 0:
        port = lowest(left)
        left &= left - 1
        if inputs.port[first + port].busy <= cycle:
            ready |= 1 << port
            prefetch(inputs.first, (first + port) * inputs.first.shape[1])
    return ready


@inner
def crosses_until(cycle: int, flits: int, ahead: int, speed: int) -> int:
    """Return the cycle in which the last flit crosses of a packet that is granted in a cycle (IBS-5, OPAS-6).

    Parameters
    ----------
    ahead : int
        Flits already buffered beyond the one that arrives per cycle.
    speed : int
        Flits that cross in a cycle, if they are there.
    """
    return max(cycle + (flits + speed - 1) // speed, cycle - ahead + flits)


@inner
def take_first(inputs: Inputs, packets: Packets, port: int, lane: int) -> int:
    """Take the first packet of an input's VL out of its queue; return it."""
    packet = pop(packets, inputs.queues, port, lane)
    following = inputs.queues.queue[port, lane].head
    if following != NOBODY:
        _note_first(inputs, packets, port, lane, following)
    elif inputs.queues.filled[port].lanes == 0:
        inputs.waiting[word_of(inputs, port)] &= ~bit_of(inputs, port)
    return packet


@inner
def cross(
    inputs: Inputs, packets: Packets, port: int, lane: int, cycle: int, speed: int, grants: Records[Grant], row: int
) -> int:
    """Let an input's first packet of a VL cross from the next cycle on; return when its last flit does.

    ``grants[row]`` is filled.
    """
    packet = take_first(inputs, packets, port, lane)
    inputs.port[port].last_lane = lane
    field = packets.pool[packet]
    inputs.port[port].busy = crosses_until(cycle, field.flits, cycle - field.arrived, speed)
    grant = grants[row]
    grant.port, grant.packet, grant.lane = port, packet, lane
    return inputs.port[port].busy


@inner
def drop(
    inputs: Inputs, packets: Packets, port: int, lane: int, cycle: int, speed: int, grants: Records[Grant], row: int
) -> int:
    """Let an input's first packet of a VL cross to nowhere; return when its last flit does (IBS-10, OPAS-8)."""
    until = cross(inputs, packets, port, lane, cycle, speed, grants, row)
    schedule(packets, grants[row].packet, cycle + CROSSED, TO_SINK, NOBODY)
    return until
