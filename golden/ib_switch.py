"""InfiniBand switches: two-stage allocation (``docs/ib_switch.md``, rules S1 to S5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.bits import lowest, next_of
from vlane.golden.inputs import DROPPED, Inputs, cross, drop, new_inputs, switch_of
from vlane.golden.kernel import inner
from vlane.golden.links import Links, room_for_largest, take_in
from vlane.golden.packets import CROSSED, Packets
from vlane.golden.records import Int32, Records, new_records
from vlane.golden.vl_tables import VLTables

__all__ = ["SPEED", "IBSwitches", "allocate", "new_ib_switches"]

SPEED = 1
"""Flits that cross in a cycle, from one input."""


class OutputPort:
    """An output's part in allocation.

    Parameters
    ----------
    busy : int
        First cycle in which it takes part.
    last_input : int
        Input it granted last.
    """

    busy: Int32
    last_input: Int32


class IBSwitches(NamedTuple):
    """Inputs, VL tables and allocators.

    Parameters
    ----------
    inputs : Inputs
        Input sides.
    tables : VLTables
        Outgoing VLs.
    output : Records of OutputPort, (all ports,)
        Their part in allocation.
    wanted : array of int64, (ports,)
        Within a cycle: inputs that want each output, as bits.
    """

    inputs: Inputs
    tables: VLTables
    output: Records[OutputPort]
    wanted: NDArray[np.int64]


def new_ib_switches(*, lanes: int, lft: NDArray[np.uint8], tables: VLTables) -> IBSwitches:
    """Return empty switches with these tables."""
    ports = tables.vl.shape[1]
    inputs = new_inputs(lanes=lanes, ports=ports, places=ports, lft=lft)
    output = new_records(OutputPort, len(inputs.port))
    output["last_input"] = ports - 1
    return IBSwitches(inputs, tables, output, np.zeros(ports, np.int64))


@inner
def _chosen_lane(switches: IBSwitches, links: Links, packets: Packets, port: int, cycle: int) -> int:
    """Return the VL with which an input takes part, -1 for none (S2)."""
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
        if switches.output[to].busy <= cycle and room_for_largest(links, to, packets.pool[packet].lane, cycle):
            return lane
        left &= ~(1 << lane)
        last = lane
    return -1


@inner
def allocate(
    switches: IBSwitches, links: Links, packets: Packets, switch: int, cycle: int, grants: NDArray[np.int64]
) -> int:
    """Run one cycle of a switch's allocation, and send what is granted on its way; return how many grants there are.

    Parameters
    ----------
    grants : array of int64, (at least ports, 3)
        Filled with (input port, packet, VL it arrived on) of each.
    """
    inputs, wanted = switches.inputs, switches.wanted
    first = switch << inputs.port_bits
    left, outputs, count = inputs.waiting[switch], 0, 0
    while left != 0:
        port = lowest(left)
        left &= left - 1
        if inputs.port[first + port].busy > cycle:
            continue
        lane = _chosen_lane(switches, links, packets, first + port, cycle)
        if lane < 0:
            continue
        inputs.choice[port] = lane
        output = packets.pool[inputs.queues.queue[first + port, lane].head].output
        if output == DROPPED:
            drop(inputs, packets, first + port, lane, cycle, SPEED, grants, count)
            count += 1
            continue
        if not (outputs >> output) & 1:
            outputs |= 1 << output
            wanted[output] = 0
        wanted[output] |= 1 << port
    while outputs != 0:
        output = lowest(outputs)
        outputs &= outputs - 1
        to = first + output
        chooser = switches.output[to]
        port = next_of(wanted[output], chooser.last_input)
        chooser.last_input = port
        lane = inputs.choice[port]
        chooser.busy = cross(inputs, packets, first + port, lane, cycle, SPEED, grants, count)
        take_in(links, packets, to, grants[count, 1], cycle + CROSSED)
        count += 1
    return count
