"""Marking state of many output ports, for the block and for networks: CCM-1 to CCM-15 (``docs/cc_marker.md``).

A network calls ``start_packet`` when a packet starts, ``record_starved`` when a head lacks credit on a free link, and
``note_idle_cycles`` for one or more idle cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.congestion.cc_marker import LARGEST_THRESHOLD, CCMarkerSelect, marking_limit
from vlane.congestion.marking_write import MarkingWrite
from vlane.golden.compiler.records import Int16, Int32, Records, new_records
from vlane.golden.engine.kernel import inner, kernel

_NEVER = 1 << 30
"""Limit that no measure reaches, for threshold 0."""


class PortMarking:
    """State of a port, common to all lanes.

    Parameters
    ----------
    level : int
        Level of the busy detector in blocks (CCM-3).
    victim_mask, threshold, packet_size, marking_rate : int
        SwitchCongestionSetting of this port.
    valid, control_type, port_threshold, port_packet_size, port_marking_rate : int
        SwitchPortCongestionSettingElement of this port.
    """

    level: Int32
    victim_mask: Int16
    threshold: Int16
    packet_size: Int16
    marking_rate: Int32
    valid: Int16
    control_type: Int16
    port_threshold: Int16
    port_packet_size: Int16
    port_marking_rate: Int32


class LaneMarking:
    """State of a lane.

    Parameters
    ----------
    starved : int
        Whether a head lacked credit since the lane's last packet started.
    packets_until_mark : int
        Number of eligible packets that pass unmarked before the next mark.
    """

    starved: Int32
    packets_until_mark: Int32


class Markers(NamedTuple):
    """Markers of many output ports with equal bounds.

    Parameters
    ----------
    port : Records of PortMarking, (ports,)
        State of each port.
    lane : Records of LaneMarking, (ports, lanes)
        State of each lane.
    limits : array of int64, (lanes, 16)
        Measure from which a lane is over, by threshold.
    busy_blocks : int
        Level of the busy detector from which the link is busy.
    level_blocks : int
        Maximum level of the busy detector.
    idle_blocks : int
        Decrease of the level in an idle cycle.
    """

    port: Records[PortMarking]
    lane: Records[LaneMarking]
    limits: NDArray[np.int64]
    busy_blocks: int
    level_blocks: int
    idle_blocks: int


class Decision(NamedTuple):
    """Marking decision for a packet that starts.

    Parameters
    ----------
    is_over : bool
        Whether the packet's lane exceeds its threshold.
    is_root : bool
        Whether the packet's lane is a root of congestion.
    is_victim : bool
        Whether the packet's lane is a victim of congestion.
    is_eligible : bool
        The packet is counted.
    is_marked : bool
        The packet is marked.
    """

    is_over: bool
    is_root: bool
    is_victim: bool
    is_eligible: bool
    is_marked: bool


NOTHING = Decision(is_over=False, is_root=False, is_victim=False, is_eligible=False, is_marked=False)
"""Decision without a packet, or for a packet on an absent lane."""


def new_markers(
    *, ports: int, maximum: tuple[int, ...], largest: int, busy_blocks: int, level_blocks: int, idle_blocks: int
) -> Markers:
    """Return markers after reset. ``maximum`` is the largest number of blocks of each lane in the measured buffer."""
    limits = [
        [_NEVER, *(marking_limit(each, maximum=most, largest=largest) for each in range(1, LARGEST_THRESHOLD + 1))]
        for most in maximum
    ]
    return Markers(
        new_records(PortMarking, ports),
        new_records(LaneMarking, ports, len(maximum)),
        np.array(limits, np.int64),
        busy_blocks,
        level_blocks,
        idle_blocks,
    )


@kernel
def reset(markers: Markers, port: int) -> None:
    """Reset a port (CCM-15)."""
    port_state = markers.port[port]
    port_state.level = 0
    port_state.victim_mask, port_state.threshold, port_state.packet_size, port_state.marking_rate = 0, 0, 0, 0
    port_state.valid, port_state.control_type = 0, 0
    port_state.port_threshold, port_state.port_packet_size, port_state.port_marking_rate = 0, 0, 0
    for lane in range(len(markers.limits)):
        markers.lane[port, lane].starved = 0
        markers.lane[port, lane].packets_until_mark = 0


@inner
def settings_in_force(markers: Markers, port: int) -> tuple[int, int, int]:
    """Return (Threshold, Packet_Size, Marking_Rate) in force: of the port's element or of the switch (CCM-13)."""
    port_state = markers.port[port]
    if port_state.valid != 0 and port_state.control_type == 0:
        return port_state.port_threshold, port_state.port_packet_size, port_state.port_marking_rate
    return port_state.threshold, port_state.packet_size, port_state.marking_rate


@inner
def is_over(markers: Markers, port: int, lane: int, occupancy: int) -> bool:
    """Return whether a lane with the given measure in blocks is over its limit (CCM-1, CCM-2)."""
    return occupancy >= markers.limits[lane, settings_in_force(markers, port)[0]]


@inner
def decide(
    markers: Markers,
    port: int,
    lane: int,
    occupancy: int,
    blocks: int,
    markable: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> Decision:
    """Return the marking decision for a packet that would start now. The state does not change (CCM-5 to CCM-10).

    Parameters
    ----------
    lane : int
        Lane of the packet; VL15 and absent lanes mark nothing.
    occupancy : int
        Fill of the lane in blocks.
    blocks : int
        Packet size.
    markable : bool
        The packet has a header that can be marked and is not a CNP.
    """
    if lane >= len(markers.limits):
        return NOTHING
    port_state, state = markers.port[port], markers.lane[port, lane]
    over = is_over(markers, port, lane, occupancy)
    starved = state.starved != 0
    root = over and not starved and port_state.level >= markers.busy_blocks
    admitted = root or (over and port_state.victim_mask != 0)
    eligible = admitted and markable and blocks >= settings_in_force(markers, port)[1]
    return Decision(over, root, over and starved, eligible, eligible and state.packets_until_mark == 0)


@inner
def start_packet(
    markers: Markers,
    port: int,
    lane: int,
    occupancy: int,
    blocks: int,
    markable: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> bool:
    """Update the state for a packet that starts, and return whether the packet is marked."""
    decision = decide(markers, port, lane, occupancy, blocks, markable)
    port_state = markers.port[port]
    port_state.level = min(port_state.level + blocks, markers.level_blocks)
    if lane < len(markers.limits):
        state = markers.lane[port, lane]
        state.starved = 0
        if decision.is_marked:
            state.packets_until_mark = settings_in_force(markers, port)[2]
        elif decision.is_eligible:
            state.packets_until_mark -= 1
    return decision.is_marked


@inner
def record_starved(markers: Markers, port: int, lane: int) -> None:
    """Record that the head of a lane lacks credit in a cycle with a free link (CCM-4)."""
    markers.lane[port, lane].starved = 1


@inner
def note_idle_cycles(markers: Markers, port: int, cycles: int) -> None:
    """Lower the busy level for ``cycles`` idle cycles of the link (CCM-3)."""
    port_state = markers.port[port]
    port_state.level = max(port_state.level - cycles * markers.idle_blocks, 0)


@inner
def set_victim_mask(markers: Markers, port: int, mask: int) -> None:
    """Set whether the port is in Victim_Mask."""
    markers.port[port].victim_mask = mask


@inner
def set_threshold(markers: Markers, port: int, threshold: int, packet_size: int) -> None:
    """Set Threshold and Packet_Size of the switch."""
    markers.port[port].threshold = threshold
    markers.port[port].packet_size = packet_size


@inner
def set_marking_rate(markers: Markers, port: int, rate: int) -> None:
    """Set Marking_Rate of the switch and reset the counters (CCM-14)."""
    markers.port[port].marking_rate = rate
    _reset_counters(markers, port)


@inner
def set_port_element(
    markers: Markers, port: int, valid: int, control_type: int, threshold: int, packet_size: int, rate: int
) -> None:
    """Set the port's element and reset the counters (CCM-14)."""
    port_state = markers.port[port]
    port_state.valid, port_state.control_type = valid, control_type
    port_state.port_threshold, port_state.port_packet_size, port_state.port_marking_rate = threshold, packet_size, rate
    _reset_counters(markers, port)


@inner
def _reset_counters(markers: Markers, port: int) -> None:
    for lane in range(len(markers.limits)):
        markers.lane[port, lane].packets_until_mark = 0


def write_marking(markers: Markers, outputs: Sequence[int], write: MarkingWrite) -> None:
    """Apply a settings write to the outputs of a switch. An element of an absent output is ignored."""
    for number, output in enumerate(outputs):
        if write.select == CCMarkerSelect.VICTIM_MASK:
            set_victim_mask(markers, output, write.victim_mask >> number & 1)
        elif write.select == CCMarkerSelect.THRESHOLD:
            set_threshold(markers, output, write.threshold, write.packet_size)
        elif write.select == CCMarkerSelect.MARKING_RATE:
            set_marking_rate(markers, output, write.marking_rate)
        elif number == write.port:
            set_port_element(
                markers, output, write.valid, write.control_type, write.threshold, write.packet_size, write.marking_rate
            )
