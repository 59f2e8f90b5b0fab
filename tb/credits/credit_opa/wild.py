"""Inputs of Omni-Path credits beyond the contract: their effects are defined and compared too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.credits.credit_opa import BufferSelect
from vlane.golden.credits import credit_opa as golden
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_below

_DEDICATED, _SHARED, _OVERALL = int(BufferSelect.DEDICATED), int(BufferSelect.SHARED), int(BufferSelect.OVERALL)
TURN_BITS, _PROGRAMMING, _CHANGING = 10, 64, 16
"""Length of a turn (log2 of cycles); cycles in which limits are redrawn; interval between their changes."""


@inner
def draw_any_inputs(port: golden.CreditOPAState, inputs: golden.Inputs, clock: int, rng: NDArray[np.uint64]) -> None:
    """Draw every input at random. In some turns few units are returned or encoded, so the counters grow large."""
    vls = len(inputs.blocks)
    for lane in range(vls):
        inputs.blocks[lane] = draw_below(rng, 128)
    for flag in range(len(inputs.flags)):
        inputs.flags[flag] = draw_below(rng, 2)
    inputs.flags[golden.APPLY] = draw_below(rng, 16) == 0
    inputs.flags[golden.GRANT] = draw_below(rng, 8) == 0
    for value, most in (
        (golden.GRANT_VL, 32),
        (golden.GRANT_BLOCKS, 128),
        (golden.CREDIT_IN, 4),
        (golden.FREED_VL, 32),
        (golden.FREED_BLOCKS, 4),
        (golden.SELECT, 4),
        (golden.TO_VL, 32),
        (golden.UNITS, 4096),
    ):
        inputs.values[value] = draw_below(rng, most)
    if draw_below(rng, 2):
        inputs.values[golden.UNITS] &= 255
    turn = (clock >> TURN_BITS) & 3
    if turn < 2:
        favourite = (clock >> TURN_BITS) // 4 % vls
        inputs.values[golden.GRANT_VL] = draw_below(rng, vls)
        inputs.values[golden.TO_VL] = draw_below(rng, vls)
        inputs.values[golden.FREED_VL], inputs.values[golden.FREED_BLOCKS] = favourite, 3
        if turn == 0:
            _draw_growing_used(port, inputs, clock, favourite, rng)
        else:
            _draw_growing_owed(inputs, port.owed[favourite], rng)
    else:
        _draw_single_changes(port, inputs, turn == 3, rng)


@inner
def _draw_growing_used(
    port: golden.CreditOPAState, inputs: golden.Inputs, clock: int, favourite: int, rng: NDArray[np.uint64]
) -> None:
    """Change the limits a few times, then send far more than returns, in some turns on one lane, beyond its limits.

    During the changes nothing is outstanding. Dedicated limits also change by small amounts.
    """
    since = clock & ((1 << TURN_BITS) - 1)
    if (clock >> TURN_BITS) // 4 // len(inputs.blocks) % 2 and draw_below(rng, 16):
        inputs.values[golden.GRANT_VL] = favourite
    inputs.flags[golden.GRANT], inputs.flags[golden.LTP_ARRIVED] = draw_below(rng, 2), draw_below(rng, 8) == 0
    inputs.flags[golden.APPLY] = 0 < since <= _PROGRAMMING and since % _CHANGING == 0
    if since <= _PROGRAMMING + _CHANGING:
        inputs.flags[golden.GRANT], inputs.flags[golden.ENABLE] = 0, 1
        inputs.values[golden.UNITS] = draw_below(rng, 4096 >> draw_below(rng, 4))
        if since > _CHANGING and draw_below(rng, 2):  # XOR of the limit in force with 1 to 15
            inputs.values[golden.SELECT] = _DEDICATED
            inputs.values[golden.UNITS] = port.dedicated[inputs.values[golden.TO_VL]] ^ (
                1 + draw_below(rng, (2 << draw_below(rng, 4)) - 1)
            )
    if since == _PROGRAMMING - 2:
        inputs.values[golden.SELECT], inputs.values[golden.TO_VL] = _DEDICATED, favourite
        inputs.values[golden.UNITS] |= 2048 * draw_below(rng, 2)
    if since == _PROGRAMMING - 1:
        inputs.values[golden.SELECT] = _OVERALL
        inputs.values[golden.UNITS] = draw_below(rng, 4096) if draw_below(rng, 4) else 0


@inner
def _draw_growing_owed(inputs: golden.Inputs, owed: int, rng: NDArray[np.uint64]) -> None:
    """Free far more units than are returned, but return many when the owed units are a power of two."""
    inputs.flags[golden.FREE], inputs.flags[golden.LTP_SENT] = 1, draw_below(rng, 64) == 0
    if owed & (owed - 1) == 0 and draw_below(rng, 64):
        inputs.flags[golden.FREE], inputs.flags[golden.LTP_SENT] = owed == 0, 1


@inner
def _draw_single_changes(
    port: golden.CreditOPAState,
    inputs: golden.Inputs,
    alone: bool,  # noqa: FBT001 - kernels take positional arguments only
    rng: NDArray[np.uint64],
) -> None:
    """Return units of existing lanes, and change single limits, often by a small amount or by one bit.

    With ``alone`` little is sent, and the units for which a change waits return, often one by one, so every sum occurs.
    """
    values, heard = inputs.values, port.regs[golden.HEARD_LTPS]
    values[golden.CREDIT_IN] &= (3, 3, 1, 0)[heard]
    if alone:
        inputs.flags[golden.GRANT] = draw_below(rng, 64) == 0
        inputs.flags[golden.ENABLE], values[golden.TO_VL] = draw_below(rng, 32) == 0, draw_below(rng, port.vls)
        values[golden.SELECT] = (_DEDICATED, _SHARED, _OVERALL)[draw_below(rng, 3)]
        if heard == 0 and draw_below(rng, 4):
            values[golden.CREDIT_IN] = 1
        elif heard == 1 and draw_below(rng, 4):
            values[golden.CREDIT_IN] &= 2
    if values[golden.TO_VL] < port.vls and (alone or draw_below(rng, 2)):
        limit = port.dedicated[values[golden.TO_VL]]
        if values[golden.SELECT] == _SHARED:
            limit = port.shared[values[golden.TO_VL]]
        elif values[golden.SELECT] == _OVERALL:
            limit = port.regs[golden.OVERALL]
        values[golden.UNITS] = (
            limit ^ (1 << draw_below(rng, 12)) if draw_below(rng, 2) else max(0, limit - draw_below(rng, 2))
        )
