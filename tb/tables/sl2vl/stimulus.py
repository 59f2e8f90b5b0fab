"""Stimulus of SL to VL mapping: random look-ups and rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_below, draw_bits
from vlane.golden.oracle.tables import SL2VLMachine, sl2vl_oracle
from vlane.tb.machinery.native.stimulus import Stimulus
from vlane.tb.tables.stimulus_tables import DRAW, qualified_table

_CERTAIN = 256


@inner
def _draw(
    machine: SL2VLMachine, probabilities: NDArray[np.int64], _last: NDArray[np.int64], rng: NDArray[np.uint64]
) -> int:
    """Draw an output and an SL for each input, and a write of a row."""
    seen = machine.input_values
    inputs, outputs, _ = machine.state.row.shape
    writes = draw_below(rng, _CERTAIN) < probabilities[0]
    near = draw_below(rng, _CERTAIN) < probabilities[1]
    every, to_input, to_output = draw_below(rng, 8) == 0, draw_below(rng, inputs + 1), draw_below(rng, outputs + 1)
    if to_input == inputs:
        to_input = draw_below(rng, 64)
    if to_output == outputs:
        to_output = draw_below(rng, 64)
    row = (draw_bits(rng) & 0xFFFF_FFFF) << 32 | (draw_bits(rng) & 0xFFFF_FFFF)
    if draw_below(rng, 4) == 0:
        row &= 0x7777_7777_7777_7777
    for port in range(inputs):
        output, sl = draw_below(rng, outputs), draw_below(rng, 16)
        if draw_below(rng, 32) == 0:
            output = draw_below(rng, 64)
        if near and port == to_input:
            output = to_output
        seen[port] = output
        seen[inputs + port] = sl
    resets = (draw_bits(rng) & 0xFFFF) < probabilities[2]
    at = 2 * inputs
    seen[at] = writes
    seen[at + 1] = every
    seen[at + 2] = to_input
    seen[at + 3] = to_output
    seen[at + 4] = row
    return resets


DRAW[SL2VLMachine] = _draw


def qualified(parameters: Mapping[str, Any], **run: Any) -> Stimulus:
    """Return the stimulus that qualifies the mapping. See ``qualified_table`` for ``run``."""
    never = {
        name
        for name, absent in (("invalid", parameters["data_vls"] == 15), ("no_such_output", parameters["outputs"] == 64))
        if absent
    }
    return qualified_table("sl2vl", sl2vl_oracle, parameters, parameters["inputs"], never, **run)
