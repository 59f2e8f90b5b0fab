"""Blocks that wait at a switch's inputs for each output and VL, as a periodic sweep reports them (NCC-3).

The sweep is not simulated cycle by cycle. The reported value is computed from the time of the last changes. The rule is
in ``docs/congestion.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import inner
from vlane.golden.switches.inputs import DROPPED, Inputs, local_port, port_bits_for
from vlane.golden.switches.packets import NOBODY, Packets

_SHOWN = 3
"""Latency of the sweep's result in cycles."""
_LEAST_PLACES = 4


class WaitingBlocks:
    """Blocks that wait for one VL of an output.

    Parameters
    ----------
    sweepable_from : int
        First cycle in which the sweep can find the current value.
    blocks : int
        Current value.
    swept : int
        Value found by the last sweep before ``sweepable_from``.
    swept_before : int
        Value found by the sweep before that sweep.
    """

    sweepable_from: Int64
    blocks: Int32
    swept: Int32
    swept_before: Int32


class InputMeasure(NamedTuple):
    """Sweep results of all outputs.

    Parameters
    ----------
    port_bits : int
        Width of a port number within its switch.
    sweep_cycles : int
        Period of the sweep in cycles: one for each VL of each port of a switch, at least 4.
    waiting : Records of WaitingBlocks, (outputs, lanes)
        Blocks that wait for each output VL.
    queued : array of int64, (inputs, lanes)
        Blocks in each input queue.
    """

    port_bits: int
    sweep_cycles: int
    waiting: Records[WaitingBlocks]
    queued: NDArray[np.int64]


def new_input_measure(*, outputs: int, lanes: int, ports: int) -> InputMeasure:
    """Return the waiting-block counts of ``outputs`` idle outputs, of switches with ``ports`` ports each."""
    places = max(_LEAST_PLACES, ports * lanes)
    return InputMeasure(
        port_bits_for(ports), places, new_records(WaitingBlocks, outputs, lanes), np.zeros((outputs, lanes), np.int64)
    )


@inner
def count_queued_packet(
    input_measure: InputMeasure, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int
) -> None:
    """Add a packet that waits from ``cycle`` on. A queue's blocks count for the output VL of its first packet."""
    blocks, head = packets.pool[packet].blocks, inputs.queues.queue[port, lane].head
    input_measure.queued[port, lane] += blocks
    _add_waiting_blocks(
        input_measure,
        inputs,
        packets,
        port,
        head,
        input_measure.queued[port, lane] if head == packet else blocks,
        cycle,
    )


@inner
def count_removed_packet(
    input_measure: InputMeasure, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int
) -> None:
    """Subtract a leaving first packet. The rest of its queue now counts for the next packet's output VL."""
    _add_waiting_blocks(input_measure, inputs, packets, port, packet, -input_measure.queued[port, lane], cycle)
    input_measure.queued[port, lane] -= packets.pool[packet].blocks
    head = inputs.queues.queue[port, lane].head
    if head != NOBODY:
        _add_waiting_blocks(input_measure, inputs, packets, port, head, input_measure.queued[port, lane], cycle)


@inner
def measured_blocks(input_measure: InputMeasure, port: int, lane: int, cycle: int) -> int:
    """Return the number of blocks that the sweep reports for an output VL in a cycle."""
    waiting_state = input_measure.waiting[port, lane]
    place = _sweep_position(input_measure, port, lane)
    since = _last_sweep(input_measure, place, cycle - _SHOWN)
    if since >= waiting_state.sweepable_from:
        return int(waiting_state.blocks)
    return int(
        waiting_state.swept
        if since == _last_sweep(input_measure, place, waiting_state.sweepable_from - 1)
        else waiting_state.swept_before
    )


@inner
def _add_waiting_blocks(
    input_measure: InputMeasure, inputs: Inputs, packets: Packets, port: int, head: int, blocks: int, cycle: int
) -> None:
    """Add ``blocks`` (possibly negative) to the blocks that wait for the output VL of a queue's first packet."""
    field = packets.pool[head]
    if field.output == DROPPED:
        return
    output = port - local_port(inputs, port) + field.output
    waiting_state = input_measure.waiting[output, field.lane]
    if waiting_state.sweepable_from != cycle:
        since = _last_sweep(input_measure, _sweep_position(input_measure, output, field.lane), cycle - 1)
        if since >= waiting_state.sweepable_from:  # the sweep visited this position since the last change
            waiting_state.swept_before = (
                waiting_state.blocks
                if since - input_measure.sweep_cycles >= waiting_state.sweepable_from
                else waiting_state.swept
            )
            waiting_state.swept = waiting_state.blocks
        waiting_state.sweepable_from = cycle
    waiting_state.blocks += blocks


@inner
def _sweep_position(input_measure: InputMeasure, port: int, lane: int) -> int:
    """Return the position of an output VL in its switch's sweep."""
    return (port & ((1 << input_measure.port_bits) - 1)) * input_measure.waiting.shape[1] + lane


@inner
def _last_sweep(input_measure: InputMeasure, place: int, cycle: int) -> int:
    """Return the last cycle up to ``cycle``, possibly negative, in which the sweep visits a position."""
    return cycle - (cycle - place) % input_measure.sweep_cycles
