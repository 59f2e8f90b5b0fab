"""What waits at a switch's inputs for each output and VL, as a sweep finds it (NCC-3 of ``docs/congestion.md``).

The sweep itself is not run: a measure is told from when what waits changed last.
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
"""Cycles after which what the sweep finds counts."""
_LEAST_PLACES = 4


class Waiting:
    """What waits for a VL of an output.

    Parameters
    ----------
    changed : int
        First cycle in which the sweep may find what waits now.
    blocks : int
        What waits now.
    found, found_before : int
        What the last sweep that came by before ``changed`` found, and the one before that.
    """

    changed: Int64
    blocks: Int32
    found: Int32
    found_before: Int32


class InputMeasure(NamedTuple):
    """The measure of all outputs.

    Parameters
    ----------
    port_bits : int
        Of a port's number within its switch.
    places : int
        Cycles of a sweep: places of a switch, one for each VL of each port.
    waiting : Records of Waiting, (outputs, lanes)
        Of each VL.
    queued : array of int64, (inputs, lanes)
        Blocks of each queue.
    """

    port_bits: int
    places: int
    waiting: Records[Waiting]
    queued: NDArray[np.int64]


def new_input_measure(*, outputs: int, lanes: int, ports: int) -> InputMeasure:
    """Return the measure of so many outputs at rest, of switches with so many ports each."""
    places = max(_LEAST_PLACES, ports * lanes)
    return InputMeasure(
        port_bits_for(ports), places, new_records(Waiting, outputs, lanes), np.zeros((outputs, lanes), np.int64)
    )


@inner
def joined(
    measure: InputMeasure, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int
) -> None:
    """Let a packet be in its queue at an input from a cycle on."""
    blocks, head = packets.pool[packet].blocks, inputs.queues.queue[port, lane].head
    measure.queued[port, lane] += blocks
    _change(measure, inputs, packets, port, head, measure.queued[port, lane] if head == packet else blocks, cycle)


@inner
def left(
    measure: InputMeasure, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int
) -> None:
    """Let a packet that was the first of its queue be there no more from a cycle on."""
    _change(measure, inputs, packets, port, packet, -measure.queued[port, lane], cycle)
    measure.queued[port, lane] -= packets.pool[packet].blocks
    head = inputs.queues.queue[port, lane].head
    if head != NOBODY:
        _change(measure, inputs, packets, port, head, measure.queued[port, lane], cycle)


@inner
def measured(measure: InputMeasure, port: int, lane: int, cycle: int) -> int:
    """Return the measure of a VL of an output in a cycle."""
    own = measure.waiting[port, lane]
    place = _place(measure, port, lane)
    since = _last_sweep(measure, place, cycle - _SHOWN)
    if since >= own.changed:
        return int(own.blocks)
    return int(own.found if since == _last_sweep(measure, place, own.changed - 1) else own.found_before)


@inner
def _change(
    measure: InputMeasure, inputs: Inputs, packets: Packets, port: int, head: int, blocks: int, cycle: int
) -> None:
    """Let so many blocks more, or fewer, wait for where the head of their queue goes to."""
    field = packets.pool[head]
    if field.output == DROPPED:
        return
    output = port - local_port(inputs, port) + field.output
    own = measure.waiting[output, field.lane]
    if own.changed != cycle:
        since = _last_sweep(measure, _place(measure, output, field.lane), cycle - 1)
        if since >= own.changed:  # a sweep has come by since the last change
            own.found_before = own.blocks if since - measure.places >= own.changed else own.found
            own.found = own.blocks
        own.changed = cycle
    own.blocks += blocks


@inner
def _place(measure: InputMeasure, port: int, lane: int) -> int:
    """Return the place of a VL of an output in the sweep of its switch."""
    return (port & ((1 << measure.port_bits) - 1)) * measure.waiting.shape[1] + lane


@inner
def _last_sweep(measure: InputMeasure, place: int, cycle: int) -> int:
    """Return the last cycle, up to one, in which the sweep is at a place; before cycle 0 it found nothing."""
    return cycle - (cycle - place) % measure.places
