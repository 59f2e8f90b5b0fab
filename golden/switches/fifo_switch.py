"""InfiniBand switches whose outputs have queues of requests (``docs/ib_switch.md``, rules IBS-Q1 to IBS-Q3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.engine.bits import lowest
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.records import Records
from vlane.golden.switches.ib_switch import SPEED
from vlane.golden.switches.inputs import DROPPED, Grant, Inputs, bit_of, cross, drop, new_inputs, switch_of, word_of
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
    asking : array of int64, (words,)
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
        asking=np.zeros_like(inputs.waiting),
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
        switches.asking[word_of(switches.inputs, to)] |= bit_of(switches.inputs, to)
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
        switches.asking[word_of(switches.inputs, to)] &= ~bit_of(switches.inputs, to)


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
    inputs, more = switches.inputs, switches.inputs.port_bits - switches.inputs.word_bits
    for word in range(switch << more, (switch + 1) << more):
        count = _take_requests(switches, packets, word, cycle, grants, count)
    for word in range(switch << more, (switch + 1) << more):
        outputs = switches.asking[word]
        while outputs != 0:
            to = (word << inputs.word_bits) + lowest(outputs)
            outputs &= outputs - 1
            if switches.busy_output[to] <= cycle:
                count = _grant_first(switches, out_ports, packets, switch, to, cycle, grants, count)
    return count


@inner
def _take_requests(
    switches: FifoSwitches, packets: Packets, word: int, cycle: int, grants: Records[Grant], count: int
) -> int:
    """Queue the requests of packets that are first now at inputs of a word, and let those be gone that are dropped."""
    inputs, lanes, left = switches.inputs, switches.inputs.queues.queue.shape[1], switches.inputs.waiting[word]
    while left != 0:
        port = (word << inputs.word_bits) + lowest(left)
        left &= left - 1
        new, drops = inputs.queues.filled[port].lanes & ~switches.asked[port], -1
        while new != 0:
            lane = lowest(new)
            new &= new - 1
            output = packets.pool[inputs.queues.queue[port, lane].head].output
            if output != DROPPED:
                switches.asked[port] |= 1 << lane
                _join(switches, switch_of(inputs, port), output, port * lanes + lane)
            elif drops < 0:
                drops = lane
        if drops >= 0 and inputs.port[port].busy <= cycle:
            drop(inputs, packets, port, drops, cycle, SPEED, grants, count)
            count += 1
    return count


@inner
def _grant_first(
    switches: FifoSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    switch: int,
    to: int,
    cycle: int,
    grants: Records[Grant],
    count: int,
) -> int:
    """Grant an output to the first request of its queue that may cross."""
    inputs, lanes = switches.inputs, switches.inputs.queues.queue.shape[1]
    before, request = NOBODY, switches.first[to]
    while request != NOBODY and not _may_cross(switches, out_ports, packets, to, request, cycle):
        before, request = request, switches.behind[request]
    if request == NOBODY:
        return count
    _leave(switches, switch, to - (switch << inputs.port_bits), request, before)
    port, lane = request // lanes, request % lanes
    switches.asked[port] &= ~(1 << lane)
    switches.busy_output[to] = cross(inputs, packets, port, lane, cycle, SPEED, grants, count)
    take_in(out_ports, packets, to, grants[count].packet, cycle + CROSSED)
    return count + 1


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
