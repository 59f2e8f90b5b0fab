"""Oracle ports of self-clocked fair queueing, in addition to those of every scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.oracle.own_ports import STALE, UNREACHABLE, SpecificPorts, schedule_program, unreachable
from vlane.golden.oracle.ports import Port
from vlane.golden.oracle.words import write
from vlane.golden.schedulers import scfq as golden


@inner
def _write_specific_outputs(
    state: golden.State,
    specific_inputs: NDArray[np.int64],
    table_outputs: NDArray[np.int64],
    output_words: NDArray[np.uint64],
    output_fields: NDArray[np.int64],
) -> None:
    """Write unreachable requesters and the virtual time, truncated to the width of a tag, to the outputs."""
    if table_outputs[STALE] != 0:
        table_outputs[UNREACHABLE] = golden.unreachable(state)
    write(output_words, output_fields, 0, table_outputs[UNREACHABLE])
    write(output_words, output_fields, 1, state.regs[golden.TIME])


SHOW = {golden.State: _write_specific_outputs}


def own_ports(parameters: Mapping[str, Any]) -> SpecificPorts:
    """Return the program port and the state outputs of an instance."""
    return SpecificPorts(
        schedule_program(parameters["reciprocal_bits"], "Reciprocal of the weight: amount that a block adds to a tag."),
        outputs=(
            unreachable(parameters["requesters"] or parameters["data_vls"], "Requesters without a reciprocal."),
            Port("virtual_time", parameters["tag_bits"], 1, "Virtual time: tag of the packet sent last."),
        ),
    )
