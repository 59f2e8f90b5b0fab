"""InfiniBand switches whose outputs have queues of requests (``docs/ib_switch.md``, rules IBS-Q1 to IBS-Q3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.engine.bits import lowest
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.records import Records
from vlane.golden.switches.ib_switch import SPEED
from vlane.golden.switches.inputs import DROPPED, Grant, Inputs, cross, drop, new_inputs
from vlane.golden.switches.output_ports import OutputPorts, has_room, take_in
from vlane.golden.switches.packets import CROSSED, NOBODY, Packets
from vlane.golden.switches.vl_tables import VLTables

__all__ = ["FifoSwitches", "allocate_one", "new_fifo_switches"]


class FifoSwitches(NamedTuple):
    """Inputs, VL tables and queues of requests.

    A request is named by its (input port, VL): there is at most one of each.

    Parameters
    ----------
    inputs : Inputs
        Input sides.
    tables : VLTables
        Outgoing VLs.
    busy_output : array of int64, (all ports,)
        First cycle in which an output takes part in allocation.
    asked : array of int64, (all ports,)
        VLs of an input whose first packet has its request in a queue, as bits.
    asking : array of int64, (switches,)
        Outputs with a request, as bits.
    first, last : array of int64, (all ports,)
        First and last request of an output's queue, port * lanes + VL; -1 if it is empty.
    behind : array of int64, (all ports * lanes,)
        The request behind one in its queue, -1 for none.
    """

    inputs: Inputs
    tables: VLTables
    busy_output: NDArray[np.int64]
    asked: NDArray[np.int64]
    asking: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    behind: NDArray[np.int64]


def new_fifo_switches(*, lanes: int, lft: NDArray[np.uint8], tables: VLTables) -> FifoSwitches:
    """Return empty switches with these tables."""
    ports = tables.vl.shape[1]
    inputs = new_inputs(lanes=lanes, ports=ports, lft=lft)
    total = len(inputs.port)
    return FifoSwitches(
        inputs=inputs,
        tables=tables,
        busy_output=np.zeros(total, np.int64),
        asked=np.zeros(total, np.int64),
        asking=np.zeros(len(lft), np.int64),
        first=np.full(total, NOBODY, np.int64),
        last=np.full(total, NOBODY, np.int64),
        behind=np.full(total * lanes, NOBODY, np.int64),
    )


@inner
def _join(switches: FifoSwitches, switch: int, output: int, request: int) -> None:
    """Put a request at the end of an output's queue."""
    to = (switch << switches.inputs.port_bits) + output
    switches.behind[request] = NOBODY
    if switches.first[to] == NOBODY:
        switches.first[to] = request
        switches.asking[switch] |= 1 << output
    else:
        switches.behind[switches.last[to]] = request
    switches.last[to] = request


@inner
def _leave(switches: FifoSwitches, switch: int, output: int, request: int, before: int) -> None:
    """Take a request out of an output's queue; ``before`` is the one in front of it, -1 for none."""
    to = (switch << switches.inputs.port_bits) + output
    next_request = switches.behind[request]
    if before == NOBODY:
        switches.first[to] = next_request
    else:
        switches.behind[before] = next_request
    if next_request == NOBODY:
        switches.last[to] = before
    if switches.first[to] == NOBODY:
        switches.asking[switch] &= ~(1 << output)


@inner
def allocate_one(
    switches: FifoSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    switch: int,
    cycle: int,
    grants: Records[Grant],
    count: int,
) -> int:
    """Run one cycle of a switch's allocation, behind so many grants of others; return how many there are then."""
    inputs, lanes = switches.inputs, switches.inputs.queues.queue.shape[1]
    first, left = switch << inputs.port_bits, inputs.waiting[switch]
    while left != 0:
        port = first + lowest(left)
        left &= left - 1
        new, drops = inputs.queues.lanes[port] & ~switches.asked[port], -1
        while new != 0:
            lane = lowest(new)
            new &= new - 1
            output = packets.pool[inputs.queues.queue[port, lane].head].output
            if output != DROPPED:
                switches.asked[port] |= 1 << lane
                _join(switches, switch, output, port * lanes + lane)
            elif drops < 0:
                drops = lane
        if drops >= 0 and inputs.port[port].busy <= cycle:
            drop(inputs, packets, port, drops, cycle, SPEED, grants, count)
            count += 1
    outputs = switches.asking[switch]
    while outputs != 0:
        output = lowest(outputs)
        outputs &= outputs - 1
        if switches.busy_output[first + output] > cycle:
            continue
        before, request = NOBODY, switches.first[first + output]
        while request != NOBODY and not _may_cross(switches, out_ports, packets, first + output, request, cycle):
            before, request = request, switches.behind[request]
        if request != NOBODY:
            _leave(switches, switch, output, request, before)
            port, lane = request // lanes, request % lanes
            switches.asked[port] &= ~(1 << lane)
            switches.busy_output[first + output] = cross(inputs, packets, port, lane, cycle, SPEED, grants, count)
            take_in(out_ports, packets, first + output, grants[count].packet, cycle + CROSSED)
            count += 1
    return count


@inner
def _may_cross(
    switches: FifoSwitches, out_ports: OutputPorts, packets: Packets, to: int, request: int, cycle: int
) -> bool:
    """Tell whether a request's input is free and its packet fits into the output buffer."""
    inputs, lanes = switches.inputs, switches.inputs.queues.queue.shape[1]
    port = request // lanes
    if inputs.port[port].busy > cycle:
        return False
    field = packets.pool[inputs.queues.queue[port, request % lanes].head]
    return has_room(out_ports, to, field.lane, field.blocks, cycle)
