"""InfiniBand switches: two-stage allocation (``docs/ib_switch.md``, rules IBS-1 to IBS-5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.engine.bits import LIST_MARGIN, list_members, next_of
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.records import Int32, Int64, Records, new_records
from vlane.golden.switches.inputs import DROPPED, Grant, Inputs, cross, drop, local_port, new_inputs, switch_of
from vlane.golden.switches.output_ports import OutputPorts, room_for_largest, take_in
from vlane.golden.switches.packets import CROSSED, Packets
from vlane.golden.switches.vl_tables import VLTables

from vlane.switch_kinds import INFINIBAND

__all__ = ["SPEED", "IBSwitches", "allocate", "new_ib_switches"]

SPEED = INFINIBAND.inner_flits
"""Flits that cross in a cycle, from one input."""


class OutputPort:
    """Allocation state of an output.

    Parameters
    ----------
    busy : int
        First cycle in which it takes part in allocation.
    last_input : int
        Input it granted last.
    nearest : int
        Within a cycle: of the inputs that want it, the one whose turn is first, as its distance in front of the one
        after ``last_input``, counted downwards from 2 to the power of ``port_bits``; 0 if none wants it.
    """

    busy: Int32
    last_input: Int32
    nearest: Int64


class IBSwitches(NamedTuple):
    """Inputs, VL tables and allocators.

    Parameters
    ----------
    inputs : Inputs
        Input sides.
    tables : VLTables
        Outgoing VLs.
    output : Records of OutputPort, (all ports,)
        Allocation state.
    able : array of int64, (all ports and a margin,)
        Within a cycle: inputs with a packet.
    choice : array of int64, (all ports,)
        Within a cycle: the VL that each input chose.
    asked : array of int64, (all ports,)
        Within a cycle: outputs that are wanted.
    """

    inputs: Inputs
    tables: VLTables
    output: Records[OutputPort]
    able: NDArray[np.int64]
    choice: NDArray[np.int64]
    asked: NDArray[np.int64]


def new_ib_switches(*, lanes: int, lft: NDArray[np.uint8], tables: VLTables) -> IBSwitches:
    """Return empty switches with these tables."""
    ports = tables.vl.shape[1]
    inputs = new_inputs(lanes=lanes, ports=ports, lft=lft)
    total = len(inputs.port)
    output = new_records(OutputPort, total)
    output["last_input"] = ports - 1
    able, choice, asked = np.zeros(total + LIST_MARGIN, np.int64), np.zeros(total, np.int64), np.zeros(total, np.int64)
    return IBSwitches(inputs, tables, output, able, choice, asked)


@inner
def _chosen_lane(switches: IBSwitches, out_ports: OutputPorts, packets: Packets, port: int, cycle: int) -> int:
    """Return the VL with which an input takes part, -1 for none (IBS-2)."""
    inputs = switches.inputs
    first = switch_of(inputs, port) << inputs.port_bits
    left = inputs.queues.lanes[port]
    last = inputs.port[port].last_lane
    while left != 0:
        lane = next_of(left, last)
        packet = inputs.queues.queue[port, lane].head
        output = packets.pool[packet].output
        if output == DROPPED:
            return lane
        to = first + output
        if switches.output[to].busy <= cycle and room_for_largest(out_ports, to, packets.pool[packet].lane, cycle):
            return lane
        left &= ~(1 << lane)
        last = lane
    return -1


@inner
def allocate(switches: IBSwitches, out_ports: OutputPorts, packets: Packets, cycle: int, grants: Records[Grant]) -> int:
    """Run one cycle of all allocations, and send what is granted on its way; return how many grants there are.

    Parameters
    ----------
    grants : Records of Grant, (at least all ports,)
        Filled with the grants.
    """
    inputs, outputs = switches.inputs, switches.output
    asked, count, highest = 0, 0, (1 << inputs.port_bits) - 1
    for index in range(list_members(inputs.waiting, inputs.word_bits, switches.able)):
        port = switches.able[index]
        if inputs.port[port].busy > cycle:
            continue
        lane = _chosen_lane(switches, out_ports, packets, port, cycle)
        if lane < 0:
            continue
        output = packets.pool[inputs.queues.queue[port, lane].head].output
        if output == DROPPED:
            drop(inputs, packets, port, lane, cycle, SPEED, grants, count)
            count += 1
            continue
        switches.choice[port] = lane
        local = local_port(inputs, port)
        to = port - local + output
        switches.asked[asked] = to
        chooser = outputs[to]
        asked += chooser.nearest == 0
        chooser.nearest = max(chooser.nearest, ((chooser.last_input - local) & highest) + 1)
    for index in range(asked):
        to = switches.asked[index]
        chooser = outputs[to]
        local = (chooser.last_input + 1 - chooser.nearest) & highest
        chooser.last_input, chooser.nearest = local, 0
        port = to - local_port(inputs, to) + local
        chooser.busy = cross(inputs, packets, port, switches.choice[port], cycle, SPEED, grants, count)
        take_in(out_ports, packets, to, grants[count].packet, cycle + CROSSED)
        count += 1
    return count
