"""Replays of Ethernet blocks from a network's log, cycle by cycle, checked against the log and fed to hardware.

The network decides without a clock. A replay gives golden's clocked block the same inputs in the same cycles: its
decisions must equal the log, and the hardware's outputs must equal the block's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.ethernet.shared import FEEDBACK_BITS
from vlane.golden.engine.kernel import kernel
from vlane.golden.ethernet import ecm_cp, ecm_rp
from vlane.golden.ethernet.logs import ASKED, JOINED
from vlane.tb.machinery.native.packing import clear_row, places, put
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Layout

_FEEDBACK_MASK = (1 << FEEDBACK_BITS) - 1
_CYCLE, _NEXT, _WRONG, _KEPT = range(4)
_CP_INS = ("rst", "enter", "enter_bytes", "managed", "tagged", "tag", "cpid", "leave", "leave_bytes")
_CP_OUTS = ("sampled", "notify", "stop", "feedback", "waiting")
_RP_INS = ("rst", "order", "ask", "flow", "frame_bytes", "notice", "cpid", "feedback")
_RP_OUTS = ("ready", "done", "may", "limited", "rate", "probe", "tag", "limiters")


class _Replay:
    """Replay of one block of a network: the common part.

    Parameters
    ----------
    state, values, rules : tuple, array, int
        Golden's clocked block: its state, neutral inputs, and its number of rules.
    follow : callable
        Kernel that fills rows from the log.
    entries : array of int64, (entries, 11)
        The block's part of the log.
    cycles : int
        Length of the replay in cycles.
    ins, outs : array of int64
        Positions of the ports in a row.
    """

    def __init__(
        self,
        state: Any,
        values: NDArray[np.int64],
        rules: int,
        follow: Callable[..., None],
        entries: NDArray[np.int64],
        cycles: int,
        ins: NDArray[np.int64],
        outs: NDArray[np.int64],
    ) -> None:
        self._state, self._values, self._rules, self._follow = state, values, np.zeros(rules, np.int64), follow
        self._entries, self._cycles = np.ascontiguousarray(entries), cycles
        self._ins, self._outs, self._at = ins, outs, np.zeros(_KEPT, np.int64)

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
        self._follow(
            self._state,
            self._values,
            self._entries,
            self._at,
            self._ins,
            self._outs,
            rows[:count],
            expected[:count],
            self._rules,
        )
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
        values = ecm_cp.new_inputs()
        values[ecm_cp.CPID] = cpid
        super().__init__(
            ecm_cp.new_state(**parameters),
            values,
            len(ecm_cp.RULES),
            _follow_point,
            entries,
            cycles,
            places(inputs, _CP_INS),
            places(outputs, _CP_OUTS),
        )


@kernel
def _follow_point(
    state: ecm_cp.ECMCPState,
    values: NDArray[np.int64],
    entries: NDArray[np.int64],
    at: NDArray[np.int64],
    ins: NDArray[np.int64],
    outs: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
) -> None:
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
        clear_row(rows, cycle)
        clear_row(expected, cycle)
        for value in range(len(values)):
            put(rows, cycle, ins, 1 + value, values[value])
        for value in range(3):
            put(expected, cycle, outs, value, state.shown[0, value])
        put(expected, cycle, outs, 3, state.shown[0, ecm_cp.S_FEEDBACK] & _FEEDBACK_MASK)
        put(expected, cycle, outs, 4, state.kept[ecm_cp.WAITING])
        ecm_cp.step(state, values, rules)
        if joined >= 0:
            for value in range(4):
                at[_WRONG] += state.shown[-1, value] != entries[joined, 7 + value]
        at[_CYCLE] += 1


class SourceReplay(_Replay):
    """Replay of a reaction point of a network. See ``PointReplay`` for the parameters."""

    def __init__(
        self, parameters: Mapping[str, Any], entries: NDArray[np.int64], *, cycles: int, inputs: Layout, outputs: Layout
    ) -> None:
        super().__init__(
            ecm_rp.new_state(**parameters),
            ecm_rp.new_inputs(),
            len(ecm_rp.RULES),
            _follow_source,
            entries,
            cycles,
            places(inputs, _RP_INS),
            places(outputs, _RP_OUTS),
        )


@kernel
def _follow_source(
    state: ecm_rp.ECMRPState,
    values: NDArray[np.int64],
    entries: NDArray[np.int64],
    at: NDArray[np.int64],
    ins: NDArray[np.int64],
    outs: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
) -> None:
    kept = state.kept
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
        ready = ecm_rp.is_ready(state)
        clear_row(rows, cycle)
        clear_row(expected, cycle)
        for value in range(ecm_rp.FEEDBACK):
            put(rows, cycle, ins, 1 + value, values[value])
        put(rows, cycle, ins, 1 + ecm_rp.FEEDBACK, values[ecm_rp.FEEDBACK] & _FEEDBACK_MASK)
        put(expected, cycle, outs, 0, ready)
        if ready and kept[ecm_rp.ANSWERS] != 0:
            put(expected, cycle, outs, 1, 1)
            for value in range(5):
                put(expected, cycle, outs, 2 + value, kept[ecm_rp.S_MAY + value])
        put(expected, cycle, outs, 7, kept[ecm_rp.S_LIMITERS])
        ecm_rp.step(state, values, rules)
        if ordered:
            at[_WRONG] += not ready
            at[_WRONG] += kept[ecm_rp.S_MAY] != entry[7] or kept[ecm_rp.S_LIMITED] != entry[8]
            at[_WRONG] += kept[ecm_rp.S_RATE] != entry[9] or kept[ecm_rp.S_TAG] != entry[10]
            at[_NEXT] += 1
        at[_CYCLE] += 1
