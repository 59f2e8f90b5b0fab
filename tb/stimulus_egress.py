"""Stimulus of an egress scheduler: its surroundings, tables written through its program port, statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vlane.golden.rule import Rule
from vlane.tb.model import Field, Words
from vlane.tb.packing import places
from vlane.tb.stimulus import Counts, Layout, Stimulus, cut
from vlane.tb.surroundings import (
    COMMON_INPUTS,
    COMMON_OUTPUTS,
    INPUT_COUNT,
    T_NOW,
    T_TABLE,
    T_WRITE,
    clear,
    count_waiting,
    new_surroundings,
)
from vlane.tb.traffic import Phase, Statistics, new_statistics, varied

__all__ = ["PROGRAM_FIELDS", "EgressStimulus", "programmed"]

PROGRAM_FIELDS = ("select", "index", "requester", "weight")
"""Fields of the program port behind ``enable``, in the order of a write."""


class EgressStimulus(Stimulus):
    """Base of the stimuli of the schedulers; a subclass runs its golden step.

    Parameters
    ----------
    data_vls : int
        Data lanes.
    vl15 : bool
        Whether there is a VL15 lane.
    writes : array of int64, (tables, writes, 4)
        What phases and live rewrites program: one row of ``fields`` per write.
    phases : sequence of Phase
        Run in order.
    rules : sequence of Rule
        What is counted.
    outputs_beside : sequence of str
        Outputs beside the shared ones, of one word each, in the order the subclass puts them.
    seed : int
        Two stimuli with equal arguments give equal rows.
    inputs, outputs : mapping
        Where every port is in its row.
    fields : sequence of str
        Names of the program port's fields.

    Raises
    ------
    ValueError
        If a phase names a table that is not there.
    """

    def __init__(
        self,
        *,
        data_vls: int,
        vl15: bool,
        writes: NDArray[np.int64],
        phases: Sequence[Phase],
        rules: Sequence[Rule],
        outputs_beside: Sequence[str],
        seed: int,
        inputs: Layout,
        outputs: Layout,
        fields: Sequence[str] = PROGRAM_FIELDS,
    ) -> None:
        super().__init__(phases, rules)
        if any(phase.table >= len(writes) for phase in phases):
            raise ValueError(f"a phase must name one of the {len(writes)} tables")
        self.statistics = [new_statistics() for _ in phases]
        self._around = new_surroundings(data_vls=data_vls, vl15=vl15, seed=seed)
        self._writes = writes
        programmed = ["program__enable", *(f"program__{name}" for name in fields), "swap"]
        used = [*COMMON_INPUTS, *programmed]
        self._places = places({name: inputs.get(name, _NOWHERE) for name in used}, used)
        self._sizes = np.array([inputs["heads__blocks"].word, inputs["heads__blocks"].shift], np.int64)
        self._field_bits = np.array([inputs.get(name, _NOWHERE).bits for name in programmed[1:5]], np.int64)
        self._wanted = places(outputs, [*COMMON_OUTPUTS, *outputs_beside])
        self._given = np.zeros(INPUT_COUNT, np.int64)

    @property
    def decisions(self) -> int:
        """Packets started so far."""
        return sum(int(stats.decisions[0]) for stats in self.statistics)

    def _enter(self, index: int) -> None:
        """Start the waits of a phase anew; after a wild one nothing forbidden is left in the queues."""
        around = self._around
        around.since[:] = around.regs[T_NOW]
        if index and self.phases[index - 1].wild:
            clear(around)
        if self.phases[index].table >= 0:
            around.regs[T_WRITE], around.regs[T_TABLE] = 0, self.phases[index].table

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase = self.phases[index]
        chances = np.array(
            [phase.least_blocks, phase.most_blocks, phase.extremes, phase.idle_bits, phase.paced, phase.ready,
             phase.hold, phase.stall, phase.vl15, phase.reset, phase.rewrite], np.int64,
        )  # fmt: skip
        self._cycles(chances, phase.wild, rows, expected, rules, self.statistics[index])
        count_waiting(self._around, self.statistics[index])

    def _cycles(
        self,
        chances: NDArray[np.int64],
        wild: bool,  # noqa: FBT001 - handed on to a kernel
        rows: Words,
        expected: Words,
        rules: Counts,
        stats: Statistics,
    ) -> Any:
        """Run the golden step once per row."""
        raise NotImplementedError


def programmed(programs: Sequence[Sequence[Sequence[int]]], cycles: int) -> dict[str, Any]:
    """Return ``writes`` and ``phases`` that bring every kind of traffic to each program, in that many cycles."""
    each = max(64, 2 * len(programs[0]), cycles // (8 * len(programs)))
    return {
        "writes": np.array(programs, np.int64).reshape(len(programs), -1, 4),
        "phases": cut(varied(range(len(programs)), each), cycles),
    }


_NOWHERE = Field(0, 0, 0)
