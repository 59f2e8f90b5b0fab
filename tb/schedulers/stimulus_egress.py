"""Stimulus of an egress scheduler: surroundings, tables written through the program port, statistics."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.rule import Rule
from vlane.schedulers.writes import Write, map_writes
from vlane.tb.by_name import crosses
from vlane.tb.machinery.native.packing import places
from vlane.tb.machinery.native.rows import Field, Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus, cut
from vlane.tb.schedulers.rows_egress import OwnPorts, Ports, Traffic, fill, own_ports
from vlane.tb.schedulers.surroundings import (
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
from vlane.tb.schedulers.traffic import Phase, new_statistics, varied

PROGRAM_FIELDS = ("select", "index", "requester", "weight")
"""Fields of the program port after ``enable``, in the order of a write."""


class EgressStimulus(Stimulus):
    """A golden scheduler with its surroundings.

    Parameters
    ----------
    state : NamedTuple
        State of the golden scheduler.
    own : OwnPorts
        Scheduler-specific ports, except its one-word outputs; none by default.
    data_vls : int
        Number of data lanes.
    vl15 : bool
        Whether there is a VL15 lane.
    writes : array of int64, (tables, writes, 4)
        Tables that phases and rewrites program: one row of ``fields`` per write.
    phases : sequence of Phase
        Phases, in the order in which they run.
    rules : sequence of Rule
        Rules to count.
    outputs_beside : sequence of str
        Scheduler-specific one-word outputs, in the order of its ``show``.
    seed : int
        Seed of the random choices; equal arguments give equal rows.
    inputs, outputs : mapping
        Position of every port in a row.
    fields : sequence of str
        Names of the program port's fields.

    Raises
    ------
    ValueError
        If a phase names a table that does not exist.
    """

    def __init__(
        self,
        *,
        state: Any,
        own: OwnPorts | None = None,
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
        self._state = state
        if any(phase.table >= len(writes) for phase in phases):
            raise ValueError(
                f"a phase names a table that does not exist; there are {len(writes)} tables, counted from 0"
            )
        self.statistics = [new_statistics() for _ in phases]
        self._around = new_surroundings(data_vls=data_vls, vl15=vl15, seed=seed)
        programmed = ["program__enable", *(f"program__{name}" for name in fields), "swap"]
        used = [*COMMON_INPUTS, *programmed, "behind"]
        self._ports = Ports(
            writes=writes,
            field_bits=np.array([inputs.get(name, _NOWHERE).bits for name in programmed[1:5]], np.int64),
            given=np.zeros(INPUT_COUNT, np.int64),
            inputs=places({name: inputs.get(name, _NOWHERE) for name in used}, used),
            sizes=np.array([inputs["heads__blocks"].word, inputs["heads__blocks"].shift], np.int64),
            outputs=places(outputs, [*COMMON_OUTPUTS, *outputs_beside]),
            own=own or own_ports(),
        )

    @property
    def decisions(self) -> int:
        """Number of packets started so far."""
        return sum(int(stats.decisions[0]) for stats in self.statistics)

    @property
    def programming_cycles(self) -> int:
        """Cycles from the start of a phase that names a table until the table is in force."""
        return int(self._ports.writes.shape[1]) + 2

    def _enter(self, index: int) -> None:
        """Restart the waits of a phase. After a wild phase, remove forbidden packets from the queues."""
        around = self._around
        around.since[:] = around.regs[T_NOW]
        if index and self.phases[index - 1].wild:
            clear(around)
        if self.phases[index].table >= 0:
            around.regs[T_WRITE], around.regs[T_TABLE], around.regs[T_LEFT_OUT] = 0, self.phases[index].table, 0

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase = self.phases[index]
        chances = np.array(
            [
                phase.least_blocks,
                phase.most_blocks,
                phase.extremes,
                phase.idle_bits,
                phase.paced,
                phase.ready,
                phase.hold,
                phase.stall,
                phase.vl15,
                phase.reset,
                phase.rewrite,
            ],
            np.int64,
        )
        statistics = self.statistics[index]
        fill(
            self._state,
            self._around,
            self._ports,
            Traffic(chances, phase.wild),
            rows,
            expected,
            rules,
            self.happened,
            statistics,
        )
        count_waiting(self._around, statistics)


def applicable_rules(
    rules: Sequence[Rule], parameters: Mapping[str, Any], *, never: Collection[str] = ()
) -> frozenset[str]:
    """Return the rules that some table can reach: all but ``never``, and without VL15's if the instance has no VL15."""
    return frozenset(
        rule.name for rule in rules if rule.name not in never and (parameters["vl15"] or rule.name != "vl15_first")
    )


def applicable_turn_rules(rules: Sequence[Rule], parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the rules that some table can reach in a scheduler with deficits and turns."""
    never = set() if parameters.get("form") == "ib" else {"saturated"}
    if not parameters["keep_on_stall"]:
        never.add("kept_on_stall")
    elif not parameters["requesters"]:  # the head for which a deficit was carried over stays until it is sent
        never.add("deficit_lost")
    return applicable_rules(rules, parameters, never=never)


def scheduled(
    name: str,
    parameters: Mapping[str, Any],
    draw: Callable[[random.Random], list[Write]],
    *,
    cycles: int,
    seed: int,
    applicable: frozenset[str],
    writes: Sequence[Sequence[int]] = (),
    phases: Sequence[Phase] = (),
    most_tables: int = 32,
    cycles_each: int = 4000,
    **given: Any,
) -> EgressStimulus:
    """Return the stimulus that applies every kind of traffic to each of many random tables.

    Parameters
    ----------
    name : str
        Name of the scheduler, part of the random seed.
    parameters : mapping
        Parameters of the instance.
    draw : callable
        Function that returns the writes of a random table; the writes of a random map precede them.
    cycles, seed : int
        Length of the stimulus in cycles; seed of the random tables and of the traffic.
    applicable : frozenset of str
        Rules that must be reached with random tables.
    writes : sequence
        Table to program instead of random ones; then no rule must be reached.
    phases : sequence of Phase
        Phases that replace the usual ones.
    most_tables : int
        Largest number of random tables.
    cycles_each : int
        Cycles of the stimulus per random table.
    **given
        Further arguments of ``EgressStimulus``.
    """
    source = random.Random(f"{name} {seed} {sorted(parameters.items())}")  # noqa: S311 - stimulus, not secrets
    data_vls, requesters = parameters["data_vls"], parameters["requesters"]
    programs = (
        [writes]
        if writes
        else [
            [*random_map(source, data_vls=data_vls, requesters=requesters), *draw(source)]
            for _ in range(max(4, min(most_tables, cycles // cycles_each)))
        ]
    )
    each = max(64, 2 * len(programs[0]), cycles // (8 * len(programs)))
    stimulus = EgressStimulus(
        data_vls=data_vls,
        vl15=parameters["vl15"],
        seed=seed,
        writes=np.array(programs, np.int64).reshape(len(programs), -1, 4),
        phases=phases or cut(varied(range(len(programs)), each), cycles),
        **given,
    )
    stimulus.applicable = frozenset() if writes else applicable
    if not writes:
        watch(stimulus, name, parameters, **given)
    return stimulus


def watch(
    stimulus: Stimulus, name: str, parameters: Mapping[str, Any], *, inputs: Layout, outputs: Layout, **_: Any
) -> None:
    """Make a stimulus with random tables count the crosses of its scheduler."""
    module = crosses(name)
    stimulus.watch(
        module.crosses(parameters),
        module.EVENTS,
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=getattr(module, "JUDGED_FROM_CYCLES", 0),
    )


def random_map(source: random.Random, *, data_vls: int, requesters: int) -> list[Write]:
    """Return the writes of a random map, or nothing without a map."""
    if not requesters:
        return []
    most = source.choice((requesters, requesters, min(2, requesters), 32))
    return map_writes([source.randrange(most) for _ in range(data_vls)])


_NOWHERE = Field(0, 0, 0)
