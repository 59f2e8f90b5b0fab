"""Credit starvation: switch inputs delay the return of credits (IBS-K1 to IBS-K6, ``docs/ib_switch.md``).

Only one packet at a time may cross from an input. The caller reports queued and granted packets. At the start of each
cycle it passes the blocks that become free and receives the blocks to return to the sender.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.congestion.cc_marker import LARGEST_THRESHOLD, CCMarkerSelect
from vlane.congestion.marking_write import MarkingWrite
from vlane.credits.credit_starvation import StarvationSelect, StarvationWrite, block_gap, starvation_limit
from vlane.golden.compiler.records import Int16, Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.links.returns import Returns, completed_blocks, flits_moved
from vlane.golden.switches.packets import NOBODY, Packet

_NEVER = 1 << 30
"""Limit that is never reached, for CS_Threshold 0."""


class NoStarvation(NamedTuple):
    """Ports without credit starvation: every credit is returned at once.

    Parameters
    ----------
    kind : int
        Always 0. An empty tuple would not be a distinct type in compiled code.
    """

    kind: int = 0


class StarvingPort:
    """State of a port, common to all its VLs.

    Parameters
    ----------
    start_cycle : int
        First cycle in which a flit of the packet that crosses, or crossed last, could cross.
    lane : int
        VL of that packet.
    flits, blocks : int
        Size of that packet in flits and in blocks.
    freed_blocks : int
        Blocks of that packet freed so far.
    flits_ahead : int
        Flits of that packet that were buffered in excess of one arriving per cycle.
    held : int
        Freed blocks that are not yet returned, over all VLs.
    withheld : int
        Number of blocks since the start of the run that were not returned in the cycle in which they became free.
    last_lane : int
        VL that returned credits last.
    masked : int
        The port's bit of Credit_Mask.
    threshold : int
        CS_Threshold of the switch.
    gap : int
        Extra cycles per block from CS_ReturnDelay of the switch.
    has_element : int
        Whether the port element is valid and of control type 1.
    element_threshold : int
        CS_Threshold of the port element.
    element_gap : int
        Extra cycles per block from CS_ReturnDelay of the port element.
    """

    start_cycle: Int64
    withheld: Int64
    lane: Int32
    flits: Int32
    blocks: Int32
    freed_blocks: Int32
    flits_ahead: Int32
    held: Int32
    last_lane: Int32
    masked: Int16
    threshold: Int16
    gap: Int32
    has_element: Int16
    element_threshold: Int16
    element_gap: Int32


class StarvingLane:
    """State of one VL of a port.

    Parameters
    ----------
    not_before : int
        First cycle in which the VL may return another block while it is over its threshold.
    waiting : int
        Blocks of queued packets.
    granted_blocks : int
        Blocks of packets granted since the last call of ``release_held_credit``.
    held : int
        Blocks that are free but not yet returned.
    """

    not_before: Int64
    waiting: Int32
    granted_blocks: Int32
    held: Int32


class Starvation(NamedTuple):
    """Ports with credit starvation.

    Parameters
    ----------
    port : Records of StarvingPort, (ports,)
        State of each port.
    lane : Records of StarvingLane, (ports, lanes)
        State of each VL.
    limits : array of int64, (lanes, 16)
        Number of waiting blocks from which a VL is over its threshold, by CS_Threshold.
    maximum : array of int64, (lanes,)
        Maximum number of blocks that a VL holds back.
    """

    port: Records[StarvingPort]
    lane: Records[StarvingLane]
    limits: NDArray[np.int64]
    maximum: NDArray[np.int64]


def new_starvation(*, ports: int, maximum: tuple[int, ...]) -> Starvation:
    """Return ports after reset. ``maximum`` is the largest number of input-buffer blocks of each VL."""
    lanes = len(maximum)
    limits = [
        [_NEVER, *(starvation_limit(threshold, most) for threshold in range(1, LARGEST_THRESHOLD + 1))]
        for most in maximum
    ]
    made = Starvation(
        new_records(StarvingPort, ports),
        new_records(StarvingLane, ports, lanes),
        np.array(limits, np.int64),
        np.array(maximum, np.int64),
    )
    made.port["last_lane"] = lanes - 1
    return made


@inner
def _is_modelled(starvation: Starvation) -> bool:
    return True


@by_type({Starvation: _is_modelled}, default=True)
def models_starvation(starvation: Any) -> bool:
    """Return whether credit starvation is modelled."""
    return False


@inner
def _note_waiting(starvation: Starvation, port: int, lane: int, blocks: int) -> None:
    starvation.lane[port, lane].waiting += blocks


@by_type({Starvation: _note_waiting}, default=True)
def note_waiting(starvation: Any, port: int, lane: int, blocks: int) -> None:
    """Count a packet queued on a VL, in the first cycle in which it may be granted."""


@inner
def _note_grant(starvation: Starvation, port: int, lane: int, blocks: int) -> None:
    lane_state = starvation.lane[port, lane]
    lane_state.waiting -= blocks
    lane_state.granted_blocks += blocks


@by_type({Starvation: _note_grant}, default=True)
def note_grant(starvation: Any, port: int, lane: int, blocks: int) -> None:
    """Count a packet of a VL that is granted, or begins to be dropped, in this cycle."""


@inner
def _note_crossing(starvation: Starvation, port: int, lane: int, packet: Packet, start_cycle: int) -> None:
    port_state = starvation.port[port]
    port_state.start_cycle, port_state.lane, port_state.flits, port_state.blocks, port_state.freed_blocks = (
        start_cycle,
        lane,
        packet.flits,
        packet.blocks,
        0,
    )
    port_state.flits_ahead = min(start_cycle - 1 - packet.head_arrival, packet.flits)


@by_type({Starvation: _note_crossing}, default=True)
def note_crossing(starvation: Any, port: int, lane: int, packet: Packet, start_cycle: int) -> None:
    """Record the packet whose flits cross from ``start_cycle`` on, because they free space flit by flit."""


@inner
def blocks_freed_in(starvation: Starvation, returns: Returns, port: int, cycle: int) -> int:
    """Return the number of blocks that the crossing packet frees in a cycle. Call it once per cycle, in order."""
    port_state = starvation.port[port]
    if port_state.freed_blocks == port_state.blocks:
        return 0
    moved = min(flits_moved(returns, cycle - port_state.start_cycle + 1, port_state.flits_ahead), int(port_state.flits))
    blocks = (
        completed_blocks(moved, int(port_state.flits), int(port_state.blocks), returns.flit_shift)
        - port_state.freed_blocks
    )
    port_state.freed_blocks += blocks
    return int(blocks)


@inner
def is_over(starvation: Starvation, port: int, lane: int) -> bool:
    """Return whether a VL is over CS_Threshold (IBS-K1)."""
    port_state, state = starvation.port[port], starvation.lane[port, lane]
    threshold = port_state.element_threshold if port_state.has_element != 0 else port_state.threshold
    return port_state.masked != 0 and state.waiting + state.granted_blocks >= starvation.limits[lane, threshold]


@inner
def release_held_credit(
    starvation: Starvation, port: int, cycle: int, lane: int, freed: int, speed: int
) -> tuple[int, int]:
    """Add freed blocks to the held ones, and return (VL, blocks) to return to the sender now (IBS-K2 to IBS-K5)."""
    port_state, lanes = starvation.port[port], len(starvation.limits)
    if freed != 0:
        state = starvation.lane[port, lane]
        kept = min(freed, int(starvation.maximum[lane]) - state.held)
        state.held += kept
        port_state.held += kept
    chosen, blocks = NOBODY, 0
    if port_state.held != 0:
        for step in range(lanes):
            number = (port_state.last_lane + 1 + step) % lanes
            state = starvation.lane[port, number]
            over = is_over(starvation, port, number)
            if state.held == 0 or (over and cycle < state.not_before):
                continue
            chosen, blocks = number, 1 if over else min(int(state.held), speed)
            if over:
                state.not_before = (
                    cycle + 1 + (port_state.element_gap if port_state.has_element != 0 else port_state.gap)
                )
            state.held -= blocks
            port_state.held -= blocks
            port_state.last_lane = number
            break
    if freed != 0:
        port_state.withheld += min(freed, int(starvation.lane[port, lane].held))
    for number in range(lanes):
        starvation.lane[port, number].granted_blocks = 0
    return chosen, blocks


@inner
def set_credit_mask(starvation: Starvation, port: int, mask: int) -> None:
    """Set the port's bit of Credit_Mask."""
    starvation.port[port].masked = mask


@inner
def set_return(starvation: Starvation, port: int, threshold: int, gap: int) -> None:
    """Set CS_Threshold and the gap of CS_ReturnDelay as switch settings."""
    port_state = starvation.port[port]
    port_state.threshold, port_state.gap = threshold, gap


@inner
def set_element(starvation: Starvation, port: int, rules: int, threshold: int, gap: int) -> None:
    """Set the port element, which overrides the switch settings if ``rules`` (IBS-K6)."""
    port_state = starvation.port[port]
    port_state.has_element, port_state.element_threshold, port_state.element_gap = rules, threshold, gap


def write_starvation(starvation: Starvation, first_port: int, ports: int, write: StarvationWrite) -> None:
    """Apply a write of starvation settings to all ports of a switch, which begin at ``first_port``."""
    for port in range(ports):
        if write.select == StarvationSelect.CREDIT_MASK:
            set_credit_mask(starvation, first_port + port, write.credit_mask >> port & 1)
        else:
            set_return(starvation, first_port + port, write.threshold, block_gap(write.shift, write.multiplier))


def write_element(starvation: Starvation, first_port: int, ports: int, write: MarkingWrite) -> None:
    """Apply a write of the port element to its port. Ignore other marking writes and absent ports."""
    if write.select == CCMarkerSelect.PORT and write.port < ports:
        shift, multiplier = write.return_delay
        set_element(
            starvation,
            first_port + write.port,
            write.valid & write.control_type,
            write.threshold,
            block_gap(shift, multiplier),
        )
