"""Credit starvation in the rows of a switch: withheld credits, and writes of the settings under traffic.

The functions dispatch on the type of golden's starvation: whether inputs can withhold credits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.congestion.cc_marker import LARGEST_THRESHOLD
from vlane.congestion.cc_source import MULTIPLIER_BITS, SHIFT_BITS
from vlane.credits.credit_starvation import StarvationSelect
from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.engine.random_bits import draw_below, draw_bits
from vlane.golden.switches.credit_starvation import (
    NoStarvation,
    Starvation,
    release_held_credit,
    set_credit_mask,
    set_element,
    set_return,
)
from vlane.tb.machinery.native.packing import put
from vlane.tb.switches.marking_writes import MARKING_PROGRAM, element_of
from vlane.tb.switches.rows_credit import RETURNED_BLOCKS, RETURNED_LANES
from vlane.tb.switches.surroundings_switch import (
    RING,
    W_FOUR,
    W_KIND,
    W_ONE,
    W_THREE,
    W_TWO,
    WITHHELD,
    WRITES_STARVATION,
    SwitchSurroundings,
)

_NAMES = ("enable", "select", "credit_mask", "threshold", "shift", "multiplier")
STARVATION_PROGRAM = tuple(f"starvation__{name}" for name in _NAMES)
"""Inputs of the settings' program port, in the order of a row, before ``MARKING_PROGRAM``."""

_MASK, _SELECTS = int(StarvationSelect.CREDIT_MASK), len(StarvationSelect)
_SHORT = 24


@inner
def _all_returned(starvation: NoStarvation, surroundings: SwitchSurroundings, port: int, slot: int) -> tuple[int, int]:  # noqa: ARG001 - signature of the other variant
    return surroundings.back[port, slot, RETURNED_LANES], surroundings.back[port, slot, RETURNED_BLOCKS]


@inner
def _freed(starvation: Starvation, surroundings: SwitchSurroundings, port: int, slot: int) -> tuple[int, int]:  # noqa: ARG001 - signature of the other variant
    return surroundings.left[port, RETURNED_LANES], surroundings.left[port, RETURNED_BLOCKS]


@by_type({NoStarvation: _all_returned, Starvation: _freed})
def freed_before(starvation: Any, surroundings: SwitchSurroundings, port: int, slot: int) -> tuple[int, int]:  # type: ignore[empty-body]
    """Return the VLs, as bits, and the blocks that crossed last at a port. ``slot`` is the cycle of their return."""


@inner
def _hold(starvation: Starvation, surroundings: SwitchSurroundings, cycle: int, rules: NDArray[np.int64]) -> None:
    speed = surroundings.out_ports.returns.speed
    for port in range(len(surroundings.tx)):
        returned, left = surroundings.back[port, (cycle + 1) % RING], surroundings.left[port]
        left[RETURNED_LANES], left[RETURNED_BLOCKS] = returned[RETURNED_LANES], returned[RETURNED_BLOCKS]
        lane, freed, before = 0, 0, starvation.port[port].withheld
        if returned[RETURNED_LANES] != 0:
            lane, freed = lowest_member(returned[RETURNED_LANES]), returned[RETURNED_BLOCKS]
        lane, blocks = release_held_credit(starvation, port, cycle, lane, freed, speed)
        returned[RETURNED_LANES], returned[RETURNED_BLOCKS] = (1 << lane if blocks != 0 else 0), blocks
        rules[WITHHELD] += starvation.port[port].withheld != before


@by_type({Starvation: _hold}, default=True)
def hold(starvation: Any, surroundings: SwitchSurroundings, cycle: int, rules: NDArray[np.int64]) -> None:
    """Withhold freed blocks at the inputs, and schedule their returns for the next cycle (IBS-K2 to IBS-K5)."""


@inner
def draw_starvation(surroundings: SwitchSurroundings, slot: int, bits: NDArray[np.uint64]) -> None:
    """Draw a write of Credit_Mask, or of a low threshold and a mostly short delay."""
    write = surroundings.written[slot]
    write[W_KIND], write[W_ONE] = WRITES_STARVATION, draw_below(bits, _SELECTS)
    high = LARGEST_THRESHOLD - draw_below(bits, 3)
    write[W_TWO] = draw_below(bits, LARGEST_THRESHOLD + 1) if draw_below(bits, 4) == 0 else high
    write[W_THREE] = draw_below(bits, 1 << SHIFT_BITS)
    write[W_FOUR] = draw_below(bits, 1 << MULTIPLIER_BITS) if draw_below(bits, 32) == 0 else draw_below(bits, _SHORT)
    surroundings.rows[slot] = draw_bits(bits) | draw_bits(bits)


@inner
def _apply(starvation: Starvation, surroundings: SwitchSurroundings, cycle: int) -> None:
    slot = cycle % 4
    write = surroundings.written[slot]
    port, rules, threshold, delay = element_of(surroundings, slot)
    if 0 <= port < len(surroundings.tx):
        gap = (delay & ((1 << MULTIPLIER_BITS) - 1)) >> (delay >> MULTIPLIER_BITS)
        set_element(starvation, port, rules, threshold, gap)
    if write[W_KIND] != WRITES_STARVATION:
        return
    for number in range(len(surroundings.tx)):
        if write[W_ONE] == _MASK:
            set_credit_mask(starvation, number, int(surroundings.rows[slot] >> np.uint64(number)) & 1)
        else:
            set_return(starvation, number, write[W_TWO], write[W_FOUR] >> write[W_THREE])


@by_type({Starvation: _apply}, default=True)
def apply_starvation(starvation: Any, surroundings: SwitchSurroundings, cycle: int) -> None:
    """Apply the settings written in a cycle to golden's inputs (IBS-K6)."""


@inner
def show_starvation(
    surroundings: SwitchSurroundings,
    slot: int,
    rows: NDArray[np.uint64],
    row: int,
    ins: NDArray[np.int64],
    is_enabled: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> None:
    """Write the settings to the program port."""
    write, first = surroundings.written[slot], len(ins) - len(MARKING_PROGRAM) - len(STARVATION_PROGRAM)
    put(rows, row, ins, first, is_enabled)
    put(rows, row, ins, first + 1, write[W_ONE])
    put(rows, row, ins, first + 2, surroundings.rows[slot])
    put(rows, row, ins, first + 3, write[W_TWO])
    put(rows, row, ins, first + 4, write[W_THREE])
    put(rows, row, ins, first + 5, write[W_FOUR])
