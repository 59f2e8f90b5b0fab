"""InfiniBand switches with a crossbar port per VL (IBS-P1 to IBS-P4, ``docs/ib_switch.md``)."""

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
    word_of,
)
from vlane.golden.switches.output_ports import OutputPorts, has_space_for_largest, reserve_and_schedule
from vlane.golden.switches.packets import CROSSED, Packets
from vlane.golden.switches.vl_tables import VLTables


class PerVLSwitches(NamedTuple):
    """State of switches with an allocator for each (output, VL).

    A pair is a (port, VL), numbered port * lanes + VL within its switch.

    Parameters
    ----------
    inputs : Inputs
        Input ports.
    tables : VLTables
        Outgoing VLs.
    input_free_from, output_free_from : array of int64, (all ports, lanes)
        First cycle in which a pair takes part in allocation.
    last_pair : array of int64, (all ports, lanes)
        Input pair that an output pair granted last.
    requested_outputs : array of int64, (words of a switch,)
        Scratch of a cycle: bit set of requested outputs.
    requesters : array of int64, (ports,)
        Scratch of a cycle: bit mask of each output's requested VLs.
    first_pair : array of int64, (ports, lanes)
        Scratch of a cycle: requesting input pair that is first in round-robin order, for each output pair.
    """

    inputs: Inputs
    tables: VLTables
    input_free_from: NDArray[np.int64]
    output_free_from: NDArray[np.int64]
    last_pair: NDArray[np.int64]
    requested_outputs: NDArray[np.int64]
    requesters: NDArray[np.int64]
    first_pair: NDArray[np.int64]


def new_per_vl_switches(*, lanes: int, lft: NDArray[np.uint8], tables: VLTables) -> PerVLSwitches:
    """Return empty switches with the given tables."""
    ports = tables.vl.shape[1]
    inputs = new_inputs(lanes=lanes, ports=ports, lft=lft)
    shape = (len(inputs.port), lanes)
    return PerVLSwitches(
        inputs=inputs,
        tables=tables,
        input_free_from=np.zeros(shape, np.int64),
        output_free_from=np.zeros(shape, np.int64),
        last_pair=np.full(shape, ports * lanes - 1, np.int64),
        requested_outputs=np.zeros(1 << inputs.port_bits - inputs.word_bits, np.int64),
        requesters=np.zeros(ports, np.int64),
        first_pair=np.zeros((ports, lanes), np.int64),
    )


@inner
def allocate_one(
    switches: PerVLSwitches,
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
    inputs, lanes = switches.inputs, switches.input_free_from.shape[1]
    first, more = switch << inputs.port_bits, inputs.port_bits - inputs.word_bits
    for word in range(1 << more):
        left = inputs.nonempty_inputs[(switch << more) + word]
        while left != 0:
            port = (word << inputs.word_bits) + lowest_member(left)
            left &= left - 1
            ready = inputs.queues.filled[first + port].lanes
            while ready != 0:
                lane = lowest_member(ready)
                ready &= ready - 1
                if switches.input_free_from[first + port, lane] > cycle:
                    continue
                output = inputs.head_route[first + port, lane].output
                if output == DROPPED:
                    until = start_dropping(inputs, packets, first + port, lane, cycle, SPEED, grants, grant_count)
                    switches.input_free_from[first + port, lane] = until
                    grant_count += 1
                elif _request_output(switches, out_ports, first, port * lanes + lane, cycle):
                    switches.requested_outputs[word_of(inputs, output)] |= bit_of(inputs, output)
    for word in range(1 << more):
        outputs = switches.requested_outputs[word]
        switches.requested_outputs[word] = 0
        while outputs != 0:
            output = (word << inputs.word_bits) + lowest_member(outputs)
            outputs &= outputs - 1
            ready = switches.requesters[output]
            switches.requesters[output] = 0
            while ready != 0:
                pair = switches.first_pair[output, lowest_member(ready)]
                ready &= ready - 1
                _grant(switches, out_ports, packets, first, pair, cycle, grants, grant_count)
                grant_count += 1
    return grant_count


@inner
def _request_output(switches: PerVLSwitches, out_ports: OutputPorts, first_pair: int, pair: int, cycle: int) -> bool:
    """Request the output pair of an input pair's first packet, if that pair is free and has space (IBS-P1, IBS-P2).

    Keep the requesting pair that is first in round-robin order. Return whether the request was made.
    """
    lanes = switches.input_free_from.shape[1]
    head = switches.inputs.head_route[first_pair + pair // lanes, pair % lanes]
    output, lane = head.output, head.lane
    if switches.output_free_from[first_pair + output, lane] > cycle or not has_space_for_largest(
        out_ports, first_pair + output, lane, cycle
    ):
        return False
    pairs, after_last = len(switches.requesters) * lanes, switches.last_pair[first_pair + output, lane] + 1
    is_first = (switches.requesters[output] >> lane) & 1 == 0
    if is_first or (pair - after_last) % pairs < (switches.first_pair[output, lane] - after_last) % pairs:
        switches.first_pair[output, lane] = pair
    switches.requesters[output] |= 1 << lane
    return True


@inner
def _grant(
    switches: PerVLSwitches,
    out_ports: OutputPorts,
    packets: Packets,
    first_pair: int,
    pair: int,
    cycle: int,
    grants: Records[Grant],
    row: int,
) -> None:
    """Start to move the packet of an input pair through the crossbar from the next cycle on (IBS-P3)."""
    inputs, lanes = switches.inputs, switches.input_free_from.shape[1]
    port, lane = first_pair + pair // lanes, pair % lanes
    until = start_crossing(inputs, packets, port, lane, cycle, SPEED, grants, row)
    packet = grants[row].packet
    to, outgoing_vl = first_pair + packets.pool[packet].output, packets.pool[packet].lane
    switches.input_free_from[port, lane] = switches.output_free_from[to, outgoing_vl] = until
    switches.last_pair[to, outgoing_vl] = pair
    reserve_and_schedule(out_ports, packets, to, packet, cycle + CROSSED)
