"""Stimulus of an egress scheduler: its surroundings, tables written through its program port, statistics."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vlane.golden.lanes import SELECT_MAP, SELECT_TABLE
from vlane.golden.rule import Rule
from vlane.tb.model import Field, Words
from vlane.tb.packing import places
from vlane.tb.stimulus import Counts, Layout, Stimulus, cut
from vlane.tb.surroundings import (
    COMMON_INPUTS,
    COMMON_OUTPUTS,
    INPUT_COUNT,
    T_LEFT_OUT,
    T_NOW,
    T_TABLE,
    T_WRITE,
    clear,
    count_waiting,
    new_surroundings,
)
from vlane.tb.traffic import Phase, Statistics, new_statistics, varied

__all__ = ["PROGRAM_FIELDS", "EgressStimulus", "map_writes", "random_map", "scheduled", "value_writes"]

PROGRAM_FIELDS = ("select", "index", "requester", "weight")
"""Fields of the program port behind ``enable``, in the order of a write."""


class EgressStimulus(Stimulus):
    """Golden and its surroundings.

    Parameters
    ----------
    state : NamedTuple
        Golden's state.
    fill : callable
        Kernel that runs its step once per row, writing inputs and expected outputs.
    beside : tuple of array
        Places of ports that only this scheduler has, which the kernel takes before the rows.
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
        Outputs beside the shared ones, of one word each, in the order the kernel puts them.
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
        state: Any,
        fill: Callable[..., None],
        beside: tuple[NDArray[np.int64], ...] = (),
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
        self._state, self._fill, self._beside = state, fill, beside
        if any(phase.table >= len(writes) for phase in phases):
            raise ValueError(f"a phase must name one of the {len(writes)} tables")
        self.statistics = [new_statistics() for _ in phases]
        self._around = new_surroundings(data_vls=data_vls, vl15=vl15, seed=seed)
        self._writes = writes
        programmed = ["program__enable", *(f"program__{name}" for name in fields), "swap"]
        used = [*COMMON_INPUTS, *programmed, "behind"]
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
            around.regs[T_WRITE], around.regs[T_TABLE], around.regs[T_LEFT_OUT] = 0, self.phases[index].table, 0

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
    ) -> None:
        """Run the golden step once per row."""
        self._fill(
            self._state, self._around, chances, wild, self._writes, self._field_bits, self._given, self._places,
            self._sizes, self._wanted, *self._beside, rows, expected, rules, stats,
        )  # fmt: skip


def scheduled(
    parameters: Mapping[str, Any],
    programs: Sequence[Sequence[Sequence[int]]],
    *,
    cycles: int,
    applicable: frozenset[str],
    phases: Sequence[Phase] = (),
    **given: Any,
) -> EgressStimulus:
    """Return the stimulus that brings every kind of traffic to each program, in that many cycles.

    ``given`` goes to ``EgressStimulus`` as it is; ``applicable`` names the rules that must be seen; ``phases`` replaces
    the kinds of traffic.
    """
    each = max(64, 2 * len(programs[0]), cycles // (8 * len(programs)))
    stimulus = EgressStimulus(
        data_vls=parameters["data_vls"], vl15=parameters["vl15"],
        writes=np.array(programs, np.int64).reshape(len(programs), -1, 4),
        phases=phases or cut(varied(range(len(programs)), each), cycles), **given,
    )  # fmt: skip
    stimulus.applicable = applicable
    return stimulus


def value_writes(values: Sequence[int], requesters: int) -> list[tuple[int, int, int, int]]:
    """Return the writes (select, index, requester, value) that give each requester its value, padded with 0.

    Raises
    ------
    ValueError
        If there are more values than requesters.
    """
    if len(values) > requesters:
        raise ValueError(f"there must be at most {requesters} values, not {len(values)}")
    padded = [*values, *[0] * (requesters - len(values))]
    return [(SELECT_TABLE, requester, 0, value) for requester, value in enumerate(padded)]


def map_writes(owners: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Return the writes that give each lane its requester."""
    return [(SELECT_MAP, lane, requester, 0) for lane, requester in enumerate(owners)]


def random_map(source: random.Random, *, data_vls: int, requesters: int) -> list[tuple[int, int, int, int]]:
    """Return writes of a random map; none if there is no map."""
    if not requesters:
        return []
    most = source.choice((requesters, requesters, min(2, requesters), 32))
    return map_writes([source.randrange(most) for _ in range(data_vls)])


_NOWHERE = Field(0, 0, 0)
