"""Random sequence of the blocks: PRBS31 of ITU-T O.150, 24 bits per draw (ECP-5, ``docs/ecm_cp.md``)."""

from __future__ import annotations

from vlane.ethernet.shared import DRAW_BITS, PRBS_BITS, PRBS_TAP
from vlane.golden.engine.kernel import inner

_STATE, _NUMBER = (1 << PRBS_BITS) - 1, (1 << DRAW_BITS) - 1
_FAR, _NEAR = PRBS_BITS - DRAW_BITS, PRBS_TAP - DRAW_BITS


@inner
def next_state(word: int) -> int:
    """Return the state of the random sequence after the next draw of 24 bits."""
    return (word << DRAW_BITS | ((word >> _FAR ^ word >> _NEAR) & _NUMBER)) & _STATE


@inner
def random_number(word: int) -> int:
    """Return the 24-bit random number of a state that follows a draw."""
    return word & _NUMBER
