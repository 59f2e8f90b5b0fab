"""Marking at the outputs of a network's switches: what the markers are told (NCC-1 to NCC-5 of ``docs/congestion.md``).

Idle cycles are counted when the next packet starts, so that ports at rest need not be looked at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records, new_records
from vlane.golden.congestion.markers import Markers, idle, starts, starve
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.switches.input_measure import InputMeasure, joined, left, measured, new_input_measure
from vlane.golden.switches.inputs import Inputs
from vlane.golden.switches.packets import CROSSED, Packets


class Unmarked(NamedTuple):
    """Outputs that mark nothing.

    Parameters
    ----------
    kind : int
        0; a tuple of nothing is no type of its own.
    """

    kind: int = 0


class LaneMeasure:
    """What is known of a VL of an output.

    Parameters
    ----------
    changed : int
        From which cycle on the packet that was granted last asks for the link.
    granted : int
        Blocks of that packet.
    marked : int
        Packets that got FECN here since the start.
    """

    changed: Int64
    marked: Int64
    granted: Int32


class Marking(NamedTuple):
    """Outputs that mark.

    Parameters
    ----------
    markers : Markers
        Of the outputs of switches, which are the first ends.
    lane : Records of LaneMeasure, (outputs, lanes)
        Of each VL.
    idle_from : array of int64, (outputs,)
        First cycle of each output whose idleness is not yet counted.
    inputs : InputMeasure
        What waits at the inputs, if that is measured.
    by_inputs : bool
        Which measure counts: what waits at the inputs (NCC-3), or what is in the output buffer (NCC-2).
    """

    markers: Markers
    lane: Records[LaneMeasure]
    idle_from: NDArray[np.int64]
    inputs: InputMeasure
    by_inputs: bool


def new_marking(markers: Markers, *, ports: int, by_inputs: bool) -> Marking:
    """Return the marking of outputs at rest, of switches with so many ports each."""
    outputs, lanes = markers.lane.shape
    return Marking(
        markers,
        new_records(LaneMeasure, outputs, lanes),
        np.zeros(outputs, np.int64),
        new_input_measure(outputs=outputs if by_inputs else 0, lanes=lanes, ports=ports),
        by_inputs,
    )


@inner
def _does_not(marking: Unmarked) -> bool:  # noqa: ARG001 - as of marking
    return False


@inner
def _does(marking: Marking) -> bool:  # noqa: ARG001 - of any
    return True


@by_type({Unmarked: _does_not, Marking: _does})
def marks(marking: Any) -> bool:  # type: ignore[empty-body]
    """Tell whether outputs mark at all."""


@inner
def _no_grant(marking: Unmarked, port: int, lane: int, blocks: int, since: int) -> None:
    """Nothing is measured."""


@inner
def _grant(marking: Marking, port: int, lane: int, blocks: int, since: int) -> None:
    if port < len(marking.idle_from) and not marking.by_inputs:
        own = marking.lane[port, lane]
        own.changed, own.granted = since, blocks


@by_type({Unmarked: _no_grant, Marking: _grant})
def note_grant(marking: Any, port: int, lane: int, blocks: int, since: int) -> None:
    """Note that room of a VL in an end's buffer is reserved, for a packet that asks for the link from a cycle on."""


@inner
def _not_queued(
    marking: Unmarked, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int
) -> None:
    """Nothing is measured."""


@inner
def _queued(marking: Marking, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int) -> None:
    if marking.by_inputs:
        joined(marking.inputs, inputs, packets, port, lane, packet, cycle)


@by_type({Unmarked: _not_queued, Marking: _queued})
def note_queued(marking: Any, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int) -> None:
    """Note that a packet is queued at an input, on the VL it came by, in the first cycle in which it may be granted."""


@inner
def _not_taken(
    marking: Unmarked, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int
) -> None:
    """Nothing is measured."""


@inner
def _taken(marking: Marking, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int) -> None:
    if marking.by_inputs:
        left(marking.inputs, inputs, packets, port, lane, packet, cycle + 1)


@by_type({Unmarked: _not_taken, Marking: _taken})
def note_taken(marking: Any, inputs: Inputs, packets: Packets, port: int, lane: int, packet: int, cycle: int) -> None:
    """Note that a packet was taken out of its queue at an input, granted in this cycle."""


@inner
def _not_starved(marking: Unmarked, port: int, lane: int) -> None:
    """Nothing is marked."""


@inner
def _starved(marking: Marking, port: int, lane: int) -> None:
    if port < len(marking.idle_from):
        starve(marking.markers, port, lane)


@by_type({Unmarked: _not_starved, Marking: _starved})
def note_starved(marking: Any, port: int, lane: int) -> None:
    """Note that the head of a VL does not fit at the far end, in a cycle in which the link is free."""


@inner
def _no_pause(marking: Unmarked, port: int, cycle: int, until: int) -> None:
    """Nothing is marked."""


@inner
def _pause(marking: Marking, port: int, cycle: int, until: int) -> None:
    if port < len(marking.idle_from) and until > marking.idle_from[port]:
        idle(marking.markers, port, max(cycle - marking.idle_from[port], 0))
        marking.idle_from[port] = until


@by_type({Unmarked: _no_pause, Marking: _pause})
def note_pause(marking: Any, port: int, cycle: int, until: int) -> None:
    """Note that the link is neither free nor idle from a cycle on, until another one (NCC-5)."""


class Start(NamedTuple):
    """A packet that starts on a link.

    Parameters
    ----------
    blocks : int
        Its size.
    taken : int
        Blocks of its VL in the end's buffer, with those that are granted in this cycle.
    markable, has_fecn : bool
        It is no CNP; it has FECN already.
    until : int
        First cycle in which the link is free again.
    """

    blocks: int
    taken: int
    markable: bool
    has_fecn: bool
    until: int


@inner
def _never(marking: Unmarked, port: int, lane: int, start: Start, cycle: int) -> bool:  # noqa: ARG001 - as of marking
    return False


@inner
def _if_so(marking: Marking, port: int, lane: int, start: Start, cycle: int) -> bool:
    if port >= len(marking.idle_from):
        return False
    own = marking.lane[port, lane]
    if marking.by_inputs:
        measure = measured(marking.inputs, port, lane, cycle)
    else:
        measure = start.taken - own.granted if own.changed == cycle + CROSSED else start.taken
    idle(marking.markers, port, max(cycle - marking.idle_from[port], 0))
    marking.idle_from[port] = start.until
    marked = starts(marking.markers, port, lane, measure, start.blocks, start.markable)
    own.marked += marked and not start.has_fecn
    return marked


@by_type({Unmarked: _never, Marking: _if_so})
def is_marked(marking: Any, port: int, lane: int, start: Start, cycle: int) -> bool:  # type: ignore[empty-body]
    """Let a packet start at an end in a cycle; tell whether it is marked."""
