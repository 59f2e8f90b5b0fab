"""Omni-Path switches with MPorts, central buffers and two allocations (OPAS-1 to OPAS-8, ``docs/opa_switch.md``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Records
from vlane.golden.engine.bits import lowest_member, next_member
from vlane.golden.engine.kernel import inner
from vlane.golden.links.room import BufferOccupancy
from vlane.golden.switches.central import Centre, can_accept, new_centre, start_reading, start_writing
from vlane.golden.switches.inputs import (
    DROPPED,
    NO_VL,
    UNKNOWN_LID,
    Grant,
    Inputs,
    LookUp,
    local_port,
    new_inputs,
    output_of,
    ready_inputs,
    start_crossing,
    start_dropping,
    switch_of,
)
from vlane.golden.switches.output_ports import OutputPorts, has_space_for_largest, reserve_and_schedule
from vlane.golden.switches.packets import CROSSED, NOBODY, TO_CENTRE, Packets, pop_packet, push_packet, schedule
from vlane.switches.mports import INNER_FLITS, MPORT, OPA_PORTS, READERS, mports_of
from vlane.tables.sc import SC15

_STORED = 3
"""Cycles from a grant to the first allocation in the central buffer (stages X and CB)."""


class OPASwitches(NamedTuple):
    """State of Omni-Path switches.

    Parameters
    ----------
    inputs : Inputs
        Input ports.
    mports : int
        Number of MPorts per switch.
    centre : Centre
        Central buffers. MPort m of switch s has buffer s * mports + m.
    write_port : array of int64, (all ports, 2)
        First cycle in which the local and the central write port of an output are free.
    written : array of int64, (all ports, lanes)
        First cycle in which another packet may be written to a VL of an output buffer.
    last_candidate : array of int64, (all ports,)
        Candidate that an output granted last: an input of the MPort, or 4 + read port.
    choice : array of int64, (48 + 2 * mports,)
        Scratch of a cycle: VL picked by each input, then by each read port.
    candidates : array of int64, (ports + mports,)
        Scratch of a cycle: bit masks of candidates for each output, then of inputs for each pair of central links.
    sc2sc : array of uint8, (switches, inputs, outputs, 32)
        Outgoing channel; SC15 drops.
    sc2vl : array of uint8, (switches, outputs, 32)
        VL of an outgoing channel; an absent VL drops.
    """

    inputs: Inputs
    mports: int
    centre: Centre
    write_port: NDArray[np.int64]
    written: NDArray[np.int64]
    last_candidate: NDArray[np.int64]
    choice: NDArray[np.int64]
    candidates: NDArray[np.int64]
    sc2sc: NDArray[np.uint8]
    sc2vl: NDArray[np.uint8]


(LOCAL, CENTRAL) = range(2)


def new_opa_switches(
    *, central: BufferOccupancy, lft: NDArray[np.uint8], sc2sc: NDArray[np.uint8], sc2vl: NDArray[np.uint8]
) -> OPASwitches:
    """Return empty switches with the given tables. ``central`` has one buffer for each MPort of each switch."""
    ports, lanes = sc2sc.shape[1], central.lane.shape[1]
    mports = mports_of(ports)
    inputs = new_inputs(lanes=lanes, ports=ports, lft=lft)
    total = len(inputs.port)
    return OPASwitches(
        inputs=inputs,
        mports=mports,
        centre=new_centre(central),
        write_port=np.zeros((total, 2), np.int64),
        written=np.zeros((total, lanes), np.int64),
        last_candidate=np.full(total, MPORT + READERS * mports - 1, np.int64),
        choice=np.zeros(OPA_PORTS + READERS * mports, np.int64),
        candidates=np.zeros(ports + mports, np.int64),
        sc2sc=sc2sc,
        sc2vl=sc2vl,
    )


@inner
def route(switches: Any, port: int, dlid: int, sl: int, lane: int, channel: int) -> LookUp:  # noqa: ARG001 - one signature for all types
    """Return the output, outgoing VL and outgoing channel of a packet, looked up by its channel (OPAS-8)."""
    inputs = switches.inputs
    output = output_of(inputs, port, dlid)
    if output >= switches.sc2sc.shape[1]:
        return DROPPED, UNKNOWN_LID, channel
    switch = switch_of(inputs, port)
    outgoing_channel = int(switches.sc2sc[switch, local_port(inputs, port), output, channel])
    vl = int(switches.sc2vl[switch, output, outgoing_channel])
    is_data = (channel != SC15) & (outgoing_channel != SC15)
    if not is_data or vl >= inputs.queues.queue.shape[1]:
        return DROPPED, NO_VL, channel
    return output, vl, outgoing_channel


@inner
def buffer_between(switches: Any, port: int, output: int) -> int:
    """Return the central buffer of the input's MPort, or -1 if the output belongs to the same MPort."""
    mport = local_port(switches.inputs, port) // MPORT
    return -1 if output // MPORT == mport else switch_of(switches.inputs, port) * switches.mports + mport


@inner
def central_buffers(switches: Any) -> int:
    """Return the number of central buffers per switch."""
    return switches.mports


@inner
def channels(switches: Any) -> int:
    """Return the number of channels of the tables."""
    return switches.sc2sc.shape[3]


def table_row(switches: Any, switch: int, port: int, sl: int) -> bytes:  # noqa: ARG001 - by channel, not SL
    """Return a key of an input, its MPort and its SC table: inputs with equal keys have identical routes."""
    return bytes([port // MPORT]) + switches.sc2sc[switch, port].tobytes()


@inner
def central_heads(switches: OPASwitches) -> NDArray[np.int64]:
    """Return the head packet of each central-buffer queue as an array (buffers, VLs), or -1 for none."""
    queue = switches.centre.queues.queue
    heads = np.zeros(queue.shape, np.int64)
    for buffer in range(queue.shape[0]):
        for lane in range(queue.shape[1]):
            heads[buffer, lane] = queue[buffer, lane].head
    return heads


@inner
def store(switches: OPASwitches, packets: Packets, buffer: int, packet: int) -> None:
    """Append a packet to its central-buffer queue. Call it when the packet first takes part in allocation."""
    push_packet(packets, switches.centre.queues, buffer, packets.pool[packet].lane, packet)
    switch = buffer // switches.mports
    switches.inputs.nonempty_inputs[switch] |= 1 << (OPA_PORTS + buffer - switch * switches.mports)


@inner
def _output_can_accept(
    switches: OPASwitches, out_ports: OutputPorts, output_port: int, lane: int, write_port: int, cycle: int
) -> bool:
    """Return whether an output buffer can accept a packet of a VL through a write port (OPAS-1, OPAS-2)."""
    is_free = switches.write_port[output_port, write_port] <= cycle and switches.written[output_port, lane] <= cycle
    return is_free and has_space_for_largest(out_ports, output_port, lane, cycle)


@inner
def _lane_of_input(switches: OPASwitches, out_ports: OutputPorts, port: int, cycle: int) -> int:
    """Return the VL that an input picks, -1 for none (OPAS-1)."""
    inputs = switches.inputs
    switch, mport = switch_of(inputs, port), local_port(inputs, port) // MPORT
    left, last = inputs.queues.filled[port].lanes, inputs.port[port].last_lane
    while left != 0:
        lane = next_member(left, last)
        output, outgoing_vl = inputs.head_route[port, lane].output, inputs.head_route[port, lane].lane
        if output == DROPPED:
            return lane
        if output // MPORT == mport:
            to = (switch << inputs.port_bits) + output
            takes = _output_can_accept(switches, out_ports, to, outgoing_vl, LOCAL, cycle)
        else:
            takes = can_accept(switches.centre, out_ports, switch * switches.mports + mport, outgoing_vl, cycle)
        if takes:
            return lane
        left &= ~(1 << lane)
        last = lane
    return -1


@inner
def _lane_of_read_port(
    switches: OPASwitches,
    out_ports: OutputPorts,
    packets: Packets,
    buffer: int,
    read_port: int,
    excluded_lane: int,
    cycle: int,
) -> int:
    """Return the VL that a read port picks, -1 for none (OPAS-2).

    ``excluded_lane`` is the pick of the buffer's first read port in this cycle, or -1.
    """
    centre, inputs = switches.centre, switches.inputs
    first = buffer // switches.mports << inputs.port_bits
    left, last = centre.queues.filled[buffer].lanes, centre.read_port[buffer, read_port].last_lane
    other = centre.read_port[buffer, 1 - read_port]
    if other.free_from > cycle:
        left &= ~(1 << other.lane)
    if excluded_lane >= 0:
        left &= ~(1 << excluded_lane)
    while left != 0:
        lane = next_member(left, last)
        output = packets.pool[centre.queues.queue[buffer, lane].head].output
        if _output_can_accept(switches, out_ports, first + output, lane, CENTRAL, cycle):
            return lane
        left &= ~(1 << lane)
        last = lane
    return -1


@inner
def _start_read(switches: OPASwitches, packets: Packets, buffer: int, read_port: int, lane: int, cycle: int) -> int:
    """Start to read a packet through a read port from the next cycle on and return the packet."""
    centre = switches.centre
    packet = pop_packet(packets, centre.queues, buffer, lane)
    if centre.queues.filled[buffer].lanes == 0:
        switch = buffer // switches.mports
        switches.inputs.nonempty_inputs[switch] &= ~(1 << (OPA_PORTS + buffer - switch * switches.mports))
    field = packets.pool[packet]
    start_reading(centre, buffer, read_port, lane, field.flits, field.blocks, cycle, cycle - 1 - field.head_arrival)
    return packet


@inner
def allocate_one(
    switches: OPASwitches,
    out_ports: OutputPorts,
    packets: Packets,
    switch: int,
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> int:
    """Run a cycle of a switch's allocations.

    The grants are appended to the first ``grant_count`` grants; return the new count.
    """
    ports, first = switches.sc2sc.shape[1], switch << switches.inputs.port_bits
    requested_outputs, grant_count = _run_input_stage(switches, out_ports, packets, switch, cycle, grants, grant_count)
    requested_outputs = _run_read_port_stage(switches, out_ports, packets, switch, cycle, requested_outputs)
    while requested_outputs != 0:
        to = lowest_member(requested_outputs)
        requested_outputs &= requested_outputs - 1
        if to < ports:
            _grant_output(switches, out_ports, packets, first + to, cycle, grants, grant_count)
        else:
            _grant_centre(switches, packets, switch, to - ports, cycle, grants, grant_count)
        grant_count += 1
    return grant_count


@inner
def _run_input_stage(
    switches: OPASwitches,
    out_ports: OutputPorts,
    packets: Packets,
    switch: int,
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> tuple[int, int]:
    """Run the first stage for the inputs: each picks a VL and requests an output or a central link (OPAS-1).

    Packets to be dropped cross at once (OPAS-8). Return the bit mask of requested resources and the new number of
    grants.
    """
    inputs, candidates, choice = switches.inputs, switches.candidates, switches.choice
    first, ports, requested_outputs = switch << inputs.port_bits, switches.sc2sc.shape[1], 0
    left = ready_inputs(inputs, switch, inputs.nonempty_inputs[switch] & ((1 << OPA_PORTS) - 1), cycle)
    while left != 0:
        port = lowest_member(left)
        left &= left - 1
        lane = _lane_of_input(switches, out_ports, first + port, cycle)
        if lane < 0:
            continue
        choice[port] = lane
        to = int(inputs.head_route[first + port, lane].output)
        if to == DROPPED:
            start_dropping(inputs, packets, first + port, lane, cycle, INNER_FLITS, grants, grant_count)
            grant_count += 1
            continue
        if to // MPORT != port // MPORT:
            to = ports + port // MPORT
        requested_outputs = add_request(candidates, requested_outputs, to, port % MPORT)
    return requested_outputs, grant_count


@inner
def _run_read_port_stage(
    switches: OPASwitches, out_ports: OutputPorts, packets: Packets, switch: int, cycle: int, requested_outputs: int
) -> int:
    """Run the first stage for the read ports: each picks a VL and requests its output (OPAS-2).

    Return the extended mask of requested resources.
    """
    inputs, centre, choice, mports = switches.inputs, switches.centre, switches.choice, switches.mports
    left = inputs.nonempty_inputs[switch] >> OPA_PORTS
    while left != 0:
        mport = lowest_member(left)
        left &= left - 1
        buffer, taken = switch * mports + mport, -1
        for reader in range(READERS):
            if centre.read_port[buffer, reader].free_from > cycle:
                continue
            lane = _lane_of_read_port(switches, out_ports, packets, buffer, reader, taken, cycle)
            if lane < 0:
                continue
            taken = lane
            number = READERS * mport + reader
            choice[OPA_PORTS + number] = lane
            to = packets.pool[centre.queues.queue[buffer, lane].head].output
            requested_outputs = add_request(switches.candidates, requested_outputs, to, MPORT + number)
    return requested_outputs


@inner
def add_request(candidates: NDArray[np.int64], requested_outputs: int, output_port: int, candidate: int) -> int:
    """Record a candidate's request for an output or a link pair and return the extended mask of requested resources."""
    if not (requested_outputs >> output_port) & 1:
        candidates[output_port] = 0
    candidates[output_port] |= 1 << candidate
    return requested_outputs | 1 << output_port


@inner
def _grant_output(
    switches: OPASwitches,
    out_ports: OutputPorts,
    packets: Packets,
    output_port: int,
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> None:
    """Grant an output to one of its candidates (OPAS-3)."""
    inputs, local = switches.inputs, local_port(switches.inputs, output_port)
    candidate = next_member(switches.candidates[local], switches.last_candidate[output_port])
    switches.last_candidate[output_port] = candidate
    if candidate < MPORT:
        port = output_port - local % MPORT + candidate
        lane = switches.choice[local - local % MPORT + candidate]
        until = start_crossing(inputs, packets, port, lane, cycle, INNER_FLITS, grants, grant_count)
        switches.write_port[output_port, LOCAL] = until
    else:
        number = candidate - MPORT
        buffer = switch_of(inputs, output_port) * switches.mports + number // READERS
        lane = switches.choice[OPA_PORTS + number]
        grants[grant_count].port = NOBODY
        grants[grant_count].packet = _start_read(switches, packets, buffer, number % READERS, lane, cycle)
        until = switches.write_port[output_port, CENTRAL] = switches.centre.read_port[
            buffer, number % READERS
        ].free_from
    packet = grants[grant_count].packet
    switches.written[output_port, packets.pool[packet].lane] = until
    reserve_and_schedule(out_ports, packets, output_port, packet, cycle + CROSSED)


@inner
def _grant_centre(
    switches: OPASwitches,
    packets: Packets,
    switch: int,
    mport: int,
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> None:
    """Grant a pair of central links to one of the requesting inputs (OPAS-4)."""
    inputs, centre = switches.inputs, switches.centre
    buffer = switch * switches.mports + mport
    candidate = next_member(switches.candidates[switches.sc2sc.shape[1] + mport], centre.last_input[buffer])
    centre.last_input[buffer] = candidate
    local = MPORT * mport + candidate
    port, lane = (switch << inputs.port_bits) + local, switches.choice[local]
    until = start_crossing(inputs, packets, port, lane, cycle, INNER_FLITS, grants, grant_count)
    packet = grants[grant_count].packet
    lane = packets.pool[packet].lane
    start_writing(centre, buffer, lane, packets.pool[packet].blocks, cycle, until)
    schedule(packets, packet, cycle + _STORED, TO_CENTRE, buffer)
