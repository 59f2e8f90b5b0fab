"""Golden model of the SL-to-VL mapping: SL2VL-1 to SL2VL-6 (``docs/sl2vl.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.tables.sl2vl import SL_COUNT, VL_DROP

RULES = (
    Rule("mapped", "SL2VL-1", "a packet was mapped to its lane"),
    Rule("dropped", "SL2VL-2", "the row holds 15: the packet is dropped"),
    Rule("invalid", "SL2VL-3", "the row names an absent lane: the packet is dropped and counted separately"),
    Rule("no_such_output", "SL2VL-4", "the output is absent: the packet is dropped"),
    Rule("read_while_written", "SL2VL-5", "a row was looked up in the cycle of its write: the old row was used"),
    Rule("all_inputs_written", "SL2VL-6", "one write set the row of every input"),
)
MAPPED, DROPPED, INVALID, NO_OUTPUT, WHILE_WRITTEN, ALL_INPUTS = range(len(RULES))


class SL2VLState(NamedTuple):
    """SL2VL tables.

    Parameters
    ----------
    data_vls : int
        Number of data lanes of the port.
    row : array of int64, (inputs, outputs, 16)
        VL of each service level.
    """

    data_vls: int
    row: NDArray[np.int64]


def new_state(*, inputs: int, outputs: int, data_vls: int) -> SL2VLState:
    """Return the state after power-on: every SL maps to lane SL modulo the number of data lanes."""
    row = np.zeros((inputs, outputs, SL_COUNT), np.int64)
    row[:] = np.arange(SL_COUNT) % data_vls
    return SL2VLState(data_vls, row)


@kernel
def look_up(state: SL2VLState, input_port: int, output_port: int, sl: int) -> tuple[int, bool, bool]:
    """Return (VL, dropped, invalid) of a packet.

    The VL is 15 if it is dropped. ``invalid`` distinguishes an absent lane or output from a 15 in the row.
    """
    if output_port >= state.row.shape[1]:
        return VL_DROP, True, True
    vl = state.row[input_port, output_port, sl]
    if vl >= state.data_vls:
        return VL_DROP, True, vl != VL_DROP
    return vl, False, False


@kernel
def write(
    state: SL2VLState,
    every: bool,  # noqa: FBT001 - a signal of the hardware
    input_port: int,
    output_port: int,
    row: int,
) -> None:
    """Write a row of 16 VLs, 4 bits each, SL 0 lowest, for one input or all. Ignore absent ports."""
    if output_port >= state.row.shape[1]:
        return
    for port in range(state.row.shape[0]):
        if every or port == input_port:
            for sl in range(SL_COUNT):
                state.row[port, output_port, sl] = (row >> 4 * sl) & 15


@inner
def count_rules(
    state: SL2VLState,
    dropped: bool,  # noqa: FBT001 - a signal of the hardware
    invalid: bool,  # noqa: FBT001 - a signal of the hardware
    output_port: int,
    rule_counts: NDArray[np.int64],
) -> None:
    """Count the rules that a look-up exercises."""
    missing = output_port >= state.row.shape[1]
    rule_counts[MAPPED] += not dropped
    rule_counts[DROPPED] += dropped and not invalid
    rule_counts[INVALID] += invalid and not missing
    rule_counts[NO_OUTPUT] += missing
