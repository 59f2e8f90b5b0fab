"""Oracle ports of deficit round robin, in addition to those of every scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.oracle.own_ports import (
    ENTRY_BITS,
    STALE,
    UNREACHABLE,
    SpecificPorts,
    deficits,
    schedule_program,
    unreachable,
)
from vlane.golden.oracle.words import write
from vlane.golden.schedulers import drr as golden
from vlane.golden.schedulers.deficit import ACCUMULATED

_ACCUMULATED_BITS = 9


@inner
def _write_specific_outputs(
    state: golden.State,
    specific_inputs: NDArray[np.int64],
    table_outputs: NDArray[np.int64],
    output_words: NDArray[np.uint64],
    output_fields: NDArray[np.int64],
) -> None:
    """Write unreachable requesters, the accumulated weight and the deficits to the outputs."""
    if table_outputs[STALE] != 0:
        table_outputs[UNREACHABLE] = golden.unreachable(state)
    write(output_words, output_fields, 0, table_outputs[UNREACHABLE])
    write(output_words, output_fields, 1, state.deficits.regs[ACCUMULATED])
    for requester in range(len(state.deficits.deficit)):
        write(output_words, output_fields, 2 + requester, state.deficits.deficit[requester])


SHOW = {golden.State: _write_specific_outputs}


def own_ports(parameters: Mapping[str, Any]) -> SpecificPorts:
    """Return the program port and the state outputs of an instance."""
    requesters = parameters["requesters"] or parameters["data_vls"]
    return SpecificPorts(
        schedule_program(ENTRY_BITS, "Quantum in 64-byte blocks."),
        outputs=(unreachable(requesters, "Requesters with quantum 0."), *deficits(requesters, _ACCUMULATED_BITS)),
    )
