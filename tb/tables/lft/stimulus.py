"""Stimulus of LFT look-up: random destinations, entries and tops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_below, draw_bits
from vlane.golden.oracle.tables import LFTMachine, lft_oracle
from vlane.tables.lft import UNASSIGNED
from vlane.tb.machinery.native.stimulus import Stimulus
from vlane.tb.tables.stimulus_tables import DRAW, qualified_table

_CERTAIN = 256


@inner
def _destination(rng: NDArray[np.uint64], entries: int, top: int) -> int:
    kind = draw_below(rng, 32)
    if kind == 0:
        return 0
    if kind == 1:
        return 0xFFFF ^ ((1 << draw_below(rng, 16)) if draw_below(rng, 2) else 0)
    if kind == 2:
        return 0xC000 - draw_below(rng, 2)
    if kind == 3:
        return draw_below(rng, 65536)
    if kind == 4:
        return min(top + draw_below(rng, 2), 65535)
    if kind == 5:
        return entries - draw_below(rng, 2)
    if kind in (6, 7):
        return (1 << draw_below(rng, 16)) | (draw_below(rng, entries) if kind == 6 else 0)
    return draw_below(rng, entries)


@inner
def _draw(
    machine: LFTMachine, probabilities: NDArray[np.int64], last: NDArray[np.int64], rng: NDArray[np.uint64]
) -> int:
    """Draw destinations, mostly of existing entries, and a write of an entry or of the top."""
    state, seen, lookups = machine.state, machine.input_values, machine.lookups
    entries = len(state.port)
    writes, near = draw_below(rng, _CERTAIN) < probabilities[0], draw_below(rng, _CERTAIN) < probabilities[1]
    is_top = draw_below(rng, 16) == 0
    lid = draw_below(rng, entries)
    if draw_below(rng, 16) == 0 or (is_top and draw_below(rng, 4) == 0):
        lid = draw_below(rng, 65536)
    if is_top and draw_below(rng, 2):
        lid = 1 << draw_below(rng, 16)
    elif draw_below(rng, 8) == 0:
        lid |= 1 << draw_below(rng, 16)
    port = draw_below(rng, state.ports + 2)
    if draw_below(rng, 8) == 0:
        port = UNASSIGNED if draw_below(rng, 2) else draw_below(rng, 256)
    for index in range(lookups):
        dlid = _destination(rng, entries, state.top[0])
        if index == 0 and near:
            dlid = lid if draw_below(rng, 4) else last[0]
        seen[index] = dlid
    last[0] = lid
    resets = (draw_bits(rng) & 0xFFFF) < probabilities[2]
    seen[lookups] = writes
    seen[lookups + 1] = is_top
    seen[lookups + 2] = lid
    seen[lookups + 3] = port
    return resets


DRAW[LFTMachine] = _draw


def qualified(parameters: Mapping[str, Any], **run: Any) -> Stimulus:
    """Return the stimulus that qualifies the look-up. See ``qualified_table`` for ``run``."""
    never = {"no_such_port"} if parameters["ports"] == 254 else set()
    return qualified_table("lft", lft_oracle, parameters, parameters["lookups"], never, **run)
