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
from vlane.tb.schedulers.rows_egress import Traffic
from vlane.tb.schedulers.surroundings import P_IDLE_BITS, P_STALL, Surroundings, draw_size, set_head

_SIZE_VALUES = 128


@inner
def _show_behind(surroundings: Surroundings, behind: NDArray[np.int64], traffic: Traffic) -> int:
    """Add packets behind the heads and return the lanes that show such a packet."""
    every = (1 << surroundings.data_vls) - 1
    chances = traffic.chances
    if traffic.wild:
        for lane in range(surroundings.data_vls):
            behind[lane] = draw_below(surroundings.bits, _SIZE_VALUES)
        return draw_bits(surroundings.bits) & every
    come = every
    for _ in range(chances[P_IDLE_BITS]):
        come &= draw_bits(surroundings.bits)
    shown = 0
    for lane in range(surroundings.data_vls):
        if behind[lane] == 0 and (come >> lane) & 1:
            behind[lane] = draw_size(surroundings, chances)
        shown |= (behind[lane] != 0) << lane
    if chances[P_STALL]:
        shown &= draw_bits(surroundings.bits) | draw_bits(surroundings.bits)
    return shown


@inner
def draw_behind(state: golden.State, machine: EgressMachine, surroundings: Surroundings, traffic: Traffic) -> None:
    """Draw the packets behind the heads."""
    machine.seen[BEHIND] = _show_behind(surroundings, machine.behind_blocks, traffic)


@inner
def note_behind(state: golden.State, machine: EgressMachine, surroundings: Surroundings, lane: int) -> None:
    """Make the packet behind the head that left the head of its lane, if the hint announced it."""
    behind = machine.behind_blocks
    if 0 <= lane < surroundings.data_vls:
        if is_member(machine.seen[BEHIND], lane):
            set_head(surroundings, lane, behind[lane])
        behind[lane] = 0
