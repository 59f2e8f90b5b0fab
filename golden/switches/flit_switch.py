"""InfiniBand switches whose crossbar is allocated flit by flit (IBS-F1 to IBS-F6, ``docs/ib_switch.md``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Records
from vlane.golden.engine.bits import LIST_MARGIN, list_members, next_member
from vlane.golden.engine.kernel import inner
from vlane.golden.switches.inputs import (
    DROPPED,
    Grant,
    Inputs,
    local_port,
    new_inputs,
    pop_first,
    port_with_priority,
    round_robin_priority,
    switch_of,
)
from vlane.golden.switches.output_ports import OutputPorts, has_space_for_largest, reserve_space
from vlane.golden.switches.packets import CROSSED, NOBODY, TO_OUTPUT, TO_SINK, Packets, schedule
from vlane.golden.switches.vl_tables import VLTables


class FlitSwitches(NamedTuple):
    """State of switches with flit-by-flit allocation.

    Parameters
    ----------
    inputs : Inputs
        Input ports.
    tables : VLTables
        Outgoing VLs.
    granted : array of int64, (all ports, lanes)
        Number of granted flits of the first packet of each input VL.
    last_input : array of int64, (all ports,)
        Input that an output granted last.
    best_priority : array of int64, (all ports,)
        Scratch of a cycle: largest ``round_robin_priority`` among the inputs that request an output; 0 if none does.
    candidate_ports : array of int64, (all ports and a margin,)
        Scratch of a cycle: inputs with a packet.
    choice : array of int64, (all ports,)
        Scratch of a cycle: VL that each input picked.
    requested_outputs : array of int64, (all ports,)
        Scratch of a cycle: requested outputs.
    """

    inputs: Inputs
    tables: VLTables
    granted: NDArray[np.int64]
    last_input: NDArray[np.int64]
    best_priority: NDArray[np.int64]
    candidate_ports: NDArray[np.int64]
    choice: NDArray[np.int64]
    requested_outputs: NDArray[np.int64]


def new_flit_switches(*, lanes: int, lft: NDArray[np.uint8], tables: VLTables) -> FlitSwitches:
    """Return empty switches with the given tables."""
    ports = tables.vl.shape[1]
    inputs = new_inputs(lanes=lanes, ports=ports, lft=lft)
    total = len(inputs.port)
    nearest, choice, asked = (np.zeros(total, np.int64) for _ in range(3))
    return FlitSwitches(
        inputs=inputs,
        tables=tables,
        granted=np.zeros((total, lanes), np.int64),
        last_input=np.full(total, ports - 1, np.int64),
        best_priority=nearest,
        candidate_ports=np.zeros(total + LIST_MARGIN, np.int64),
        choice=choice,
        requested_outputs=asked,
    )


@inner
def _chosen_lane(switches: FlitSwitches, out_ports: OutputPorts, port: int, cycle: int) -> int:
    """Return the VL that an input picks, -1 for none (IBS-F2)."""
    inputs = switches.inputs
    first = switch_of(inputs, port) << inputs.port_bits
    left, last = inputs.queues.filled[port].lanes, inputs.port[port].last_lane
    while left != 0:
        lane = next_member(left, last)
        head = inputs.head_route[port, lane]
        if switches.granted[port, lane] != 0 or head.output == DROPPED:
            return lane
        if has_space_for_largest(out_ports, first + head.output, head.lane, cycle):
            return lane
        left &= ~(1 << lane)
        last = lane
    return -1


@inner
def allocate(
    switches: FlitSwitches, out_ports: OutputPorts, packets: Packets, cycle: int, grants: Records[Grant]
) -> int:
    """Run one allocation cycle of all switches and return the number of grants.

    A packet's next event is scheduled with the grant of its last flit.

    Parameters
    ----------
    grants : Records of Grant, (at least all ports,)
        Output: the grants, one flit each.
    """
    inputs = switches.inputs
    asked, count = 0, 0
    for index in range(list_members(inputs.nonempty_inputs, inputs.word_bits, switches.candidate_ports)):
        port = switches.candidate_ports[index]
        lane = _chosen_lane(switches, out_ports, port, cycle)
        if lane < 0:
            continue
        output = inputs.head_route[port, lane].output
        if output == DROPPED:
            if grant_flit(switches, out_ports, packets, port, lane, grants, count):
                schedule(packets, grants[count].packet, cycle + CROSSED, TO_SINK, NOBODY)
            count += 1
            continue
        switches.choice[port] = lane
        local = local_port(inputs, port)
        to = port - local + output
        switches.requested_outputs[asked] = to
        asked += switches.best_priority[to] == 0
        switches.best_priority[to] = max(
            switches.best_priority[to], round_robin_priority(inputs, local, switches.last_input[to])
        )
    for index in range(asked):
        to = switches.requested_outputs[index]
        local = port_with_priority(inputs, switches.best_priority[to], switches.last_input[to])
        switches.last_input[to], switches.best_priority[to] = local, 0
        port = to - local_port(inputs, to) + local
        lane = switches.choice[port]
        if switches.granted[port, lane] == 0:
            reserve_space(out_ports, packets, to, inputs.queues.queue[port, lane].head)
        if grant_flit(switches, out_ports, packets, port, lane, grants, count):
            schedule(packets, grants[count].packet, cycle + CROSSED, TO_OUTPUT, to)
        count += 1
    return count


@inner
def grant_flit(
    switches: Any, out_ports: OutputPorts, packets: Packets, port: int, lane: int, grants: Records[Grant], row: int
) -> bool:
    """Grant the next flit of an input's VL and return whether it is the last flit of its packet (IBS-F4, OPAS-F4).

    The grant is stored in ``grants[row]``. Its port is ``NOBODY`` if the flit completes no block.
    """
    inputs = switches.inputs
    packet = inputs.queues.queue[port, lane].head
    count, in_block = switches.granted[port, lane] + 1, (1 << out_ports.returns.flit_shift) - 1
    is_last = count == packets.pool[packet].flits
    switches.granted[port, lane] = 0 if is_last else count
    inputs.port[port].last_lane = lane
    if is_last:
        pop_first(inputs, packets, port, lane)
    grant = grants[row]
    grant.port = port if is_last or count & in_block == 0 else NOBODY
    grant.packet, grant.lane = packet, lane
    return is_last
