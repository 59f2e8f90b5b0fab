"""Stimulus of Omni-Path's maps: random look-ups and entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_below, draw_bits
from vlane.golden.oracle.tables import SCMachine, sc_oracle
from vlane.tables.sc import SC_COUNT, SCTable
from vlane.tb.machinery.native.stimulus import Stimulus
from vlane.tb.tables.stimulus_tables import DRAW, qualified_table

_CERTAIN = 256
_TABLES = len(SCTable)


@inner
def _draw(
    machine: SCMachine, probabilities: NDArray[np.int64], _last: NDArray[np.int64], rng: NDArray[np.uint64]
) -> int:
    """Draw a channel and an output for each port, a packet at both ends of a path, and a write of an entry."""
    seen, ports = machine.input_values, machine.state.channels.shape[0]
    writes, near = draw_below(rng, _CERTAIN) < probabilities[0], draw_below(rng, _CERTAIN) < probabilities[1]
    table = draw_below(rng, 8 if draw_below(rng, 16) == 0 else _TABLES)
    to_ingress, to_egress = draw_below(rng, ports), draw_below(rng, ports)
    if draw_below(rng, 16) == 0:
        to_ingress, to_egress = draw_below(rng, 64), draw_below(rng, 64)
    index, value = draw_below(rng, SC_COUNT), draw_below(rng, SC_COUNT)
    if draw_below(rng, 8) == 0:
        value = 15
    for port in range(ports):
        sc, egress = draw_below(rng, SC_COUNT), draw_below(rng, ports)
        if draw_below(rng, 32) == 0:
            egress = draw_below(rng, 64)
        if near and port == to_ingress:
            sc, egress = index, to_egress
        seen[port] = sc
        seen[ports + port] = egress
    at = 2 * ports
    seen[at] = draw_below(rng, SC_COUNT)
    seen[at + 1] = draw_below(rng, SC_COUNT)
    resets = (draw_bits(rng) & 0xFFFF) < probabilities[2]
    seen[at + 2] = writes
    seen[at + 3] = table
    seen[at + 4] = to_ingress
    seen[at + 5] = to_egress
    seen[at + 6] = index
    seen[at + 7] = value
    return resets


DRAW[SCMachine] = _draw


def qualified(parameters: Mapping[str, Any], **run: Any) -> Stimulus:
    """Return the stimulus that qualifies the maps. See ``qualified_table`` for ``run``."""
    never = {"no_such_lane"} if parameters["data_vls"] == 31 else set()
    return qualified_table("sc", sc_oracle, parameters, parameters["ports"], never, **run)
