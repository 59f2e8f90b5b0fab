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
from vlane.tb.switches.switch_environment import (
    RING,
    W_FOUR,
    W_KIND,
    W_ONE,
    W_THREE,
    W_TWO,
    WITHHELD,
    WRITES_STARVATION,
    SwitchEnvironment,
)

_NAMES = ("enable", "select", "credit_mask", "threshold", "shift", "multiplier")
STARVATION_PROGRAM = tuple(f"starvation__{name}" for name in _NAMES)
"""Inputs of the settings' program port, in the order of a row, before ``MARKING_PROGRAM``."""

_MASK, _SELECTS = int(StarvationSelect.CREDIT_MASK), len(StarvationSelect)
_SHORT = 24


@inner
def _nothing_held(starvation: NoStarvation, environment: SwitchEnvironment, port: int, slot: int) -> tuple[int, int]:  # noqa: ARG001 - signature of the other variant
    return environment.back[port, slot, RETURNED_LANES], environment.back[port, slot, RETURNED_BLOCKS]


@inner
def _freed_with_starvation(
    starvation: Starvation,  # noqa: ARG001 - signature of the other variant
    environment: SwitchEnvironment,
    port: int,
    slot: int,  # noqa: ARG001 - signature of the other variant
) -> tuple[int, int]:
    return environment.left[port, RETURNED_LANES], environment.left[port, RETURNED_BLOCKS]


@by_type({NoStarvation: _nothing_held, Starvation: _freed_with_starvation})
def blocks_freed_before(starvation: Any, environment: SwitchEnvironment, port: int, slot: int) -> tuple[int, int]:  # type: ignore[empty-body]
    """Return the bit mask of VLs and the number of blocks that crossed last at a port.

    ``slot`` is the cycle in which they would be returned.
    """


@inner
def _hold_credits(
    starvation: Starvation, environment: SwitchEnvironment, cycle: int, rule_counts: NDArray[np.int64]
) -> None:
    speed = environment.out_ports.returns.speed
    for port in range(len(environment.tx)):
        returned, left = environment.back[port, (cycle + 1) % RING], environment.left[port]
        left[RETURNED_LANES], left[RETURNED_BLOCKS] = returned[RETURNED_LANES], returned[RETURNED_BLOCKS]
        lane, freed, before = 0, 0, starvation.port[port].withheld
        if returned[RETURNED_LANES] != 0:
            lane, freed = lowest_member(returned[RETURNED_LANES]), returned[RETURNED_BLOCKS]
        lane, blocks = release_held_credit(starvation, port, cycle, lane, freed, speed)
        returned[RETURNED_LANES], returned[RETURNED_BLOCKS] = (1 << lane if blocks != 0 else 0), blocks
        rule_counts[WITHHELD] += starvation.port[port].withheld != before


@by_type({Starvation: _hold_credits}, default=True)
def hold_credits(starvation: Any, environment: SwitchEnvironment, cycle: int, rule_counts: NDArray[np.int64]) -> None:
    """Withhold freed blocks at the inputs, and schedule their returns for the next cycle (IBS-K2 to IBS-K5)."""


@inner
def draw_starvation(environment: SwitchEnvironment, slot: int, rng: NDArray[np.uint64]) -> None:
    """Draw a write of Credit_Mask, or of a low threshold and a mostly short delay."""
    write = environment.written[slot]
    write[W_KIND], write[W_ONE] = WRITES_STARVATION, draw_below(rng, _SELECTS)
    high = LARGEST_THRESHOLD - draw_below(rng, 3)
    write[W_TWO] = draw_below(rng, LARGEST_THRESHOLD + 1) if draw_below(rng, 4) == 0 else high
    write[W_THREE] = draw_below(rng, 1 << SHIFT_BITS)
    write[W_FOUR] = draw_below(rng, 1 << MULTIPLIER_BITS) if draw_below(rng, 32) == 0 else draw_below(rng, _SHORT)
    environment.rows[slot] = draw_bits(rng) | draw_bits(rng)


@inner
def _apply(starvation: Starvation, environment: SwitchEnvironment, cycle: int) -> None:
    slot = cycle % 4
    write = environment.written[slot]
    port, rules, threshold, delay = element_of(environment, slot)
    if 0 <= port < len(environment.tx):
        gap = (delay & ((1 << MULTIPLIER_BITS) - 1)) >> (delay >> MULTIPLIER_BITS)
        set_element(starvation, port, rules, threshold, gap)
    if write[W_KIND] != WRITES_STARVATION:
        return
    for number in range(len(environment.tx)):
        if write[W_ONE] == _MASK:
            set_credit_mask(starvation, number, int(environment.rows[slot] >> np.uint64(number)) & 1)
        else:
            set_return(starvation, number, write[W_TWO], write[W_FOUR] >> write[W_THREE])


@by_type({Starvation: _apply}, default=True)
def apply_starvation(starvation: Any, environment: SwitchEnvironment, cycle: int) -> None:
    """Apply the settings written in a cycle to golden's inputs (IBS-K6)."""


@inner
def write_starvation_inputs(
    environment: SwitchEnvironment,
    slot: int,
    rows: NDArray[np.uint64],
    row: int,
    input_fields: NDArray[np.int64],
    is_enabled: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> None:
    """Write the settings to the program port."""
    write, first = environment.written[slot], len(input_fields) - len(MARKING_PROGRAM) - len(STARVATION_PROGRAM)
    put(rows, row, input_fields, first, is_enabled)
    put(rows, row, input_fields, first + 1, write[W_ONE])
    put(rows, row, input_fields, first + 2, environment.rows[slot])
    put(rows, row, input_fields, first + 3, write[W_TWO])
    put(rows, row, input_fields, first + 4, write[W_THREE])
    put(rows, row, input_fields, first + 5, write[W_FOUR])
