"""Oracle ports of the VL arbiter, both forms, in addition to those of every scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.oracle.own_ports import BAD, ENTRY_BITS, STALE, UNREACHABLE, SpecificPorts, behind, unreachable
from vlane.golden.oracle.ports import Port, upset
from vlane.golden.oracle.words import write
from vlane.golden.schedulers import vlarb as golden
from vlane.golden.schedulers import vlarb_line_rate as line_rate
from vlane.schedulers.registry import LINE_RATE
from vlane.schedulers.writes import ListSelect

(_PENDING, _UNREACHABLE, _BAD) = range(3)


@inner
def _write_specific_outputs(
    state: golden.State,
    specific_inputs: NDArray[np.int64],
    table_outputs: NDArray[np.int64],
    output_words: NDArray[np.uint64],
    output_fields: NDArray[np.int64],
) -> None:
    """Write the pending swap, unreachable lanes and bad entries to the outputs."""
    if table_outputs[STALE] != 0:
        table_outputs[UNREACHABLE], table_outputs[BAD] = golden.unreachable(state), golden.bad_entries(state)
    write(output_words, output_fields, _PENDING, state.regs[golden.SWAP_PENDING])
    write(output_words, output_fields, _UNREACHABLE, table_outputs[UNREACHABLE])
    write(output_words, output_fields, _BAD, table_outputs[BAD])


@inner
def _write_line_rate_outputs(
    state: line_rate.State,
    specific_inputs: NDArray[np.int64],
    table_outputs: NDArray[np.int64],
    output_words: NDArray[np.uint64],
    output_fields: NDArray[np.int64],
) -> None:
    """Write the pending swap, unreachable lanes and bad entries of the line-rate form to the outputs."""
    if table_outputs[STALE] != 0:
        table_outputs[UNREACHABLE], table_outputs[BAD] = line_rate.unreachable(state), line_rate.bad_entries(state)
    write(output_words, output_fields, _PENDING, state.regs[line_rate.SWAP_PENDING])
    write(output_words, output_fields, _UNREACHABLE, table_outputs[UNREACHABLE])
    write(output_words, output_fields, _BAD, table_outputs[BAD])


SHOW: dict[type, Callable[..., None]] = {
    golden.State: _write_specific_outputs,
    line_rate.State: _write_line_rate_outputs,
}


def own_ports(parameters: Mapping[str, Any]) -> SpecificPorts:
    """Return the program port and the state outputs of an instance."""
    return SpecificPorts(
        (
            Port("program__select", 2, 1, "HIGH or LOW list, or LIMIT; 3 writes nothing.", ListSelect),
            Port("program__index", 6, 1, "Entry; an absent one writes nothing."),
            Port("program__vl", 4, 1, "Lane of the entry."),
            Port("program__weight", ENTRY_BITS, 1, "Weight in 64-byte blocks, or LimitOfHighPriority."),
        ),
        inputs=(behind(parameters["data_vls"]),) if parameters["form"] == LINE_RATE else (),
        outputs=(
            Port("swap_pending", 1, 1, "A swap was requested in an earlier cycle and waits for a ready cycle."),
            unreachable(parameters["data_vls"], "Data lanes that no entry with a weight names."),
            Port(
                "bad_entries",
                (2 * parameters["entries"]).bit_length(),
                1,
                "Number of entries of the active lists that name VL15 or an absent lane.",
            ),
            upset(parity=parameters["parity"]),
        ),
    )
