"""InfiniBand switches: input queues per VL, look-up, two-stage allocation (``docs/ib_switch.md``, rules S1 to S5).

All switches of a network are one structure: port ``q`` is port ``q & (2**port_bits - 1)`` of switch ``q >> port_bits``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.bits import lowest, next_of
from vlane.golden.kernel import kernel
from vlane.golden.links import Links, reserve, room_for_largest
from vlane.golden.packets import (
    BLOCKS,
    DLID,
    FLITS,
    HOPS,
    LANE,
    OUTPUT,
    SL,
    Packets,
    Queues,
    new_queues,
    pop,
    push,
)  # fmt: skip

from vlane.lft import UNASSIGNED

__all__ = [
    "DROPPED",
    "Switches",
    "allocate",
    "local_port",
    "new_switches",
    "port_bits_for",
    "receive",
    "route",
    "switch_of",
]

DROPPED = -1
"""Output of a packet that goes nowhere."""

UNKNOWN_LID, SL_DROPS = range(2)


class Switches(NamedTuple):
    """Input sides, look-up tables and allocators.

    Parameters
    ----------
    port_bits : int
        Of a port's number within its switch.
    queues : Queues
        Packets by input and VL, heads and all.
    busy_input, busy_output : array of int64, (all ports,)
        First cycle in which an input, an output takes part in allocation.
    last_lane, last_input : array of int64, (all ports,)
        VL an input was granted last; input an output granted last.
    waiting : array of int64, (switches,)
        Inputs with a packet, as bits.
    wanted, choice : array of int64, (ports,)
        Within a cycle: inputs that want each output, as bits; the VL each input chose.
    lft : array of uint8, (switches, LIDs)
        Output port from 0 by DLID; 255 for none.
    vl : array of uint8, (switches, inputs, outputs, 16)
        Outgoing VL, 15 drops; by SL, or by incoming VL where ``by_lane``.
    by_lane : bool
        What the last index of ``vl`` is.
    drops : array of int64, (switches, 2)
        Packets dropped: for an unknown LID; for SL2VL's 15.
    """

    port_bits: int
    queues: Queues
    busy_input: NDArray[np.int64]
    busy_output: NDArray[np.int64]
    last_lane: NDArray[np.int64]
    last_input: NDArray[np.int64]
    waiting: NDArray[np.int64]
    wanted: NDArray[np.int64]
    choice: NDArray[np.int64]
    lft: NDArray[np.uint8]
    vl: NDArray[np.uint8]
    by_lane: bool
    drops: NDArray[np.int64]


def port_bits_for(ports: int) -> int:
    """Return the bits that number so many ports; at least one."""
    return max(1, (ports - 1).bit_length())


def new_switches(*, lanes: int, lft: NDArray[np.uint8], vl: NDArray[np.uint8], by_lane: bool) -> Switches:
    """Return empty switches with these tables."""
    switches, ports = vl.shape[:2]
    bits = port_bits_for(ports)
    total = switches << bits
    return Switches(
        bits, new_queues(total, lanes), np.zeros(total, np.int64), np.zeros(total, np.int64),
        np.full(total, lanes - 1, np.int64), np.full(total, ports - 1, np.int64), np.zeros(switches, np.int64),
        np.zeros(ports, np.int64), np.zeros(ports, np.int64), lft, vl, by_lane, np.zeros((switches, 2), np.int64),
    )  # fmt: skip


@kernel
def switch_of(switches: Switches, port: int) -> int:
    """Return the switch of a port."""
    return port >> switches.port_bits


@kernel
def local_port(switches: Switches, port: int) -> int:
    """Return a port's number within its switch."""
    return port & ((1 << switches.port_bits) - 1)


@kernel
def route(switches: Switches, port: int, dlid: int, sl: int, arrived_on: int) -> tuple[int, int]:
    """Return output and outgoing VL of a packet at an input; of one that drops, ``DROPPED`` and why (S10)."""
    switch = switch_of(switches, port)
    output = int(switches.lft[switch, dlid]) if dlid < switches.lft.shape[1] else UNASSIGNED
    if output >= switches.vl.shape[1]:
        return DROPPED, UNKNOWN_LID
    index = arrived_on if switches.by_lane else sl
    lane = int(switches.vl[switch, local_port(switches, port), output, index])
    if lane >= switches.queues.head.shape[1]:
        return DROPPED, SL_DROPS
    return output, lane


@kernel
def receive(switches: Switches, packets: Packets, port: int, packet: int) -> None:
    """Look a head up and let it wait for allocation; to be called in the cycle in which it first takes part (S1)."""
    switch, field = switch_of(switches, port), packets.field
    arrived_on = field[packet, LANE]
    output, lane = route(switches, port, field[packet, DLID], field[packet, SL], arrived_on)
    if output == DROPPED:
        switches.drops[switch, lane] += 1
    field[packet, OUTPUT], field[packet, LANE] = output, lane
    field[packet, HOPS] += 1
    push(packets, switches.queues, port, arrived_on, packet)
    switches.waiting[switch] |= 1 << local_port(switches, port)


@kernel
def _chosen_lane(switches: Switches, links: Links, packets: Packets, port: int, cycle: int) -> int:
    """Return the VL with which an input takes part, -1 for none (S2)."""
    first = switch_of(switches, port) << switches.port_bits
    left = switches.queues.lanes[port]
    last = switches.last_lane[port]
    while left != 0:
        lane = next_of(left, last)
        packet = switches.queues.head[port, lane]
        output = packets.field[packet, OUTPUT]
        if output == DROPPED:
            return lane
        to = first + output
        if switches.busy_output[to] <= cycle and room_for_largest(links, to, packets.field[packet, LANE], cycle):
            return lane
        left &= ~(1 << lane)
        last = lane
    return -1


@kernel
def _granted(switches: Switches, packets: Packets, port: int, cycle: int) -> int:
    """Take the packet that an input was granted out of its queue; the input is busy while it crosses (S5)."""
    local = local_port(switches, port)
    lane = switches.choice[local]
    packet = pop(packets, switches.queues, port, lane)
    switches.last_lane[port] = lane
    switches.busy_input[port] = cycle + packets.field[packet, FLITS]
    if switches.queues.lanes[port] == 0:
        switches.waiting[switch_of(switches, port)] &= ~(1 << local)
    return packet


@kernel
def allocate(
    switches: Switches, links: Links, packets: Packets, switch: int, cycle: int, grants: NDArray[np.int64]
) -> int:
    """Run one cycle of a switch's allocation; return how many grants there are.

    Parameters
    ----------
    grants : array of int64, (at least ports, 3)
        Filled with (input port, packet, VL it arrived on) of each; both queue and reservation are done.
    """
    first, wanted, choice = switch << switches.port_bits, switches.wanted, switches.choice
    inputs, outputs, count = switches.waiting[switch], 0, 0
    while inputs != 0:
        port = lowest(inputs)
        inputs &= inputs - 1
        if switches.busy_input[first + port] > cycle:
            continue
        lane = _chosen_lane(switches, links, packets, first + port, cycle)
        if lane < 0:
            continue
        choice[port] = lane
        output = packets.field[switches.queues.head[first + port, lane], OUTPUT]
        if output == DROPPED:
            grants[count, 0], grants[count, 2] = first + port, lane
            grants[count, 1] = _granted(switches, packets, first + port, cycle)
            count += 1
            continue
        if not (outputs >> output) & 1:
            outputs |= 1 << output
            wanted[output] = 0
        wanted[output] |= 1 << port
    while outputs != 0:
        output = lowest(outputs)
        outputs &= outputs - 1
        port = next_of(wanted[output], switches.last_input[first + output])
        switches.last_input[first + output] = port
        packet = _granted(switches, packets, first + port, cycle)
        switches.busy_output[first + output] = cycle + packets.field[packet, FLITS]
        reserve(links, first + output, packets.field[packet, LANE], packets.field[packet, BLOCKS])
        grants[count, 0], grants[count, 1], grants[count, 2] = first + port, packet, choice[port]
        count += 1
    return count
