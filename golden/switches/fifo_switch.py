"""InfiniBand switches with a request queue for each output (IBS-Q1 to IBS-Q3, ``docs/ib_switch.md``)."""

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


class FifoSwitches(NamedTuple):
    """State of switches with request queues.

    Parameters
    ----------
    inputs : Inputs
        Input ports.
    tables : VLTables
        Outgoing VLs.
    output_free_from : array of int64, (all ports,)
        First cycle in which an output takes part in allocation.
    requested_outputs : array of int64, (words,)
        Bit set of outputs with a request.
    requests : Requests
        One queue for each output.
    """

    inputs: Inputs
    tables: VLTables
    output_free_from: NDArray[np.int64]
    requested_outputs: NDArray[np.int64]
    requests: Requests


def new_fifo_switches(*, lanes: int, lft: NDArray[np.uint8], tables: VLTables) -> FifoSwitches:
    """Return empty switches with the given tables."""
    ports = tables.vl.shape[1]
    inputs = new_inputs(lanes=lanes, ports=ports, lft=lft)
    total = len(inputs.port)
    return FifoSwitches(
        inputs=inputs,
        tables=tables,
        output_free_from=np.zeros(total, np.int64),
        requested_outputs=np.zeros_like(inputs.nonempty_inputs),
        requests=new_requests(ports=total, lanes=lanes, queues=total),
    )


@inner
def allocate_one(
    switches: FifoSwitches,
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
            if switches.output_free_from[to] <= cycle:
                grant_count = _grant_first(switches, out_ports, packets, to, cycle, grants, grant_count)
    return grant_count


@inner
def _take_requests(
    switches: FifoSwitches, packets: Packets, word: int, cycle: int, grants: Records[Grant], grant_count: int
) -> int:
    """Queue the requests of new first packets at the inputs of a word, and start to drop packets (IBS-Q1, IBS-Q2)."""
    inputs, requests, lanes = switches.inputs, switches.requests, switches.inputs.queues.queue.shape[1]
    left = inputs.nonempty_inputs[word]
    while left != 0:
        port = (word << inputs.word_bits) + lowest_member(left)
        left &= left - 1
        new, drops = inputs.queues.filled[port].lanes & ~requests.requested_lanes[port], -1
        while new != 0:
            lane = lowest_member(new)
            new &= new - 1
            output = inputs.head_route[port, lane].output
            if output != DROPPED:
                requests.requested_lanes[port] |= 1 << lane
                to = (switch_of(inputs, port) << inputs.port_bits) + output
                append_request(requests, to, port * lanes + lane)
                switches.requested_outputs[word_of(inputs, to)] |= bit_of(inputs, to)
            elif drops < 0:
                drops = lane
        if drops >= 0 and inputs.port[port].free_from <= cycle:
            start_dropping(inputs, packets, port, drops, cycle, SPEED, grants, grant_count)
            grant_count += 1
    return grant_count


@inner
def _grant_first(
    switches: FifoSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    output_port: int,
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> int:
    """Grant an output to the first request in its queue that can cross (IBS-Q3)."""
    inputs, requests, lanes = switches.inputs, switches.requests, switches.inputs.queues.queue.shape[1]
    before, request = NOBODY, requests.first[output_port]
    while request != NOBODY and not _may_cross(switches, out_ports, packets, output_port, request, cycle):
        before, request = request, requests.next_request[request]
    if request == NOBODY:
        return grant_count
    remove_request(requests, output_port, request, before)
    if requests.first[output_port] == NOBODY:
        switches.requested_outputs[word_of(inputs, output_port)] &= ~bit_of(inputs, output_port)
    port, lane = request // lanes, request % lanes
    requests.requested_lanes[port] &= ~(1 << lane)
    switches.output_free_from[output_port] = start_crossing(
        inputs, packets, port, lane, cycle, SPEED, grants, grant_count
    )
    reserve_and_schedule(out_ports, packets, output_port, grants[grant_count].packet, cycle + CROSSED)
    return grant_count + 1


@inner
def _may_cross(
    switches: FifoSwitches, out_ports: OutputPorts, packets: Packets, output_port: int, request: int, cycle: int
) -> bool:
    """Return whether the input of a request is free and the packet fits into the output buffer."""
    inputs, lanes = switches.inputs, switches.inputs.queues.queue.shape[1]
    port = request // lanes
    if inputs.port[port].free_from > cycle:
        return False
    field = packets.pool[inputs.queues.queue[port, request % lanes].head]
    return has_space(out_ports, output_port, field.lane, field.blocks, cycle)
