"""Omni-Path switches that are allocated flit by flit (OPAS-F1 to OPAS-F6, ``docs/opa_switch.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Records
from vlane.golden.engine.bits import lowest_member, next_member
from vlane.golden.engine.kernel import inner
from vlane.golden.links.room import BufferOccupancy
from vlane.golden.switches.central_flits import (
    FlitCentre,
    begin_cycle,
    can_write,
    first_packet,
    new_flit_centre,
    read_flit,
    start_writing,
    write_flit,
)
from vlane.golden.switches.flit_switch import grant_flit
from vlane.golden.switches.inputs import DROPPED, ROUTED, Grant, Inputs, local_port, new_inputs
from vlane.golden.switches.opa_switch import add_request
from vlane.golden.switches.output_ports import OutputPorts, has_space_for_largest, reserve_space
from vlane.golden.switches.packets import CROSSED, NOBODY, TO_OUTPUT, TO_SINK, Packets, schedule
from vlane.switches.mports import INNER_FLITS, LINKS, MPORT, OPA_PORTS, READERS, mports_of

_WRITE_PORTS = 2


class OPAFlitSwitches(NamedTuple):
    """State of Omni-Path switches with flit-by-flit allocation.

    Parameters
    ----------
    inputs : Inputs
        Input ports.
    mports : int
        Number of MPorts per switch.
    centre : FlitCentre
        Central buffers. MPort m of switch s has buffer s * mports + m.
    granted : array of int64, (all ports, lanes)
        Number of granted flits of the first packet of each input VL.
    last_local : array of int64, (all ports,)
        Input of the MPort that each output granted last.
    last_central : array of int64, (all ports,)
        Read port that each output granted last.
    choice : array of int64, (48 + 2 * mports,)
        Scratch of a pass: VL picked by each input, then by each read port.
    candidates : array of int64, (ports + mports,)
        Scratch of a pass: bit masks of candidates for each output (4 inputs, then read ports), then of inputs for each
        pair of central links.
    complete : array of int64, (1 + 6 * ports, 2)
        Scratch of a cycle: packets whose last flit was granted to an output, and these outputs, from row 1 on. Row 0
        stores their number.
    sc2sc : array of uint8, (switches, inputs, outputs, 32)
        Outgoing channel; SC15 drops.
    sc2vl : array of uint8, (switches, outputs, 32)
        VL of an outgoing channel; an absent VL drops.
    """

    inputs: Inputs
    mports: int
    centre: FlitCentre
    granted: NDArray[np.int64]
    last_local: NDArray[np.int64]
    last_central: NDArray[np.int64]
    choice: NDArray[np.int64]
    candidates: NDArray[np.int64]
    complete: NDArray[np.int64]
    sc2sc: NDArray[np.uint8]
    sc2vl: NDArray[np.uint8]


def new_opa_flit_switches(
    *, central: BufferOccupancy, lft: NDArray[np.uint8], sc2sc: NDArray[np.uint8], sc2vl: NDArray[np.uint8]
) -> OPAFlitSwitches:
    """Return empty switches with the given tables. ``central`` has one buffer for each MPort of each switch."""
    ports, lanes = sc2sc.shape[1], central.lane.shape[1]
    mports = mports_of(ports)
    inputs = new_inputs(lanes=lanes, ports=ports, lft=lft)
    total = len(inputs.port)
    return OPAFlitSwitches(
        inputs=inputs,
        mports=mports,
        centre=new_flit_centre(central),
        granted=np.zeros((total, lanes), np.int64),
        last_local=np.full(total, MPORT - 1, np.int64),
        last_central=np.full(total, READERS * mports - 1, np.int64),
        choice=np.zeros(OPA_PORTS + READERS * mports, np.int64),
        candidates=np.zeros(ports + mports, np.int64),
        complete=np.zeros((1 + _WRITE_PORTS * INNER_FLITS * ports, 2), np.int64),
        sc2sc=sc2sc,
        sc2vl=sc2vl,
    )


@inner
def central_heads(switches: OPAFlitSwitches) -> NDArray[np.int64]:
    """Return the first packet of each central-buffer VL as an array (buffers, VLs), or -1 for none."""
    centre = switches.centre
    heads = np.zeros(centre.queues.queue.shape, np.int64)
    for buffer in range(heads.shape[0]):
        for lane in range(heads.shape[1]):
            heads[buffer, lane] = first_packet(centre, buffer, lane)
    return heads


@inner
def allocate_one(
    switches: OPAFlitSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    switch: int,
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> int:
    """Run a cycle of a switch's allocations, three passes (OPAS-F1).

    The grants are appended to the first ``grant_count`` grants; return the new count.
    """
    left = switches.inputs.nonempty_inputs[switch] >> OPA_PORTS
    while left != 0:
        mport = lowest_member(left)
        left &= left - 1
        if not begin_cycle(switches.centre, switch * switches.mports + mport):
            switches.inputs.nonempty_inputs[switch] &= ~(1 << (OPA_PORTS + mport))
    for _ in range(INNER_FLITS):
        before = grant_count
        grant_count = _run_pass(switches, out_ports, packets, switch, cycle, grants, grant_count)
        if grant_count == before:  # the next pass would find the same state
            break
    complete = switches.complete
    while complete[0, 0] != 0:  # the calendar returns the packet scheduled last first
        row = complete[0, 0]
        schedule(packets, complete[row, 0], cycle + CROSSED, TO_OUTPUT, complete[row, 1])
        complete[0, 0] -= 1
    return grant_count


@inner
def _run_pass(
    switches: OPAFlitSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    switch: int,
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> int:
    ports, first = switches.sc2sc.shape[1], switch << switches.inputs.port_bits
    requested, grant_count = _run_input_stage(switches, out_ports, packets, switch, cycle, grants, grant_count)
    requested = _run_read_port_stage(switches, out_ports, packets, switch, cycle, requested)
    while requested != 0:
        to = lowest_member(requested)
        requested &= requested - 1
        if to < ports:
            grant_count = _grant_output(switches, out_ports, packets, first + to, cycle, grants, grant_count)
        else:
            grant_count = _grant_links(switches, out_ports, packets, switch, to - ports, grants, grant_count)
    return grant_count


@inner
def _run_input_stage(
    switches: OPAFlitSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    switch: int,
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> tuple[int, int]:
    """Run the first stage for the inputs: each picks a VL and requests an output or a central link (OPAS-F2).

    Flits to be dropped are granted at once (OPAS-F6). Return the bit mask of requested resources and the new number
    of grants.
    """
    inputs, first, ports = switches.inputs, switch << switches.inputs.port_bits, switches.sc2sc.shape[1]
    requested, left = 0, inputs.nonempty_inputs[switch] & ((1 << OPA_PORTS) - 1)
    while left != 0:
        port = lowest_member(left)
        left &= left - 1
        lane = _lane_of_input(switches, out_ports, packets, switch, port, cycle)
        if lane < 0:
            continue
        switches.choice[port] = lane
        to = int(inputs.head_route[first + port, lane].output)
        if to == DROPPED:
            if grant_flit(switches, out_ports, packets, first + port, lane, grants, grant_count):
                schedule(packets, grants[grant_count].packet, cycle + CROSSED, TO_SINK, NOBODY)
            grant_count += 1
            continue
        if to // MPORT != port // MPORT:
            to = ports + port // MPORT
        requested = add_request(switches.candidates, requested, to, port % MPORT)
    return requested, grant_count


@inner
def _lane_of_input(
    switches: OPAFlitSwitches, out_ports: OutputPorts, packets: Packets, switch: int, port: int, cycle: int
) -> int:
    """Return the VL that an input picks, -1 for none (OPAS-F2)."""
    inputs = switches.inputs
    here, mport = (switch << inputs.port_bits) + port, port // MPORT
    left, last = inputs.queues.filled[here].lanes, inputs.port[here].last_lane
    while left != 0:
        lane = next_member(left, last)
        done = switches.granted[here, lane]
        packet = packets.pool[inputs.queues.queue[here, lane].head]
        if packet.head_arrival + ROUTED + done <= cycle:
            output, outgoing_vl = inputs.head_route[here, lane].output, inputs.head_route[here, lane].lane
            if done != 0 or output == DROPPED:
                return lane
            if output // MPORT == mport:
                takes = has_space_for_largest(out_ports, here - port + output, outgoing_vl, cycle)
            else:
                takes = can_write(switches.centre, out_ports, switch * switches.mports + mport, outgoing_vl)
            if takes:
                return lane
        left &= ~(1 << lane)
        last = lane
    return -1


@inner
def _run_read_port_stage(
    switches: OPAFlitSwitches, out_ports: OutputPorts, packets: Packets, switch: int, cycle: int, requested: int
) -> int:
    """Run the first stage for the read ports: each picks a VL and requests its output (OPAS-F2).

    Return the extended mask of requested resources.
    """
    left = switches.inputs.nonempty_inputs[switch] >> OPA_PORTS
    while left != 0:
        mport = lowest_member(left)
        left &= left - 1
        buffer, taken = switch * switches.mports + mport, -1
        for reader in range(READERS):
            lane = _lane_of_read_port(switches, out_ports, packets, buffer, reader, taken, cycle)
            if lane < 0:
                break
            taken, number = lane, READERS * mport + reader
            switches.choice[OPA_PORTS + number] = lane
            to = packets.pool[first_packet(switches.centre, buffer, lane)].output
            requested = add_request(switches.candidates, requested, to, MPORT + number)
    return requested


@inner
def _lane_of_read_port(
    switches: OPAFlitSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    buffer: int,
    read_port: int,
    excluded_lane: int,
    cycle: int,
) -> int:
    """Return the VL that a read port picks, -1 for none (OPAS-F2).

    ``excluded_lane`` is the pick of the buffer's first read port in this pass, or -1.
    """
    centre = switches.centre
    left, last = centre.buffer[buffer].ready, centre.last_lane[buffer, read_port]
    if excluded_lane >= 0:
        left &= ~(1 << excluded_lane)
    while left != 0:
        lane = next_member(left, last)
        if _output_can_accept(switches, out_ports, packets, buffer, lane, cycle):
            return lane
        left &= ~(1 << lane)
        last = lane
    return -1


@inner
def _output_can_accept(
    switches: OPAFlitSwitches, out_ports: OutputPorts, packets: Packets, buffer: int, lane: int, cycle: int
) -> bool:
    """Return whether the next flit of a central VL has space in its output buffer."""
    if switches.centre.lane[buffer, lane].granted != 0:
        return True
    output = packets.pool[first_packet(switches.centre, buffer, lane)].output
    first = buffer // switches.mports << switches.inputs.port_bits
    return has_space_for_largest(out_ports, first + output, lane, cycle)


@inner
def _grant_output(
    switches: OPAFlitSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    output_port: int,
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> int:
    """Grant the local and the central write port of an output (OPAS-F3) and return the new number of grants."""
    local = local_port(switches.inputs, output_port)
    candidates = switches.candidates[local]
    if candidates & ((1 << MPORT) - 1) != 0:
        _grant_input(switches, out_ports, packets, output_port, grants, grant_count)
        grant_count += 1
    left = candidates >> MPORT
    while left != 0:
        number = next_member(left, switches.last_central[output_port])
        left &= ~(1 << number)
        buffer = (output_port >> switches.inputs.port_bits) * switches.mports + number // READERS
        lane = switches.choice[OPA_PORTS + number]
        if _output_can_accept(switches, out_ports, packets, buffer, lane, cycle):
            switches.last_central[output_port] = number
            switches.centre.last_lane[buffer, number % READERS] = lane
            _grant_reader(switches, out_ports, packets, output_port, buffer, lane, grants, grant_count)
            return grant_count + 1
    return grant_count


@inner
def _grant_input(
    switches: OPAFlitSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    output_port: int,
    grants: Records[Grant],
    grant_count: int,
) -> None:
    """Grant the local write port of an output to one of the inputs that request it."""
    local = local_port(switches.inputs, output_port)
    candidate = next_member(switches.candidates[local] & ((1 << MPORT) - 1), switches.last_local[output_port])
    switches.last_local[output_port] = candidate
    from_local = local - local % MPORT + candidate
    port, lane = output_port - local + from_local, switches.choice[from_local]
    if switches.granted[port, lane] == 0:
        reserve_space(out_ports, packets, output_port, switches.inputs.queues.queue[port, lane].head)
    if grant_flit(switches, out_ports, packets, port, lane, grants, grant_count):
        _note_complete(switches, grants[grant_count].packet, output_port)


@inner
def _grant_reader(
    switches: OPAFlitSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    output_port: int,
    buffer: int,
    lane: int,
    grants: Records[Grant],
    grant_count: int,
) -> None:
    """Grant the central write port of an output to the next flit of a central VL."""
    centre = switches.centre
    packet = first_packet(centre, buffer, lane)
    if centre.lane[buffer, lane].granted == 0:
        reserve_space(out_ports, packets, output_port, packet)
    if read_flit(centre, packets, buffer, lane, out_ports.returns.flit_shift):
        _note_complete(switches, packet, output_port)
    grants[grant_count].port, grants[grant_count].packet, grants[grant_count].lane = NOBODY, packet, lane


@inner
def _grant_links(
    switches: OPAFlitSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    switch: int,
    mport: int,
    grants: Records[Grant],
    grant_count: int,
) -> int:
    """Grant the central links of an MPort to up to two of the requesting inputs (OPAS-F3).

    Return the new number of grants.
    """
    inputs, centre = switches.inputs, switches.centre
    buffer = switch * switches.mports + mport
    state = centre.buffer[buffer]
    left, most = switches.candidates[switches.sc2sc.shape[1] + mport], grant_count + LINKS
    while left != 0 and grant_count < most:
        candidate = next_member(left, state.last_input)
        left &= ~(1 << candidate)
        local = MPORT * mport + candidate
        port, lane = (switch << inputs.port_bits) + local, switches.choice[local]
        is_first = switches.granted[port, lane] == 0
        if is_first and not can_write(centre, out_ports, buffer, inputs.head_route[port, lane].lane):
            continue
        packet = inputs.queues.queue[port, lane].head
        if is_first:
            start_writing(centre, packets, buffer, packet)
            inputs.nonempty_inputs[switch] |= 1 << (OPA_PORTS + mport)
        state.last_input = candidate
        is_last = grant_flit(switches, out_ports, packets, port, lane, grants, grant_count)
        write_flit(centre, packets, buffer, packet, is_last)
        grant_count += 1
    return grant_count


@inner
def _note_complete(switches: OPAFlitSwitches, packet: int, output_port: int) -> None:
    """Record that the last flit of a packet was granted to an output."""
    row = switches.complete[0, 0] + 1
    switches.complete[row, 0], switches.complete[row, 1], switches.complete[0, 0] = packet, output_port, row
