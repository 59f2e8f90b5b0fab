"""Stimulus of the line-rate form of the Deficit Table: the ``behind`` hint is always correct, except in wild phases.

The packet that the hint announces is the next head of its lane.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import has
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import below, draw
from vlane.golden.schedulers import dtable_line_rate as golden
from vlane.tb.machinery.native.packing import elements, put
from vlane.tb.machinery.native.stimulus import Layout
from vlane.tb.schedulers.rows_egress import NOTE, SHOW, OwnPorts, Ports, Traffic, own_ports
from vlane.tb.schedulers.surroundings import BEHIND, OUT_BLOCKS, P_IDLE_BITS, P_STALL, Surroundings, draw_size, set_head

PENDING, UNREACHABLE = range(4, 6)
_SIZE_VALUES = 128


def line_rate_ports(inputs: Layout, data_vls: int) -> OwnPorts:
    """Return the ports that only this form has."""
    return own_ports(behind_inputs=elements(inputs, [("behind_blocks", data_vls)]))


@inner
def _show_behind(surroundings: Surroundings, behind: NDArray[np.int64], traffic: Traffic) -> int:
    """Add packets behind the heads and return the lanes that show such a packet."""
    every = (1 << surroundings.data_vls) - 1
    chances = traffic.chances
    if traffic.wild:
        for lane in range(surroundings.data_vls):
            behind[lane] = below(surroundings.bits, _SIZE_VALUES)
        return draw(surroundings.bits) & every
    come = every
    for _ in range(chances[P_IDLE_BITS]):
        come &= draw(surroundings.bits)
    shown = 0
    for lane in range(surroundings.data_vls):
        if behind[lane] == 0 and (come >> lane) & 1:
            behind[lane] = draw_size(surroundings, chances)
        shown |= (behind[lane] != 0) << lane
    if chances[P_STALL]:
        shown &= draw(surroundings.bits) | draw(surroundings.bits)
    return shown


@inner
def _show(
    state: golden.State,
    surroundings: Surroundings,
    ports: Ports,
    traffic: Traffic,
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    cycle: int,
) -> None:
    """Draw the packets behind the heads, and put them with the swap, unreachable lanes and last granted size."""
    own_ports, given = ports.own, ports.given
    given[BEHIND] = _show_behind(surroundings, own_ports.behind, traffic)
    put(expected, cycle, ports.outputs, PENDING, state.regs[golden.SWAP_PENDING])
    put(expected, cycle, ports.outputs, UNREACHABLE, golden.unreachable(state))
    put(expected, cycle, ports.outputs, OUT_BLOCKS, state.regs[golden.LAST_BLOCKS])
    for each in range(len(own_ports.behind)):
        put(rows, cycle, own_ports.behind_inputs, each, own_ports.behind[each])


@inner
def _note(state: golden.State, surroundings: Surroundings, ports: Ports, lane: int, renewed: bool) -> None:  # noqa: FBT001 - as ``note`` has it
    """Make the shown packet behind a departed head the new head."""
    behind = ports.own.behind
    if 0 <= lane < len(behind):
        if has(ports.given[BEHIND], lane):
            set_head(surroundings, lane, behind[lane])
        behind[lane] = 0


SHOW[golden.State], NOTE[golden.State] = _show, _note
