"""Oracle ports of weighted round robin, in addition to those of every scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.oracle.own_ports import ENTRY_BITS, STALE, UNREACHABLE, SpecificPorts, schedule_program, unreachable
from vlane.golden.oracle.ports import Port
from vlane.golden.oracle.words import write
from vlane.golden.schedulers import wrr as golden


@inner
def _write_specific_outputs(
    state: golden.State,
    specific_inputs: NDArray[np.int64],
    table_outputs: NDArray[np.int64],
    output_words: NDArray[np.uint64],
    output_fields: NDArray[np.int64],
) -> None:
    """Write unreachable requesters and the packets left in the turn to the outputs."""
    if table_outputs[STALE] != 0:
        table_outputs[UNREACHABLE] = golden.unreachable(state)
    write(output_words, output_fields, 0, table_outputs[UNREACHABLE])
    write(output_words, output_fields, 1, golden.packets_left(state))


SHOW = {golden.State: _write_specific_outputs}


def own_ports(parameters: Mapping[str, Any]) -> SpecificPorts:
    """Return the program port and the state outputs of an instance."""
    return SpecificPorts(
        schedule_program(ENTRY_BITS, "Weight in packets."),
        outputs=(
            unreachable(parameters["requesters"] or parameters["data_vls"], "Requesters with weight 0."),
            Port("packets_left", ENTRY_BITS, 1, "Packets that the requester in turn may still send."),
        ),
    )
