"""Stimulus of the line-rate form of the Deficit Table: the ``behind`` hint is always correct, except in wild phases.

The packet that the hint announces is the next head of its lane.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import is_member
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_below, draw_bits
from vlane.golden.oracle.egress import BEHIND, EgressMachine
from vlane.golden.schedulers import dtable_line_rate as golden
from vlane.tb.schedulers.queue_environment import P_IDLE_BITS, P_STALL, QueueEnvironment, draw_size, set_head
from vlane.tb.schedulers.rows_egress import Traffic

_SIZE_VALUES = 128


@inner
def _show_behind(environment: QueueEnvironment, behind: NDArray[np.int64], traffic: Traffic) -> int:
    """Add packets behind the heads and return the lanes that show such a packet."""
    every = (1 << environment.data_vls) - 1
    chances = traffic.chances
    if traffic.wild:
        for lane in range(environment.data_vls):
            behind[lane] = draw_below(environment.bits, _SIZE_VALUES)
        return draw_bits(environment.bits) & every
    come = every
    for _ in range(chances[P_IDLE_BITS]):
        come &= draw_bits(environment.bits)
    shown = 0
    for lane in range(environment.data_vls):
        if behind[lane] == 0 and (come >> lane) & 1:
            behind[lane] = draw_size(environment, chances)
        shown |= (behind[lane] != 0) << lane
    if chances[P_STALL]:
        shown &= draw_bits(environment.bits) | draw_bits(environment.bits)
    return shown


@inner
def draw_behind(state: golden.State, machine: EgressMachine, environment: QueueEnvironment, traffic: Traffic) -> None:
    """Draw the packets behind the heads."""
    machine.input_values[BEHIND] = _show_behind(environment, machine.behind_blocks, traffic)


@inner
def note_behind(state: golden.State, machine: EgressMachine, environment: QueueEnvironment, lane: int) -> None:
    """Make the packet behind the head that left the head of its lane, if the hint announced it."""
    behind = machine.behind_blocks
    if 0 <= lane < environment.data_vls:
        if is_member(machine.input_values[BEHIND], lane):
            set_head(environment, lane, behind[lane])
        behind[lane] = 0
