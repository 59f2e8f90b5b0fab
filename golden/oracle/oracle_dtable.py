"""Ports of the Deficit Table that not every scheduler has, in each of its forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.oracle.own_ports import (
    ENTRY_BITS,
    STALE,
    UNREACHABLE,
    SpecificPorts,
    behind,
    deficits,
    schedule_program,
    unreachable,
)
from vlane.golden.oracle.ports import Port, upset
from vlane.golden.oracle.words import write
from vlane.golden.schedulers import dtable as golden
from vlane.golden.schedulers import dtable_line_rate as line_rate
from vlane.golden.schedulers.deficit import ACCUMULATED
from vlane.schedulers.registry import LINE_RATE

(_PENDING, _UNREACHABLE, _READ_VL, _READ_WEIGHT, _ACCUMULATED, _DEFICIT) = range(6)


@inner
def _write_specific_outputs(
    state: golden.State,
    specific_inputs: NDArray[np.int64],
    table_outputs: NDArray[np.int64],
    output_words: NDArray[np.uint64],
    output_fields: NDArray[np.int64],
) -> None:
    """Write pending swap, unreachable requesters, read-back entry, accumulated weight and deficits to the outputs."""
    if table_outputs[STALE] != 0:
        table_outputs[UNREACHABLE] = golden.unreachable(state)
    write(output_words, output_fields, _PENDING, state.regs[golden.SWAP_PENDING])
    write(output_words, output_fields, _UNREACHABLE, table_outputs[UNREACHABLE])
    write(output_words, output_fields, _ACCUMULATED, state.deficits.regs[ACCUMULATED])
    for requester in range(len(state.deficits.deficit)):
        write(output_words, output_fields, _DEFICIT + requester, state.deficits.deficit[requester])
    if output_fields[_READ_VL, 1] != 0:
        vl, weight = golden.read_ib(state, specific_inputs[0] != 0, specific_inputs[1])
        write(output_words, output_fields, _READ_VL, vl)
        write(output_words, output_fields, _READ_WEIGHT, weight)


@inner
def _write_line_rate_outputs(
    state: line_rate.State,
    specific_inputs: NDArray[np.int64],
    table_outputs: NDArray[np.int64],
    output_words: NDArray[np.uint64],
    output_fields: NDArray[np.int64],
) -> None:
    """Write the pending swap and the unreachable lanes of the line-rate form to the outputs."""
    if table_outputs[STALE] != 0:
        table_outputs[UNREACHABLE] = line_rate.unreachable(state)
    write(output_words, output_fields, _PENDING, state.regs[line_rate.SWAP_PENDING])
    write(output_words, output_fields, _UNREACHABLE, table_outputs[UNREACHABLE])


SHOW: dict[type, Callable[..., None]] = {
    golden.State: _write_specific_outputs,
    line_rate.State: _write_line_rate_outputs,
}


def own_ports(parameters: Mapping[str, Any]) -> SpecificPorts:
    """Return the program port and the state outputs of an instance."""
    packed, requesters = parameters["form"] == "ib", parameters["requesters"] or parameters["data_vls"]
    program = schedule_program(ENTRY_BITS, "Weight in 64-byte blocks.", 4 if packed else 5)
    pending = Port("swap_pending", 1, 1, "A swap was requested in an earlier cycle and waits for a ready cycle.")
    never = unreachable(requesters, "Requesters that no entry with a weight names.")
    if parameters["form"] == LINE_RATE:
        data_vls = parameters["data_vls"]
        sizes = Port("behind_blocks", 7, data_vls, "Size of the packet behind each head.")
        return SpecificPorts(program, inputs=(behind(data_vls), sizes), outputs=(pending, never))
    read_bits = (4, 8) if packed else (0, 0)
    return SpecificPorts(
        program,
        inputs=(
            Port("read_low", 1, 1, "Read the low list instead of the high one."),
            Port("read_index", 6, 1, "Entry that is read."),
        )
        if packed
        else (),
        outputs=(
            pending,
            never,
            Port("read_vl", read_bits[0], 1, "VL of that entry, as InfiniBand's tables show it."),
            Port("read_weight", read_bits[1], 1, "Its weight; in the low list a counter."),
            *deficits(requesters, 8 if packed else 9),
            upset(parity=parameters["parity"]),
        ),
    )
