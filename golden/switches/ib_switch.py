"""InfiniBand switches with two-stage allocation (IBS-1 to IBS-5, IBS-I1 to IBS-S2, ``docs/ib_switch.md``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records, new_records
from vlane.golden.engine.bits import LIST_MARGIN, list_members, next_member
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.engine.prefetch import prefetch
from vlane.golden.switches.inputs import (
    DROPPED,
    Grant,
    Inputs,
    list_ready,
    local_port,
    new_inputs,
    port_with_priority,
    round_robin_priority,
    start_crossing,
    start_dropping,
    switch_of,
)
from vlane.golden.switches.output_ports import OutputPorts, has_space_for_largest, reserve_and_schedule, retry_cycle
from vlane.golden.switches.packets import AHEAD, CROSSED, Packets, exceed_cache, prefetch_first
from vlane.golden.switches.vl_tables import VLTables
from vlane.switches.switch_kinds import INFINIBAND

NEVER = 1 << 60

SPEED = INFINIBAND.inner_flits
"""Maximum number of flits that cross from one input per cycle."""


class OutputPort:
    """Allocation state of an output.

    Parameters
    ----------
    free_from : int
        First cycle in which the output takes part in allocation.
    last_input : int
        Input granted last.
    best_priority : int
        Scratch of a cycle: largest ``round_robin_priority`` among the inputs that request the output; 0 if none does.
    """

    free_from: Int64
    last_input: Int32
    best_priority: Int32


class IBSwitches(NamedTuple):
    """State of switches with one allocation iteration and a crossbar as fast as the links.

    Parameters
    ----------
    inputs : Inputs
        Input ports.
    tables : VLTables
        Outgoing VLs.
    output : Records of OutputPort, (all ports,)
        Allocation state of the outputs.
    candidate_ports : array of int64, (all ports and a margin,)
        Scratch of a cycle: inputs with a packet.
    choice : array of int64, (all ports,)
        Scratch of a cycle: VL that each input picked.
    requested_outputs : array of int64, (all ports,)
        Scratch of a cycle: requested outputs.
    regs : array of int64, (2,)
        Scratch of a cycle: length of ``candidate_ports``, -1 before it is listed; length of ``requested_outputs``.
    """

    inputs: Inputs
    tables: VLTables
    output: Records[OutputPort]
    candidate_ports: NDArray[np.int64]
    choice: NDArray[np.int64]
    requested_outputs: NDArray[np.int64]
    regs: NDArray[np.int64]


(LISTED, ASKED) = range(2)
_UNLISTED = -1


class FasterIBSwitches(NamedTuple):
    """State of switches with several iterations or a faster crossbar.

    The separate type lets default switches be compiled with constants.

    Parameters
    ----------
    inputs, tables, output, candidate_ports, choice, asked, regs
        Fields of ``IBSwitches``.
    iterations : int
        Number of allocation passes per cycle (IBS-I1).
    speed : int
        Maximum number of flits that cross from one input per cycle (IBS-S1).
    """

    inputs: Inputs
    tables: VLTables
    output: Records[OutputPort]
    candidate_ports: NDArray[np.int64]
    choice: NDArray[np.int64]
    requested_outputs: NDArray[np.int64]
    regs: NDArray[np.int64]
    iterations: int
    speed: int


def new_ib_switches(*, lanes: int, lft: NDArray[np.uint8], tables: VLTables) -> IBSwitches:
    """Return empty switches with the given tables."""
    ports = tables.vl.shape[1]
    inputs = new_inputs(lanes=lanes, ports=ports, lft=lft)
    total = len(inputs.port)
    output = new_records(OutputPort, total)
    output["last_input"] = ports - 1
    candidate_ports, choice, asked = (
        np.zeros(total + LIST_MARGIN, np.int64),
        np.zeros(total, np.int64),
        np.zeros(total, np.int64),
    )
    return IBSwitches(inputs, tables, output, candidate_ports, choice, asked, np.array([_UNLISTED, 0]))


def new_faster_ib_switches(
    *, lanes: int, lft: NDArray[np.uint8], tables: VLTables, iterations: int, speed: int
) -> FasterIBSwitches:
    """Return empty switches with the given tables, iterations and crossbar speed."""
    return FasterIBSwitches(*new_ib_switches(lanes=lanes, lft=lft, tables=tables), iterations, speed)


@inner
def _iterations(switches: FasterIBSwitches) -> int:
    return switches.iterations


@by_type({FasterIBSwitches: _iterations}, default=True)
def iterations_of(switches: Any) -> int:
    """Return the number of allocation passes per cycle, a constant for default switches."""
    return 1


@inner
def _speed(switches: FasterIBSwitches) -> int:
    return switches.speed


@by_type({FasterIBSwitches: _speed}, default=True)
def speed_of(switches: Any) -> int:
    """Return the maximum number of flits that cross from one input per cycle, a constant for default switches."""
    return SPEED


@inner
def _chosen_lane(switches: Any, out_ports: OutputPorts, port: int, cycle: int) -> int:
    """Return the VL that an input picks, -1 for none (IBS-2).

    An input without a choice sleeps until an output may be free or have space.
    """
    inputs, retry = switches.inputs, NEVER
    first = switch_of(inputs, port) << inputs.port_bits
    left = inputs.queues.filled[port].lanes
    last = inputs.port[port].last_lane
    while left != 0:
        lane = next_member(left, last)
        head = inputs.head_route[port, lane]
        if head.output == DROPPED:
            return lane
        to = first + head.output
        free_from = switches.output[to].free_from
        if free_from <= cycle:
            if has_space_for_largest(out_ports, to, head.lane, cycle):
                return lane
            free_from = retry_cycle(out_ports, to, head.lane, cycle)
        retry = min(retry, free_from)
        left &= ~(1 << lane)
        last = lane
    inputs.port[port].retry_cycle = retry
    return -1


@inner
def allocate(switches: Any, out_ports: OutputPorts, packets: Packets, cycle: int, grants: Records[Grant]) -> int:
    """Run one allocation cycle of all switches, schedule the granted packets, and return the number of grants.

    Parameters
    ----------
    grants : Records of Grant, (at least all ports,)
        Output: the grants.
    """
    inputs, count, asked = switches.inputs, 0, switches.regs[ASKED]
    if switches.regs[LISTED] == _UNLISTED:
        list_waiting(switches)
    left = switches.regs[LISTED]
    switches.regs[LISTED], switches.regs[ASKED] = _UNLISTED, 0
    for iteration in range(iterations_of(switches)):
        left = list_ready(inputs, switches.candidate_ports, left, cycle)
        moves = iteration == 0
        asked, left, count = _run_input_stage(switches, out_ports, packets, left, asked, moves, cycle, grants, count)
        count = _run_output_stage(switches, out_ports, packets, asked, moves, cycle, grants, count)
        if asked == left:  # every request was granted
            break
        asked = 0
    return count


@inner
def list_waiting(switches: Any) -> None:
    """List the inputs with a packet, before the packets of a cycle arrive."""
    inputs = switches.inputs
    switches.regs[LISTED] = list_members(inputs.nonempty_inputs, inputs.word_bits, switches.candidate_ports)


@inner
def request_on_arrival(switches: IBSwitches, out_ports: OutputPorts, port: int, lane: int, cycle: int) -> None:
    """Run the first allocation stage of an input for a packet that arrived at an empty queue (IBS-2).

    The packet is the input's only one. A busy input cannot request an output in this cycle.
    """
    inputs = switches.inputs
    if inputs.port[port].free_from > cycle:
        return
    head = inputs.head_route[port, lane]
    if head.output == DROPPED:
        switches.candidate_ports[switches.regs[LISTED]] = port
        switches.regs[LISTED] += 1
        return
    local = local_port(inputs, port)
    to = port - local + head.output
    if switches.output[to].free_from <= cycle and has_space_for_largest(out_ports, to, head.lane, cycle):
        switches.regs[ASKED] = _request_output(switches, port, local, lane, to, switches.regs[ASKED])


@inner
def _request_output(switches: Any, port: int, local: int, lane: int, output_port: int, asked: int) -> int:
    """Request an output for an input's VL and return the new number of requested outputs (IBS-2)."""
    chooser = switches.output[output_port]
    switches.choice[port] = lane
    switches.requested_outputs[asked] = output_port
    asked += chooser.best_priority == 0
    chooser.best_priority = max(
        int(chooser.best_priority), round_robin_priority(switches.inputs, local, chooser.last_input)
    )
    return asked


@inner
def _run_input_stage(
    switches: Any,
    out_ports: OutputPorts,
    packets: Packets,
    inputs_left: int,
    asked: int,
    moves: bool,  # noqa: FBT001 - kernels take positional arguments only
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> tuple[int, int, int]:
    """Run the first allocation stage for the first ``inputs_left`` inputs of the list (IBS-2).

    Packets to be dropped cross at once (IBS-10). Return the number of requested outputs, the number of requesting
    inputs (moved to the front of the list; 0 without iterations) and the new number of grants.

    Parameters
    ----------
    asked : int
        Number of outputs that packets requested on arrival.
    moves : bool
        A drop moves the round-robin pointer (IBS-I2).
    """
    inputs = switches.inputs
    asking, last = 0, inputs_left - AHEAD if exceed_cache(inputs.queues) else 0
    for index in range(inputs_left):
        if index < last:
            ahead = switches.candidate_ports[index + AHEAD]
            prefetch(inputs.head_route, ahead * inputs.head_route.shape[1])
            prefetch_first(packets, inputs.queues, ahead)
        port = switches.candidate_ports[index]
        lane = _chosen_lane(switches, out_ports, port, cycle)
        if lane < 0:
            continue
        output = inputs.head_route[port, lane].output
        if output == DROPPED:
            last_lane = inputs.port[port].last_lane
            start_dropping(inputs, packets, port, lane, cycle, speed_of(switches), grants, grant_count)
            if not moves:
                inputs.port[port].last_lane = last_lane
            grant_count += 1
            continue
        local = local_port(inputs, port)
        asked = _request_output(switches, port, local, lane, port - local + output, asked)
        if iterations_of(switches) > 1:
            switches.candidate_ports[asking] = port
            asking += 1
    return asked, asking, grant_count


@inner
def _run_output_stage(
    switches: Any,
    out_ports: OutputPorts,
    packets: Packets,
    asked: int,
    moves: bool,  # noqa: FBT001 - kernels take positional arguments only
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> int:
    """Run the second allocation stage (IBS-3): each requested output grants one input.

    Return the new number of grants.
    """
    inputs, outputs = switches.inputs, switches.output
    for index in range(asked):
        to = switches.requested_outputs[index]
        chooser = outputs[to]
        local = port_with_priority(inputs, chooser.best_priority, chooser.last_input)
        chooser.best_priority = 0
        port = to - local_port(inputs, to) + local
        last_lane = inputs.port[port].last_lane
        lane, speed = switches.choice[port], speed_of(switches)
        chooser.free_from = start_crossing(inputs, packets, port, lane, cycle, speed, grants, grant_count)
        if moves:
            chooser.last_input = local
        else:
            inputs.port[port].last_lane = last_lane
        reserve_and_schedule(out_ports, packets, to, grants[grant_count].packet, cycle + CROSSED)
        grant_count += 1
    return grant_count
