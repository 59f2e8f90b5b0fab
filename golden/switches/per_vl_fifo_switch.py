"""InfiniBand switches with a crossbar port per VL and request queues (IBS-PQ1, IBS-PQ2, ``docs/ib_switch.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Records
from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import inner
from vlane.golden.switches.ib_switch import SPEED
from vlane.golden.switches.inputs import (
    DROPPED,
    Grant,
    Inputs,
    bit_of,
    new_inputs,
    start_crossing,
    start_dropping,
    switch_of,
    word_of,
)
from vlane.golden.switches.output_ports import OutputPorts, has_space, reserve_and_schedule
from vlane.golden.switches.packets import CROSSED, NOBODY, Packets
from vlane.golden.switches.requests import Requests, append_request, new_requests, remove_request
from vlane.golden.switches.vl_tables import VLTables


class PerVLFifoSwitches(NamedTuple):
    """State of switches with a request queue for each (output, VL).

    Parameters
    ----------
    inputs : Inputs
        Input ports.
    tables : VLTables
        Outgoing VLs.
    input_free_from, output_free_from : array of int64, (all ports, lanes)
        First cycle in which an (input, VL) or an (output, VL) takes part in allocation.
    requested_outputs : array of int64, (words,)
        Bit set of outputs with a request.
    requested_lanes : array of int64, (all ports,)
        Bit mask of an output's VLs with a request.
    requests : Requests
        Request queues, numbered output * lanes + VL.
    """

    inputs: Inputs
    tables: VLTables
    input_free_from: NDArray[np.int64]
    output_free_from: NDArray[np.int64]
    requested_outputs: NDArray[np.int64]
    requested_lanes: NDArray[np.int64]
    requests: Requests


def new_per_vl_fifo_switches(*, lanes: int, lft: NDArray[np.uint8], tables: VLTables) -> PerVLFifoSwitches:
    """Return empty switches with the given tables."""
    inputs = new_inputs(lanes=lanes, ports=tables.vl.shape[1], lft=lft)
    total = len(inputs.port)
    return PerVLFifoSwitches(
        inputs=inputs,
        tables=tables,
        input_free_from=np.zeros((total, lanes), np.int64),
        output_free_from=np.zeros((total, lanes), np.int64),
        requested_outputs=np.zeros_like(inputs.nonempty_inputs),
        requested_lanes=np.zeros(total, np.int64),
        requests=new_requests(ports=total, lanes=lanes, queues=total * lanes),
    )


@inner
def allocate_one(
    switches: PerVLFifoSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    switch: int,
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> int:
    """Run a cycle of a switch's allocation.

    The grants are appended to the first ``grant_count`` grants; return the new count.
    """
    inputs, more = switches.inputs, switches.inputs.port_bits - switches.inputs.word_bits
    for word in range(switch << more, (switch + 1) << more):
        grant_count = _take_requests(switches, packets, word, cycle, grants, grant_count)
    for word in range(switch << more, (switch + 1) << more):
        outputs = switches.requested_outputs[word]
        while outputs != 0:
            to = (word << inputs.word_bits) + lowest_member(outputs)
            outputs &= outputs - 1
            ready = switches.requested_lanes[to]
            while ready != 0:
                lane = lowest_member(ready)
                ready &= ready - 1
                if switches.output_free_from[to, lane] <= cycle:
                    grant_count = _grant_first(switches, out_ports, packets, to, lane, cycle, grants, grant_count)
    return grant_count


@inner
def _take_requests(
    switches: PerVLFifoSwitches, packets: Packets, word: int, cycle: int, grants: Records[Grant], grant_count: int
) -> int:
    """Queue the requests of new first packets at the inputs of a word, and start to drop packets (IBS-PQ1)."""
    inputs, requests, lanes = switches.inputs, switches.requests, switches.input_free_from.shape[1]
    left = inputs.nonempty_inputs[word]
    while left != 0:
        port = (word << inputs.word_bits) + lowest_member(left)
        left &= left - 1
        new = inputs.queues.filled[port].lanes & ~requests.requested_lanes[port]
        while new != 0:
            lane = lowest_member(new)
            new &= new - 1
            head = inputs.head_route[port, lane]
            if head.output != DROPPED:
                to = (switch_of(inputs, port) << inputs.port_bits) + head.output
                requests.requested_lanes[port] |= 1 << lane
                append_request(requests, to * lanes + head.lane, port * lanes + lane)
                switches.requested_outputs[word_of(inputs, to)] |= bit_of(inputs, to)
                switches.requested_lanes[to] |= 1 << head.lane
            elif switches.input_free_from[port, lane] <= cycle:
                switches.input_free_from[port, lane] = start_dropping(
                    inputs, packets, port, lane, cycle, SPEED, grants, grant_count
                )
                grant_count += 1
    return grant_count


@inner
def _grant_first(
    switches: PerVLFifoSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    output_port: int,
    outgoing_vl: int,
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> int:
    """Grant an (output, VL) to the first request in its queue that can cross (IBS-PQ2)."""
    inputs, requests, lanes = switches.inputs, switches.requests, switches.input_free_from.shape[1]
    queue = output_port * lanes + outgoing_vl
    before, request = NOBODY, requests.first[queue]
    while request != NOBODY and not _may_cross(switches, out_ports, packets, output_port, request, cycle):
        before, request = request, requests.next_request[request]
    if request == NOBODY:
        return grant_count
    remove_request(requests, queue, request, before)
    if requests.first[queue] == NOBODY:
        switches.requested_lanes[output_port] &= ~(1 << outgoing_vl)
        if switches.requested_lanes[output_port] == 0:
            switches.requested_outputs[word_of(inputs, output_port)] &= ~bit_of(inputs, output_port)
    port, lane = request // lanes, request % lanes
    requests.requested_lanes[port] &= ~(1 << lane)
    until = start_crossing(inputs, packets, port, lane, cycle, SPEED, grants, grant_count)
    switches.input_free_from[port, lane] = switches.output_free_from[output_port, outgoing_vl] = until
    reserve_and_schedule(out_ports, packets, output_port, grants[grant_count].packet, cycle + CROSSED)
    return grant_count + 1


@inner
def _may_cross(
    switches: PerVLFifoSwitches, out_ports: OutputPorts, packets: Packets, output_port: int, request: int, cycle: int
) -> bool:
    """Return whether the (input, VL) of a request is free and the packet fits into its VL's output-buffer partition."""
    lanes = switches.input_free_from.shape[1]
    port, lane = request // lanes, request % lanes
    if switches.input_free_from[port, lane] > cycle:
        return False
    field = packets.pool[switches.inputs.queues.queue[port, lane].head]
    return has_space(out_ports, output_port, field.lane, field.blocks, cycle)
