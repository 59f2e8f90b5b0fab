"""FECN marking at switch outputs: the events that the markers receive (NCC-1 to NCC-5, ``docs/congestion.md``).

Idle cycles are counted when the next packet starts, so idle ports need no visit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records, new_records
from vlane.golden.congestion.markers import Markers, note_idle_cycles, record_starved, start_packet
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.switches.input_measure import (
    InputMeasure,
    count_queued_packet,
    count_removed_packet,
    measured_blocks,
    new_input_measure,
)
from vlane.golden.switches.inputs import Inputs
from vlane.golden.switches.packets import CROSSED, Packets


class NoMarking(NamedTuple):
    """Outputs that do not mark.

    Parameters
    ----------
    kind : int
        Always 0. An empty tuple would not be a distinct type in compiled code.
    """

    kind: int = 0


class LaneMeasure:
    """State of one VL of an output.

    Parameters
    ----------
    requests_from : int
        Cycle from which the packet granted last requests the link.
    granted_blocks : int
        Blocks of that packet.
    marked : int
        Packets that received FECN here since the start of the run.
    """

    requests_from: Int64
    marked: Int64
    granted_blocks: Int32


class Marking(NamedTuple):
    """Outputs that mark.

    Parameters
    ----------
    markers : Markers
        Markers of the switch outputs, which are the first output ports.
    lane : Records of LaneMeasure, (outputs, lanes)
        State of each VL.
    idle_from : array of int64, (outputs,)
        First cycle whose idleness is not yet counted.
    inputs : InputMeasure
        Blocks that wait at the inputs; empty unless ``by_inputs``.
    by_inputs : bool
        The measure is the blocks that wait at the inputs (NCC-3), not those in the output buffer (NCC-2).
    """

    markers: Markers
    lane: Records[LaneMeasure]
    idle_from: NDArray[np.int64]
    inputs: InputMeasure
    by_inputs: bool


def new_marking(markers: Markers, *, ports: int, by_inputs: bool) -> Marking:
    """Return the marking state of idle outputs, of switches with ``ports`` ports each."""
    outputs, lanes = markers.lane.shape
    return Marking(
        markers,
        new_records(LaneMeasure, outputs, lanes),
        np.zeros(outputs, np.int64),
        new_input_measure(outputs=outputs if by_inputs else 0, lanes=lanes, ports=ports),
        by_inputs,
    )


@inner
def _is_enabled(marking: Marking) -> bool:
    return True


@by_type({Marking: _is_enabled}, default=True)
def marking_enabled(marking: Any) -> bool:
    """Return whether the outputs mark packets."""
    return False


@inner
def _note_grant(marking: Marking, port: int, lane: int, blocks: int, start_cycle: int) -> None:
    if port < len(marking.idle_from) and not marking.by_inputs:
        lane_state = marking.lane[port, lane]
        lane_state.requests_from, lane_state.granted_blocks = start_cycle, blocks


@by_type({Marking: _note_grant}, default=True)
def note_grant(marking: Any, port: int, lane: int, blocks: int, start_cycle: int) -> None:
    """Report a grant to the marker: output-buffer space is reserved, and the packet requests the link later."""


@inner
def _note_queued(
    marking: Marking, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int
) -> None:
    if marking.by_inputs:
        count_queued_packet(marking.inputs, inputs, packets, port, lane, packet, cycle)


@by_type({Marking: _note_queued}, default=True)
def note_queued(marking: Any, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int) -> None:
    """Report to the marker that a packet joins an input queue, in the first cycle in which it may be granted."""


@inner
def _note_dequeued(
    marking: Marking, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int
) -> None:
    if marking.by_inputs:
        count_removed_packet(marking.inputs, inputs, packets, port, lane, packet, cycle + 1)


@by_type({Marking: _note_dequeued}, default=True)
def note_dequeued(
    marking: Any, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int
) -> None:
    """Report to the marker that a packet leaves its input queue by a grant in this cycle."""


@inner
def _note_starved(marking: Marking, port: int, lane: int) -> None:
    if port < len(marking.idle_from):
        record_starved(marking.markers, port, lane)


@by_type({Marking: _note_starved}, default=True)
def note_starved(marking: Any, port: int, lane: int) -> None:
    """Report to the marker that the head of a VL lacks credit in a cycle in which the link is free."""


@inner
def _note_link_pause(marking: Marking, port: int, cycle: int, end_cycle: int) -> None:
    if port < len(marking.idle_from) and end_cycle > marking.idle_from[port]:
        note_idle_cycles(marking.markers, port, max(cycle - marking.idle_from[port], 0))
        marking.idle_from[port] = end_cycle


@by_type({Marking: _note_link_pause}, default=True)
def note_link_pause(marking: Any, port: int, cycle: int, end_cycle: int) -> None:
    """Report to the marker that the link is neither free nor idle from ``cycle`` to before ``end_cycle`` (NCC-5)."""


class PacketStart(NamedTuple):
    """Data of a packet that starts on a link, for the marking decision.

    Parameters
    ----------
    blocks : int
        Packet size.
    buffer_blocks : int
        Occupied and reserved blocks of the VL in the output buffer, including grants of this cycle.
    markable : bool
        Whether the packet is not a CNP.
    has_fecn : bool
        Whether the packet already has FECN.
    free_from : int
        First cycle in which the link is free again.
    """

    blocks: int
    buffer_blocks: int
    markable: bool
    has_fecn: bool
    free_from: int


@inner
def _is_marked(marking: Marking, port: int, lane: int, start: PacketStart, cycle: int) -> bool:
    if port >= len(marking.idle_from):
        return False
    lane_state = marking.lane[port, lane]
    if marking.by_inputs:
        measure = measured_blocks(marking.inputs, port, lane, cycle)
    else:
        measure = (
            start.buffer_blocks - lane_state.granted_blocks
            if lane_state.requests_from == cycle + CROSSED
            else start.buffer_blocks
        )
    note_idle_cycles(marking.markers, port, max(cycle - marking.idle_from[port], 0))
    marking.idle_from[port] = start.free_from
    marked = start_packet(marking.markers, port, lane, measure, start.blocks, start.markable)
    lane_state.marked += marked and not start.has_fecn
    return marked


@by_type({Marking: _is_marked}, default=True)
def is_marked(marking: Any, port: int, lane: int, start: PacketStart, cycle: int) -> bool:
    """Report the start of a packet to the marker and return whether the packet is marked."""
    return False
