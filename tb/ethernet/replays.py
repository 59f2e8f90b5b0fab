"""Replays of Ethernet blocks from a network's log, cycle by cycle, checked against the log and fed to hardware.

The network decides without a clock. A replay gives golden's clocked block the same inputs in the same cycles: its
decisions must equal the log, and the hardware's outputs must equal the block's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import kernel
from vlane.golden.ethernet import ecm_cp, ecm_rp
from vlane.golden.ethernet.logs import ASKED, JOINED
from vlane.golden.oracle.ethernet import (
    ECMCPMachine,
    ECMRPMachine,
    ecm_cp_oracle,
    ecm_rp_oracle,
    run_ecm_cp,
    run_ecm_rp,
)
from vlane.tb.machinery.native.packing import in_rows, put_inputs
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Layout

_CYCLE, _NEXT, _WRONG, _KEPT = range(4)


class _Replay:
    """Replay of one block of a network: the common part.

    Parameters
    ----------
    machine : NamedTuple
        The oracle of golden's clocked block, with its ports in rows.
    follow : callable
        Kernel that fills rows from the log.
    entries : array of int64, (entries, 11)
        The block's part of the log.
    cycles : int
        Length of the replay in cycles.
    """

    def __init__(self, machine: Any, follow: Callable[..., None], entries: NDArray[np.int64], cycles: int) -> None:
        self._machine, self._follow = machine, follow
        self._entries, self._cycles = np.ascontiguousarray(entries), cycles
        self._at = np.zeros(_KEPT, np.int64)

    @property
    def decisions(self) -> int:
        """Number of log entries replayed."""
        return int(self._at[_NEXT])

    @property
    def wrong(self) -> int:
        """Number of decisions in which golden's clocked block differs from the network, or was not ready."""
        return int(self._at[_WRONG])

    def fill(self, rows: Words, expected: Words) -> int:
        """Fill rows from the start and return how many, or 0 at the end."""
        count = min(len(rows), self._cycles - int(self._at[_CYCLE]))
        self._follow(self._machine, self._entries, self._at, rows[:count], expected[:count])
        return count


class PointReplay(_Replay):
    """Replay of a congestion point of a network.

    Parameters
    ----------
    parameters : mapping
        Parameters of the block.
    entries : array of int64, (entries, 11)
        The block's part of the log.
    cpid : int
        CPID of the congestion point.
    cycles : int
        Length of the replay in cycles.
    inputs, outputs : mapping
        Position of every port in a row.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        entries: NDArray[np.int64],
        cpid: int,
        *,
        cycles: int,
        inputs: Layout,
        outputs: Layout,
    ) -> None:
        machine = ecm_cp_oracle(parameters, in_rows(inputs, outputs)).machine
        machine.input_values[ecm_cp.CPID] = cpid
        super().__init__(machine, _follow_point, entries, cycles)


@kernel
def _follow_point(
    machine: ECMCPMachine,
    entries: NDArray[np.int64],
    at: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
) -> None:
    state, values = machine.state, machine.input_values
    for cycle in range(len(rows)):
        values[ecm_cp.ENTER], values[ecm_cp.LEAVE], joined = 0, 0, -1
        while at[_NEXT] < len(entries) and entries[at[_NEXT], 0] == at[_CYCLE]:
            entry = entries[at[_NEXT]]
            if entry[1] == JOINED:
                joined = at[_NEXT]
                values[ecm_cp.ENTER], values[ecm_cp.ENTER_BYTES], values[ecm_cp.MANAGED] = 1, entry[3], entry[4]
                values[ecm_cp.TAGGED], values[ecm_cp.TAG] = entry[5], entry[6]
            else:
                values[ecm_cp.LEAVE], values[ecm_cp.LEAVE_BYTES] = 1, entry[3]
            at[_NEXT] += 1
        put_inputs(rows[cycle], machine.input_fields, 0, values)
        run_ecm_cp(machine, 0, expected[cycle])
        if joined >= 0:
            for value in range(4):
                at[_WRONG] += state.shown[-1, value] != entries[joined, 7 + value]
        at[_CYCLE] += 1


class SourceReplay(_Replay):
    """Replay of a reaction point of a network. See ``PointReplay`` for the parameters."""

    def __init__(
        self, parameters: Mapping[str, Any], entries: NDArray[np.int64], *, cycles: int, inputs: Layout, outputs: Layout
    ) -> None:
        machine = ecm_rp_oracle(parameters, in_rows(inputs, outputs)).machine
        super().__init__(machine, _follow_source, entries, cycles)


@kernel
def _follow_source(
    machine: ECMRPMachine,
    entries: NDArray[np.int64],
    at: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
) -> None:
    values, kept = machine.input_values, machine.state.registers
    for cycle in range(len(rows)):
        ordered = at[_NEXT] < len(entries) and entries[at[_NEXT], 0] == at[_CYCLE]
        values[:] = 0
        if ordered:
            entry = entries[at[_NEXT]]
            values[ecm_rp.ORDER], values[ecm_rp.ASK], values[ecm_rp.FLOW] = 1, entry[1] == ASKED, entry[3]
            if entry[1] == ASKED:
                values[ecm_rp.FRAME_BYTES] = entry[4]
            else:
                values[ecm_rp.NOTICE], values[ecm_rp.CPID], values[ecm_rp.FEEDBACK] = entry[4], entry[5], entry[6]
        ready = ecm_rp.is_ready(machine.state)
        put_inputs(rows[cycle], machine.input_fields, 0, values)
        run_ecm_rp(machine, 0, expected[cycle])
        if ordered:
            at[_WRONG] += not ready
            at[_WRONG] += kept[ecm_rp.S_MAY] != entry[7] or kept[ecm_rp.S_LIMITED] != entry[8]
            at[_WRONG] += kept[ecm_rp.S_RATE] != entry[9] or kept[ecm_rp.S_TAG] != entry[10]
            at[_NEXT] += 1
        at[_CYCLE] += 1
