"""Stimulus of an egress scheduler: environment, tables written through the program port, statistics."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.rule import Rule
from vlane.golden.oracle.egress import SELECT, WEIGHT, scheduler_oracle
from vlane.golden.oracle.oracle import Oracle
from vlane.schedulers.writes import Write, map_writes
from vlane.tb.by_name import crosses
from vlane.tb.machinery.native.packing import in_rows
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus, cut
from vlane.tb.schedulers.queue_environment import (
    T_LEFT_OUT,
    T_NOW,
    T_TABLE,
    T_WRITE,
    clear_queues,
    count_waiting,
    new_environment,
)
from vlane.tb.schedulers.rows_egress import Tables, Traffic, fill
from vlane.tb.schedulers.traffic import Phase, new_statistics, varied_phases


class EgressStimulus(Stimulus):
    """Stimulus of an egress scheduler: its oracle, the queues and the link, and tables to program.

    Parameters
    ----------
    oracle : Oracle
        Oracle of the scheduler, with its ports in rows.
    writes : array of int64, (tables, writes, 4)
        Tables that phases and rewrites program: one row of ``fields`` per write.
    phases : sequence of Phase
        Phases, in the order in which they run.
    seed : int
        Seed of the random choices; equal arguments give equal rows.

    Raises
    ------
    ValueError
        If a phase names a table that does not exist.
    """

    def __init__(self, oracle: Oracle, *, writes: NDArray[np.int64], phases: Sequence[Phase], seed: int) -> None:
        super().__init__(phases, oracle.rules)
        if any(phase.table >= len(writes) for phase in phases):
            raise ValueError(
                f"a phase names a table that does not exist; there are {len(writes)} tables, counted from 0"
            )
        self._machine = oracle.machine
        self.statistics = [new_statistics() for _ in phases]
        self._around = new_environment(oracle.machine, seed)
        self._tables = Tables(writes, np.ascontiguousarray(oracle.machine.input_fields[SELECT : WEIGHT + 1, 1]))

    @property
    def decisions(self) -> int:
        """Number of packets started so far."""
        return sum(int(stats.decisions[0]) for stats in self.statistics)

    @property
    def programming_cycles(self) -> int:
        """Cycles from the start of a phase that names a table until the table is in force."""
        return int(self._tables.writes.shape[1]) + 2

    def _enter(self, index: int) -> None:
        """Restart the waits of a phase. After a wild phase, remove forbidden packets from the queues."""
        environment = self._around
        environment.since[:] = environment.regs[T_NOW]
        if index and self.phases[index - 1].wild:
            clear_queues(environment)
        if self.phases[index].table >= 0:
            environment.regs[T_WRITE], environment.regs[T_TABLE], environment.regs[T_LEFT_OUT] = (
                0,
                self.phases[index].table,
                0,
            )

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
            self._machine._replace(rules=rules),
            self._around,
            self._tables,
            Traffic(chances, phase.wild),
            rows,
            expected,
            self.happened,
            statistics,
        )
        count_waiting(self._around, statistics)


def applicable_rules(
    rules: Sequence[Rule], parameters: Mapping[str, Any], *, never: Collection[str] = ()
) -> frozenset[str]:
    """Return the rules that some table can reach: all except ``never``, and those of VL15 only with VL15."""
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
    inputs: Layout,
    outputs: Layout,
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
    cycles : int
        Length of the stimulus in cycles.
    seed : int
        Seed of the random tables and of the traffic.
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
    inputs, outputs : mapping
        Position of every port in a row.
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
        scheduler_oracle(name, parameters, in_rows(inputs, outputs)),
        writes=np.array(programs, np.int64).reshape(len(programs), -1, 4),
        phases=phases or cut(varied_phases(range(len(programs)), each), cycles),
        seed=seed,
    )
    stimulus.applicable = frozenset() if writes else applicable
    if not writes:
        watch(stimulus, name, parameters, inputs=inputs, outputs=outputs)
    return stimulus


def watch(stimulus: Stimulus, name: str, parameters: Mapping[str, Any], *, inputs: Layout, outputs: Layout) -> None:
    """Count the crosses of the scheduler during a stimulus with random tables."""
    module = crosses(name)
    stimulus.watch(
        module.crosses(parameters),
        module.EVENTS,
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=getattr(module, "JUDGED_FROM_CYCLES", 0),
    )


def random_map(source: random.Random, *, data_vls: int, requesters: int) -> list[Write]:
    """Return the writes of a random lane-to-requester map, or no writes for a scheduler without a map."""
    if not requesters:
        return []
    most = source.choice((requesters, requesters, min(2, requesters), 32))
    return map_writes([source.randrange(most) for _ in range(data_vls)])
