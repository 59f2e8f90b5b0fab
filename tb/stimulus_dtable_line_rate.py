"""Traffic for the Deficit Table's line-rate form: what is behind a head is known, and comes true but in wild phases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from vlane.golden import dtable_line_rate as golden
from vlane.golden.kernel import inner, kernel
from vlane.golden.random_bits import below, draw
from vlane.tb.packing import clear_row, put
from vlane.tb.surroundings import (
    BEHIND,
    FITS,
    HOLD,
    OUT_BLOCKS,
    P_IDLE_BITS,
    P_STALL,
    READY,
    REQUEST,
    RST,
    SWAP,
    Surroundings,
    after,
    before,
    draw_size,
    emit_named,
    set_head,
    vl_of,
    write_of,
)
from vlane.tb.traffic import Statistics

__all__ = ["fill_line_rate", "new_behind"]

PENDING, UNREACHABLE = range(4, 6)
_SIZE_VALUES = 128


def new_behind(data_vls: int) -> NDArray[np.int64]:
    """Return the sizes of the packets behind the heads, 0 where there is none."""
    return np.zeros(data_vls, np.int64)


@inner
def _show_behind(around: Surroundings, behind: NDArray[np.int64], chances: NDArray[np.int64], wild: bool) -> int:  # noqa: FBT001 - numba takes no keyword-only arguments
    """Let packets come behind the heads; return the lanes in which one is shown."""
    every = (1 << around.data_vls) - 1
    if wild:
        for lane in range(around.data_vls):
            behind[lane] = below(around.bits, _SIZE_VALUES)
        return draw(around.bits) & every
    come = every
    for _ in range(chances[P_IDLE_BITS]):
        come &= draw(around.bits)
    shown = 0
    for lane in range(around.data_vls):
        if behind[lane] == 0 and (come >> lane) & 1:
            behind[lane] = draw_size(around, chances)
        shown |= (behind[lane] != 0) << lane
    if chances[P_STALL]:
        shown &= draw(around.bits) | draw(around.bits)
    return shown


@kernel
def fill_line_rate(
    state: golden.LineRateState,
    around: Surroundings,
    chances: NDArray[np.int64],
    wild: bool,  # noqa: FBT001 - numba takes no keyword-only arguments
    writes: NDArray[np.int64],
    field_bits: NDArray[np.int64],
    given: NDArray[np.int64],
    at: NDArray[np.int64],
    sizes: NDArray[np.int64],
    wanted: NDArray[np.int64],
    behind: NDArray[np.int64],
    behind_at: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
    stats: Statistics,
) -> None:
    """Write one row of inputs and of expected outputs per cycle."""
    for cycle in range(len(rows)):
        before(around, chances, wild, writes, field_bits, given)
        given[BEHIND] = _show_behind(around, behind, chances, wild)
        clear_row(expected, cycle)
        put(expected, cycle, wanted, PENDING, state.regs[golden.SWAP_PENDING])
        put(expected, cycle, wanted, UNREACHABLE, golden.unreachable(state))
        put(expected, cycle, wanted, OUT_BLOCKS, state.regs[golden.LAST_BLOCKS])
        lane, source, granted = golden.step(
            state, given[REQUEST], given[FITS], given[BEHIND], around.blocks, behind, given[READY] != 0,
            given[HOLD] != 0, write_of(given), given[SWAP] != 0, rules,
        )  # fmt: skip
        vl = vl_of(around, lane) if lane >= 0 else 0
        emit_named(around, given, vl, source, granted, at, sizes, wanted, rows, expected, cycle)
        for each in range(len(behind)):
            put(rows, cycle, behind_at, each, behind[each])
        after(around, chances, len(writes), given, lane if granted else -1, source, stats)
        if granted and given[READY] != 0 and 0 <= lane < len(behind):
            if (given[BEHIND] >> lane) & 1:
                set_head(around, lane, behind[lane])
            behind[lane] = 0
        if given[RST] != 0:
            golden.reset(state)
